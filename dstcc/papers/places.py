"""Where the papers' folders are.

They are among the examples (:mod:`dstcc.gallery`).
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from dstcc import gallery
from dstcc.errors import InputError

FOLDERS = tuple(folder / "papers" for folder in gallery.FOLDERS)
"""Of an installed dstcc, and of a checkout."""
PAPERS = ("iodst", "mpquic-rl", "pbq", "qaware", "po-mptcp")
"""Those that the project follows, in its own order."""
FIGURES, PUBLISHED, README = "figures.toml", "published.toml", "README.md"


def papers_here() -> tuple[str, ...]:
    """The papers that this dstcc can reproduce."""
    return tuple(name for name in PAPERS if _folder(name) is not None)


def folder_of(name: str) -> Path:
    """A paper's folder; raises :class:`InputError` for a name that is unknown or not built yet."""
    folder = _folder(name) if name in PAPERS else None
    if folder is not None:
        return folder
    there = f"there {'are' if len(papers_here()) > 1 else 'is'} {', '.join(papers_here()) or 'none'}"
    if name in PAPERS:
        looked = " or ".join(str(one) for one in FOLDERS)
        raise InputError(f"paper {name}: this version of dstcc cannot reproduce it; {there} (in {looked})")
    near = get_close_matches(name, papers_here(), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(f"paper {name}: not known; {hint}{there}")


def _folder(name: str) -> Path | None:
    return next((one / name for one in FOLDERS if (one / name / FIGURES).is_file()), None)
