"""What commands print of results that are made up here, all of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_cli import emulate, encode, explain, kernel, links, network, output, play, sweep, train, trials

from dstcc.clock import Clock
from dstcc.run import TrialRow
from dstcc.run.trials import TrialKey
from dstcc.stats import Estimate
from dstcc.sweeps.conduct import Progress

Said = Callable[[], str]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Stdout, then stderr; of each line what is not blank at its end."""
    monkeypatch.setenv("COLUMNS", "160")

    def read() -> str:
        out, err = capsys.readouterr()
        lines = [line.rstrip() for line in f"{out}{err}".splitlines()]
        return "\n".join(line for line in lines if line)

    return read


def trim(text: str) -> str:
    """A text of this file, as :func:`said` has it."""
    return "\n".join(line[4:].rstrip() for line in text.splitlines() if line.strip())


# ------------------------------------------------------------------------------------------------ the table of trials


def row(name: str, seed: int, **values: Any) -> TrialRow:
    congestion, _, scheduler = name.partition("+")
    key = TrialKey(congestion, scheduler, seed)
    about = {"id": key.id, **vars(key), "status": "ok", "error": None}
    return TrialRow(about | {"playback_ratio": 0.5, "weighted_layers": 0.25} | values)


def footing(name: str, **more: Any) -> dict[str, Any]:
    none = {
        "knows": [],
        "ordering_domains": 32,
        "windows": 2,
        "copies": "none",
        "scale": 30.0,
        "distorts": [],
    }
    return {"name": name, **none, "copies": "", **more}


PLAIN = [footing("cubic+minrtt"), footing("bbr+rr")]


def test_a_row_a_trial(said: Said) -> None:
    contact = json.dumps([{"from_s": 0, "to_s": 1, "bytes_in_time": 1, "full_quality_bytes": 1}])
    done = [
        row(
            "cubic+minrtt",
            1,
            bytes_in_time=1_234_567.0,
            full_quality_bytes=2e6,
            sent_bytes=3.05e6,
            contacts=contact,
        ),
        row("bbr+rr", 2, oracle_ratio=0.3333, completion_s=12_345.67, stalls=3.0, fairness_jain=0.98765),
        TrialRow({**row("bbr+rr", 3).values, "status": "failed", "error": "no"}),
    ]
    trials.show_trials("mars", done, PLAIN)
    assert said() == trim("""
                                                           mars
     trial            played  weight  of bound  MB in time  MB in full  MB sent  stalls    done s   fair  knows  lanes
     ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     cubic+minrtt/s1   50.0%   25.0%         –         1.2         2.0      3.0       –         –      –  –       32/2
     bbr+rr/s2         50.0%   25.0%     33.3%           –           –        –       3  12,345.7  0.988  –       32/2
     bbr+rr/s3        failed                                                                              –       32/2
    lanes: ordering domains/windows over all links
    """)


def test_a_row_an_algorithm_where_trials_are_many(said: Said) -> None:
    """Weights 0.01 .. 0.16: the middle half of 16 seeds is 0.05 to 0.12; of the other there are 15 failures."""
    done = [
        row("cubic+minrtt", n, weighted_layers=n / 100, bytes_in_time=n * 1e6, oracle_ratio=0.5)
        for n in range(1, 17)
    ]
    failed = [{**row("bbr+qle-ds", n).values, "status": "failed", "error": "no"} for n in range(2, 17)]
    done += [row("bbr+qle-ds", 1, weighted_layers=0.5, sent_bytes=2e6), *map(TrialRow, failed)]
    footings = [
        footing("cubic+minrtt", knows=["rates", "deadlines"]),
        footing("bbr+qle-ds", scale=1.0, copies="base"),
    ]
    trials.show_trials("mars", done, footings)
    assert said() == trim("""
                                                 mars
     algorithm           seeds  played  weight      95 %   mean  worst  MB sent  knows  lanes   S
     ────────────────────────────────────────────────────────────────────────────────────────────
     cubic+minrtt           16   50.0%    8.5%  5.1–11.9   8.5%   1.0%        –  rd      32/2  30
     bbr+qle-ds        1 of 16   50.0%   50.0%         –  50.0%  50.0%      2.0  –      32/2+   1
     (reconstruction)
    knows: r is configured with the rate of each link; d drops layers that cannot meet their deadline
    lanes: ordering domains/windows over all links
    S: mission seconds to an emulated one, by which its constants in seconds are stretched
    """)
    for one in done:
        one.values["contacts"] = json.dumps([{}])
    trials.show_trials("mars", done, [footings[0], footing("bbr+qle-ds")])
    assert said() == trim("""
                                                          mars
     algorithm           seeds  played  weight      95 %   mean  worst  MB in time      95 %  MB sent  knows  lanes
     ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
     cubic+minrtt           16   50.0%    8.5%  5.1–11.9   8.5%   1.0%         8.5  5.1–11.9        –  rd      32/2
     bbr+qle-ds        1 of 16   50.0%   50.0%         –  50.0%  50.0%           –         –      2.0  –       32/2
     (reconstruction)
    knows: r is configured with the rate of each link; d drops layers that cannot meet their deadline
    lanes: ordering domains/windows over all links
    """)


def test_nothing_but_failures(said: Said) -> None:
    failed = TrialRow({**row("bbr+rr", 1).values, "status": "failed", "error": "no"})
    trials.show_trials("mars", [failed], PLAIN)
    assert said() == trim("""
              mars
     trial      knows  lanes
     ───────────────────────
     bbr+rr/s1  –       32/2
    lanes: ordering domains/windows over all links
    """)


def test_long_names_have_their_mark_below() -> None:
    """Of 40 characters and more: here 23 and 16, then 24 and 16."""
    names = [name for name, _ in trials._rows([row("bbr-scaled+qle-ds", seed) for seed in (1000, 10_000)])]
    assert names == ["bbr-scaled+qle-ds/s1000 (reconstruction)", "bbr-scaled+qle-ds/s10000\n(reconstruction)"]
    many = trials._rows([row("bbr-scaled+qle-ds", seed) for seed in range(31)])
    assert [(name, len(one)) for name, one in many] == [("bbr-scaled+qle-ds\n(reconstruction)", 31)]


def test_flows_beside_an_algorithm_are_a_mean_over_seeds_and_flows() -> None:
    def flows(*rates: float | None) -> str:
        return json.dumps([{"link": "x", "congestion": "cubic", "throughput_bps": rate} for rate in rates])

    one = [
        row("cubic+minrtt", 1, flows=flows(1000.0, 3000.0)),
        row("cubic+minrtt", 2, flows=flows(None, 6000.0)),
    ]
    two = [row("bbr+rr", 1, flows=flows(1_234_567.0))]
    assert trials.others([*one, *two]) == [
        "beside cubic+minrtt on x: 2 cubic flows with a mean of 2,500 bit/s",
        "beside bbr+rr on x: a cubic flow with 1,234,567 bit/s",
    ]


def test_what_algorithms_know_and_what_a_scale_does_to_them(said: Said) -> None:
    given = [
        footing("cubic+minrtt", distorts=["RTO", "C"]),
        footing("bbr+rr", distorts=["RTO"], knows=["queue"]),
        footing("ltp", scale=1.0, ordering_domains=None, windows=8192, copies="handover"),
        footing("own", scale=2.0, distorts=["RTO"]),
    ]
    trials.show_algorithms(given)
    assert said() == trim("""
     algorithm     knows      lanes   S
     ──────────────────────────────────
     cubic+minrtt  –           32/2  30
     bbr+rr        q           32/2  30
     ltp           –      any/8192+   1
     own           –           32/2   2
    knows: q observes the queue of its own transmitter
    lanes: ordering domains/windows over all links
    S: mission seconds to an emulated one, by which its constants in seconds are stretched
    """)
    assert trials.legend(given)[3:] == ["at S = 30: RTO; C (cubic+minrtt)", "at S = 2: RTO"]
    trials.show_algorithms(given[:2])
    assert said() == trim("""
     algorithm     knows  lanes   S
     ──────────────────────────────
     cubic+minrtt  –       32/2  30
     bbr+rr        q       32/2  30
    knows: q observes the queue of its own transmitter
    lanes: ordering domains/windows over all links
    """)


# -------------------------------------------------------------------------------------------------------- a dry run


def planned(**more: Any) -> Any:
    link = {
        "name": "x-band",
        "rtt_s": 1234.5678,
        "least_rate_bps": 4e4,
        "rate_bps": 2e5,
        "bdp_packets": 20_576.13,
    }
    link |= {"loss": {"packet": 0.001234}, "queue_bytes": 30_864_195, "outage_s": 3600.4, "outages": 2}
    link |= {"flows": [], "datagrams_bps": []}
    flows = [{"congestion": "cubic", "rate_bps": 1000.0}, {"congestion": "bbr", "rate_bps": None}] * 2
    other = {
        "rate_bps": 4e4,
        "outages": 0,
        "loss": {},
        "flows": flows,
        "datagrams_bps": [1e5, 2e5],
        "name": "y",
    }
    plan = {
        "scenario": "mars",
        "seed": 3,
        "network": None,
        "links": [SimpleNamespace(**link), SimpleNamespace(**link | other)],
        "notes": ["mind this"],
        "chunks": 1234,
        "layers": 3,
        "payload_bytes": 12_345_678,
        "playout_delay_s": 2713.44,
        "mission_s": 86_400.0,
        "least_playout_delays": [{"seed": 1, "delay_s": 2713.4}],
        "distorts": ["the least timeout is 6 s"],
        "scale": 30.0,
        "work": {
            name: {"estimate": most}
            for name, most in (("events", 123_456.0), ("memory", 123.4e6), ("bytes", 5.6e6))
        },
        "trials": [f"cubic+qle-ds/s{n}" for n in range(1, 33)],
        "reconstructions": ["cubic+qle-ds/s2"],
        "estimated_packets": 98_765,
        "algorithms": [SimpleNamespace(document=lambda: footing("cubic+qle-ds"))],
        **more,
    }
    return SimpleNamespace(**plan)


def test_a_dry_run(said: Said) -> None:
    assert emulate._show_plan(planned(), Clock(), as_json=False) == 0
    assert said() == trim("""
                                   mars (links as seed 3 draws them)
      link        RTT s       rate bit/s   BDP packets   loss             queue bytes   outages s
     ─────────────────────────────────────────────────────────────────────────────────────────────
      x-band   1,234.57   40,000–200,000      20,576.1   packet 0.00123    30,864,195       3,600
      y        1,234.57           40,000      20,576.1   none              30,864,195           –
    others on y: 4 TCP flows (2 cubic, 2 bbr) writing 2,000 bit/s, 2 sources of datagrams (300,000 bit/s while on)
    mind this
    video: 1,234 chunks of 3 layers, 12,345,678 bytes
    playout delay 2,713.44 s; a run lasts about 86,400 s
    least playout delay with all in time: 2,713.4 s
    time scale S = 30, in mission time:
      the least timeout is 6 s
    a trial takes up to 1.2e+05 events and 123 MB; the run's folder up to 6 MB
    32 trials, about 98,765 data packets:
      cubic+qle-ds/s1
      cubic+qle-ds/s2 (reconstruction)
      cubic+qle-ds/s3
      cubic+qle-ds/s4
      cubic+qle-ds/s5
      cubic+qle-ds/s6
      cubic+qle-ds/s7
      cubic+qle-ds/s8
      cubic+qle-ds/s9
      cubic+qle-ds/s10
      cubic+qle-ds/s11
      cubic+qle-ds/s12
      cubic+qle-ds/s13
      cubic+qle-ds/s14
      cubic+qle-ds/s15
      cubic+qle-ds/s16
      cubic+qle-ds/s17
      cubic+qle-ds/s18
      cubic+qle-ds/s19
      cubic+qle-ds/s20
      cubic+qle-ds/s21
      cubic+qle-ds/s22
      cubic+qle-ds/s23
      cubic+qle-ds/s24
      cubic+qle-ds/s25
      cubic+qle-ds/s26
      cubic+qle-ds/s27
      cubic+qle-ds/s28
      cubic+qle-ds/s29
      cubic+qle-ds/s30
      and 2 more
     algorithm     knows  lanes   S
     ──────────────────────────────
     cubic+qle-ds  –       32/2  30
    lanes: ordering domains/windows over all links
    """)


def test_a_dry_run_of_a_dated_mission_without_much(said: Said) -> None:
    bare = planned(links=[], notes=[], least_playout_delays=[], distorts=[], scale=1.0, trials=["a/s1"] * 30)
    emulate._show_plan(bare, Clock(datetime(2031, 5, 1, tzinfo=UTC)), as_json=False)
    lines = said().splitlines()
    assert lines[0].strip() == "mars, from 2031-05-01 00:00 UTC (links as seed 3 draws them)"
    assert (
        "playout delay 2,713.44 s; a run lasts about 86,400 s, 2031-05-01 00:00–2031-05-02 00:00 UTC" in lines
    )
    assert "time scale S = 1, nothing distorted" in lines
    assert lines.count("  a/s1") == 30 and not any(
        "more" in line or "least playout" in line for line in lines
    )


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ({}, "none"),
        ({"packet": 0.0012345, "ber": 1e-7}, "packet 0.00123, ber 1e-07"),
        (
            {"gilbert_elliott": {"good": 0.0, "bad": 0.5, "r": 0.05, "p": 1e-4}},
            "p 0.0001 r 0.05 good 0 bad 0.5",
        ),
        ({"schedule": {"min": 1e-4, "max": 0.01}}, "0.0001–0.01, changing"),
        ({"schedule": {"min": 0.01, "max": 0.01}}, "0.01, changing"),
        (
            {
                "frames": {
                    "code": "c",
                    "ebn0_db": [1.0, 2.345],
                    "frame_error_rate": [1e-3, 1e-5],
                    "table_ebn0_db": [0, 1],
                }
            },
            "c at 1.00–2.35 dB, FER 0.001–1e-05",
        ),
        (
            {
                "frames": {
                    "code": "c",
                    "ebn0_db": [1.01, 1.01],
                    "frame_error_rate": [1e-5] * 2,
                    "table_ebn0_db": [0, 1],
                }
            },
            "c at 1.01 dB, FER 1e-05 (the table's floor)",
        ),
    ],
)
def test_losses_in_a_few_words(loss: dict[str, Any], words: str) -> None:
    assert emulate._loss(loss) == words


def test_a_network(said: Said) -> None:
    hop = {
        "from": "rover",
        "to": "orbiter",
        "rate_bps": 24_000.0,
        "up_rate_bps": 1234.5,
        "rtt_s": 20.5,
        "loss": {},
    }
    net = SimpleNamespace(
        nodes=[
            {"name": "rover", "storage_bytes": 0, "when_full": "drop", "restart": None},
            {
                "name": "orbiter",
                "storage_bytes": 60_000,
                "when_full": "refuse",
                "restart": {"at_s": [100.0, 2e6]},
            },
        ],
        hops=[
            {"name": "uhf", **hop, "contacts": [[0.0, 500.0], [900.0, 1000.0]]},
            {"name": "x", **hop, "contacts": [[10.0, 11.0]]},
        ],
        paths=[
            SimpleNamespace(
                name="relayed", nodes=("rover", "orbiter"), light_s=11.25, least_s=11.5, longest_s=1050.0
            ),
            SimpleNamespace(
                name="direct", nodes=("rover", "earth"), light_s=600.0, least_s=None, longest_s=None
            ),
        ],
        most_bytes=1_234_567.0,
    )
    given: Any = net
    network.show_network(given, "mars", 1000.0, 10_000_000, lambda loss: f"loss {loss}")
    assert said() == trim("""
                         mars
      node       storage   when full   restarts s
     ─────────────────────────────────────────────
      rover            –   –           –
      orbiter   60,000 B   refuse      100, 2e+06
      link   from    to         bit/s   up bit/s   light s   loss       up   up from 0 to                             1,000 s
     ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      uhf    rover   orbiter   24,000      1,234     10.25   loss {}   60%   ████████████████████████···················▄████
      x      rover   orbiter   24,000      1,234     10.25   loss {}    0%   ▄···············································
      path      over              light s   least s   longest s
     ───────────────────────────────────────────────────────────
      relayed   rover > orbiter     11.25      11.5   1,050
      direct    rover > earth         600     never   –
    light: one-way light time of the path; least and longest: delay of a packet that waits at each node for its link, of those that arrive within the run
    can pass at most: 1.23 MB, 12.3% of the video (maximum flow over time, no losses)
    """)  # noqa: E501
    net.most_bytes = 3e7
    network.show_network(given, "mars", 1000.0, 10_000_000, str)
    assert "can pass at most: 30.00 MB, 100.0% of the video (maximum flow over time, no losses)" in said()


def test_the_scale_of_a_bar_ends_where_the_bar_does() -> None:
    for length_s in (10.0, 86_400.0, 1.5e6):
        assert len(network._scale(length_s)) == network.BARS


# --------------------------------------------------------------------------------------------------- after the trials


def test_a_sweeps_estimate(said: Said) -> None:
    known = {
        "sweep": "mars",
        "cells": 1200,
        "left_out": 34,
        "trials": 56_000,
        "missing": 6_000,
        "bytes": 12_345_678,
    }
    known |= {
        "trial_s": 0.1234,
        "low_s": 89.4,
        "high_s": 3599.0,
        "workers": 8,
        "measured": 4,
        "extended": False,
    }
    one: Any = SimpleNamespace(**known)
    assert sweep._show_estimate(one, as_json=False) == 0
    assert said() == trim("""
    mars: 1,200 points (34 points left out), 56,000 trials
    50,000 have results, 6,000 are missing
    time: 89 s to 60 min on 8 cores, by 4 trials that were measured now (0.12 s each on average)
    disk: at most 12.3 MB of results
    """)
    none: Any = SimpleNamespace(**known | {"left_out": 0, "missing": 56_000, "trial_s": None, "measured": 0})
    sweep._show_estimate(none, as_json=False)
    assert said() == trim("""
    mars: 1,200 points, 56,000 trials
    time: not known, 0 trials could be measured
    disk: at most 12.3 MB of results
    """)
    none.extended = True
    sweep._show_estimate(none, as_json=False)
    assert "time: not known, its own Python is not run" in said()
    alike: Any = SimpleNamespace(**known | {"low_s": 3500.0})
    sweep._show_estimate(alike, as_json=False)
    assert "time: 58 min to 60 min on 8 cores" in said()
    alike.high_s = 3510.0
    sweep._show_estimate(alike, as_json=False)
    assert "time: 58 min on 8 cores" in said()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (89.4, "89 s"),
        (90.0, "2 min"),
        (5399.0, "90 min"),
        (5400.0, "1.5 h"),
        (172_799.0, "48.0 h"),
        (172_800.0, "2.0 d"),
    ],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert sweep.duration_words(seconds) == words


def test_progress_names_thousands() -> None:
    assert sweep.progress_line(Progress(12_000, 1_500, 1_000, (100.0, 100.0))) == (
        "1,500 of 12,000 trials, 1,000 failed, about 2 min left"
    )


def test_a_sweeps_end(said: Said) -> None:
    failed = [{"trial": f"cubic/s{n}", "tries": ["a", "b"], "error": "no"} for n in range(11)]
    swept = SimpleNamespace(name="mars", done=1000, skipped=234, trials=2000, cells=1500, folder=Path("/out"))
    swept.wall_s, swept.failed, given = 100.0, failed, swept
    one: Any = given
    assert sweep._conclude(one, as_json=False) == 1
    assert said().splitlines() == [
        "mars: 1,234 of 2,000 trials of 1,500 points in /out, 234 of them before, 2 min",
        *(f"dstcc: cubic/s{n} failed 2 times: no" for n in range(10)),
        "dstcc: and 1 more",
        "dstcc: why, with tracebacks: /out/failed",
    ]
    swept.failed, swept.skipped = failed[:10], 0
    assert sweep._conclude(one, as_json=False) == 1
    lines = said().splitlines()
    assert lines[0] == "mars: 1,000 of 2,000 trials of 1,500 points in /out, 2 min" and len(lines) == 12
    swept.failed = []
    assert sweep._conclude(one, as_json=False) == 0
    assert len(said().splitlines()) == 1


def test_ctrl_c_says_how_a_sweep_goes_on(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/dstcc", "sweep", "a study.toml"])
    for error, words in (
        (KeyboardInterrupt(), "to continue: dstcc sweep 'a study.toml'"),
        (ValueError(), ""),
    ):
        with pytest.raises(type(error)), output.how_to_go_on(sweep._again):
            raise error
        assert said() == (f"dstcc: completed trials are kept; {words}" if words else "")


def test_a_trainings_points_and_end(said: Said) -> None:
    point: Any = SimpleNamespace(step=12_345, score=0.123456, best=0.2, loss=1.5e-5, random=0.123)
    train._say_point(point)
    assert said() == "step     12,345  score 0.1235 (best 0.2)  loss 1.5e-05  random 0.12"
    trained: Any = SimpleNamespace(algorithm="iodst-dqn", steps=12_000, reason="", env_steps_per_s=12_345.6)
    trained.metric, trained.evaluation, trained.policy = (
        "weighted_layers",
        Estimate(0.5, 0.4, 0.6, 8),
        Path("/p"),
    )
    for reason, most, why in (
        ("", 12_000, "all steps done"),
        ("", 11_999, "11,999 asked for, in whole batches"),
        ("patience", 11_999, "no better for long"),
    ):
        trained.reason = reason
        train._say_trained(trained, most)
        assert said().replace("\n", " ") == (
            f"iodst-dqn, 12,000 steps ({why}), 12,346 steps/s: weighted_layers 0.5 [0.4, 0.6] on 8 seeds it was not "
            "trained on policy: /p"
        )


def test_an_explanation(said: Said) -> None:
    part = {
        "from_s": 1234.5,
        "links": [{"believed_loss": 0.01234, "channel_loss": None}],
        "played": 0.5,
        "in_full": None,
    }
    told: Any = SimpleNamespace(
        finding=lambda: "It believed it.",
        shares=lambda: {"repair": [("0.1", 0.75), ("0.2", 0.25)], "rate": [("full", 1.0)]},
        clock=Clock(),
        end_s=12_000.0,
        links=[SimpleNamespace(name="x-band")],
        parts=lambda: [part],
    )
    explain._show(told)
    assert said() == trim("""
    It believed it.
      decided   choice    share
     ───────────────────────────
      repair    0.1       75.0%
                0.2       25.0%
      rate      full     100.0%
    loss believed / of the channel, and what
         was played of what was captured
      from s      x-band   played   in full
     ───────────────────────────────────────
       1,234   0.012 / –    50.0%         –
    """)
    told.clock = Clock(datetime(2031, 5, 1, tzinfo=UTC))
    explain._show(told)
    lines = said().splitlines()
    assert lines[-3].split()[:2] == ["from", "(UTC)"] and lines[-1].split()[:2] == ["2031-05-01", "00:20"]


def test_an_encoding(said: Said) -> None:
    layer = {"width": 320, "height": 180, "psnr_db": 34.567, "ssim": 0.98765, "vmaf": None}
    layers = [
        SimpleNamespace(layer=0, bytes=1234, bitrate_bps=1234.5, **layer),
        SimpleNamespace(layer=1, bytes=12_345, bitrate_bps=2000.0, **layer | {"width": 640, "vmaf": 91.25}),
    ]
    report: Any = SimpleNamespace(layers=layers)
    output.show_figures(encode._table(report))
    assert said() == trim("""
      layer      size    bytes   kbit/s   prefix   kbit/s   PSNR dB     SSIM   VMAF
     ───────────────────────────────────────────────────────────────────────────────
          0   320x180    1,234      1.2        0      1.2     34.57   0.9877      -
          1   640x180   12,345      2.0     0..1      3.2     34.57   0.9877   91.2
    """)
    layers[1].width = 320
    output.show_figures(encode._table(report))
    assert "size" not in said()


def test_kernels(said: Said) -> None:
    facts = {"variant": "debug", "version": "6.12.1", "bytes": 12.6e6, "cpu_s": 245.6}
    built: Any = SimpleNamespace(facts=facts, kernel=Path("/cache/linux"))
    kernel._show(None, debug=True, name="6.12", as_json=False)
    kernel._show(None, debug=False, name="6.12", as_json=False)
    kernel._show(built, debug=True, name="6.12", as_json=False)
    kernel._print_loaded("bpf", as_json=False)
    kernel._print_loaded(None, as_json=False)
    assert said().splitlines() == [
        "6.12 debug: not built (dstcc kernel build --kernel 6.12 --debug)",
        "6.12 plain: not built (dstcc kernel build --kernel 6.12)",
        "6.12 debug: Linux 6.12.1, 13 MB, built in 246 processor seconds: /cache/linux",
        "running kernel: dstcc loaded as bpf",
        "running kernel: dstcc not loaded",
    ]
    assert kernel._document(None, True, "6.12") == {
        **{"release": "6.12", "variant": "debug", "built": False, "kernel": None},
    }
    assert kernel._document(built, False, "6.12") == {
        **{"release": "6.12", "built": True, "kernel": "/cache/linux"},
        **facts,
    }


def test_links_in_two_columns(said: Said) -> None:
    links._table([("EIRP", "65.31 dBW"), ("a long label", "x" * 200)])
    assert said().splitlines()[0] == "  EIRP           65.31 dBW"
    links._warn(("mind this",))
    links._wrote(Path("/a"))
    assert said().splitlines() == ["warning: mind this", "wrote /a"]


def test_lines_are_as_long_as_they_are(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """But sentences are folded."""
    monkeypatch.setenv("COLUMNS", "20")
    output.tell("wrote " + "a folder/" * 5)
    output.tell_aside("page: " + "a folder/" * 5)
    output.say("a sentence of words")
    output.say("a sentence of a few more words-and-a-long-one")
    assert said().splitlines() == [
        "wrote " + "a folder/" * 5,
        "a sentence of words",
        "a sentence of a few",
        "  more",
        "  words-and-a-long-one",
        "page: " + "a folder/" * 5,
    ]


def test_a_table_is_folded_where_its_texts_may_be(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 characters: the widest text gives way first, to 16 and no further."""
    monkeypatch.setenv("COLUMNS", "40")
    table = output.plain_table("name", "a text", "more of it")
    table.add_column("a number", justify="right")
    table.add_row("n" * 10, "t" * 30, "short", "1234")
    output.show_figures(table)
    assert said() == trim("""
      name         a text
     ──────────────────────────────────────
      nnnnnnnnnn   ttttttttttttttttttttttt
                   ttttttt
      name         more of it   a number
     ────────────────────────────────────
      nnnnnnnnnn   short            1234
    """)


def test_no_bar_is_drawn_where_nobody_looks(said: Said) -> None:
    assert play.DEFAULT_LENGTH_S == 600.0
    with output.progress("work", 2.0) as advance:
        advance(1.0)
    assert said() == ""
