"""What commands ask of the packages below them, and how they end, with results that are made up here."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from dstcc_cli import (
    complete,
    doctor,
    emulate,
    encode,
    kernel,
    ladder,
    main,
    output,
    query,
    report,
    reproduce,
    run,
    shell,
    sweep,
    train,
    tune,
)
from dstcc_cli.main import main as dstcc

from dstcc.clock import Clock
from dstcc.errors import DstccError
from dstcc.metrics import LEVELS, METRICS
from dstcc.run import TrialRow
from dstcc.run.trials import TrialKey
from dstcc.stats import Estimate


def call(*words: object) -> Result:
    return CliRunner().invoke(dstcc, list(map(str, words)), env={"COLUMNS": "160"})


# ------------------------------------------------------------------------------------------------------------ train


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What a training was asked; ``during`` happens in it."""
    import dstcc.train as trainings

    seen = SimpleNamespace(during=lambda _asked: None)

    def fake(scenario: Path, output: Path, **asked: Any) -> Any:
        seen.asked = {"scenario": scenario, "output": output, **asked}
        seen.during(asked)
        evaluation = Estimate(0.5, 0.4, 0.6, 8)
        return SimpleNamespace(
            algorithm="iodst-dqn",
            steps=320,
            reason="",
            env_steps_per_s=100.0,
            metric="weight",
            evaluation=evaluation,
            policy=Path("/p"),
            document=lambda: {"policy": "/p"},
        )

    monkeypatch.setattr(trainings, "train", fake)
    monkeypatch.setattr(trainings, "steps_of", lambda *_, **__: 640)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    return seen


def test_a_training_says_each_point_as_it_comes(trained: SimpleNamespace) -> None:
    point = SimpleNamespace(step=32, score=0.25, best=0.5, loss=1.0, random=0.1)

    def during(asked: dict[str, Any]) -> None:
        asked["watch"](16, None)
        asked["watch"](32, point)
        assert asked["stop"]() is False

    trained.during = during
    done = call("train", "s.toml", "-o", "out")
    assert (
        done.exit_code == 0 and done.stderr == "step         32  score 0.25 (best 0.5)  loss 1  random 0.1\n"
    )
    assert "iodst-dqn, 320 steps (all steps done)" in done.stdout
    asked = trained.asked
    assert (asked["scenario"], asked["output"], asked["threads"]) == (Path("s.toml"), Path("out"), 7)
    assert [asked[key] for key in ("algorithm", "steps", "seed", "resume", "device")] == [
        None,
        None,
        None,
        False,
        "cpu",
    ]
    done = call(
        "train", "s.toml", "-o", "out", "--resume", "--steps", 5, "--seed", 0, "--device", "cuda", "--json"
    )
    assert json.loads(done.stdout) == {"policy": "/p"}
    asked = trained.asked
    assert [asked[key] for key in ("steps", "seed", "resume", "device")] == [5, 0, True, "cuda"]


def test_an_old_name_of_an_algorithm_is_said(trained: SimpleNamespace) -> None:
    from dstcc.train import todays

    old = "dstcc"
    assert todays(old) != old
    said = call("train", "s.toml", "-o", "out", "--algorithm", old).stderr
    assert said == (
        f"dstcc: --algorithm {old}: its learned part is gru-mpc; trained is {todays(old)}, called so before\n"
    )
    assert call("train", "s.toml", "-o", "out", "--algorithm", "iodst-dqn").stderr == ""


def test_progress_is_that_of_the_steps(trained: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    advanced: list[float] = []

    @contextmanager
    def bar(what: str, total: float | None) -> Any:
        advanced.append(total or -1)
        yield advanced.append

    def during(asked: dict[str, Any]) -> None:
        for done in (32, 64, 160):
            asked["watch"](done, None)

    monkeypatch.setattr(train, "progress", bar)
    trained.during = during
    call("train", "s.toml", "-o", "out")
    assert advanced == [640, 32, 32, 96]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_first_signal_saves_the_training(
    trained: SimpleNamespace, number: signal.Signals, code: int
) -> None:
    from dstcc.learn.training.loop import Interrupted

    def during(asked: dict[str, Any]) -> None:
        signal.raise_signal(number)
        assert asked["stop"]() is True
        raise Interrupted

    trained.during = during
    ours = signal.signal(number, signal.SIG_DFL)  # nohup ignores SIGHUP
    try:
        before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        done = call("train", "s.toml", "-o", "out")
        assert {one: signal.getsignal(one) for one in before} == before
    finally:
        signal.signal(number, ours)
    assert done.exit_code == code and done.stderr.startswith("dstcc: saved in out; --resume continues\n")


def test_a_second_signal_ends_it_and_one_that_was_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), train._asked_to_stop() as asked:
            signal.raise_signal(signal.SIGHUP)
            assert asked == []
            signal.raise_signal(signal.SIGINT)
            assert asked == [signal.SIGINT]
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_has_no_handlers() -> None:
    found: list[Any] = []

    def look() -> None:
        before = signal.getsignal(signal.SIGINT)
        with train._asked_to_stop() as asked:
            found.extend([asked, signal.getsignal(signal.SIGINT) is before])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [[], True]


def test_code_rates_are_learned_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc.learn import ltp_rates

    seen: list[Any] = []
    table = SimpleNamespace(trained={"matrices": 12_345, "states": 8})

    def write(*given: Any, **how: Any) -> Any:
        seen.append((given, how))
        return SimpleNamespace(table=table, document=lambda: {"states": 8})

    monkeypatch.setattr(ltp_rates, "write", write)
    words = ("train", "s.toml", "-o", "r.json", "--algorithm", "ltp-rates")
    assert call(*words, "--steps", 9, "--seed", 3).stdout == "r.json: 12,345 matrices, 8 states\n"
    assert seen == [((Path("s.toml"), Path("r.json")), {"episodes": 9, "seed": 3})]
    assert json.loads(call(*words, "--json").stdout) == {"states": 8}
    for option, said in ((("--resume",), "--resume: "), (("--device", "cuda"), "--device cuda: ")):
        done = call(*words, *option)
        assert done.exit_code == 2 and f"{said}ltp-rates is a table" in done.stderr


# ------------------------------------------------------------------------------------------------------------ sweep


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """How a sweep was made and what it was asked."""
    from dstcc.sweeps import call as calls

    seen = SimpleNamespace(asked=[])
    result = SimpleNamespace(
        failed=(), done=1, skipped=0, trials=1, cells=1, name="m", folder=Path("o"), wall_s=1.0
    )

    class Sweep:
        def __init__(self, study: Path, folder: Path | None, **how: Any) -> None:
            seen.made = (study, folder, how)
            self.study, self.plan = SimpleNamespace(name="mars"), SimpleNamespace(units=[1, 2, 3])

        def run(self, executor: Any, **how: Any) -> Any:
            seen.asked.append(("run", executor, how))
            return result

        def estimate(self, jobs: int | None) -> Any:
            seen.asked.append(("estimate", jobs))
            return SimpleNamespace(document=lambda: {"dry_run": True})

        def merge(self, others: Any) -> int:
            seen.asked.append(("merge", others))
            return 2

        def script(self, executor: Any, limit_s: float | None) -> Path | None:
            seen.asked.append(("script", executor, limit_s))
            return None

    monkeypatch.setattr(calls, "Sweep", Sweep)
    for name in ("local", "slurm", "ray"):
        monkeypatch.setattr(calls, name, lambda *given, name=name: (name, *given))
    return seen


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ((), ("local", None)),
        (("--jobs", 3), ("local", 3)),
        (("--engine", "slurm"), ("slurm", None, 1, ())),
        (("--engine", "slurm", "--tasks", 9, "--jobs", 2, "--slurm", "--x"), ("slurm", 9, 2, ("--x",))),
        (("--engine", "ray"), ("ray", None, None)),
        (("--engine", "ray", "--address", "a:1", "--jobs", 4), ("ray", "a:1", 4)),
    ],
)
def test_a_sweep_has_the_executor_that_is_asked_for(
    swept: SimpleNamespace, words: tuple[Any, ...], asked: tuple[Any, ...]
) -> None:
    done = call("sweep", "s.toml", "-o", "out", *words)
    assert done.exit_code == 0, done.output
    ((what, executor, how),) = swept.asked
    assert (what, executor) == ("run", asked)
    assert (how["retries"], how["limit_s"]) == (None, None)
    study, folder, made = swept.made
    assert (study, folder, made["train"], made["argv"]) == (Path("s.toml"), Path("out"), False, sys.argv)


def test_a_sweeps_other_options(swept: SimpleNamespace) -> None:
    call("sweep", "s.toml", "-o", "out", "--train", "--retries", 0, "--trial-limit", "2 min")
    assert swept.made[2]["train"] is True
    assert {key: swept.asked[0][2][key] for key in ("retries", "limit_s")} == {"retries": 0, "limit_s": 120.0}
    swept.asked.clear()
    assert json.loads(call("sweep", "s.toml", "--dry-run", "--jobs", 2, "--json").stdout) == {"dry_run": True}
    assert call("sweep", "s.toml", "-o", "o", "--merge", "a", "--merge", "b").stdout == (
        "mars: 2 of 3 trials have results\n"
    )
    done = call("sweep", "s.toml", "-o", "o", "--engine", "slurm", "--script", "--trial-limit", 90)
    assert done.stderr == "dstcc: every trial has its result\n"
    assert swept.asked == [
        ("estimate", 2),
        ("merge", (Path("a"), Path("b"))),
        ("script", ("slurm", None, 1, ()), 90.0),
    ]


def test_a_sweep_on_a_terminal_says_where_it_is(
    swept: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich import status

    from dstcc.sweeps.conduct import Progress

    said: list[str] = []

    class Status:
        def __init__(self, text: str, *, console: Any) -> None:
            said.append(text)

        def __enter__(self) -> Any:
            return SimpleNamespace(update=said.append)

        def __exit__(self, *_: object) -> None:
            """Nothing is drawn."""

    monkeypatch.setattr(status, "Status", Status)
    one: Any = SimpleNamespace(study=SimpleNamespace(name="mars"))
    with sweep._progress(one) as watch:
        watch(Progress(3, 1, 0, None))
    assert said == []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with sweep._progress(one) as watch:
        watch(Progress(3, 1, 0, None))
    assert said == ["mars", "mars: 1 of 3 trials, no estimate yet"]


# -------------------------------------------------------------------------------------------------- programs, shells


META = {
    "scale": 30.0,
    "virtual_s": 1.0,
    "mission_s": 12_345.678,
    "wall_s": 2.25,
    "ended": "cmd",
    "notes": ["a note"],
    "distortions": ["distorted"],
    "programs": [
        {"host": "craft", "argv": ["curl", "x"], "exit_code": 3, "ended_s": 90.5, "ended_by_dstcc": False},
        {"host": "earth", "argv": ["nc", "-l"], "exit_code": None, "ended_s": None, "ended_by_dstcc": True},
        {"host": "orbiter", "argv": ["ping"], "exit_code": 0, "ended_s": 1.0, "ended_by_dstcc": False},
    ],
}


def flown(problem: str | None = None, **first: Any) -> Any:
    programs = [META["programs"][0] | first, *META["programs"][1:]]  # type: ignore[index]
    return SimpleNamespace(meta=META | {"programs": programs}, problem=problem, exit_code=3)


def test_how_a_run_of_programs_ended(capsys: pytest.CaptureFixture[str]) -> None:
    def said(one: Any, clock: Clock = Clock()) -> list[str]:  # noqa: B008
        run._say(Path("out"), one, clock)
        return capsys.readouterr().err.splitlines()

    notes = ["dstcc: distorted", "dstcc: a note"]
    assert said(flown()) == [
        *notes,
        "dstcc: curl ended with 3 at mission time 90.5 s (scale 30, 2.2 s of real time); out",
    ]
    assert said(flown(ended_by_dstcc=True, ended_s=None))[2].startswith(
        "dstcc: curl was ended by --for with 3 at mission time 12,345.7 s ("
    )
    dated = said(flown(), Clock(datetime(2031, 5, 1, tzinfo=UTC)))
    assert dated[2].startswith("dstcc: curl ended with 3 at 2031-05-01 00:01:30 UTC (")
    assert said(flown("it hung")) == [*notes, "dstcc: it hung"]


def test_a_run_of_programs_as_json() -> None:
    assert run._document(Path("out"), flown()) == {
        **{
            "run": "out",
            "scale": 30.0,
            "virtual_s": 1.0,
            "mission_s": 12_345.678,
            "wall_s": 2.25,
            "exit_code": 3,
        },
        **{
            "ended_s": 90.5,
            "ended": "cmd",
            "earth": [{"command": "nc -l", "exit_code": None}],
            "notes": ["a note"],
        },
        "programs": [
            {"host": "craft", "exit_code": 3, "ended_s": 90.5, "command": "curl x"},
            {"host": "earth", "exit_code": None, "ended_s": None, "command": "nc -l"},
            {"host": "orbiter", "exit_code": 0, "ended_s": 1.0, "command": "ping"},
        ],
    }
    assert run._document(Path("out"), flown("it hung"))["problem"] == "it hung"


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (
            OSError(28, "No space left on device"),
            {"stdout: No space left on device; the host's log has all of CMD's output"},
        ),
        (BrokenPipeError(), set()),
    ],
)
def test_output_that_cannot_be_written_is_lost_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: OSError, lost: set[str]
) -> None:
    class Full(io.BytesIO):
        def flush(self) -> None:
            raise error

    with (tmp_path / "out").open("wb") as file:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=Full(), fileno=file.fileno))
        found: set[str] = set()
        run.tell_output(found, "stdout", b"words")
        assert found == lost
        assert Path(f"/proc/self/fd/{file.fileno()}").readlink() == Path("/dev/null")


def test_output_is_passed_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[bytes] = []

    class Buffer(io.BytesIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    monkeypatch.setattr(sys, "stderr", SimpleNamespace(buffer=Buffer()))
    lost: set[str] = set()
    run.tell_output(lost, "stderr", b"\xff1")
    assert flushed == [b"\xff1"] and lost == set()


SCENARIO = """
[scenario]
name = "toy"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000]}
loop_to_s = 3
[[link]]
name = "a"
rate_bps = 80_000
delay_s = 1
"""


@pytest.fixture
def flight(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    from dstcc_kernel.endhosts import flight as flights

    (tmp_path / "s.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    seen = SimpleNamespace(result=flown())

    def fly(output: Path, scenario: Any, options: Any, **how: Any) -> Any:
        seen.asked = (output, scenario, options, how)
        return seen.result

    monkeypatch.setattr(flights, "fly", fly)
    return seen


def test_what_a_run_of_programs_is_asked(flight: SimpleNamespace) -> None:
    done = call(
        "run", "s.toml", "-o", "out", "--seed", 5, "--scale", 3, "--for", "2 min", "--", "ping", "earth"
    )
    assert done.exit_code == 3
    output, scenario, options, how = flight.asked
    assert (output, scenario.run.seed, scenario.run.scale) == (Path("out"), 5, 3)
    assert (options.command, options.for_s, options.mptcp, options.pcapng) == (
        ("ping", "earth"),
        120.0,
        False,
        False,
    )
    assert (how["wall_s"], how["force"], how["inputs"]) == (600.0, False, [Path("s.toml")])
    flight.result.exit_code = 0
    words = (
        "--wall",
        7,
        "--force",
        "--disk",
        9,
        "--mptcp",
        "--pcapng",
        "--earth",
        "nc",
        "--on",
        "craft",
        "top",
        "--json",
    )
    done = call("run", "s.toml", "-o", "out", *words, "--", "ping")
    assert done.exit_code == 0 and json.loads(done.stdout)["run"] == "out"
    _, scenario, options, how = flight.asked
    assert (how["wall_s"], how["force"], options.disk_mb, options.mptcp, options.pcapng) == (
        7.0,
        True,
        9,
        True,
        True,
    )
    assert (options.earth, options.on) == (("nc",), (("craft", "top"),)) and scenario.run.seed == 1
    alone = call("run", "s.toml", "-o", "out", "--earth", "nc")
    assert alone.exit_code == 2 and "stand beside CMD" in alone.stderr


def test_a_shell_is_a_flight_of_a_week_whose_keys_are_ours(
    flight: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: 77, isatty=lambda: False))
    flight.result.problem = "it hung"
    code = shell.command.main(["s.toml", "--on", "earth", "--seed", "4"], standalone_mode=False)
    output, scenario, options, how = flight.asked
    assert (code, output.name, scenario.run.seed, options.shell) == (3, "run", 4, "earth")
    assert (how["wall_s"], how["keys"]) == (604_800.0, 77) and not output.parent.exists()


def test_a_terminal_gets_its_settings_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import termios
    import tty

    done: list[Any] = []
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(termios, "tcgetattr", lambda _file: "before")
    monkeypatch.setattr(termios, "tcsetattr", lambda _file, when, what: done.append((when, what)))
    monkeypatch.setattr(tty, "setraw", lambda _file: done.append("raw"))
    with pytest.raises(ValueError, match="in it"), shell._keys_at_once():
        raise ValueError("in it")
    assert done == ["raw", (termios.TCSADRAIN, "before")]


# ---------------------------------------------------------------------------------------------------------- emulate


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """What a run was asked, and the trials that it had."""
    from dstcc import run as runs

    (tmp_path / "s.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    seen = SimpleNamespace(trials=[trial("cubic+minrtt", 1)], warnings=["a warning"])

    def ask(scenario: Any, backend: str, **how: Any) -> Any:
        seen.asked = (scenario, backend, how)
        return SimpleNamespace(source="source", backend="carrier", policies={"p": 1})

    def write_run(output: Path, scenario: Any, source: Any, **how: Any) -> Any:
        seen.written = (output, source, how)
        meta = {"scenario_name": "toy", "backend": backend_name, "scale": 1.0, "algorithms": ALGORITHMS}
        return SimpleNamespace(trials=seen.trials, meta=meta | {"warnings": seen.warnings})

    backend_name = "simulator"
    monkeypatch.setattr(runs, "ask", ask)
    monkeypatch.setattr(runs, "write_run", write_run)
    return seen


ALGORITHMS: list[dict[str, Any]] = [
    {
        "name": name,
        "knows": [],
        "ordering_domains": 1,
        "windows": 1,
        "copies": "",
        "scale": 1.0,
        "distorts": [],
    }
    for name in ("cubic+minrtt", "ltp+none")
]


def trial(name: str, seed: int, **values: Any) -> TrialRow:
    congestion, _, scheduler = name.partition("+")
    key = TrialKey(congestion, scheduler, seed)
    about = {
        **dict.fromkeys((*LEVELS, *METRICS)),
        **dict.fromkeys(LEVELS[:2], 0.5),
        "id": key.id,
        **vars(key),
        "status": "ok",
        "error": None,
        "playback_ratio": 1.0,
        "sent_bytes": 5.0,
    }
    return TrialRow(about | {"weighted_layers": 0.5, "oracle_ratio": 1.0} | values)


def test_what_a_run_is_asked(emulated: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dstcc", "emulate", "--resume", "s.toml"])
    done = call("emulate", "s.toml", "-o", "out")
    assert done.exit_code == 0, done.output
    assert "1 of 1 trials in out" in done.stdout and done.stderr == "dstcc: a warning\n"
    scenario, backend, how = emulated.asked
    assert (backend, how) == ("simulator", {"logs": frozenset(), "alone": ()})
    output, source, how = emulated.written
    assert (output, source, how.pop("advance")(), how) == (
        *(Path("out"), "source", None),
        {
            "argv": ["dstcc", "emulate", "s.toml"],
            "backend": "carrier",
            "policies": {"p": 1},
            **{
                "force": False,
                "quality": True,
                "logs": frozenset(),
                "jobs": None,
                "keep": True,
                "resume": False,
            },
        },
    )
    words = ("--no-quality", "--qlog", "--pcapng", "--resume", "--force", "--jobs", 3, "--backend", "kernel")
    call(
        "emulate",
        "s.toml",
        "-o",
        "out",
        *words,
        "--controller",
        "gru-mpc",
        "--seeds",
        4,
        "--scale",
        2,
        "--json",
    )
    scenario, backend, how = emulated.asked
    assert (backend, how["logs"], how["alone"]) == ("kernel", frozenset({"qlog", "pcapng"}), ("gru-mpc",))
    assert (scenario.run.seeds, scenario.run.scale, scenario.transport.controller) == (4, 2, ("gru-mpc",))
    asked = emulated.written[2]
    assert [asked[key] for key in ("force", "quality", "jobs", "resume")] == [True, False, 3, True]
    call("emulate", "s.toml", "-o", "out", "--controller", "gru-mpc", "--congestion", "cubic", "--seed", 0)
    assert emulated.asked[2]["alone"] == () and emulated.asked[0].run.seed == 0


def test_how_a_run_ends(emulated: SimpleNamespace) -> None:
    """A failure is 1, whatever else; a missed bound 3. Of all trials out of reach it is said once."""

    def ended(*rows: TrialRow, expect: str = "", code: int = 0) -> list[str]:
        Path("s.toml").write_text(SCENARIO + expect)
        emulated.trials, emulated.warnings = list(rows), []
        done = call("emulate", "s.toml", "-o", "out")
        assert done.exit_code == code, done.output
        assert f"{sum(one.status == 'ok' for one in rows)} of {len(rows)} trials in out" in done.stdout
        return [line.removeprefix("dstcc: ") for line in done.stderr.splitlines()]

    good, silent = trial("cubic+minrtt", 1), trial("cubic+minrtt", 2, sent_bytes=0.0)
    failed = TrialRow({**trial("cubic+minrtt", 3).values, "status": "failed", "error": "no"})
    assert ended(good) == []
    assert ended(good, failed, code=1) == ["cubic+minrtt/s3 failed: no"]
    (said,) = ended(good, silent)
    assert said.startswith("cubic+minrtt/s2 sent nothing: its first link never answered, ")
    bound = '[expect]\nplayback_ratio = ">= 0.5"\n'
    assert ended(good, expect=bound) == []
    low = trial("cubic+minrtt", 4, playback_ratio=0.25)
    (said,) = ended(good, low, expect=bound, code=3)
    assert "playback_ratio" in said and "0.25" in said
    assert len(ended(low, failed, expect=bound, code=1)) == 2
    emulated.warnings = []
    Path("s.toml").write_text(SCENARIO)
    done = call("emulate", "s.toml", "-o", "out", "--json")
    assert done.stdout, (done.stderr, done.exception)
    document = json.loads(done.stdout)
    assert {key: document[key] for key in ("run", "scenario", "backend", "scale")} == {
        **{"run": "out", "scenario": "toy", "backend": "simulator", "scale": 1.0}
    }
    assert [one["id"] for one in document["trials"]] == ["cubic+minrtt/s4", "cubic+minrtt/s3"]


def test_schedulers_that_a_transfer_has_not_are_said(emulated: SimpleNamespace) -> None:
    words = ("emulate", "s.toml", "-o", "out", "--congestion", "cubic", "--congestion", "ltp", "--scheduler")
    emulated.warnings = []
    assert call(*words, "minrtt").stderr == ""
    assert call(*words, "minrtt", "--scheduler", "redundant").stderr == (
        "dstcc: ltp takes no scheduler, one trial a seed: not minrtt, redundant\n"
    )


def test_ctrl_c_says_how_many_trials_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dstcc.run import kept

    argv = ["/bin/dstcc", "emulate", "a b.toml"]
    for count, error, said in (
        (
            2,
            KeyboardInterrupt(),
            "dstcc: 2 of 9 trials are kept; to continue: dstcc emulate 'a b.toml' --resume\n",
        ),
        (0, KeyboardInterrupt(), ""),
        (2, ValueError(), ""),
    ):
        monkeypatch.setattr(kept, "kept_trials", lambda _path, count=count: count)
        with (
            pytest.raises(type(error)),
            output.how_to_go_on(lambda: emulate._kept(Path("out"), argv, 9)),
        ):
            raise error
        assert capsys.readouterr().err == said


# -------------------------------------------------------------------------------------------------------------- play


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A run of two trials, and what its film was asked."""
    import dstcc_svc

    from dstcc import run as runs

    seen = SimpleNamespace(asked=[], chunks=3, recoded=False, start=None)

    def report(frozen: int) -> Any:
        return SimpleNamespace(
            chunks=seen.chunks,
            frozen_chunks=frozen,
            start_s=5.25,
            duration_s=2.5,
            recoded=seen.recoded,
            document=lambda: {"frozen": frozen},
        )

    class Run:
        path = Path("run")
        trials = ({"id": "a/s1"}, {"id": "b/s1"})

        @property
        def scenario(self) -> Any:
            return {"scenario": {"start": seen.start}}

        def stream(self, moved_to: Path | None) -> Path:
            seen.moved = moved_to
            return Path("stream")

        def trial(self, name: str) -> Any:
            return {"id": name}

        def best(self) -> Any:
            return {"id": "b/s1"}

        def levels(self, name: str) -> list[int]:
            return [0, -1, 1] if name == "a/s1" else [1, 1, 1]

    def play_(stream: Path, levels: list[int], output: Path, **how: Any) -> Any:
        seen.asked.append((stream, levels, output, how))
        return report(levels.count(-1))

    def together(stream: Path, levels: dict[str, list[int]], output: Path, **how: Any) -> Any:
        seen.asked.append((stream, levels, output, how))
        return {name: report(one.count(-1)) for name, one in levels.items()}

    def shown(manifest: str, levels: list[int], from_s: float | None, to_s: float | None) -> tuple[Any, Any]:
        seen.shown = (manifest, levels, from_s, to_s)
        return 1.0, 9.0

    monkeypatch.setattr(runs, "load_run", lambda path: Run())
    for name, fake in (("play", play_), ("play_together", together), ("shown", shown)):
        monkeypatch.setattr(dstcc_svc, name, fake)
    monkeypatch.setattr(dstcc_svc, "load_manifest", lambda stream: f"manifest of {stream}")
    return seen


def test_the_best_trial_is_played(played: SimpleNamespace) -> None:
    done = call("play", "run", "-o", "o.mp4")
    assert done.exit_code == 0, done.output
    assert done.stderr == "trial b/s1: the best of 2 by weighted_layers\n"
    assert done.stdout == "o.mp4: 2.50 s from 5.25 s on, trial b/s1, 0 of 3 chunks frozen\n"
    ((stream, levels, output, how),) = played.asked
    assert (stream, levels, output, played.shown) == (
        *(Path("stream"), [1, 1, 1], Path("o.mp4"), ("manifest of stream", [1, 1, 1], None, None)),
    )
    assert {key: how[key] for key in ("from_s", "to_s", "captions", "force")} == {
        **{"from_s": 1.0, "to_s": 9.0, "captions": True, "force": False}
    }
    assert played.moved is None


def test_a_film_that_is_cut_or_coded_again_says_so(played: SimpleNamespace) -> None:
    played.chunks, played.recoded = 2, True
    said = call("play", "run", "-o", "o.mp4", "--trial", "a/s1", "--plain", "--force", "--stream", "s").stdout
    assert said == (
        "o.mp4: 2.50 s from 5.25 s on, trial a/s1, 1 of 2 chunks frozen, coded again with x264 because players do not "
        "show the stream's layers; the mission is longer, --from S --to S show more\n"
    )
    assert played.asked[0][3]["captions"] is False and played.asked[0][3]["force"] is True
    assert played.moved == Path("s")
    said = call("play", "run", "-o", "o.mp4", "--trial", "a/s1", "--from", 2, "--to", 3).stdout
    assert said == "o.mp4: 2.50 s from 5.25 s on, trial a/s1, 1 of 2 chunks frozen\n" and played.shown[
        2:
    ] == (2.0, 3.0)
    played.start = datetime(2031, 5, 1, tzinfo=UTC)
    assert "from 2031-05-01 00:00:05 UTC on" in call("play", "run", "-o", "o.mp4", "--trial", "a/s1").stdout


def test_several_trials_are_played_together(played: SimpleNamespace) -> None:
    words = ("play", "run", "-o", "o.mp4", "--trial", "a/s1", "--trial", "b/s1")
    assert call(*words).stdout == (
        "o.mp4: 2.50 s from 5.25 s on, trial a/s1, 1 of 3 chunks frozen; trial b/s1, 0 of 3 chunks frozen\n"
    )
    _, levels, _, how = played.asked[0]
    assert list(levels) == ["a/s1", "b/s1"] and (how["from_s"], how["to_s"], how["force"]) == (
        1.0,
        9.0,
        False,
    )
    assert json.loads(call(*words, "--json").stdout) == {
        **{"run": "run", "trials": [{"trial": "a/s1", "frozen": 1}, {"trial": "b/s1", "frozen": 0}]}
    }
    assert json.loads(call(*words[:6], "--json").stdout) == {"run": "run", "trial": "a/s1", "frozen": 1}
    assert call(*words, "--plain").exit_code == call(*words[:6], *words[4:6]).exit_code == 2


# ------------------------------------------------------------------------------------------------------------ report


def test_what_a_report_says_when_it_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dstcc.report import frontier as frontiers
    from dstcc.report import pooled, verdict

    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(frontiers, "titles", lambda given: ("one", "two"))
    monkeypatch.setattr(frontiers, "frontiers", lambda given: (SimpleNamespace(name="mars", finding="so"),))
    monkeypatch.setattr(verdict, "verdict", lambda section: f"verdict {section}")
    monkeypatch.setattr(verdict, "pooled_verdict", lambda pool: pool)
    monkeypatch.setattr(pooled, "pool", lambda given: given.pool)
    given: Any = SimpleNamespace(sections=(1, 2), pool="all of it")
    lines = ["one: verdict 1", "two: verdict 2", "mars over playout delay: so"]
    report._say(given, "r.html", 12_345_678)
    assert capsys.readouterr().out.splitlines() == [
        *lines,
        "All 2 scenarios: all of it",
        "wrote r.html (12.35 MB)",
    ]
    for none in (None, ""):
        given.pool = none
        report._say(given, "r.html", 1)
        assert capsys.readouterr().out.splitlines() == [*lines, "wrote r.html (0.00 MB)"]


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """What is read of runs, and what is asked of their report."""
    import dstcc.report
    from dstcc.report import pictures, summary

    seen = SimpleNamespace(screened=[], written=[])
    monkeypatch.chdir(tmp_path)

    def load(paths: Any, against: str | None) -> str:
        seen.loaded = (paths, against)
        return "report"

    def write(given: str, output: Path, form: str, screenings: Any, **how: Any) -> int:
        seen.written.append((given, output, form, screenings, how))
        return 5

    def screen(given: str, *, moved_to: Path | None) -> str:
        seen.screened.append(moved_to)
        return "pictures"

    monkeypatch.setattr(dstcc.report, "load_report", load)
    monkeypatch.setattr(dstcc.report, "write_report", write)
    monkeypatch.setattr(
        dstcc.report, "render", lambda given, form, screenings: f"{given} {form} {screenings}\n"
    )
    monkeypatch.setattr(pictures, "screen", screen)
    monkeypatch.setattr(summary, "document", lambda given: {"sections": [given]})
    monkeypatch.setattr(report, "_say", lambda *given: print(given))
    return seen


def test_what_is_asked_of_a_report(reported: SimpleNamespace) -> None:
    done = call("report", "a", "b", "-o", "r.html", "--against", "x", "--stream", "s")
    assert done.exit_code == 0, done.output
    assert reported.loaded == ((Path("a"), Path("b")), "x") and reported.screened == [Path("s")]
    how = {"figures": False, "data": False, "paper": "a4", "force": False}
    assert reported.written == [("report", Path("r.html"), "html", "pictures", how)]
    call("report", "a", "-o", "r.html", "--no-pictures", "--figures", "--data", "--force")
    assert reported.written[1] == (
        *("report", Path("r.html"), "html", None),
        {"figures": True, "data": True, "paper": "a4", "force": True},
    )
    assert len(reported.screened) == 1
    said = json.loads(call("report", "a", "-o", "r.md", "--json").stdout)
    assert said == {"report": "r.md", "format": "md", "bytes": 5, "sections": ["report"]}
    assert len(reported.screened) == 1, "there are no pictures in Markdown"
    assert call("report", "a", "-o", "-").stdout == "report md None\n"
    assert call("report", "a", "-o", "-", "--format", "html").stdout == "report html pictures\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "r.html", "--data"), "--data: the numbers of --figures"),
        (("-o", "r.md", "--figures"), "--figures: of an HTML page in a file"),
        (("-o", "-", "--format", "html", "--figures"), "--figures: of an HTML page in a file"),
        (("-o", "-", "--json"), "--json has stdout for itself"),
        (("-o", "-", "--format", "pdf"), "--format pdf: is no text for stdout; give -o FILE.pdf"),
        (("-o", "r.html", "--paper", "a4"), "--paper: of pdf and png, not of html"),
        (("-o", "none/r.html"), "none/r.html: the folder none does not exist"),
        (("-o", "."), ".: is a folder; -o takes a file"),
    ],
)
def test_reports_that_cannot_be(reported: SimpleNamespace, words: tuple[str, ...], said: str) -> None:
    done = call("report", "a", *words)
    assert done.exit_code == 2 and said in " ".join(done.stderr.split()) and reported.written == []


# ------------------------------------------------------------------------------------------------------- the others


def test_what_a_machine_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc import checks

    def finding(check: str, ok: bool, required: bool) -> Any:
        return SimpleNamespace(
            check=check,
            ok=ok,
            required=required,
            detail="d",
            remedy=None if ok else "get it",
            document=lambda: {"c": check},
        )

    found = [finding("one", True, True), finding("two", False, False)]
    monkeypatch.setattr(checks, "diagnose", lambda: found)
    done = call("doctor")
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert rows[2:] == [["one", "ok", "d"], ["two", "optional", "d", "get", "it"]]
    found.append(finding("three", False, True))
    done = call("doctor")
    assert done.exit_code == 1 and "missing" in done.stdout
    assert json.loads(call("doctor", "--json").stdout) == [{"c": "one"}, {"c": "two"}, {"c": "three"}]
    assert doctor.command.name == "command"


def test_an_answer_as_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    query._print_table(pa.table({"name": ["a\x1b", None], "value": [1234.56789, 1e-9], "count": [12_345, 7]}))
    rows = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [row.split() for row in rows] == [
        ["name", "value", "count"],
        [rows[1].strip()],
        ["a\\x1b", "1234.57", "12345"],
        ["–", "1e-09", "7"],
    ]
    assert rows[3].endswith("1e-09       7") and rows[2].startswith(" a\\x1b")


def test_a_ladder_as_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    def baseline(name: str, estimate: Estimate, count: int) -> Any:
        return SimpleNamespace(
            scenario="mars", label="bound", name=name, estimate=estimate, values=[0.0] * count
        )

    made: Any = SimpleNamespace(
        baselines=[
            baseline("a", Estimate(0.51234, 0.4, 0.6, 3), 3),
            baseline("b", Estimate(1.0, None, None, 1), 1),
        ],
        gaps=[SimpleNamespace(sentence=lambda: "The gap is this.")],
    )
    ladder._show(made)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert rows[0] == ["scenario", "baseline", "name", "weight", "95", "%", "seeds"]
    assert rows[2:] == [
        ["mars", "bound", "a", "0.5123", "0.4000–0.6000", "3"],
        ["mars", "bound", "b", "1.0000", "–", "1"],
        ["The", "gap", "is", "this."],
    ]


def test_a_paper_beside_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dstcc.papers import write

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(write, "said", lambda value: f"<{value}>")
    monkeypatch.setattr(write, "interval", lambda row: f"[{row.low}]")
    rows = [
        SimpleNamespace(
            figure="4",
            quantity="share",
            unit="%",
            setting="",
            published=5,
            measured=6,
            low=None,
            verdict="same",
        ),
        SimpleNamespace(
            figure="5",
            quantity="rate",
            unit="",
            setting="s = 1",
            published=None,
            measured=7,
            low=1,
            verdict="x",
        ),
    ]
    made: Any = SimpleNamespace(
        paper=SimpleNamespace(about=SimpleNamespace(name="ours")), shown=rows, folder=Path("/out")
    )
    reproduce._show(made)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["ours:", "published", "and", "measured"]
    assert lines[3:] == [
        ["4", "share", "(%)", "<5>", "<6>", "same"],
        ["5", "rate;", "s", "=", "1", "an", "order", "<7>", "x"],
        ["[1]"],
        ["page:", "/out/index.html"],
    ]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("901-905", range(901, 906)), ("7", range(7, 8)), ("0-0", range(1)), ("3-3", range(3, 4))],
)
def test_seeds_to_choose_on(text: str, seeds: range) -> None:
    assert tune.Seeds().convert(text, None, None) == seeds


@pytest.mark.parametrize("text", ["", "a", "5-4", "5-", "-5", "1-2-3", "1-x"])
def test_what_are_no_seeds(text: str) -> None:
    from click import BadParameter

    with pytest.raises(BadParameter, match="must be FIRST-LAST, like 901-905"):
        tune.Seeds().convert(text, None, None)


def test_words_that_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [one.value for one in complete._names(("cubic", "bbr", "bbr-scaled"), "bb")] == [
        "bbr",
        "bbr-scaled",
    ]
    (one,) = complete._names(("cubic",), "x")
    assert (one.value, one.type) == ("x", "file")
    assert complete._names(("cubic",), "x", files=False) == []
    context: Any = SimpleNamespace(params={}, args=[])
    option: Any = None
    assert complete.trial(context, option, "") == []
    context.args = [str(tmp_path / "none")]
    assert complete.trial(context, option, "") == []


def test_encoding_says_its_share_and_its_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    import dstcc_svc

    seen: list[Any] = []
    layer = SimpleNamespace(
        layer=0, width=64, height=36, bytes=5, bitrate_bps=8.0, psnr_db=None, ssim=None, vmaf=None
    )
    report = SimpleNamespace(
        **{
            "layers": [layer],
            "stream": Path("out"),
            "duration_s": 2.5,
            "frames": 50,
            "chunks": 3,
            "codec": "vp9",
        },
        scalability="temporal",
        document=lambda: {"chunks": 3},
    )

    def encoded(given: Path, output: Path, **how: Any) -> Any:
        how["progress"](0.25)
        how["progress"](1.0)
        seen.append(how["quality"])
        return report

    @contextmanager
    def bar(_what: str, total: float | None) -> Any:
        seen.append(total)
        yield seen.append

    monkeypatch.setattr(dstcc_svc, "encode", encoded)
    monkeypatch.setattr(encode, "progress", bar)
    done = call("encode", "v.mp4", "-o", "out")
    assert done.exit_code == 0, done.output
    assert seen == [1.0, 0.25, 0.75, True]
    assert done.stdout.startswith("out: 2.50 s, 50 frames in 3 chunks of 1 temporal layers by vp9\n")
    assert ("no psnr_db, ssim and vmaf" in done.stderr) == (dstcc_svc.judge.too_small(64, 36) is not None)
    assert call("encode", "v.mp4", "-o", "out", "--no-quality").stderr == "" and seen[-1] is False
    assert json.loads(call("encode", "v.mp4", "-o", "out", "--json").stdout) == {"chunks": 3}


def test_kernels_are_built_once_unless_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc_kernel import build

    facts = {"variant": "plain", "version": "6.12.1", "bytes": 12.6e6, "cpu_s": 245.6}
    built = SimpleNamespace(facts=facts, kernel=Path("/cache/linux"))
    asked: list[Any] = []

    def make(debug: bool, **how: Any) -> Any:
        asked.append((debug, how["jobs"], how["force"]))
        return built

    monkeypatch.setattr(build, "build", make)
    monkeypatch.setattr(build, "find", lambda _debug: built)
    monkeypatch.setattr(build, "home", lambda: Path("/cache"))
    assert call("kernel", "build").stderr == "" and asked == []
    done = call("kernel", "build", "--force", "--debug", "--jobs", 2)
    assert asked == [(True, 2, True)] and "building the virtual-time kernel (" in done.stderr
    monkeypatch.setattr(build, "find", lambda _debug: None)
    assert json.loads(call("kernel", "build", "--json").stdout)["built"] is True and asked[1] == (
        False,
        None,
        False,
    )


def test_freed_bytes_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc_kernel import backend, build, guest

    swept: list[str] = []
    monkeypatch.setattr(guest, "sweep", lambda: swept.append("guests"))
    monkeypatch.setattr(backend, "sweep", lambda: swept.append("trials"))
    monkeypatch.setattr(build, "clean", lambda: 123_456_789)
    assert call("kernel", "clean").stdout == "123 MB freed\n" and swept == ["guests", "trials"]
    assert json.loads(call("kernel", "clean", "--json").stdout) == {"freed_bytes": 123_456_789}
    assert kernel.command.name is not None


def test_the_running_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc_kernel import host

    asked: list[Any] = []

    def load(way: str | None) -> str:
        asked.append(way)
        return way or "module"

    monkeypatch.setattr(host, "load", load)
    monkeypatch.setattr(host, "unload", lambda: asked.append("unload"))
    assert call("kernel", "load", "--bpf").stdout == "running kernel: dstcc loaded as bpf\n"
    assert json.loads(call("kernel", "load", "--json").stdout) == {"loaded": "module"}
    assert call("kernel", "unload").stdout == "running kernel: dstcc not loaded\n"
    assert asked == ["bpf", None, "unload"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (main.Terminated(signal.SIGHUP), 129, "dstcc: hung up\n"),
        (
            FileNotFoundError(2, "No such file or directory", "/x"),
            1,
            "dstcc: [Errno 2] No such file or directory: '/x'\n",
        ),
        (
            OSError(122, "Disk quota exceeded"),
            1,
            "dstcc: the disk quota is used up (Disk quota exceeded); nothing half-written was left\n",
        ),
        (OSError(36, "File name too long", "a" * 300), 2, None),
        (DstccError("it broke"), 1, "dstcc: it broke\n"),
    ],
)
def test_an_error_as_one_line(
    error: BaseException, code: int, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main._explain(error) == code
    found = capsys.readouterr().err
    assert found == said if said is not None else found.endswith(": no file has a name of that length\n")


def test_pandas_is_there_for_others_alone() -> None:
    def find(asks: str, name: str = "pandas") -> Any:
        space: dict[str, Any] = {"__name__": asks, "finder": main._NoPandas()}
        exec(f"def look(): return finder.find_spec({name!r})", space)
        looked: Callable[[], Any] = space["look"]
        return looked()

    for name in ("dstcc.run", "pyarrow.lib"):
        with pytest.raises(ModuleNotFoundError, match="No module named 'pandas'"):
            find(name)
        assert find(name, "numpy") is None
    assert find("pyarrow.pandas_compat") is None and find("theirs") is None


@pytest.mark.parametrize("mine", [True, False])
def test_trials_in_other_threads_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, mine: bool) -> None:
    ended: list[Any] = []
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="dstcc-trial_0")
    thread.start()
    monkeypatch.setattr(os, "_exit", ended.append)
    guests: Any = SimpleNamespace(end_all=lambda: ended.append("guests"))
    monkeypatch.setitem(sys.modules, "dstcc_kernel.backend", guests)
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(flush=lambda: ended.append("stderr")))
    others = frozenset(threading.enumerate()) - ({thread} if mine else set())
    try:
        with pytest.raises(SystemExit) as caught:
            main._leave(5, others)
    finally:
        stop.set()
        thread.join()
    assert caught.value.code == 5 and ended == (["guests", "stderr", 5] if mine else [])
