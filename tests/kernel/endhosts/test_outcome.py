"""What a run of programs keeps and says: ``run.json`` entry by entry, its notes, and what is such a run at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.endhosts import outcome
from dstcc_kernel.endhosts.flight import fly
from dstcc_kernel.endhosts.outcome import (
    OUTPUT,
    _entries,
    _impatient,
    _left_out,
    _not_ours,
    _notes,
    distortions_of,
)
from dstcc_kernel.endhosts.planning import Options

from dstcc.clock import Clock
from dstcc.outputs import obstacle
from dstcc.scenario import load_scenario, to_toml

from .flights import SHORT
from .test_flight_parts import OUTCOME, Guest, booted, flown, ring
from .test_network import STORE
from .test_planning import planned

__all__ = ("booted",)


def leave(said: dict[str, Any], **files: str) -> Any:
    """What a guest leaves: its outcome, and files in hosts' folders (``host__name``)."""

    def does(out: Path, how: dict[str, Any]) -> None:
        (out / "outcome.json").write_text(json.dumps(said))
        for name, text in files.items():
            path = out / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return does


def test_a_run_says_what_was_run_and_how_it_ended(
    booted: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "lacking", lambda: ("user namespaces",))
    said = {**OUTCOME, "end_ns": 2_500_000_000, "reason": "ended", "congestion": "reno"}
    said["programs"] = [{"exit_code": 7, "ended_ns": 1_500_000_000, "asked": False, "failed": None}]
    booted.does = leave(
        said, craft_log="0.5 1 err why\n1 2 not ours\n", craft__kept_txt="kept", craft__b_txt="b"
    )
    done = flown(tmp_path)
    meta = json.loads((tmp_path / "run/run.json").read_text())
    assert meta == json.loads(json.dumps(done.meta)) and done.exit_code == 7
    text = to_toml(load_scenario(SHORT, []))
    expected = {
        **{"schema": 1, "kind": "programs", "argv": ["dstcc"], "scenario_name": "short", "backend": "kernel"},
        **{"scenario_sha256": hashlib.sha256(text.encode()).hexdigest(), "seed": 1, "scale": 1.0},
        **{
            "kernel": {"version": "6.12", "sha256": "0"},
            "unconfined": ["user namespaces"],
            "distortions": [],
        },
        **{"congestion": "reno", "mptcp": False, "virtual_s": 2.5, "mission_s": 2.5, "ended": "ended"},
        **{"problem": None, "exit_code": 7},
    }
    assert {name: meta[name] for name in expected} == expected
    assert [link["name"] for link in meta["links"]] == ["Relay 1", "direct"] and "nodes" not in meta
    (program,) = meta["programs"]
    assert (program["number"], program["host"], program["argv"], program["last_words"]) == (
        1,
        "craft",
        ["true"],
        "why",
    )
    assert 0 <= meta["wall_s"] < 60
    assert "the guest is not confined as it should be: this host has no user namespaces" in meta["notes"]
    assert "craft.log: 1 lines are left out, which no program printed" in meta["notes"]
    assert (tmp_path / "run/craft.log").read_text() == "0.5 1 err why\n"
    assert (tmp_path / "run/craft/kept.txt").read_text() == "kept"
    assert (tmp_path / "run/earth").is_dir(), "a host that kept nothing has a folder"
    assert (tmp_path / "run/scenario.toml").read_text().split("\n", 1)[1] == text
    files = {
        path.relative_to(tmp_path / "run").as_posix()
        for path in (tmp_path / "run").rglob("*")
        if path.is_file()
    }
    assert set(meta["entries"]["files"]) == files and meta["entries"]["folders"] == ["craft", "earth"]
    sums = dict(line.split("  ")[::-1] for line in (tmp_path / "run/SHA256SUMS").read_text().splitlines())
    assert sums.keys() == files - {"SHA256SUMS"}
    assert obstacle(tmp_path / "run", OUTPUT) is None


def test_a_run_that_was_stopped_has_what_there_is(
    booted: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dstcc_kernel.endhosts.flight.busy_program", lambda _: None)
    from dstcc_kernel import guest

    def hang(out: Path, how: dict[str, Any]) -> None:
        (out / "outcome.json").unlink()
        how["at_limit"](1)
        raise guest.GuestError("it still ran", out / "console.log")

    booted.does = hang
    meta = flown(tmp_path).meta
    assert (meta["ended"], meta["virtual_s"], meta["mission_s"], meta["congestion"]) == (
        "stopped",
        0,
        0,
        "cubic",
    )
    (program,) = meta["programs"]
    assert (program["exit_code"], program["ended_s"], program["ended_by_dstcc"]) == (None, None, False)


def test_captures_are_kept_where_they_were_asked_for(booted: Guest, tmp_path: Path) -> None:
    def does(out: Path, how: dict[str, Any]) -> None:
        for index in range(2):
            for device in ("craft", "up", "earth", "down"):
                ring(out / f"{device}{index}.ring")

    booted.does = does
    flown(tmp_path, pcapng=True)
    names = {path.name for path in (tmp_path / "run").glob("*.pcapng")}
    assert names == {"1-relay-1.pcapng", "2-direct.pcapng"}
    assert {"up0.ring"} & {path.name for path in (tmp_path / "run").iterdir()} == set()


def test_a_network_has_nodes_and_paths(booted: Guest, tmp_path: Path) -> None:
    booted.does = leave({**OUTCOME, "end_ns": 400 * 10**9})
    meta = flown(tmp_path, STORE).meta
    scale = meta["scale"]
    assert [link["contacts"] for link in meta["links"]] == [
        [[0.0, 400 * scale]],
        [[0.0, 60.0], [360.0, 400 * scale]],
    ]
    assert [node["host"] for node in meta["nodes"]] == ["rover", "orbiter", "earth"]
    (path,) = meta["paths"]
    assert path["via"] == ["uhf", "x-band"] and path["rtt_s"] == pytest.approx(60.0, abs=0.1)
    assert [(link["from"], link["to"]) for link in meta["links"]] == [
        ("rover", "orbiter"),
        ("orbiter", "earth"),
    ]


# ----------------------------------------------------------------------------------------------------------- notes


def program(**changes: Any) -> dict[str, Any]:
    given = {"host": "earth", "argv": ["nc", "-l"], "exit_code": 1, "ended_s": 7.25}
    return {**given, "ended_by_dstcc": False, "last_words": "refused", **changes}


def notes(
    *others: dict[str, Any], said: dict[str, Any] | None = None, console: str = "", start: Any = None
) -> list[str]:
    meta = {"unconfined": [], "programs": [program(exit_code=3), *others]}
    return _notes(meta, said or {}, console, planned(), Clock(start))


def test_programs_beside_the_first_are_noted_where_they_failed() -> None:
    assert notes() == []
    assert notes(program()) == ["`nc -l` on earth ended with 1 at 7.25 s: refused"]
    assert notes(program(last_words=None)) == ["`nc -l` on earth ended with 1 at 7.25 s"]
    assert (
        notes(program(exit_code=0))
        == notes(program(ended_by_dstcc=True))
        == notes(program(exit_code=None))
        == []
    )
    from datetime import UTC, datetime

    (dated,) = notes(program(), start=datetime(2028, 3, 11, 20, 30, tzinfo=UTC))
    assert "2028-03-11" in dated and "20:30:07" in dated


def test_what_was_full_cut_or_missed_is_noted() -> None:
    said = {"full": ["craft"], "cut": ["earth"], "missed_packets": 3}
    assert notes(said=said) == [
        *("craft's folder was full (256 MB; --disk gives it more)", "earth.log was cut at 256 MB (--disk)"),
        "the captures miss 3 packets",
    ]
    memory = "the guest ran out of memory, and its kernel ended a program"
    assert notes(console="[1.0] Out of memory: Killed process 7 (x)") == [memory]
    assert notes(said={"missed_packets": 0}, console="Out of memory") == []


def test_what_is_not_kept_is_noted_by_its_reason() -> None:
    def left(count: int, named: int, host: str = "craft") -> dict[str, Any]:
        return {host: {"a pipe": {"count": count, "named": [f"{host}/{n}" for n in range(named)]}}}

    assert notes(said={"left_out": left(2, 2)}) == ["not kept, a pipe: craft/0, craft/1"]
    five = "not kept, a pipe: craft/0, craft/1, craft/2, craft/3, craft/4"
    assert notes(said={"left_out": left(5, 5)}) == [five]
    assert notes(said={"left_out": left(6, 5)}) == [f"{five}, and 1 more"]
    both = {**left(1200, 3), **left(7, 4, "earth")}
    named = [*(f"craft/{n}" for n in range(3)), *(f"earth/{n}" for n in range(4))]
    assert _left_out({"left_out": both}) == {"a pipe": (1207, named)}
    assert notes(said={"left_out": both})[0].endswith("earth/0, earth/1, and 1,202 more")


def test_the_first_of_those_that_gave_up_is_named() -> None:
    far = planned("link.0.delay_s=240", "run.scale=12")
    programs = [
        *(
            program(argv=["a"], exit_code=0, last_words="timed out"),
            program(argv=["b"], last_words="no file"),
        ),
        *(
            program(argv=["c"], last_words="Connection timed out"),
            program(argv=["d"], last_words="Broken pipe"),
        ),
    ]
    assert _impatient({"programs": programs}, far).startswith("c ended as after a timeout")
    just, above = (planned(f"link.0.delay_s={delay_s}", "run.scale=1") for delay_s in (5.0, 5.001))
    assert _impatient({"programs": programs}, just) == "", "ten seconds are what --scale auto has at most"
    assert "a round trip takes 10 s here" in _impatient({"programs": programs}, above)


# ----------------------------------------------------------------------------------------------------- distortions


def test_round_trips_beyond_linuxs_are_said_first() -> None:
    """537 s and more it cannot measure; three of 40 s are its longest first timeout."""

    def first(round_trip_s: float) -> str:
        said = distortions_of(
            planned(f"link.1.delay_s={round_trip_s / 2}", "link.1.queue_bytes=1500", "run.scale=1")
        )
        return said[0] if said else ""

    assert first(40.0) == ""
    assert first(40.1).startswith("round trips of 40.1 s: Linux's first timeout is clipped at 120 s")
    assert first(536.0).startswith("round trips of 536 s: Linux's first timeout")
    assert first(536.1).startswith(
        "round trips of 536.1 s: Linux's TCP measures at most 536 s, so TCP does not work"
    )


def test_programs_clocks_run_in_emulated_time() -> None:
    assert distortions_of(planned("run.scale=1")) == ()
    said = distortions_of(planned("run.scale=4"))
    assert said[0].startswith(
        "programs' clocks and timers run in emulated time: a second of theirs is 4 s of mission"
    )
    assert "curl's patience of 300 s → 1200 s" in said[0]


def test_of_a_network_the_longest_path_counts() -> None:
    mission = planned(scenario=STORE)
    assert mission.network is not None
    for longest_ns, clipped in ((20 * 10**9, False), (20_050_000_000, True)):
        said = distortions_of(replace(mission, longest_ns=longest_ns, scale=1.0))
        assert any("clipped" in note for note in said) == clipped
    moving = planned("link.1.delay_s=[[0,1],[100,25],[200,1]]", "run.scale=1")
    assert "round trips of 4" in distortions_of(moving)[0], "the longest of a delay that moves"


# ---------------------------------------------------------------------------------------------------- such a run


def test_a_run_is_all_that_its_entries_say_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "craft/deep").mkdir(parents=True)
    (tmp_path / ".guest").mkdir()
    (tmp_path / ".guest/x").touch()
    for name in ("craft.log", "craft/deep/file"):
        (tmp_path / name).touch()
    entries = _entries(tmp_path)
    own = ["SHA256SUMS", "run.json", "scenario.toml"]
    assert entries == {
        "folders": ["craft", "craft/deep"],
        "files": sorted([*own, "craft.log", "craft/deep/file"]),
    }
    (tmp_path / ".guest/x").unlink()
    (tmp_path / ".guest").rmdir()

    def said(**changes: Any) -> str | None:
        (tmp_path / "run.json").write_text(
            json.dumps({"schema": 1, "kind": "programs", "entries": entries, **changes})
        )
        return _not_ours(tmp_path)

    assert said() is None
    for wrong in ({"schema": 2}, {"kind": "x"}):
        assert said(**wrong) == "has a run.json that is not of `dstcc run`"
    empty: dict[str, Any] = {"entries": {}}
    for damaged in ({"entries": 5}, empty):
        assert said(**damaged) == "has a run.json that is damaged, or not of `dstcc run`"
    (tmp_path / "craft/mine").touch()
    assert said() == "holds craft/mine, which is no part of the run"
    (tmp_path / "craft/mine").unlink()
    (tmp_path / "craft.log").unlink()
    assert said() is None, "what is gone is nobody's"
    (tmp_path / "craft.log").symlink_to(tmp_path / "elsewhere")
    assert said() == "holds craft.log, which is no part of the run"
    (tmp_path / "run.json").unlink()
    assert _not_ours(tmp_path) == "has no run.json"


@pytest.mark.parametrize(
    ("expect", "noted"),
    [
        ({}, False),
        ({"programs.exit_code": "== 0"}, False),
        ({"goodput_bps": "> 1"}, True),
        ({"programs.exit_code": "== 0", "goodput_bps": "> 1"}, True),
    ],
)
def test_bounds_of_trials_are_not_checked_here(
    booted: Guest, tmp_path: Path, expect: dict[str, str], noted: bool
) -> None:
    given = load_scenario(SHORT, [])
    scenario = given.model_copy(update={"expect": expect})
    options = Options(("true",), here=tmp_path)
    meta = fly(tmp_path / "run", scenario, options, argv=[]).meta
    assert (outcome.UNCHECKED in meta["notes"]) == noted
