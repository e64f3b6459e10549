"""Pages from templates: every page of dstcc has the same style, and the same rules of escaping."""

from __future__ import annotations

from pathlib import Path

from dstcc.version import __version__

TEMPLATES = Path(__file__).parent / "templates"


def fill(template: Path, **values: object) -> str:
    """The page that a template makes of ``values``; beside them it knows ``version`` and the style, ``css``.

    Text is escaped unless the template says ``|safe``; a name that nobody gave is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([template.parent, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    css = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return environment.get_template(template.name).render(version=__version__, css=css, **values)
