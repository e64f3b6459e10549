from __future__ import annotations

from dstcc.algorithms import CONGESTION, NEEDS, SCHEDULERS, TABLE, documents, mark, rule_for
from dstcc.engine import CONGESTION_NAMES, SCHEDULER_NAMES


def test_the_table_lists_what_the_engine_has_and_nothing_else() -> None:
    assert sorted(CONGESTION) == sorted(CONGESTION_NAMES)
    assert sorted(SCHEDULERS) == sorted(SCHEDULER_NAMES)


def test_every_row_is_whole() -> None:
    for row in TABLE:
        assert row.kind in ("congestion", "scheduler")
        assert row.state in ("built-in", "learned", "reconstruction")
        assert row.source
        assert row.backends


def test_documents_have_the_fields_of_the_interface() -> None:
    assert documents()[0].keys() == {"name", "kind", "state", "source", "backends"}


def test_unknown_names_get_the_nearest_one() -> None:
    assert rule_for("cubic", "congestion") is None
    assert rule_for("cubic", "scheduler") is not None
    assert "did you mean 'westwood'?" in str(rule_for("westwod", "congestion"))
    assert "did you mean" not in str(rule_for("zzz", "scheduler"))


def test_needs_are_known() -> None:
    assert {need for row in TABLE for need in row.needs} <= NEEDS.keys()


def test_reconstructions_are_marked() -> None:
    built = next(row.name for row in TABLE if row.kind == "scheduler" and row.state == "built-in")
    assert mark("cubic", built) == ""
    for row in TABLE:
        if row.state == "reconstruction":
            pair = (row.name, built) if row.kind == "congestion" else ("cubic", row.name)
            assert mark(*pair) == " (reconstruction)"
