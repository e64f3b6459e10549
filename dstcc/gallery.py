"""The example scenarios: what each is, and a copy of one with all that it names.

In a checkout they lie under ``examples``, in an installed dstcc inside this package: ``setup.cfg`` maps one to the
other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from .atomic import atomic_write
from .errors import InputError
from .reading import read_toml

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE / "examples", HERE.parent / "examples")
"""Of an installed dstcc, and of a checkout."""
SHELVES = (
    "demo",
    "iodst",
    "outages",
    "lab",
    "physics",
    "missions",
    "ltp",
    "relays",
    "sharing",
    "multipath",
    "programs",
    "extend",
    "sweeps",
)
"""Folders whose scenarios are for users, in the order in which a new one wants them."""
_QUOTED = re.compile(r'"([^"\n]+)"')


@dataclass(frozen=True)
class Example:
    """A scenario of the gallery."""

    name: str
    """``FOLDER/FILE``, without its ending."""
    path: Path
    title: str
    description: str


def gallery() -> tuple[Example, ...]:
    """All of them."""
    root = examples_folder()
    found = []
    for shelf in SHELVES:
        for path in sorted((root / shelf).glob("*.toml")):
            said = read_toml(path, InputError).get("scenario")
            if isinstance(said, dict):  # a study or a profile has no such table
                name = f"{shelf}/{path.stem}"
                found.append(Example(name, path, said.get("name", path.stem), said.get("description", "")))
    return tuple(found)


def example(name: str) -> Example:
    """The one of that name, ``missions/handover`` or ``handover``; raises :class:`InputError` for no or several."""
    known = gallery()
    found = [one for one in known if name in (one.name, one.path.stem)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"example {name}: there are {', '.join(one.name for one in found)}")
    names = [word for one in known for word in (one.name, one.path.stem)]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(f"example {name}: not known; {hint}`dstcc examples` lists them")


def copy_out(one: Example, output: Path) -> tuple[Path, ...]:
    """Write an example to ``output`` and the files that it names into the same folder; returns what it wrote.

    Raises :class:`InputError` where a file is there already, but for a named one that is the same.
    """
    text = _flat(one.path)
    copies: dict[Path, bytes] = {}
    waiting = [one.path]
    while waiting:
        for named in _named(waiting.pop()):
            target = output.parent / named.name
            if target == output or target in copies:
                continue
            if named.suffix == ".toml":
                copies[target] = _flat(named).encode()
                waiting.append(named)
            else:
                copies[target] = named.read_bytes()
    if output.exists():
        raise InputError(f"{output}: already exists")
    for target, held in copies.items():
        if target.exists() and (not target.is_file() or target.read_bytes() != held):
            raise InputError(f"{target}: already exists and is another; {one.name} names a file of this name")
    copies = {target: held for target, held in copies.items() if not target.exists()}
    output.parent.mkdir(parents=True, exist_ok=True)
    for target, held in copies.items():
        atomic_write(target, held, replaces=None)
    atomic_write(output, text, replaces=None)
    return (output, *copies)


def examples_folder() -> Path:
    """Where they lie."""
    for folder in FOLDERS:
        if (folder / SHELVES[0]).is_dir():
            return folder
    raise InputError(f"this dstcc has no examples (looked in {' and '.join(map(str, FOLDERS))})")


def _named(path: Path) -> list[Path]:
    """Files that a TOML file's texts name, relative to itself; ``FILE.py:CLASS`` names a file, too."""
    texts = _QUOTED.findall(path.read_text(encoding="utf-8"))
    files = (path.parent / text.partition(":")[0] for text in texts)
    return [file for file in files if file.suffix and file.is_file()]


def _flat(path: Path) -> str:
    """A TOML file's text, in which what it names lies beside it."""

    def beside(match: re.Match[str]) -> str:
        file, colon, rest = match[1].partition(":")
        there = Path(file).suffix and (path.parent / file).is_file()
        return f'"{Path(file).name}{colon}{rest}"' if there else match[0]

    return _QUOTED.sub(beside, path.read_text(encoding="utf-8"))
