"""The documentation as a site, ``build/docs/index.html``: all pages of the project, and the reference of its Python.

The pages are written for readers of the repository: they link to files beside them and to folders. So they are laid out
in ``build/docs-pages`` as they lie in the repository, with the files that they link to; a link to a folder becomes one
to its README. What mkdocs warns of fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "docs-pages"
SOURCES = ("*.md", "docs/**/*.md", "examples/**/*.md")
LINK = re.compile(r"(!?\[[^]\n]*\])\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(?ms)^```.*?^```$")
SEARCH = "iframe-worker.js"
"""What lets the search run on pages that are opened as files."""
REFERENCE = {
    "api": ("From Python", "dstcc.api"),
    "extend": ("Your own algorithms", "dstcc.extend"),
    "environment": ("The environment", "dstcc.learn.env.deep_space"),
    "metrics": ("Metrics", "dstcc.metrics"),
    "stats": ("Statistics", "dstcc.stats"),
    "scenario": ("Scenarios", "dstcc.scenario.load"),
    "run": ("Runs", "dstcc.run.directory"),
    "engine": ("The engine's configuration", "dstcc.engine.config"),
    "policy": ("Policies", "dstcc.learn.policies.policy"),
    "errors": ("Errors", "dstcc.errors"),
    "encode": ("Encoding", "dstcc_svc.encode"),
    "codes": ("Codes", "dstcc_channels.codes"),
}
"""Page of the reference: its title, and the module whose public names it has."""


def main() -> None:
    """Lay the pages out and let mkdocs build them."""
    if PAGES.exists():
        shutil.rmtree(PAGES)
    pages = sorted({path for pattern in SOURCES for path in ROOT.glob(pattern)})
    for page in pages:
        name = page.relative_to(ROOT)
        target = PAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(laid_out(page), encoding="utf-8")
    for called, (title, module) in REFERENCE.items():
        target = PAGES / "reference" / f"{called}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# {title}\n\n::: {module}\n", encoding="utf-8")
    (PAGES / "assets").mkdir()
    shutil.copy(ROOT / "scripts" / SEARCH, PAGES / "assets")
    config = PAGES.parent / "mkdocs.yml"
    config.write_text(configured((ROOT / "mkdocs.yml").read_text(encoding="utf-8")), encoding="utf-8")
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # of mkdocs-material on its successor
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(config)]
    sys.exit(subprocess.run(command, check=False, env=quiet).returncode)


def configured(text: str) -> str:
    """mkdocs.yml with the pages that nobody lists by hand: cards of policies, READMEs of examples, the reference."""
    named = set(re.findall(r"[\w./-]+\.md", text))
    found = sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md"))
    rest = [name for name in found if name not in named and not name.startswith("reference/")]
    cards = [name for name in rest if name.startswith("docs/policies/")]
    examples = [name for name in rest if name.startswith("examples/")]
    strange = [name for name in rest if name not in cards and name not in examples]
    if strange:
        sys.exit(f"mkdocs.yml: nav lacks {', '.join(strange)}")
    text = text.replace(
        "  - Formats:\n", "".join(f"      - {name}\n" for name in cards) + "  - Formats:\n", 1
    )
    if examples:
        lines = "".join(f"      - {name}\n" for name in examples)
        text = text.replace("  - Formats:\n", f"  - Examples:\n{lines}  - Formats:\n", 1)
    lines = "".join(f"      - {title}: reference/{name}.md\n" for name, (title, _) in REFERENCE.items())
    text = text.replace("  - Contribute:\n", f"  - Reference:\n{lines}  - Contribute:\n", 1)
    here = {"build/docs-pages": "docs-pages", "build/docs": "docs", "[scripts/": "[../scripts/"}
    for before, after in here.items():
        text = text.replace(before, after)
    return text.replace("paths: [., cli,", "paths: [.., ../cli,").replace(
        " svc, channel-models, kernel-cc]", " ../svc, ../channel-models, ../kernel-cc]"
    )


def laid_out(page: Path) -> str:
    """A page's text, with its links; the files that it links to are copied beside it."""
    text, parts, at = page.read_text(encoding="utf-8"), [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(lambda link: linked(page, link), text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(lambda link: linked(page, link), text[at:])])


def linked(page: Path, link: re.Match[str]) -> str:
    """A link as the site has it."""
    name, place, anchor = link[1], link[2], link[3] or ""
    if "://" in place or place.startswith("mailto:"):
        return link[0]
    target = (page.parent / place).resolve()
    if target.is_dir():
        if not (target / "README.md").is_file():
            return name[1:-1]
        return f"{name}({place.rstrip('/')}/README.md{anchor})"
    inside = target.relative_to(ROOT)
    if target.suffix != ".md":
        copy = PAGES / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, copy)
    return link[0]


if __name__ == "__main__":
    main()
