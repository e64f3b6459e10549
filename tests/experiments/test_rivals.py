"""The table of `dstcc` beside its rivals: what runs, what is kept, and which cells fail."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import Constant
from experiments import rivals
from experiments.rivals import TRANSPORTS, Cell, carry_out, cells, known, print_table

CELL = Cell("queues of 3 kB", None, queue_bytes=3_000)


def row(cell: str, transport: str, seed: int, weight: float) -> dict[str, Any]:
    return {"cell": cell, "transport": transport, "seed": seed, "weight": weight, "sent": 1.0}


def test_each_cell_has_a_name_of_its_own_and_runs_under_each_transport() -> None:
    names = [cell.name for cell in cells()]
    assert len(set(names)) == len(names) >= 40
    for cell in (one for one in cells() if "demo 1 RTT" in one.name or one.path is None):
        for transport in TRANSPORTS:
            one = cell.under(transport, 9)
            assert (one.run.seed, one.run.seeds, one.coding, one.variant) == (9, 1, None, ())
            assert len(one.transport.congestion) + len(one.transport.controller) == 1 + (
                transport == "gru-mpc, told"
            )


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, int]] = []

    def trial(cell: Cell, transport: str, seed: int) -> dict[str, Any]:
        ran.append((transport, seed))
        return row(cell.name, transport, seed, 0.5)

    monkeypatch.setattr(rivals, "trial", trial)
    path = tmp_path / "values.jsonl"
    carry_out(path, [CELL], range(1, 3))
    assert len(ran) == 2 * len(TRANSPORTS)
    path.write_text(path.read_text()[:-5])  # killed while it wrote the last line
    ran.clear()
    carry_out(path, [CELL], range(1, 3))
    assert ran == [(list(TRANSPORTS)[-1], 2)]
    assert len(known(path)) == 2 * len(TRANSPORTS)


def test_a_cell_fails_by_the_mean_of_paired_differences(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {1: 0.9, 2: 0.5}
    rows = [row(CELL.name, "dstcc", seed, value) for seed, value in ours.items()]
    near = [row(CELL.name, "ltp, told", seed, value + 0.009) for seed, value in ours.items()]
    assert print_table(rows + near, [CELL]) == []
    above = [row(CELL.name, "cubic", 2, 0.52)]  # one pair: 0.02
    assert print_table(rows + near + above, [CELL]) == [CELL.name]
    refused = {"cell": CELL.name, "transport": "dstcc-lanes", "seed": 1, "error": "no"}
    assert print_table([*rows, *near, *above, refused], [CELL]) == [CELL.name]
    said = capsys.readouterr().out
    assert "| 0.020 below cubic |" in said
    assert "| refused |" in said
    assert json.dumps(rows)  # what is kept is JSON


def test_who_is_told_the_rates_is_held_against_who_is_too(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(CELL.name, "dstcc", 1, 0.8), row(CELL.name, "coded, told", 1, 0.82)]
    assert rivals.failures(rows, CELL) == ["0.020 below coded, told"]
    assert rivals.failures([*rows, row(CELL.name, "dstcc, told", 1, 0.815)], CELL) == []
    assert rivals.failures([*rows, row(CELL.name, "dstcc, told", 1, 0.83)], CELL) == [
        "less than 0.97 of itself told"
    ]
    narrow = [row(CELL.name, "dstcc, up 2", 1, 0.78), row(CELL.name, "dstcc, up 256", 1, 0.8)]
    short = [*rows[:1], *narrow]
    assert print_table(short, [CELL], short=True) == [CELL.name]
    assert "0.020 less with an uplink of 2 kbit/s than of 256" in capsys.readouterr().out
    assert print_table(rows[:1], [CELL], short=True) == []
    assert CELL.name not in capsys.readouterr().out


def test_uplinks_are_those_of_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [link.up_rate_bps for link in CELL.under("dstcc, up 8", 1).link] == [8000, 8000]
    demo = next(cell for cell in cells() if "up 2 kbit/s" in cell.name)
    assert "dstcc, up 8" not in demo.transports and "dstcc, told" in demo.transports


def test_a_trial_is_its_weight_and_its_bytes() -> None:
    short = Cell("short", rivals.TABLE_1, ("video.loop_to_s=600",))
    done = rivals.trial(short, "dstcc", 701)
    assert done["weight"] > 0.9
    assert 1.0 <= done["sent"] < 1.3


def test_one_rule_is_the_rival_in_all_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both = tuple(f"link.{i}.loss={{packet = 0.1}}" for i in (0, 1))
    lossy = Cell("lossy", rivals.TABLE_1, ("video.loop_to_s=600", "playout.delay_rtts=1.2", *both))
    tried = {f"{x:g}": partial(rivals.constant, share=x) for x in (0.0, 0.3, 0.2)}
    monkeypatch.setattr(rivals, "rules", lambda: tried)
    monkeypatch.setattr(rivals, "cells", lambda: iter([lossy]))
    monkeypatch.setattr(rivals, "BEST", "0.3")
    done = rivals.trial(lossy, rivals.RULE, 701)
    assert done["weight"] > 0.9 and 1.2 < done["sent"] < 1.6
    fleet = Fleet(lossy.under(rivals.RULE, 701), [701])
    assert done["weight"] == fleet.run(Constant((0.3,) * 3))[0]
    # What `--tune` prints is in the order of what the rules play.
    told = CliRunner().invoke(rivals.main, ["-o", str(tmp_path / "rules.jsonl"), "--tune"])
    rows = [line.split("|")[1].strip() for line in told.output.splitlines() if line.startswith("| 0")]
    assert rows == ["0.3", "0.2", "0"]
    assert not {*rivals.TUNED_ON} & {*range(701, 721)}


def test_the_best_rule_is_one_of_those_that_are_tried() -> None:
    assert rivals.BEST in rivals.rules()
