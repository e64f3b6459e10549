"""Studies of programs. The runs themselves are toys here; tests/kernel/endhosts/test_studies.py has guests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.errors import DstccError, InputError
from dstcc.report.study import load_study_report, render_study
from dstcc.scenario import Scenario
from dstcc.sweeps import programs
from dstcc.sweeps.call import Sweep
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.places import Place
from dstcc.sweeps.query import Tables
from tests.quick import QUICK
from tests.sweeps.made import contents, sweep, write

SCENARIO = f"""{QUICK}
[programs]
run = "sh -c 'echo {{size}} {{patience_s}}'"
on = {{earth = ["cat"]}}
words = {{size = 1, patience_s = 5}}
"""
STUDY = """
[study]
scenario = "toy.toml"
programs = true
seeds = 2
[vary]
programs.words.size = [1, 2, 3]
programs.words.patience_s = ["5 s", "1 min"]
link.0.loss.packet = [1e-3, 1e-2]
[[exclude]]
size = 3
link.0.loss.packet = 1e-2
"""
RUNS = (3 * 2 * 2 - 2) * 2


def toy(scenario: Scenario) -> dict[str, float | None]:
    """Numbers that depend on what varies; one that not every run has."""
    assert scenario.programs is not None
    size = float(str(scenario.programs.words["size"]))
    return {
        "succeeded": 1.0,
        "exit_code": 0.0,
        "completed_s": size * scenario.run.seed,
        "down_bytes": size * 1000,
        "tcp_sent_bytes": None,
        "link.down.bytes": 5.0,
        **({"retries": 2.0} if size > 1 else {}),
    }


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    facts = {"version": "6.12", "sha256": "f" * 64}
    monkeypatch.setattr(programs, "run_programs", toy)
    monkeypatch.setattr(programs, "built", lambda: SimpleNamespace(facts=facts))
    programs._maker.cache_clear()
    yield
    programs._maker.cache_clear()


@pytest.mark.usefixtures("toys")
def test_every_point_and_seed_is_a_run(tmp_path: Path) -> None:
    study = write(tmp_path / "given", STUDY, SCENARIO)
    done = sweep(study, tmp_path / "out")
    assert (done.trials, done.done, done.failed) == (RUNS, RUNS, ())
    with Tables(tmp_path / "out") as tables:
        rows = tables.ask("SELECT * FROM trials").to_pylist()
        (mean,) = tables.ask("SELECT avg(retries) AS mean, count(retries) AS has FROM trials").to_pylist()
    assert len(rows) == RUNS
    # a word's unit is its name's; a number that a run has not is null, one that none has is no column
    assert {row["patience_s"] for row in rows} == {5.0, 60.0}
    assert all((row["retries"] is None) == (row["size"] == 1) for row in rows)
    assert mean == {"mean": 2.0, "has": 12}
    assert "tcp_sent_bytes" not in rows[0] and rows[0]["algorithm"] == "sh"
    assert all(row["completed_s"] == row["size"] * row["seed"] for row in rows)


@pytest.mark.usefixtures("toys")
def test_an_interrupted_study_comes_to_the_same_bytes(tmp_path: Path) -> None:
    study = write(tmp_path / "given", STUDY, SCENARIO)
    sweep(study, tmp_path / "whole")
    count = 0

    def stop(unit: Any) -> Ended | None:
        nonlocal count
        count += 1
        if count % 5 == 0:
            raise KeyboardInterrupt
        return None

    for _ in range(RUNS):
        try:
            sweep(study, tmp_path / "parts", stop)
            break
        except KeyboardInterrupt:
            continue
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    again = sweep(study, tmp_path / "whole")
    assert (again.done, again.skipped) == (0, RUNS)


@pytest.mark.usefixtures("toys")
def test_the_report_has_figures_over_axes(tmp_path: Path) -> None:
    study = write(tmp_path / "given", STUDY, SCENARIO)
    sweep(study, tmp_path / "out")
    report = load_study_report(tmp_path / "out")
    assert [metric.key for metric in report.metrics] == ["completed_s", "down_bytes", "retries", "succeeded"]
    assert report.overall["retries", "sh"].value == 2.0
    page = render_study(report)
    assert "Over size" in page and "Retries" in page and "Succeeded" in page
    assert "Completed" in render_study(report, "md")


@pytest.mark.usefixtures("toys")
def test_a_run_that_cannot_end_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_scenario: Scenario) -> dict[str, float | None]:
        raise DstccError(
            "the limit of 600 s passed (programs.wall_s) at mission time 3 s; `sh` on craft still ran"
        )

    monkeypatch.setattr(programs, "run_programs", fails)
    study = write(tmp_path / "given", STUDY.replace("seeds = 2", "seeds = 1\nretries = 0"), SCENARIO)
    done = sweep(study, tmp_path / "out")
    assert len(done.failed) == RUNS // 2
    assert "programs.wall_s" in Place(tmp_path / "out").failures()[0]["error"]


@pytest.mark.usefixtures("toys")
def test_a_number_of_an_axis_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "run_programs", lambda _scenario: {"succeeded": 1.0, "size": 7.0})
    study = write(tmp_path / "given", STUDY.replace("seeds = 2", "retries = 0"), SCENARIO)
    done = sweep(study, tmp_path / "out")
    assert len(done.failed) == RUNS // 2
    assert (
        "a program prints 'size', which is a column of the study"
        in Place(tmp_path / "out").failures()[0]["error"]
    )


@pytest.mark.usefixtures("toys")
def test_what_programs_are_decides_a_run(tmp_path: Path) -> None:
    """Words, environment, settings, the content of files on a command line; not where they lie."""

    def keys(scenario: str, folder: str = "given", script: str = "echo") -> list[str]:
        given = write(tmp_path / folder, STUDY, scenario)
        (tmp_path / folder / "run.sh").write_text(script)
        return [piece.key for piece in Sweep(given, None).plan.pieces]

    with_file = SCENARIO.replace('["cat"]', '["sh /run/here/run.sh"]')
    assert keys(with_file) == keys(with_file, "elsewhere")
    others = [
        keys(SCENARIO),
        keys(with_file, script="echo 2"),
        keys(f"{SCENARIO}env = {{A = 1}}"),
        keys(f"{SCENARIO}sysctl.net.ipv4.tcp_sack = 0"),
        keys(f'{SCENARIO}congestion = "newreno"'),
        keys(f"{SCENARIO}disk_mb = 5"),
        keys(with_file),
    ]
    assert len({key for found in others for key in found}) == len(others) * RUNS


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (
            STUDY.replace("words.size =", "words.sise =").replace("\nsize", "\nsise"),
            "no command line has {sise}",
        ),
        (
            STUDY.replace("programs = true", 'programs = true\ncongestion = "cubic"'),
            "study.congestion: is of trials",
        ),
        (
            STUDY.replace("programs = true", 'programs = true\nbackend = "kernel"'),
            "study.backend: is of trials",
        ),
        (STUDY.replace("programs = true", "programs = 1"), "study.programs = 1: must be true or false"),
        (f"{STUDY}[set]\nprograms.on.earth = ['get {{what}}']\n", "{what} has no value"),
        (
            f"{STUDY}[set]\nprograms.run = 'no-such-program {{size}} {{patience_s}}'\n",
            "no-such-program: no such program",
        ),
        (f"{STUDY}[set]\nprograms.on.mars = ['cat']\n", "--on mars: the hosts are craft, earth"),
        (
            f"{STUDY.partition('[[exclude]]')[0]}video.loop_to_s = [60, 70]\n",
            "are the same trial: video.loop_to_s has no effect there",
        ),
    ],
)
@pytest.mark.usefixtures("toys")
def test_what_cannot_run_is_named_before_anything_runs(tmp_path: Path, study: str, message: str) -> None:
    given = write(tmp_path / "given", study, SCENARIO)
    with pytest.raises(InputError) as refused:
        Sweep(given, tmp_path / "out")
    assert message in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("toys")
def test_a_scenario_without_programs_is_named(tmp_path: Path) -> None:
    study = write(tmp_path / "given", "[study]\nscenario = 'toy.toml'\nprograms = true\n", QUICK)
    with pytest.raises(InputError, match="programs: missing"):
        Sweep(study, tmp_path / "out")


@pytest.mark.usefixtures("toys")
def test_a_static_program_is_refused_with_mptcp(tmp_path: Path) -> None:
    """The preloaded library that makes sockets MPTCP's works through the dynamic linker."""
    static = tmp_path / "given/static"
    study = write(tmp_path / "given", STUDY, SCENARIO.replace('["cat"]', '["./static"]') + "mptcp = true\n")
    # a 64-bit ELF header with one program header, PT_LOAD
    static.write_bytes(
        b"\x7fELF\x02\x01"
        + bytes(26)
        + (64).to_bytes(8, "little")
        + bytes(14)
        + b"\x38\0\1\0"
        + bytes(6)
        + b"\1"
        + bytes(55)
    )
    static.chmod(0o755)
    with pytest.raises(InputError, match=r"\./static: is statically linked"):
        Sweep(study, None)
