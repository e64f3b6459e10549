"""Bytes of each layer by link, where a kernel's scheduler sends each layer on the subflow that it is told.

They travel in a result's ``totals``, a number for each layer, link and kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

KINDS = ("told_bytes", "left_bytes", "carried_bytes", "strayed_bytes", "moved_bytes", "late_bytes")
"""What the sender handed over for the link, and whose first packet left over it. By the kernel's own counters: carried
for the first time; of these, told to go elsewhere; carried again after another subflow failed; carried after the
deadline."""
PREFIX = "placed"


def placed_totals(rows: Iterable[Sequence[int]]) -> dict[str, float]:
    """Rows of layer, link and :data:`KINDS` as entries of ``totals``."""
    return {
        f"{PREFIX}.{layer}.{link}.{kind}": float(value)
        for layer, link, *values in rows
        for kind, value in zip(KINDS, values, strict=True)
    }


def placed_rows(totals: Mapping[str, float]) -> list[dict[str, int]]:
    """The same out of ``totals``, a row for each layer and link; none where nobody placed layers."""
    rows: dict[tuple[int, int], dict[str, int]] = {}
    for name, value in totals.items():
        if name.startswith(f"{PREFIX}."):
            _, layer, link, kind = name.split(".")
            at = (int(layer), int(link))
            rows.setdefault(at, {"layer": at[0], "link": at[1]})[kind] = int(value)
    return [rows[at] for at in sorted(rows)]
