"""Reports without their pictures: matplotlib is most of what a page takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dstcc.ladder import figure as ladder
from dstcc.report import page
from dstcc.report.data import Rows
from dstcc.report.figures import network, panels


def leave_undrawn(patch: pytest.MonkeyPatch) -> None:
    """Let pages have empty figures, with their labels and numbers; those of programs and of ladders, too."""

    def undrawn(name: str, _salt: str, _draw: object, label: str, rows: Callable[[], Rows]) -> page.Drawn:
        return page.Drawn("<svg></svg>", label, narrow="<svg></svg>", name=name, rows=rows)

    patch.setattr(page, "_drawn", undrawn)
    for module in (ladder, network, panels):
        patch.setattr(module, "draw_svg", lambda *_, **__: "<svg></svg>")
