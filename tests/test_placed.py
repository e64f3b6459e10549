"""Bytes of layers by link, through a result's totals and back."""

from __future__ import annotations

from dstcc.placed import KINDS, placed_rows, placed_totals


def test_rows_come_back_as_they_went_in() -> None:
    rows = [[0, 0, 9, 8, 7, 6, 5, 4], [0, 1, 0, 0, 0, 0, 0, 0], [11, 1, 1, 2, 3, 4, 5, 1 << 50]]
    totals = {"sent_wire_bytes": 3.0, **placed_totals(reversed(rows))}
    assert placed_rows(totals) == [
        {"layer": layer, "link": link, **dict(zip(KINDS, values, strict=True))}
        for layer, link, *values in rows
    ]


def test_nothing_where_nobody_placed_layers() -> None:
    assert placed_rows({"sent_wire_bytes": 3.0}) == []
    assert placed_totals([]) == {}
