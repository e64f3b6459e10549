"""What a trial on the kernel is refused for, limited to, told and asked, without a guest."""

from __future__ import annotations

import errno
import json
import os
import platform
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend, guest, host, source
from dstcc_kernel.job import NEVER_NS

from dstcc.engine import simulate
from dstcc.errors import DstccError, InputError, KernelError, MissingCapabilityError, UnfinishedError
from dstcc.scenario import load_source

from .test_plan import LINK, scenario, trial
from .test_transfer import job, link, way

S = 10**9


def test_a_guest_has_time_for_what_links_can_carry_and_for_its_looks() -> None:
    """300 s; a thousand packets a second, and two thousand looks. 100,000 bytes are 72 packets of 1,400, sent twice."""
    objects: Any = SimpleNamespace(payload_bytes=np.array([100_000, 1400]), release_ns=np.array([0, 40 * S]))
    given = job(link("one", down=way(rate_bps=1e6)), link("two", down=way(rate_bps=4e6)), tick_ns=10**6)
    offered = (100_000 // 1400 + 1) + (1400 // 1400 + 1)
    ended = replace(given, duration_ns=20 * S)
    assert backend._wall_s(ended, objects) == pytest.approx(300 + 2 * offered / 1000 + 20_000 / 2000)
    slow = replace(ended, links=(link("one", down=way(rate_bps=8e3)),))
    carried = 8e3 * (20 + 1) / 8 / 1440  # all that the link carries in that time is less
    assert carried < 2 * offered
    assert backend._wall_s(slow, objects) == pytest.approx(300 + carried / 1000 + 20_000 / 2000)
    endless = replace(slow, duration_ns=NEVER_NS)
    assert backend._wall_s(endless, objects) == pytest.approx(300 + 2 * offered / 1000 + 40_000 / 2000)


def test_a_missing_kernel_is_named_with_the_command_that_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "find", lambda: None)
    with pytest.raises(
        MissingCapabilityError, match=r"^no Linux 6\.12 is built .*: dstcc kernel build makes it$"
    ):
        backend.built()
    monkeypatch.setenv(source.VARIABLE, "6.1")
    with pytest.raises(
        MissingCapabilityError, match=r"no Linux 6\.1 .*: dstcc kernel build --kernel 6\.1 makes it$"
    ):
        backend.built()


def test_memory_that_is_free_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "MemTotal: 9 kB\nMemAvailable:  3145728 kB\nMemAvailable: 5 kB\n"
    monkeypatch.setattr(backend, "Path", lambda _: SimpleNamespace(read_text=lambda: lines))
    assert backend._free_mb() == 3072
    monkeypatch.setattr(backend, "Path", lambda _: SimpleNamespace(read_text=lambda: "MemTotal: 9 kB"))
    assert backend._free_mb() == 1 << 20, "who cannot say has enough"


@pytest.mark.parametrize("needed_mb", [499, 500, 501])
def test_a_trial_that_needs_more_memory_than_there_is_is_refused(
    monkeypatch: pytest.MonkeyPatch, needed_mb: int
) -> None:
    for name in ("built", "programs", "program", "_job"):
        monkeypatch.setattr(backend, name, lambda *_, **__: None)
    monkeypatch.setattr(backend, "_free_mb", lambda: 500)
    monkeypatch.setattr(backend, "memory_mb", lambda *_, steered: needed_mb - 3)
    monkeypatch.setattr(backend, "block_memory_mb", lambda _: 3)
    given = scenario()
    if needed_mb <= 500:
        backend.check(given, load_source(given))
        return
    with pytest.raises(MissingCapabilityError, match=r"a trial needs 501 MB .*; 500 MB are free"):
        backend.check(given, load_source(given))


HOSTS: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    (
        {"transport": {"mode": "coded", "congestion": "paced"}},
        "transport.mode 'coded': needs --backend kernel",
    ),
    ({"transport": {"congestion": "ltp"}}, "transport.congestion 'ltp': needs --backend kernel"),
    (
        {"transport": {"congestion": "cubic", "restart": {"at_s": [50], "boot_s": 1, "spool": True}}},
        "transport.restart: needs --backend kernel",
    ),
    (
        {"link": [LINK, {**LINK, "name": "b", "rate_bps": [[0, 1e6], [50, 2e6]]}]},
        "link.1: netem has neither rates that change nor others' traffic; needs --backend kernel",
    ),
    (
        {"transport": {"congestion": "cubic", "constants": {"hystart": False}}},
        "transport.constants.hystart: the running kernel has it for all its connections; use --backend kernel",
    ),
    ({"transport": {"congestion": "cubic", "constants": {"rto_min_s": 1.0}}}, None),
    (
        {"run": {"scale": 10}},  # 1,020 s of light
        "a round trip of 102 emulated s; the running kernel falls back to TCP after 100 s without an answer; "
        "a larger --scale, or --backend kernel",
    ),
    ({"run": {"scale": 10.2}}, "a round trip of 100 emulated s; "),
    ({"run": {"scale": 10.3}}, None),
]


@pytest.mark.parametrize(("tables", "said"), HOSTS)
def test_what_a_host_has_not_is_named(
    monkeypatch: pytest.MonkeyPatch, tables: dict[str, Any], said: str | None
) -> None:
    monkeypatch.setattr(host, "mptcp_patience_s", lambda: 100.0)
    given = scenario(**tables)
    coded = given.transport.mode == "coded"
    names = ("ltp", "none") if "ltp" in given.transport.congestion else ()
    config = trial(given, *names)
    assert coded == (config.coding is not None)
    found = backend._hosts_misfit(given, config)
    assert (found is None) if said is None else (found or "").startswith(said)


@pytest.mark.parametrize(
    ("congestion", "controller", "named"),
    [
        (["cubic", "bbr"], [], ["cubic"]),
        (["cubic", "ltp", "bbr"], [], ["cubic", "ltp"]),
        (["ltp"], [], ["ltp"]),
        ([], ["iodst-q"], ["agent"]),
        ([], [], []),
        (["cubic"], ["iodst-q"], ["cubic"]),
    ],
)
def test_of_each_program_one_control_is_looked_at(
    congestion: list[str], controller: list[str], named: list[str]
) -> None:
    given: Any = SimpleNamespace(congestion=congestion, controller=controller)
    assert backend._one_of_each(given) == named


def test_a_host_needs_our_control_where_windows_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "require_netem", lambda: None)
    monkeypatch.setattr(host, "loaded", lambda: None)
    monkeypatch.setattr(host, "mptcp_patience_s", lambda: inf)
    monkeypatch.setattr(backend, "program", lambda *_: Path("/p"))
    fixed = scenario(transport={"congestion": "fixed"})
    with pytest.raises(MissingCapabilityError, match="no congestion control dstcc: `dstcc kernel load`"):
        backend.check(fixed, load_source(fixed), on_host=True)
    monkeypatch.setattr(host, "loaded", lambda: "module")
    backend.check(fixed, load_source(fixed), on_host=True)
    monkeypatch.setattr(host, "loaded", lambda: None)
    stock = scenario()
    backend.check(stock, load_source(stock), on_host=True)
    long = scenario(transport={"mode": "coded", "congestion": "paced"})
    with pytest.raises(InputError, match=r"one link: transport\.mode 'coded': needs"):
        backend.check(long, load_source(long), on_host=True)


def test_a_job_has_the_programs_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "program", lambda name="transfer": Path("/programs", name))
    plain = backend._job(trial(scenario()))
    assert (plain.program, plain.player, plain.flows_program) == ("/programs/transfer", None, None)
    moving = scenario(link=[{**LINK, "rate_bps": [[0, 1e6], [50, 2e6]], "flows": [{"congestion": "cubic"}]}])
    both = backend._job(trial(moving))
    assert (both.player, both.flows_program) == ("/programs/links", "/programs/flows")
    coded = backend._job(trial(scenario(transport={"mode": "coded", "congestion": "paced"})))
    assert (coded.program, coded.coded) == ("/programs/coded", True)
    ltp = backend._job(trial(scenario(transport={"congestion": "ltp"}), "ltp", "none"))
    assert (ltp.program, ltp.coded) == ("/programs/ltp", True)


def test_fixed_windows_are_held_by_our_module_in_a_guest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(backend, "_module", lambda: "/m.ko")
    config = trial(scenario(transport={"mode": "lanes", "congestion": "fixed", "fixed_cwnd_segments": [30]}))
    given = job(link("one"), lanes=True, lanes_per_link=5, rotating=1)
    led = backend._led(given, config, None, tmp_path)
    assert (led.steer, led.module, led.shared, led.placed, led.rotating) == (
        {"windows": [30]},
        "/m.ko",
        True,
        False,
        5,
    )
    assert backend._led(replace(given, guest=False), config, None, tmp_path).module is None
    assert not backend._led(replace(given, lanes=False), config, None, tmp_path).shared
    coded = replace(given, coded=True)
    assert backend._led(coded, config, None, tmp_path) is coded
    cubic = trial(scenario())
    assert backend._led(given, cubic, None, tmp_path) is given


def test_layers_have_links_of_their_own_where_the_kernel_can_place_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for release, placed in (("6.12", True), ("6.1", False)):
        monkeypatch.setenv(source.VARIABLE, release)
        assert backend.places(on_host=False) is placed
    schedulers = tmp_path / "schedulers"
    monkeypatch.setattr(backend, "Path", lambda _: schedulers)
    for loaded, text, placed in (
        *(("module", "default dstcc", True), ("bpf", "default dstcc", False), (None, "dstcc", False)),
        *(("module", "default", False), ("module", None, False)),
    ):
        monkeypatch.setattr(host, "loaded", lambda loaded=loaded: loaded)
        schedulers.unlink(missing_ok=True)
        if text is not None:
            schedulers.write_text(text)
        assert backend.places(on_host=True) is placed, (loaded, text)


def test_what_went_wrong_is_what_the_trial_says_or_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    console = tmp_path / "console"
    console.write_text("one\ntwo\n three\nfour\n\n")
    free = [1 << 30]
    monkeypatch.setattr("dstcc_kernel.backend.shutil.disk_usage", lambda _: SimpleNamespace(free=free[0]))
    words = "the trial left no result; its last words: two /  three / four"
    assert backend._problem(tmp_path, console) == words
    full = (
        f"the disk is full: {tmp_path.parent} has no space for a trial's files (TMPDIR names another folder)"
    )
    for left, said in (((1 << 16) - 1, full), (1 << 16, words)):
        free[0] = left
        assert backend._problem(tmp_path, console) == said
    free[0] = 1 << 30
    (tmp_path / "result.bin").touch()
    assert backend._problem(tmp_path, console) is None
    for text, said in ((" a reason\n", "a reason"), (f"x: {os.strerror(errno.ENOSPC)}", full)):
        (tmp_path / "error.txt").write_text(text)
        assert backend._problem(tmp_path, console) == said
    (tmp_path / "error.txt").write_text("")
    assert backend._problem(tmp_path, console) == words


def test_a_policys_guard_counts_with_the_answers_that_were_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = trial(scenario(scenario={"name": "short", "duration_s": 60}))
    result = simulate(config)
    unusable = replace(result, totals=replace(result.totals, unusable_answers=4))
    monkeypatch.setattr(backend, "read_result", lambda *_: unusable)
    assert backend._result(tmp_path, config) is unusable
    (tmp_path / "guard.json").write_text(json.dumps({"guard_clamps": 2, "guard_fallbacks": 3}))
    totals = backend._result(tmp_path, config).totals
    assert (totals.guard_clamps, totals.guard_fallbacks) == (2, 7)
    monkeypatch.setattr(backend, "read_result", lambda *_: result)
    assert backend._result(tmp_path, config).totals.guard_fallbacks == 3


class Guests:
    """In the guest's place: what it was booted with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.how: dict[str, Any] = {}
        self.words: list[str] = []
        self.raises: Exception | None = None

    def run(self, kernel: Path, words: list[str], *, out: Path, **how: Any) -> Any:
        self.words, self.how = words, {"kernel": kernel, **how}
        (out / "console.log").write_text("words\n")
        if self.raises is not None:
            raise self.raises
        (out / "result.bin").write_text("result")
        (out / "more").write_text("more")
        return SimpleNamespace(console=out / "console.log")


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Guests:
    made = Guests(tmp_path)
    monkeypatch.setattr(guest, "run", made.run)
    monkeypatch.setattr(backend, "built", lambda: SimpleNamespace(kernel=Path("/linux")))
    monkeypatch.setattr(backend, "program", lambda name="transfer": Path("/programs", name))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return made


def test_a_guest_has_the_trials_seed_memory_and_time(guests: Guests, monkeypatch: pytest.MonkeyPatch) -> None:
    config = trial(scenario())
    result = simulate(config)
    jobs: list[Any] = []

    def read(folder: Path, config: Any) -> Any:
        jobs.append(json.loads((folder / "job.json").read_text()))
        return result

    monkeypatch.setattr(backend, "_result", read)
    keep = guests.folder / "kept"
    backend.run(config, tick_ns=1234, keep=keep)
    assert guests.words[1:4] == ["-P", "-m", "dstcc_kernel.inside"]
    assert guests.how["seed"] == config.seed and guests.how["kernel"] == Path("/linux")
    plain = guests.how["memory_mb"]
    roots = guests.how["environment"]["PYTHONPATH"].split(":")
    assert Path(backend.__file__).resolve().parents[1] == Path(roots[0])
    assert jobs[0]["tick_ns"] == 1234 and not jobs[0]["capture"]
    names = {path.name for path in keep.iterdir()}
    assert names == {"console.log", "job.json", "more", "objects.bin", "result.bin"}
    assert sorted(path.name for path in guests.folder.iterdir()) == ["kept"], "the trial's folder goes"
    backend.run(config, capture=True)
    assert jobs[1]["capture"] and jobs[1]["capture_bytes"] is None
    assert jobs[1]["tick_ns"] != 1234
    # four rings of ten MB: of a link that is netem's two devices an end
    assert guests.how["memory_mb"] - plain == 4 * 10
    monkeypatch.setattr(backend, "_headers", lambda *_: guests.folder)
    traced = backend.run(replace(config, trace=True))
    assert jobs[2]["capture"] and jobs[2]["capture_bytes"] == 14 + 40 + 20 + 40 + 64
    assert traced.capture == guests.folder


def test_a_guest_that_dies_leaves_its_folder_and_what_it_had_until_then(
    guests: Guests, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = trial(scenario())
    guests.raises = KernelError("it died")
    with pytest.raises(UnfinishedError, match="it died"):
        backend.run(config)
    (left,) = guests.folder.glob("dstcc-trial-*")
    assert (left / "console.log").exists()
    free = [(1 << 16) - 1]
    monkeypatch.setattr("dstcc_kernel.backend.shutil.disk_usage", lambda _: SimpleNamespace(free=free[0]))
    with pytest.raises(DstccError, match="the disk is full"):
        backend.run(config)
    assert len([*guests.folder.glob("dstcc-trial-*")]) == 1, "that one goes"
    guests.raises = OSError(errno.ENOSPC, "no space")
    with pytest.raises(DstccError, match="the disk is full"):
        backend.run(config)
    guests.raises = OSError(errno.EIO, "a fault")
    with pytest.raises(OSError, match="a fault"):
        backend.run(config)


def facts(**tables: Any) -> str:
    return "\n".join(backend.facts(scenario(**tables), on_host=True)["notes"])


def test_facts_say_what_is_other_than_in_the_simulator() -> None:
    plain = facts()
    assert backend.facts(scenario(), on_host=True)["version"] == platform.release()
    assert (
        "netem draws losses before transmission" in plain
        and "in real time: two runs are not the same" in plain
    )
    for words in (
        "played by a program",
        "an outage begins",
        "others' TCP",
        "receive_buffer_bytes",
        "whose SYN is lost",
    ):
        assert words not in plain
    assert "each lane" not in plain
    assert "under cubic, bbr each lane" in facts(
        transport={"mode": "lanes", "congestion": ["cubic", "fixed", "bbr"]}
    )
    assert "packets in a link's queue when an outage begins" in facts(link={"outages": [[10, 20]]})
    assert "a connection whose SYN is lost" in facts(link={"loss": {"packet": 0.1}})
    lanes = {"mode": "lanes", "receive_buffer_bytes": 10**6}
    assert "receive_buffer_bytes is each lane's" in facts(transport=lanes)
    stream = facts(transport={"mode": "stream", "receive_buffer_bytes": 10**6})
    assert "receive_buffer_bytes" not in stream and "each lane" not in stream
    moving = facts(link=[{**LINK, "rate_bps": [[0, 1e6], [50, 2e6]], "outages": [[10, 20]]}])
    assert "relay: played by a program" in moving
    assert "netem draws" not in moving and "an outage begins" not in moving, "no link is netem's"
    both = facts(link=[{**LINK, "rate_bps": [[0, 1e6], [50, 2e6]]}, {**LINK, "name": "b"}])
    assert "relay: played by a program" in both and "netem draws" in both
    assert "others' TCP connections are real ones" in facts(link={"flows": [{"congestion": "cubic"}]})
    restart = {"congestion": "cubic", "restart": {"at_s": [50], "boot_s": 1, "spool": True}}
    assert "each connection of the sender has a kernel of its own" in facts(transport=restart)
    coded = facts(transport={"mode": "coded", "congestion": "paced"})
    assert "packets are datagrams" in coded and "TCP's and MPTCP's options" not in coded
    ltp = facts(transport={"congestion": "ltp"})
    assert "segments of RFC 5326" in ltp and "TCP's and MPTCP's options" not in ltp
    assert "TCP's and MPTCP's options" in facts(
        transport={"congestion": ["ltp", "cubic"], "scheduler": ["minrtt"]}
    )
    fixed = facts(transport={"mode": "lanes", "congestion": "fixed"})
    assert "each lane is an MPTCP connection with a window" not in fixed
