"""Users' own algorithms: loaded, called, checked, and kept from harming other trials."""

from __future__ import annotations

import hashlib
import json
import math
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc import trust
from dstcc.algorithms import documents, everything
from dstcc.engine import EngineResult, Flow, Loss
from dstcc.errors import ExtensionError, InputError, ScenarioError
from dstcc.extend import CongestionSetup, SchedulerSetup
from dstcc.extensions import Extension, anchored, label, load, look
from dstcc.run import run_trials
from dstcc.scenario import load_scenario, parse_override
from tests.engine import net

EXAMPLES = Path(__file__).parent.parent / "examples" / "extend"

SCENARIO = """
[scenario]
name = "own"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [400_000, 400_000]}
loop_to_s = 4
[[link]]
name = "a"
rate_bps = 2_000_000
delay_s = 0.05
[[link]]
name = "b"
rate_bps = 2_000_000
delay_s = 0.2
loss = {packet = 0.01}
[playout]
delay_s = 2
"""


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """These scenarios are ours; whose Python runs is tests/test_trust.py's."""
    with trust.allowed():
        yield


@pytest.fixture
def write(tmp_path: Path):
    """Put a class's text into a file and name it."""

    def to_file(text: str, name: str = "own.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return to_file


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO)
    return path


def control(path: Path, name: str = "Own") -> Extension:
    return load(f"{path}:{name}", "congestion")


def bulk(extension: Extension, link=None, **more: object) -> EngineResult:
    more = {"duration_s": 20} | more
    return net.run(extension.name, link or net.link(4e6, 0.2), congestion_extension=extension, **more)


def constant(answer: str) -> str:
    return (
        "from math import nan, inf\n"
        "import numpy as np\n"
        "class Own:\n"
        "    def __init__(self, setup): pass\n"
        f"    def on_ack(self, view): return {answer}\n"
    )


# ------------------------------------------------------------------------------------------- what is called when


def test_a_file_is_looked_at_without_running_it(write) -> None:
    path = write("raise SystemExit\nclass Own: ...\n")
    found = look(f"{path}:Own", "congestion")
    assert (found.name, found.kind, found.origin) == ("Own", "congestion", str(path))
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=f"{path}: has no class Other"):
        look(f"{path}:Other", "congestion")
    assert look(f"{write('from some import *', 'all.py')}:Other", "congestion").name == "Other", (
        "it may bring any"
    )
    with pytest.raises(InputError, match=r"broken\.py, line 2: fails on import \(SyntaxError"):
        look(f"{write('x = 1' + chr(10) + 'class', 'broken.py')}:Own", "congestion")
    with pytest.raises(InputError, match=r"null\.py: fails on import"):
        look(f"{write('x' + chr(0), 'null.py')}:Own", "congestion")


def test_a_window_is_held(write) -> None:
    # 20 segments a round trip of 200 ms (and their service) on a line that carries 67.
    for answer in ("20", "20.9", "np.float64(20)", "np.int64(20)", "(20, None)"):
        result = bulk(control(write(constant(answer))))
        assert set(result.samples.cwnd_segments[result.samples.t_ns > net.ns(2)]) == {20}
    assert net.mean_window(result, 0.2) == pytest.approx(20, rel=0.05)


def test_a_probe_is_one_segment_while_an_old_pace_holds(write) -> None:
    """A packet at 1,200 bit/s holds the next back for 10 s, though the next answer has no pace. What it was is lost in
    the outage, and the probe for it is one segment, not the window."""
    path = write("""
        class Own:
            def __init__(self, setup): self.calls = 0
            def on_ack(self, view):
                self.calls += 1
                return (40, 1200.0) if self.calls == 1 else 40
    """)
    link = net.link(12e6, 0.1, queue_bdp=20, outages_s=((0.2055, 0.5),))
    result = bulk(control(path), link, objects=net.bulk(10**6), duration_s=9)
    assert result.totals.data_packets == 10 + 1 + 1  # the first window, the paced one, the probe


def test_a_pacing_rate_is_kept(write) -> None:
    # 1 Mbit/s on the wire whatever the window.
    result = bulk(control(write(constant("(1e6, 1e6)"))))
    assert net.utilisation(result, 1e6) == pytest.approx(1, abs=0.01)
    assert result.totals.queue_p95_s < 1e-3


LOGGING = """
    log = []
    class Own:
        def __init__(self, setup):
            log.append(setup)
        def on_ack(self, view):
            log.append(view)
            return 30
"""


def logged(extension: Extension) -> list[Any]:
    return extension.cls.__init__.__globals__["log"]


def test_a_view_adds_up(write) -> None:
    extension = control(write(LOGGING))
    result = bulk(
        extension, net.link(4e6, 0.2, loss=Loss("packet", 0.02)), objects=net.bulk(500_000), duration_s=60
    )
    setup, *views = logged(extension)
    assert (setup.mss_bytes, setup.header_bytes, setup.subflow) == (1460, 40, 0)
    assert (setup.initial_cwnd_segments, setup.link_rate_bps) == (10, 4e6)
    # all 343 segments, but for those whose ACK is still under way when the last byte has arrived
    assert sum(view.acked_segments for view in views) == views[-1].delivered
    assert math.ceil(500_000 / 1460) - 30 <= views[-1].delivered <= math.ceil(500_000 / 1460)
    assert sum(view.lost_segments for view in views) == views[-1].lost
    assert views[-1].lost >= result.objects.retransmissions[0] > 0
    assert all(a.now_s <= b.now_s for a, b in pairwise(views))
    assert all(view.acked_segments or view.lost_segments for view in views)
    assert min(view.min_rtt_s for view in views) >= 0.2
    assert any(view.in_recovery for view in views)
    assert not any(view.timeout for view in views)
    # 4 Mbit/s on the wire are never exceeded: 3.89 of payload
    rates = [view.delivery_rate_bps for view in views if view.delivery_rate_bps]
    assert 0 < np.median(rates) <= 4e6 * net.MSS / net.WIRE * 1.001


def test_each_subflow_and_each_flow_has_an_instance_of_its_own(write) -> None:
    extension = control(write(LOGGING))
    links = (net.link(4e6, 0.2, subflows=2), net.link(4e6, 0.2, flows=(Flow("same"), Flow("newreno"))))
    bulk(extension, links)
    setups = [item for item in logged(extension) if isinstance(item, CongestionSetup)]
    numbers = sorted(setup.subflow for setup in setups)
    assert numbers[:3] == [0, 1, 2]
    assert len(numbers) == 4 and numbers[3] >= 65_536
    assert len({setup.seed for setup in setups}) == 4


def test_an_interval_spares_calls(write) -> None:
    every = LOGGING.replace("log.append(setup)", "log.append(setup); self.interval_s = 1.0")
    extension = control(write(every))
    bulk(extension)
    _, *views = logged(extension)
    gaps = np.diff([view.now_s for view in views])
    assert gaps.min() >= 1.0
    assert gaps.max() < 1.2  # the first acknowledgement after it
    assert views[-1].delivered == sum(view.acked_segments for view in views)


def test_on_loss_is_called_once_an_episode_and_at_timeouts(write) -> None:
    extension = control(
        write("""
        views = []
        class Own:
            def __init__(self, setup): pass
            def on_ack(self, view): return 20
            def on_loss(self, view):
                views.append(view)
                return 20
    """)
    )
    # Dark from 5.0 to 9.5 s: the window goes unanswered, timeouts follow.
    bulk(extension, net.link(4e6, 0.2, outages_s=((5.0, 9.5),)), duration_s=15)
    views = extension.cls.__init__.__globals__["views"]
    assert views[0].timeout and 5 < views[0].now_s < 6.5
    quiet = control(write(constant("20"), "quiet.py"))
    assert quiet.control(seed=1, subflow=0, mss_bytes=1460, header_bytes=40).on_loss is None


def test_draws_are_the_trials_own(write) -> None:
    extension = control(
        write("""
        class Own:
            def __init__(self, setup):
                self.rng, self.numpy_rng = setup.rng, setup.numpy_rng
            def on_ack(self, view):
                return self.rng.uniform(1, 30) + self.numpy_rng.uniform(1, 30)
    """)
    )
    runs = [bulk(extension, seed=seed).samples.cwnd_segments for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_a_scheduler_sees_the_paths_and_picks(write) -> None:
    path = write("""
        log = []
        class Own:
            def __init__(self, setup):
                self.setup = setup
            def pick(self, paths, ready, item, busy):
                log.append((paths, ready, item, busy))
                return ready[-1]
            def on_ack(self, subflow, acked_bytes, rtt_s, now_s):
                log.append((subflow, acked_bytes, rtt_s, now_s))
    """)
    extension = load(f"{path}:Own", "scheduler")
    links = (net.link(4e6, 0.2), net.link(4e6, 0.4))
    net.run(
        "newreno", links, objects=net.live(20, (3000, 2000)), scheduler="Own", scheduler_extension=extension
    )
    log = vars(extension.cls)["pick"].__globals__["log"]
    picks = [entry for entry in log if isinstance(entry[0], tuple)]
    acks = [entry for entry in log if not isinstance(entry[0], tuple)]
    for paths, ready, item, busy in picks:
        assert [p.subflow for p in paths] == [0, 1]
        assert [p.one_way_s for p in paths] == [0.1, 0.2]
        assert set(ready) & set(busy) == set()
        assert all(paths[index].inflight_segments < paths[index].cwnd_segments for index in ready)
        assert item.layer in (0, 1) and 0 < item.bytes <= 1460 and item.backlog_bytes >= item.bytes
        assert item.receiver_room_bytes == -1
    # the last chunk's ACKs are under way when the run ends
    assert 19 * 5000 <= sum(acked for _, acked, _, _ in acks) <= 20 * 5000
    # propagation, and a delayed ACK now and then
    assert all(0 <= rtt_s - links[subflow].delay_ns[0] * 2e-9 < 0.06 for subflow, _, rtt_s, _ in acks)
    assert {subflow for subflow, *_ in acks} == {0, 1}


def test_a_scheduler_may_wait(write) -> None:
    # Subflow 1 is never taken while 0 may come free.
    path = write("""
        class Own:
            def __init__(self, setup): pass
            def pick(self, paths, ready, item, busy): return 0 if 0 in ready else None
    """)
    extension = load(f"{path}:Own", "scheduler")
    links = (net.link(4e6, 0.2), net.link(4e6, 0.4))
    result = net.run("newreno", links, duration_s=20, scheduler="Own", scheduler_extension=extension)
    carried = np.bincount(result.samples.subflow, result.samples.delivered_bytes)
    assert carried[0] > 0.9 * 20 * 4e6 / 8 * 0.9
    assert carried[1] < 0.01 * carried[0]


def test_the_examples_are_short_and_work() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 30
    aimd = load(f"{EXAMPLES / 'aimd.py'}:Aimd", "congestion")
    assert net.utilisation(bulk(aimd, duration_s=60), 4e6) > 0.9
    earliest = load(f"{EXAMPLES / 'earliest.py'}:Earliest", "scheduler")
    links, objects = (net.link(10e6, 0.1), net.link(5e6, 0.6)), net.live(60, (200_000,))

    def mean_wait(scheduler: str, **more: object) -> float:
        result = net.run("newreno", links, objects=objects, scheduler=scheduler, **more)
        return float((result.objects.complete_ns - objects.release_ns).mean()) / net.S

    assert mean_wait("Earliest", scheduler_extension=earliest) < 0.8 * mean_wait("minrtt")


# ---------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("nan", "on_ack returned nan (float); a window is a number of segments, at least 1"),
        ("inf", "on_ack returned inf"),
        ("0", "on_ack returned 0 (int)"),
        ("-3.5", "on_ack returned -3.5"),
        ("None", "on_ack returned None (NoneType)"),
        ("'20'", "on_ack returned '20' (str)"),
        ("True", "on_ack returned True (bool)"),
        ("[20]", "on_ack returned [20] (list)"),
        ("10**400", "at least 1"),
        ("(20, 0)", "a pacing rate is a number of bit/s above 0, or None"),
        ("(20, nan)", "a pacing rate is"),
        ("(20, -1.0)", "a pacing rate is"),
        ("(20, 1, 2)", "a window is a number"),
        ("(nan, 5.0)", "a window is a number"),
    ],
)
def test_a_senseless_answer_is_named(write, answer: str, shown: str) -> None:
    with pytest.raises(ExtensionError) as caught:
        bulk(control(write(constant(answer))))
    assert shown in str(caught.value)
    assert str(caught.value).startswith("Own (")


@pytest.mark.parametrize("answer", ["1", "7", "-1", "'0'", "0.0", "True", "(0,)"])
def test_a_scheduler_picks_what_is_ready(write, answer: str) -> None:
    path = write(f"""
        class Own:
            def __init__(self, setup): pass
            def pick(self, paths, ready, item, busy): return {answer}
    """)
    extension = load(f"{path}:Own", "scheduler")
    with pytest.raises(
        ExtensionError, match=r"pick returned .* must be one of ready = \(0,\), or None to wait"
    ):
        net.run("newreno", net.link(), duration_s=9, scheduler="Own", scheduler_extension=extension)


def test_what_it_raises_comes_with_its_own_traceback(write) -> None:
    path = write("""
        class Own:
            def __init__(self, setup): pass
            def on_ack(self, view): return self.helper(view)
            def helper(self, view): return 1 / 0
    """)
    with pytest.raises(ExtensionError) as caught:
        bulk(control(path))
    text = str(caught.value)
    assert text.startswith(f"Own ({path}): on_ack raised ZeroDivisionError: division by zero\nTraceback")
    assert "return 1 / 0" in text
    assert "extensions.py" not in text


def test_a_constructor_may_raise_too(write) -> None:
    path = write("""
        class Own:
            def on_ack(self, view): return 1
    """)
    with pytest.raises(ExtensionError, match=r"Own \(.*\): __init__ raised TypeError"):
        bulk(control(path))


def test_an_interval_is_seconds(write) -> None:
    path = write(constant("20") + "    interval_s = -1\n")
    with pytest.raises(ExtensionError, match=r"interval_s is -1 \(int\); must be seconds, 0 or more"):
        bulk(control(path))


@pytest.mark.parametrize(
    ("text", "name", "rule"),
    [
        (None, "own.py:Own", r"own\.py: cannot be read \(No such file or directory\)"),
        (
            "class Own:\n  def on_ack(self, view): return 1\n",
            "own.py:Owm",
            r"own\.py: has no class Owm; it has Own",
        ),
        ("x = 1\n", "own.py:Own", r"own\.py: has no class Own$"),
        ("def Own(): pass\n", "own.py:Own", r"own\.py: Own is no class"),
        (
            "class Own: pass\n",
            "own.py:Own",
            r"own\.py: Own has no method on_ack, so it is no congestion control",
        ),
        ("class Own: on_ack = 5\n", "own.py:Own", r"has no method on_ack"),
        (
            "import nosuch\n",
            "own.py:Own",
            r"own\.py, line 1: fails on import \(ModuleNotFoundError: No module",
        ),
        ("\n\n1 / 0\n", "own.py:Own", r"own\.py, line 3: fails on import \(ZeroDivisionError"),
        ("class Own\n", "own.py:Own", r"own\.py.*: fails on import \(SyntaxError"),
        ("raise SystemExit(0)\n", "own.py:Own", r"fails on import \(SystemExit"),
        ("x = 1\n", "own.txt:Own", r"an extension is named FILE\.py:ClassName"),
        ("x = 1\n", "own.py:", r"an extension is named FILE\.py:ClassName"),
    ],
)
def test_a_file_that_cannot_be_used_is_bad_input(
    tmp_path: Path, text: str | None, name: str, rule: str
) -> None:
    if text is not None:
        (tmp_path / name.partition(":")[0]).write_text(text)
    with pytest.raises(InputError, match=rule):
        load(f"{tmp_path}/{name}", "congestion")


# ------------------------------------------------------------------------------------- in scenarios and commands


def test_a_scenario_names_files_beside_it(write, scenario_file: Path) -> None:
    write(constant("20"))
    scenario_file.write_text(SCENARIO + '[transport]\ncongestion = ["own.py:Own", "newreno"]\n')
    scenario = load_scenario(scenario_file)
    trials = run_trials(scenario)
    assert [trial.id for trial in trials] == ["Own+minrtt/s1", "newreno+minrtt/s1"]
    assert [trial.status for trial in trials] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ('["own.py:Own", "sub/own.py:Own"]', "names one twice"),
        ('"own.py:Nope"', "has no class Nope; it has Own"),
        ('"gone.py:Own"', r"gone\.py: cannot be read"),
        ('"own.txt:Own"', r"an extension is named FILE\.py:ClassName"),
        ('"own.py:cubic"', "a built-in's name"),
        ('"own.py"', r"or FILE\.py:ClassName"),
    ],
)
def test_a_scenario_with_a_wrong_name_is_refused(write, scenario_file: Path, name: str, rule: str) -> None:
    text = constant("20") + "cubic = Own\n"
    write(text)
    (scenario_file.parent / "sub").mkdir()
    write(text, "sub/own.py")
    scenario_file.write_text(SCENARIO + f"[transport]\ncongestion = {name}\n")
    with pytest.raises(ScenarioError, match=rule) as caught:
        load_scenario(scenario_file)
    assert str(caught.value).startswith(f"{scenario_file}: transport.congestion")


def test_flows_take_no_extension_of_their_own(write, scenario_file: Path) -> None:
    write(constant("20"))
    with pytest.raises(ScenarioError, match=r"link\.0\.flows\.0\.congestion"):
        load_scenario(scenario_file, [parse_override("link.0.flows=[{congestion = 'own.py:Own'}]")])


def test_bounds_go_by_the_class(write, scenario_file: Path) -> None:
    write(constant("20"))
    scenario_file.write_text(
        SCENARIO + '[transport]\ncongestion = "own.py:Own"\n[expect]\n"Own.playback_ratio" = ">= 0"\n'
    )
    assert load_scenario(scenario_file).expect == {"Own.playback_ratio": ">= 0"}


def emulate(*arguments: object):
    return CliRunner().invoke(main, ["emulate", *map(str, arguments)])


def test_a_failing_extension_ends_its_trial_alone(write, scenario_file: Path, tmp_path: Path) -> None:
    bad = write("""
        class Own:
            def __init__(self, setup): pass
            def on_ack(self, view):
                raise RuntimeError("no idea")
    """)
    run = tmp_path / "run"
    done = emulate(
        scenario_file, "-o", run, "--congestion", f"{bad}:Own", "--congestion", "newreno", "--json"
    )
    assert done.exit_code == 1
    failed, fine = json.loads(done.stdout)["trials"]
    assert (failed["id"], failed["status"], failed["metrics"]) == ("Own+minrtt/s1", "failed", None)
    assert (fine["status"], "error" in fine) == ("ok", False)
    row = pq.read_table(run / "trials.parquet").to_pylist()[0]
    for text in (failed["error"], row["error"], done.stderr):
        assert f"Own ({bad}): on_ack raised RuntimeError: no idea" in text
        assert "Traceback" in text
        assert 'raise RuntimeError("no idea")' in text


def test_a_missing_file_is_exit_2(scenario_file: Path, tmp_path: Path) -> None:
    done = emulate(scenario_file, "-o", tmp_path / "run", "--scheduler", f"{tmp_path}/gone.py:Own")
    assert done.exit_code == 2
    assert f"{tmp_path}/gone.py: cannot be read" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_records_what_was_run(write, scenario_file: Path, tmp_path: Path) -> None:
    path = write(constant("20"))
    done = emulate(
        scenario_file, "-o", tmp_path / "run", "--congestion", f"{path}:Own", "--congestion", "cubic"
    )
    assert done.exit_code == 0, done.stderr
    meta = json.loads((tmp_path / "run" / "run.json").read_text())
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert meta["extensions"] == [
        {"name": "Own", "kind": "congestion", "origin": str(path), "sha256": sha256}
    ]


def test_trials_in_threads_do_not_mix(write, scenario_file: Path) -> None:
    write("""
        class Own:
            def __init__(self, setup):
                self.window = 5 + setup.rng.random()
            def on_ack(self, view):
                self.window += view.acked_segments / self.window
                return self.window
    """)
    scenario_file.write_text(SCENARIO + '[transport]\ncongestion = "own.py:Own"\n[run]\nseeds = 6\n')
    scenario = load_scenario(scenario_file)
    apart, together = run_trials(scenario, jobs=1), run_trials(scenario, jobs=4)
    assert [t.metrics for t in apart] == [t.metrics for t in together]
    assert all(t.status == "ok" for t in apart)


# ----------------------------------------------------------------------------------------- installed packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that brings a control and a scheduler."""
    site = tmp_path / "site"
    (site / "theirs-1.2.dist-info").mkdir(parents=True)
    (site / "theirs.py").write_text(
        "class Reno:\n"
        "    def __init__(self, setup): pass\n"
        "    def on_ack(self, view): return 20\n"
        "class Last:\n"
        "    def __init__(self, setup): pass\n"
        "    def pick(self, paths, ready, item, busy): return ready[-1]\n"
    )
    (site / "theirs-1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: theirs\nVersion: 1.2\n"
    )
    (site / "theirs-1.2.dist-info" / "entry_points.txt").write_text(
        "[dstcc.congestion]\ntheir-reno = theirs:Reno\nbroken = theirs:Gone\n[dstcc.schedulers]\nlast = theirs:Last\n"
    )
    monkeypatch.syspath_prepend(str(site))
    return site


def test_entry_points_are_listed_and_run(package: Path, scenario_file: Path) -> None:
    (row,) = (row for row in everything() if row.name == "their-reno")
    assert (row.kind, row.state, row.source) == ("congestion", "extension", "theirs 1.2: theirs:Reno")
    assert {"name": "last", "kind": "scheduler"}.items() <= documents()[-1].items()
    overrides = ["transport.congestion=their-reno", "transport.scheduler=last"]
    (trial,) = run_trials(load_scenario(scenario_file, [parse_override(text) for text in overrides]))
    assert (trial.id, trial.status) == ("their-reno+last/s1", "ok")
    extension = load("their-reno", "congestion")
    assert extension.sha256 == hashlib.sha256((package / "theirs.py").read_bytes()).hexdigest()


def test_a_broken_entry_point_is_bad_input(package: Path, scenario_file: Path) -> None:
    with pytest.raises(ScenarioError, match=r"broken \(theirs 1\.2\): fails on import"):
        load_scenario(scenario_file, [parse_override("transport.congestion=broken")])


def test_setups_can_be_made_by_hand() -> None:
    # As a user's own unit test would.
    setup = CongestionSetup(seed=5, mss_bytes=1000, header_bytes=40)
    assert setup.rng.random() == CongestionSetup(seed=5, mss_bytes=1000, header_bytes=40).rng.random()
    assert SchedulerSetup(seed=5, mss_bytes=1000, header_bytes=40).numpy_rng.random() < 1


def test_the_same_file_is_run_once(write) -> None:
    path = write(constant("20"))
    assert control(path).cls is control(path).cls
    before = control(path).cls
    path.write_text(path.read_text() + "\n# edited\n")
    assert control(path).cls is not before


def test_labels() -> None:
    assert label("cubic") == "cubic"
    assert label("a/b.py:Own") == "Own"
    assert anchored("cubic", Path("/x")) == "cubic"
    assert anchored("b.py:Own", Path("/x")) == "/x/b.py:Own"
    assert anchored("/y/b.py:Own", Path("/x")) == "/y/b.py:Own"
