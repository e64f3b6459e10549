from __future__ import annotations

from pathlib import Path

import pytest

from dstcc import algorithms
from dstcc.algorithms import (
    CODED_ONLY,
    CONGESTION,
    CONTROLLERS,
    NEEDS,
    SCHEDULERS,
    TABLE,
    TRANSFERS,
    documents,
    everything,
    mark,
    parameters_of,
    rule_for,
    schedulers_of,
    shipped_policies,
    unmet,
)
from dstcc.engine import CODED_CONGESTION_NAMES, CONGESTION_NAMES, PARAMETERS, SCHEDULER_NAMES, TRANSFER_NAMES


def test_the_table_lists_what_the_engine_has_and_nothing_else() -> None:
    assert sorted(CONGESTION) == sorted(CONGESTION_NAMES)
    assert CODED_ONLY == CODED_CONGESTION_NAMES
    assert sorted(TRANSFERS) == sorted(TRANSFER_NAMES)
    assert sorted(SCHEDULERS) == sorted(SCHEDULER_NAMES)


def test_the_table_gives_a_control_every_parameter_that_the_engine_knows_of_it() -> None:
    known = {row.name: tuple(p.name for p in row.parameters) for row in TABLE if row.kind != "scheduler"}
    assert known == PARAMETERS
    for row in TABLE:
        assert all(bool(parameter.key) != bool(parameter.function) for parameter in row.parameters)


def test_a_control_gets_what_its_keys_or_functions_say_and_nothing_for_keys_without_a_value() -> None:
    given = {"fixed_cwnd_segments": (80, 40), "open_loop_bps": (), "ltp_green_from_layer": ()}
    given |= {"ltp_retry_limit": (20,)}
    assert parameters_of(("fixed", "ltp", "cubic", "FILE.py:Mine"), given.__getitem__) == {
        "fixed": {"cwnd_segments": (80, 40)},
        "ltp": {"retry_limit": (20,)},
    }
    assert len(parameters_of(("remy",), given.__getitem__)["remy"]["rules"]) % 11 == 0


def test_coupled_controls_need_paths_to_couple() -> None:
    coupled = {row.name for row in TABLE if row.source.startswith("coupled")}
    assert coupled == {"lia", "olia", "balia", "wvegas"}
    for name in coupled:
        assert unmet(name, "congestion", paths=2, mode="stream") is None
        assert unmet(name, "congestion", paths=1, mode="stream") == NEEDS["paths"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.kind}-{row.name}")
def test_an_algorithm_says_what_it_lacks(row: algorithms.Algorithm) -> None:
    """Of two paths, a mode and two layers each need by itself; one path, or one layer, is too few."""
    kind = "scheduler" if row.kind == "scheduler" else "congestion"
    needs = set(row.needs)
    mode = "stream" if "stream" in needs else "coded" if "coded" in needs else "lanes"
    assert unmet(row.name, kind, paths=2, mode=mode, layers=2) is None
    assert unmet(row.name, kind, paths=2, mode=mode) is None
    for need, paths, layers in (("paths", 1, 2), ("layers", 2, 1)):
        said = unmet(row.name, kind, paths=paths, mode=mode, layers=layers)
        assert said == (NEEDS[need] if need in needs else None)
    by_mode = needs & {"stream", "coded"}
    said = unmet(row.name, kind, paths=2, mode="lanes", layers=2)
    assert said == (NEEDS[by_mode.pop()] if by_mode else None)


def test_some_rows_need_something() -> None:
    assert {need for row in TABLE for need in row.needs} == set(NEEDS)


def test_every_row_is_whole() -> None:
    for row in TABLE:
        assert row.kind in ("congestion", "transfer", "scheduler")
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


def test_a_transfer_stands_where_a_congestion_control_would_and_takes_no_scheduler() -> None:
    assert rule_for("ltp", "congestion") is None
    assert rule_for("ltp", "scheduler") is not None
    assert schedulers_of("cubic", ("minrtt", "redundant")) == ("minrtt", "redundant")
    assert schedulers_of("ltp", ("minrtt", "redundant")) == ("none",)
    assert schedulers_of("ltp", ("minrtt", "layer-pinned")) == ("layer-pinned",)
    assert unmet("ltp", "congestion", paths=1, mode="stream") is None


def test_controllers_are_those_whose_policy_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(shipped_policies()) <= set(CONTROLLERS)
    monkeypatch.setattr(algorithms, "POLICIES", tmp_path)
    assert [row for row in everything() if row.kind == "controller"] == [algorithms.OWN_ROW]
    (tmp_path / "iodst-dqn.safetensors").touch()
    _, row = (row for row in everything() if row.kind == "controller")
    assert (row.name, row.state) == ("iodst-dqn", "learned")
