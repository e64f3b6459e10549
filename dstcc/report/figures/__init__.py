"""The report's figures: each module draws one kind as inline SVG.

A module that calls :func:`~dstcc.report.figures.section.register` has its figure on the page; nothing else lists it.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(one.name for one in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
