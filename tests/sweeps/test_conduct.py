"""A sweep goes on after anything, tries again what fails, and ends with the same bytes whoever carried it and how."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dstcc import engine
from dstcc.engine import EngineConfig, EngineResult
from dstcc.errors import DstccError, InputError, RunError
from dstcc.report.study.load import load_study_report
from dstcc.run import write_run
from dstcc.run.entries import Entries
from dstcc.scenario import load_scenario, load_source, parse_override
from dstcc.sweeps import conduct, results
from dstcc.sweeps.call import Sweep
from dstcc.sweeps.conduct import Conductor, Pace, Progress
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit
from dstcc.sweeps.results import fold, missing
from tests.made_results import TOY, toy_simulate
from tests.sweeps.made import STUDY, TRIALS, Inline, contents, sweep, write

pytestmark = pytest.mark.usefixtures("toy")


def stop_after(count: int):
    """Ctrl-C before the unit after so many."""
    seen: list[Unit] = []

    def before(unit: Unit) -> None:
        if len(seen) == count:
            raise KeyboardInterrupt
        seen.append(unit)

    return before


def test_the_table_has_what_emulate_has(tmp_path: Path, study: Path) -> None:
    swept = sweep(study, tmp_path / "out")
    assert (swept.trials, swept.done, swept.skipped, swept.cells, swept.failed) == (TRIALS, TRIALS, 0, 2, ())
    table = pq.read_table(tmp_path / "out" / "trials").to_pylist()
    wanted = []
    for place, loss in enumerate(("1e-3", "1e-2")):
        overrides = [parse_override(f"link.0.loss.packet={loss}"), parse_override("run.seeds=2")]
        scenario = load_scenario(study.parent / "toy.toml", overrides)
        write_run(tmp_path / str(place), scenario, load_source(scenario), argv=[])
        wanted += pq.read_table(tmp_path / str(place) / "trials.parquet").to_pylist()
    assert len(table) == len(wanted) == TRIALS
    for row, one in zip(table, wanted, strict=True):
        same = set(row) & set(one)
        assert {"seed", "congestion", "playback_ratio", "layers_played.1", "end_s", "oracle_ratio"} <= same
        assert {name: row[name] for name in same} == {name: one[name] for name in same}


@pytest.mark.parametrize("done", [0, 1, 5, 7])
def test_a_stopped_sweep_goes_on_to_the_same_bytes(tmp_path: Path, study: Path, done: int) -> None:
    sweep(study, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "out", stop_after(done))
    again = sweep(study, tmp_path / "out")
    assert (again.skipped, again.done) == (done, TRIALS - done)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not any(Place(tmp_path / "out").fresh.found())


def test_a_finished_sweep_carries_nothing_and_changes_nothing(tmp_path: Path, study: Path) -> None:
    sweep(study, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "trials").iterdir()}
    again = sweep(study, tmp_path / "out")
    assert (again.skipped, again.done) == (TRIALS, 0)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "trials").iterdir()} == before


def test_rows_handed_over_are_the_same_bytes(tmp_path: Path, study: Path) -> None:
    sweep(study, tmp_path / "one")
    sweep(study, tmp_path / "two", hands_over=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_parts_come_while_it_runs(tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct, "FOLD_S", 0.0)
    seen = []

    def look(_unit: Unit) -> None:
        folder = tmp_path / "out" / "trials"
        seen.append(pq.read_table(folder).num_rows if folder.is_dir() else 0)

    sweep(study, tmp_path / "out", look)
    assert seen == [0, 0, 2, 2, 4, 4, 6, 6]
    assert len(contents(tmp_path / "out")) == 1
    sweep(study, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_where_nobody_measures_trials_the_rest_takes_as_long_each_as_those_before(
    tmp_path: Path, study: Path
) -> None:
    """Of a clock of our own: a batch of two trials takes 5 s. Parts come once 10 s are over, after the third."""
    asked = Sweep(study, tmp_path / "out")
    place, now, seen = Place(tmp_path / "out"), [100.0], []

    class Unmeasured(Inline):
        def wait(self, seconds: float) -> list[Ended]:
            now[0] += 5
            return [replace(one, seconds=None) for one in super().wait(seconds)]

    def watch(progress: Progress) -> None:
        rows = pq.read_table(place.trials).num_rows if place.trials.is_dir() else 0
        seen.append((progress.done, progress.left_s, rows))

    place.path.mkdir()
    with place.locked():
        asked.begin(place)
        conductor = Conductor(asked.plan, place, Unmeasured(place), watch=watch, clock=lambda: now[0])
        swept = conductor.carry()
    # 4 trials in 10 s, so 4 in as many; 6 in 15 s, so 2 in 5 s
    assert seen == [(2, None, 0), (4, (10.0, 10.0), 0), (6, (5.0, 5.0), 6), (8, (0.0, 0.0), 6)]
    assert (swept.wall_s, swept.busy_s, swept.done) == (20.0, 0.0, TRIALS)


def test_what_was_measured_adds_up(tmp_path: Path, study: Path) -> None:
    seen: list[Progress] = []
    swept = sweep(study, tmp_path / "out", watch=seen.append)
    assert swept.busy_s == pytest.approx(0.8)  # 8 of 0.1 s
    assert [one.left_s for one in seen] == [None, *(pytest.approx((0.1 * n, 0.1 * n)) for n in (4, 2, 0))]
    assert [(one.trials, one.done, one.failed) for one in seen] == [(8, n, 0) for n in (2, 4, 6, 8)]
    document = swept.document()
    assert (document["trials"], document["cells"], document["failed"], document["engine"]) == (
        8,
        2,
        0,
        "inline",
    )


def test_a_unit_that_fails_is_tried_again(tmp_path: Path, study: Path) -> None:
    tries: list[str] = []

    def before(unit: Unit) -> Ended | None:
        tries.append(unit.key)
        return Ended(unit, "today only") if tries.count(unit.key) <= 2 and unit.key == tries[0] else None

    swept = sweep(study, tmp_path / "out", before)
    assert swept.failed == () and len(tries) == TRIALS + 2
    sweep(study, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_unit_that_only_fails_is_noted_and_the_rest_goes_on(tmp_path: Path, study: Path) -> None:
    tries: list[str] = []

    def before(unit: Unit) -> Ended | None:
        bad = unit.cell == 1 and unit.id == "newreno+minrtt/s2"
        tries.extend([unit.key] * bad)
        return Ended(unit, f"try {len(tries)}", "Traceback: here") if bad else None

    told: list[Progress] = []
    swept = sweep(study, tmp_path / "out", before, watch=told.append)
    assert len(tries) == 3 and swept.done == TRIALS - 1
    assert (told[-1].done, told[-1].failed, told[-1].left_s) == (TRIALS - 1, 1, (0, 0))
    (failed,) = Place(tmp_path / "out").failures()
    assert failed["trial"] == "newreno+minrtt/s2 of toy, link.0.loss.packet = 0.01"
    assert failed["tries"] == ["try 1", "try 2", "try 3"] and failed["traceback"] == "Traceback: here"
    assert pq.read_table(tmp_path / "out" / "trials").num_rows == TRIALS - 1
    assert sweep(study, tmp_path / "out").done == 1
    assert Place(tmp_path / "out").failures() == []


def test_no_retries_and_units_that_are_not_to_blame(tmp_path: Path, study: Path) -> None:
    tries: list[str] = []

    def before(unit: Unit) -> Ended | None:
        tries.append(unit.key)
        return Ended(unit, "its worker died", blamed=False) if tries.count(unit.key) <= 5 else None

    swept = sweep(study, tmp_path / "out", before, retries=0)
    assert swept.failed == () and swept.done == TRIALS


def test_an_exception_in_a_trial_leaves_its_traceback(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(config: EngineConfig) -> EngineResult:
        if config.links[0].loss.rate > 5e-3:
            raise ZeroDivisionError("by nothing")
        return toy_simulate(config)

    monkeypatch.setattr(engine, "simulate", broken)
    swept = sweep(study, tmp_path / "out", retries=1)
    assert (swept.done, len(swept.failed)) == (4, 4)
    for failed in swept.failed:
        assert failed["tries"] == ["ZeroDivisionError: by nothing"] * 2
        assert 'raise ZeroDivisionError("by nothing")' in failed["traceback"]


def test_two_halves_make_the_whole(tmp_path: Path, study: Path) -> None:
    """Two people's results: by --merge, and by copying files."""
    sweep(study, tmp_path / "whole")
    halves = []
    for seed in (1, 2):
        text = STUDY.replace("seeds = 2", f"seeds = 1\nseed = {seed}")
        halves.append(tmp_path / f"half-{seed}")
        sweep(write(tmp_path / f"given-{seed}", text), halves[-1])
    merged = Sweep(study, tmp_path / "merged")
    assert merged.merge(halves) == TRIALS
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    for half in halves:
        shutil.copytree(half / "trials", tmp_path / "copied" / "trials", dirs_exist_ok=True)
    shutil.copy(halves[0] / "study.json", tmp_path / "copied")
    swept = sweep(study, tmp_path / "copied")
    assert (swept.skipped, swept.done) == (TRIALS, 0)
    assert contents(tmp_path / "copied") == contents(tmp_path / "whole")


def test_merging_takes_what_is_in_no_part_yet_and_refuses_what_is_no_study(
    tmp_path: Path, study: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "theirs", stop_after(3))
    place = Place(tmp_path / "theirs")
    plan = Sweep(study, tmp_path / "theirs").plan
    with Inline(place) as executor:
        number = missing(plan, place)[0]
        executor.submit([plan.units[number]])
        executor.wait(0)
    assert len(list(place.fresh.found())) == 1
    merged = Sweep(study, tmp_path / "mine")
    assert merged.merge([tmp_path / "theirs"]) == 4
    with pytest.raises(RunError, match=r"no study: it has no study\.json"):
        merged.merge([tmp_path])


def test_results_that_the_study_no_longer_asks_for_stay(tmp_path: Path, study: Path) -> None:
    sweep(study, tmp_path / "out")
    whole = contents(tmp_path / "out")
    study.write_text(STUDY.replace("1e-3, ", ""))
    swept = sweep(study, tmp_path / "out")
    assert (swept.trials, swept.skipped, swept.done) == (4, 4, 0)
    assert pq.read_table(tmp_path / "out" / "trials")["link.0.loss.packet"].to_pylist() == [0.01] * 4
    assert pq.read_table(tmp_path / "out" / "others").num_rows == 4
    study.write_text(STUDY)
    swept = sweep(study, tmp_path / "out")
    assert (swept.skipped, swept.done) == (8, 0)
    assert contents(tmp_path / "out") == whole
    assert list((tmp_path / "out" / "others").iterdir()) == []


def test_results_of_another_version_are_named_and_not_used(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dstcc.run import identity

    sweep(study, tmp_path / "out")
    old = identity.made_by("simulator")
    monkeypatch.setattr("dstcc.run.identity.code_digest", lambda *_: "f" * 64)
    identity.made_by.cache_clear()
    notes: list[str] = []
    try:
        swept = sweep(study, tmp_path / "out", tell=notes.append)
    finally:
        identity.made_by.cache_clear()
    assert swept.done == TRIALS
    assert notes == [
        f"{TRIALS} results in {tmp_path / 'out'} are by {old}, and are not used: this is dstcc 0.1.0 ffffffff simulator"
    ]


def test_a_trial_in_two_parts_counts_once(tmp_path: Path, study: Path) -> None:
    sweep(study, tmp_path / "out")
    whole = contents(tmp_path / "out")
    place, plan = Place(tmp_path / "out"), Sweep(study, tmp_path / "out").plan
    row = pq.read_table(tmp_path / "out" / "trials").to_pylist()[3]
    from dstcc.sweeps.worker import keep

    keep(place, plan.units[3], row)
    assert fold(plan, place) == 1
    assert pq.read_table(tmp_path / "out" / "trials").num_rows == TRIALS + 1
    sweep(study, tmp_path / "out")
    assert contents(tmp_path / "out") == whole


@pytest.mark.parametrize("where", ["fresh", "part"])
def test_a_full_disk_loses_no_result(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    left = [3 if where == "fresh" else 0]

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "out"))

    with monkeypatch.context() as patch:
        if where == "part":
            patch.setattr(pq, "write_table", full)
        else:
            real = Entries.save

            def save(store: Entries, key: str, kept: dict[str, object]) -> None:
                left[0] -= 1
                if left[0] < 0:
                    full()
                real(store, key, kept)

            patch.setattr(Entries, "save", save)
        with pytest.raises(OSError, match="No space left"):
            sweep(study, tmp_path / "out", hands_over=True)
    swept = sweep(study, tmp_path / "out")
    assert swept.skipped == (3 if where == "fresh" else TRIALS)
    sweep(study, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["part", "study.json"])
def test_damage_is_named(tmp_path: Path, study: Path, damage: str) -> None:
    sweep(study, tmp_path / "out")
    path = next((tmp_path / "out" / "trials").iterdir()) if damage == "part" else tmp_path / "out" / damage
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match=rf"{path.name}"):
        sweep(study, tmp_path / "out")


@pytest.mark.parametrize("there", ["file", "other", "scenario", "trainings"])
def test_places_that_are_no_study(tmp_path: Path, study: Path, there: str) -> None:
    out = tmp_path / "out"
    if there == "file":
        out.write_text("x")
    elif there == "other":
        out.mkdir()
        (out / "notes.txt").write_text("x")
    elif there == "scenario":
        sweep(study, out)
        shutil.copy(study.parent / "toy.toml", out)
        shutil.copy(study, out / "mine.toml")
        study = out / "mine.toml"
    else:
        sweep(study, out)
        (out / "study.json").write_text(
            json.dumps({**json.loads((out / "study.json").read_text()), "kind": "trainings"})
        )
    with pytest.raises(InputError, match=rf"{out}: "):
        sweep(study, out)


@pytest.mark.parametrize("finished", [0, 1])
def test_a_process_that_is_killed_while_it_makes_the_folder_leaves_a_sweep_to_go_on_with(
    tmp_path: Path, study: Path, finished: int
) -> None:
    """Of its two files it has written none or one, and has begun another, whose hidden sibling stays."""
    script = (
        "import os, sys; from pathlib import Path; from dstcc import atomic; from dstcc.sweeps import places\n"
        f"left = [{finished}]\n"
        "def write(path, text):\n"
        "    if left[0]:\n"
        "        left[0] -= 1; atomic.atomic_write(path, text)\n"
        "    else:\n"
        "        with atomic.atomic_file(path): os._exit(9)\n"
        "places.atomic_write = write\n"
        "from dstcc.sweeps.call import Sweep\n"
        "Sweep(Path(sys.argv[1]), Path(sys.argv[2])).begin(places.Place(Path(sys.argv[2])))"
    )
    killed = subprocess.run([sys.executable, "-c", script, study, tmp_path / "out"], check=False)
    assert killed.returncode == 9
    if finished:
        with pytest.raises(DstccError, match=r"study\.toml"):
            load_study_report(tmp_path / "out")
    sweep(study, tmp_path / "out")
    sweep(study, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not [one for one in (tmp_path / "out").iterdir() if one.name.startswith(".")]


def test_a_sweep_that_is_stopped_before_the_new_checksums_of_an_edited_study_goes_on(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part keeps its name and has another column: the old checksums would say that it rotted."""
    sweep(study, tmp_path / "out")
    study.write_text(STUDY.replace("[1e-3, 1e-2]", '{values = [1e-3, 1e-2], as = "loss"}'))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(results, "atomic_write", stop)
        sweep(study, tmp_path / "out")
    assert sweep(study, tmp_path / "out").skipped == TRIALS


def test_two_processes_do_not_conduct_one_sweep(tmp_path: Path, study: Path) -> None:
    with (
        Place(tmp_path / "out").locked(),
        pytest.raises(InputError, match="another process conducts this sweep"),
    ):
        sweep(study, tmp_path / "out")


def test_an_exclusion_without_effect_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    text = STUDY + '[[exclude]]\n"link.0.loss.packet" = "> 0.5"\n[[exclude]]\n"link.0.loss.packet" = 0.01\n'
    Sweep(write(tmp_path, text), None, tell=notes.append)
    assert notes == ["study: exclude.0 leaves nothing out"]


def test_a_bad_point_is_named_before_anything_runs(tmp_path: Path) -> None:
    study = write(tmp_path / "given", STUDY.replace("1e-2", "1.5"), TOY)
    with pytest.raises(InputError, match=r"study, at toy, link\.0\.loss\.packet = 1\.5: "):
        sweep(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_remaining_time_covers_what_is_measured() -> None:
    pace = Pace(workers=2)
    for seconds in (1.0, 3.0):
        pace.add(seconds)
    assert pace.left(100) is None
    pace.add(2.0)
    low, high = pace.left(100)
    # 2 s on average, deviation 1 s: 1.96 · sqrt(1/3 + 1/100) = 1.148 s; 100 trials on two workers
    assert (low, high) == pytest.approx((50 * (2 - 1.1482), 50 * (2 + 1.1482)), rel=1e-3)
