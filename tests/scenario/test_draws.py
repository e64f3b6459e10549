from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.engine.config import CrossTraffic, FrameSchedule, Hop, Link, Node
from dstcc.engine.config import Flow as EngineFlow
from dstcc.engine.config import Loss as EngineLoss
from dstcc.errors import ScenarioError
from dstcc.scenario import content_hash, describe, draw_links, load_scenario, parse_override, rtt_s
from dstcc.scenario.draws import describe_loss, link_notes, longest_possible_rtt_s

UPLINKS = [parse_override(f"link.{link}.up_rate_bps=2000") for link in (0, 1)]


def drawn(path: Path, *overrides: str, seed: int = 1) -> list[dict[str, object]]:
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    return [describe(link, 1e9) for link in draw_links(scenario, seed)]


def test_fixed_values_are_the_same_at_every_seed(minimal: Path) -> None:
    assert drawn(minimal, seed=1) == drawn(minimal, seed=2)


def test_a_seed_draws_the_same_again_and_another_seed_differs(minimal: Path) -> None:
    draw = "link.0.delay_s={uniform = [250, 600]}"
    assert drawn(minimal, draw, seed=7) == drawn(minimal, draw, seed=7)
    assert drawn(minimal, draw, seed=7) != drawn(minimal, draw, seed=8)


def test_a_draw_does_not_move_when_others_are_added(minimal: Path) -> None:
    one = "link.0.delay_s={uniform = [250, 600]}"
    others = ["link.0.rate_bps={uniform = [1000, 2000]}", "link.1.delay_s={uniform = [250, 600]}"]
    alone, among = drawn(minimal, one)[0], drawn(minimal, one, *others)
    assert alone["delay_s"] == among[0]["delay_s"]
    assert among[0]["delay_s"] != among[1]["delay_s"]


def test_draws_fill_their_range(minimal: Path) -> None:
    # Mean of n uniform draws on [0, 1]: 1/2 ± 4 sigma with sigma = 1/sqrt(12 n); n = 400 gives 0.058.
    scenario = load_scenario(
        minimal,
        [
            parse_override("link.0.delay_s={uniform = [250, 600]}"),
            parse_override("link.0.loss.packet={log_uniform = [1e-4, 1e-2]}"),
        ],
    )
    links = [draw_links(scenario, seed)[0] for seed in range(400)]
    delays = np.array([rtt_s(link) / 2 for link in links])
    losses = np.log10([link.loss.rate for link in links])
    for values, low, high in ((delays, 250, 600), (losses, -4, -2)):
        assert low <= values.min() < values.max() <= high
        assert abs((values.mean() - low) / (high - low) - 0.5) < 0.058


def test_defaults_of_a_link(minimal: Path) -> None:
    first, second = drawn(minimal)
    assert first["up_rate_bps"] == 115_200
    assert first["up_loss"] == first["loss"] == {"packet": 1e-3}
    assert second["loss"] == {}
    assert first["rtt_s"] == 10
    # one BDP: 115,200 bit/s × 10 s / 8 = 144,000 bytes; 240,000 × 16 / 8 = 480,000
    assert (first["queue_bytes"], second["queue_bytes"]) == (144_000, 480_000)
    assert drawn(minimal, "link.0.delay_s=0.01")[0]["queue_bytes"] == 64_000


def test_the_way_up_can_differ(minimal: Path) -> None:
    link = drawn(minimal, "link.0.up_rate_bps=9600", "link.0.up_loss.ber=1e-7")[0]
    assert link["up_rate_bps"] == 9600
    assert link["up_loss"] == {"ber": 1e-7}


def test_a_queue_of_its_own_leaves_the_other_directions_alone(minimal: Path) -> None:
    # up: 57,600 bit/s × 10 s / 8 = 72,000 bytes
    link = drawn(minimal, "link.0.up_rate_bps=57600")[0]
    assert (link["queue_bytes"], link["up_queue_bytes"]) == (144_000, 72_000)
    down = drawn(minimal, "link.0.up_rate_bps=57600", "link.0.queue_bytes=5000")[0]
    assert (down["queue_bytes"], down["up_queue_bytes"]) == (5000, 72_000)
    up = drawn(minimal, "link.0.up_rate_bps=57600", "link.0.up_queue_bytes=6000")[0]
    assert (up["queue_bytes"], up["up_queue_bytes"]) == (144_000, 6000)


def test_a_link_may_lose_on_the_way_up_alone(minimal: Path) -> None:
    link = drawn(minimal, "link.1.up_loss.packet=0.25")[1]
    assert (link["loss"], link["up_loss"]) == ({}, {"packet": 0.25})


def test_every_kind_of_loss_reaches_the_engine(minimal: Path) -> None:
    bursts = "link.1.loss.gilbert_elliott={p = 0.1, r = 0.2, good = 0.3, bad = 0.4}"
    link = draw_links(load_scenario(minimal, [parse_override(bursts)]), 1)[1]
    assert link.loss == EngineLoss("gilbert-elliott", p=0.1, r=0.2, good=0.3, bad=0.4)
    assert drawn(minimal, bursts)[1]["loss"] == {
        "gilbert_elliott": {"p": 0.1, "r": 0.2, "good": 0.3, "bad": 0.4}
    }
    assert drawn(minimal, "link.1.loss.ber=1e-6")[1]["loss"] == {"ber": 1e-6}
    assert drawn(minimal, "link.1.loss.packet=0")[1]["loss"] == {"packet": 0.0}


@pytest.mark.parametrize("table", ["[[0, 5], [100, 6.5]]", "[[0, 6.5], [100, 5]]"])
def test_a_queue_holds_the_longest_round_trip(minimal: Path, table: str) -> None:
    # 115,200 bit/s × 2 × 6.5 s / 8 = 187,200 bytes
    link = drawn(minimal, f"link.0.delay_s={table}")[0]
    assert link["rtt_s"] == 13
    assert (link["queue_bytes"], link["up_queue_bytes"]) == (187_200, 187_200)


def test_the_longest_round_trip_is_that_of_any_seed_and_link(minimal: Path) -> None:
    def longest(*overrides: str) -> float:
        return longest_possible_rtt_s(load_scenario(minimal, [parse_override(text) for text in overrides]))

    assert longest() == 2 * 8
    assert longest("link.0.delay_s={uniform = [1, 9]}") == 2 * 9
    assert longest("link.0.delay_s={log_uniform = [1, 7]}") == 2 * 8
    assert longest("link.1.delay_s=[[0, 7], [9, 8.5], [20, 3]]") == 2 * 8.5


def test_a_record_has_all_that_is_of_a_link() -> None:
    """With a curve of delays the least and the most; what few links have only where this one has it."""
    link = Link(
        name="ka",
        rate_bps=1000.0,
        up_rate_bps=500.0,
        delay_t_ns=(0, 10**10),
        delay_ns=(2 * 10**9, 3 * 10**9),
        queue_bytes=77,
        up_queue_bytes=88,
        loss=EngineLoss("packet", rate=0.25),
        outages_ns=((10**9, 3 * 10**9), (5 * 10**9, 10**18)),
        cross_traffic=(CrossTraffic(40.0), CrossTraffic(50.0)),
        subflows=3,
        flows=(
            EngineFlow("cubic", start_ns=2 * 10**9, payload_bytes=9),
            EngineFlow("bbr", source=CrossTraffic(60.0)),
        ),
    )
    plain = {
        "name": "ka",
        "rate_bps": 1000.0,
        "up_rate_bps": 500.0,
        "delay_s": [[0.0, 2.0], [10.0, 3.0]],
        "rtt_s": rtt_s(link),
        "loss": {"packet": 0.25},
        "up_loss": {},
        "queue_bytes": 77,
        "up_queue_bytes": 88,
        "outages": 2,
        "outage_s": 2.0 + 4.0,
        "subflows": 3,
        "flows": [
            {"congestion": "cubic", "start_s": 2.0, "bytes": 9, "rate_bps": None},
            {"congestion": "bbr", "start_s": 0.0, "bytes": None, "rate_bps": 60.0},
        ],
        "datagrams_bps": [40.0, 50.0],
    }
    assert describe(link, 9.0) == plain
    assert rtt_s(link) == pytest.approx(6.0)
    curved = describe(replace(link, delay_slope=(0.1, 0.1)), 9.0)
    assert curved["delay_s"] == {"min": 2.0, "max": 3.0}
    constant = replace(link, delay_t_ns=(0,), delay_ns=(4 * 10**9,))
    assert describe(constant, 9.0)["delay_s"] == 4.0
    node = Node("relay", 1)
    changing = replace(
        link,
        unannounced_ns=((10**9, 2 * 10**9), (4 * 10**9, 4_500_000_000)),
        rate_t_ns=(0, 1, 2),
        rate_share=(1.0, 0.5, 0.8),
        hidden_t_ns=(0, 5),
        hidden_share=(0.9, 0.2),
        up_rate_t_ns=(0, 7),
        up_rate_share=(1.0, 0.4),
        onward=(Hop(1, node, constant),),
    )
    more = {
        "unannounced_s": 1.5,
        "rate_steps": 4,  # one after the first of each, and the first
        "least_rate_bps": pytest.approx(1000 * 0.5 * 0.2),
        "up_rate_steps": 2,
        "least_up_rate_bps": 200.0,
        "onward": [{"node": "relay", **describe(constant, 9.0)}],
    }
    assert describe(changing, 9.0) == {**plain, "rtt_s": rtt_s(changing), **more}
    hidden = describe(replace(link, hidden_t_ns=(0, 5), hidden_share=(0.9, 0.2)), 9.0)
    assert (hidden["rate_steps"], hidden["least_rate_bps"]) == (2, pytest.approx(200.0))
    assert "up_rate_steps" not in hidden and "onward" not in hidden and "unannounced_s" not in hidden


def test_outages_count_as_far_as_the_run_goes(minimal: Path) -> None:
    link = draw_links(load_scenario(minimal, [parse_override("link.0.outages=[[1, 3], [8, 20]]")]), 1)[0]
    for end_s, count, dark_s in ((100, 2, 2 + 12), (10, 2, 2 + 2), (8, 1, 2), (2, 1, 1), (1, 0, 0)):
        described = describe(link, end_s)
        assert (described["outages"], described["outage_s"]) == (count, dark_s), end_s


def test_others_on_the_link_are_recorded(minimal: Path) -> None:
    flows = "link.0.flows=[{congestion = 'cubic', bytes = 5000, start_s = 2}, {congestion = 'bbr', rate_bps = 1e6}]"
    link = drawn(minimal, flows, "link.0.cross_traffic=[{rate_bps = 7000}, {rate_bps = 9000}]")[0]
    assert link["flows"] == [
        {"congestion": "cubic", "start_s": 2, "bytes": 5000, "rate_bps": None},
        {"congestion": "bbr", "start_s": 0, "bytes": None, "rate_bps": 1e6},
    ]
    assert link["datagrams_bps"] == [7000, 9000]


def test_a_draw_is_the_first_of_a_stream_of_its_own(minimal: Path) -> None:
    def share(link: str, key: str, seed: int) -> float:
        name = "\0".join(("scenario", link, key, str(seed)))
        entropy = int.from_bytes(sha256(name.encode()).digest(), "big")
        return float(np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy))).random())

    draws = {
        "link.0.delay_s={uniform = [250, 600]}": ("delay_s", 250 + 350 * share("relay", "delay_s", 3)),
        "link.0.rate_bps={uniform = [1000, 2000]}": ("rate_bps", 1000 + 1000 * share("relay", "rate_bps", 3)),
        "link.0.up_rate_bps={log_uniform = [1000, 8000]}": (
            "up_rate_bps",
            1000 * 8 ** share("relay", "up_rate_bps", 3),
        ),
    }
    for override, (key, value) in draws.items():
        # delays are whole nanoseconds
        assert drawn(minimal, override, seed=3)[0][key] == pytest.approx(value, rel=1e-10)
    loss = {"packet": pytest.approx(1e-4 * 100 ** share("relay", "loss.packet", 3), rel=1e-12)}
    assert drawn(minimal, "link.0.loss.packet={log_uniform = [1e-4, 1e-2]}", seed=3)[0]["loss"] == loss


def test_a_reader_is_told_of_values_outside_a_codes_table_in_either_direction(minimal: Path) -> None:
    code = "{ebn0_db = {uniform = [-9, -9]}, code = 'ccsds-c2'}"
    weak = [parse_override(f"link.{at}.{key}={code}") for at, key in ((0, "up_loss"), (1, "loss"))]
    first, second = link_notes(load_scenario(minimal, [*UPLINKS, *weak]))
    assert first.startswith("link relay: up_loss: Eb/N0 -9.00 dB is below the table of ccsds-c2")
    assert second.startswith("link direct: loss: Eb/N0 -9.00 dB is below the table of ccsds-c2")
    inside = "link.0.loss={ebn0_db = 3.5, code = 'ccsds-c2'}"
    assert link_notes(load_scenario(minimal, [*UPLINKS, parse_override(inside)])) == ()


@pytest.mark.parametrize(
    "down", ["{log_uniform = [1000, 50_000]}", "[[0, 1000], [60, 3000], [90, 2000]]", "7_000"]
)
def test_an_uplink_said_to_be_as_the_data_is_the_assumed_one_without_the_note(
    minimal: Path, down: str
) -> None:
    said, assumed = (
        load_scenario(minimal, [parse_override(text) for text in (f"link.0.rate_bps={down}", *more)])
        for more in (["link.0.up_rate_bps=rate_bps"], [])
    )
    assert draw_links(said, 3) == draw_links(assumed, 3)
    # a policy trained before it was said has been trained on this
    assert content_hash(said) == content_hash(assumed)
    slower = load_scenario(minimal, [parse_override("link.0.up_rate_bps=999")])
    assert content_hash(slower) != content_hash(load_scenario(minimal))


def test_an_uplink_said_to_be_as_the_data_replaces_a_profiles(minimal: Path) -> None:
    profile = ["link.0.rate_bps=", "link.0.delay_s=", "link.0.loss=", "link.0.profile=lunar"]
    there = [
        parse_override(text)
        for text in (*profile, "scenario.start=2028-05-01T04:00:00Z", "scenario.duration_s=600")
    ]
    said = load_scenario(minimal, [*there, parse_override("link.0.up_rate_bps=rate_bps")])
    own = load_scenario(minimal, there)
    assert [draw_links(one, 1)[0].up_rate_bps for one in (own, said)] == [256e3, 100e6]
    assert content_hash(said) != content_hash(own)
    with pytest.raises(ScenarioError, match=r"link.0.up_rate_bps = 'rate': "):
        load_scenario(minimal, [parse_override("link.0.up_rate_bps=rate")])


def test_an_uplink_as_fast_as_the_data_is_said_where_nobody_asked_for_it(minimal: Path) -> None:
    def notes(*overrides: str) -> tuple[str, ...]:
        return link_notes(load_scenario(minimal, [parse_override(text) for text in overrides]))

    assert notes() == tuple(
        f"link {name}: up_rate_bps is not given: acknowledgements have the data's rate, {rate} bit/s"
        for name, rate in (("relay", "115,200"), ("direct", "240,000"))
    )
    assert notes("link.0.up_rate_bps=2000", "link.1.up_rate_bps=240000") == ()
    assert notes("link.0.up_rate_bps=rate_bps", "link.1.up_rate_bps=rate_bps") == ()
    [table] = notes("link.0.rate_bps=[[0, 1000], [60, 3000]]", "link.1.up_rate_bps=2000")
    assert table.endswith("3,000 bit/s")
    # a physical profile has an uplink of its own
    physical = (
        "link.0.profile=mro-x-dss35",
        "link.1.up_rate_bps=2000",
        "scenario.start=2026-11-21T00:00:00Z",
        "scenario.duration_s=600",
    )
    assert not any("up_rate_bps" in note for note in notes(*physical))


def frames(**more: Any) -> FrameSchedule:
    """Eb/N0 of 1, 3 and 9 dB at 0, 100 and 200 s, over a curve of 10^-1 a decibel from 0 dB on."""
    given: dict[str, Any] = {
        "frame_bits": 1784,
        "t_ns": np.array([0, 100, 200]) * 10**9,
        "ebn0_db": np.array([1.0, 3.0, 9.0]),
        "scintillation_index": np.array([0.5, 0.25, 0.0]),
        "coherence_ns": 1,
        "curve_from_db": 0.0,
        "curve_step_db": 2.0,
        "log10_fer": np.array([0.0, -2.0, -4.0]),
        "code": "by hand",
    }
    return FrameSchedule(**given | more)


def test_frames_are_told_by_their_extremes_outside_the_outages() -> None:
    whole = describe_loss(EngineLoss("frames", frames=frames()))["frames"]
    assert whole == {
        "code": "by hand",
        "frame_bits": 1784,
        "ebn0_db": [1.0, 9.0],
        "table_ebn0_db": [0.0, 4.0],
        "frame_error_rate": pytest.approx([0.1, 1e-4]),  # beyond the table its last row
        "scintillation_index": [0.0, 0.5],
    }

    def lit(*outages_s: tuple[int, int]) -> Any:
        outages_ns = tuple((start * 10**9, end * 10**9) for start, end in outages_s)
        return describe_loss(EngineLoss("frames", frames=frames()), outages_ns)["frames"]["ebn0_db"]  # type: ignore[index]

    assert lit((150, 250)) == [1.0, 3.0]
    assert lit((0, 100)) == [3.0, 9.0]  # dark from the first moment on, lit again at the last
    assert lit((0, 1), (50, 150)) == [9.0, 9.0]
    assert lit((0, 1000)) == [1.0, 9.0]  # never lit: all there is


def test_each_direction_is_dark_in_its_own_outages_or_in_both(minimal: Path) -> None:
    lossy = EngineLoss("frames", frames=frames())
    (link, _) = draw_links(load_scenario(minimal), 1)
    link = replace(link, loss=lossy, up_loss=lossy, outages_ns=((150 * 10**9, 250 * 10**9),))

    def lit(link: Link) -> list[Any]:
        described: Any = describe(link, 1e9)
        return [described[key]["frames"]["ebn0_db"] for key in ("loss", "up_loss")]

    assert lit(link) == [[1.0, 3.0], [1.0, 3.0]]
    assert lit(replace(link, up_outages_ns=((0, 100 * 10**9),))) == [[1.0, 3.0], [3.0, 9.0]]


def test_a_delay_table(minimal: Path) -> None:
    link = drawn(minimal, "link.0.delay_s=[[0, 5], [100, 6.5]]")[0]
    assert link["delay_s"] == [[0, 5], [100, 6.5]]
    assert link["rtt_s"] == 13


@pytest.mark.parametrize("edge", ["{uniform = [5, 5]}", "{log_uniform = [5, 5]}"])
def test_a_range_of_one_value(minimal: Path, edge: str) -> None:
    assert drawn(minimal, f"link.0.delay_s={edge}")[0]["delay_s"] == 5
