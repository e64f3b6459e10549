from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.engine.config import NEVER_NS, EngineConfig
from dstcc.errors import ScenarioError
from dstcc.remy.table import shipped_numbers
from dstcc.scenario import (
    TrialSetup,
    draw_trial,
    engine_config,
    horizon_s,
    load_scenario,
    load_source,
    parse_override,
    scale_of,
)
from dstcc.scenario.work import limited

S = 1_000_000_000


def built(path: Path, *overrides: str, congestion: str = "cubic", scheduler: str = "minrtt") -> EngineConfig:
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    return engine_config(scenario, setup(path, *overrides), congestion, scheduler)


def setup(path: Path, *overrides: str) -> TrialSetup:
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    return draw_trial(scenario, load_source(scenario), 1)


def test_objects_are_chunk_by_chunk_base_layer_first(minimal: Path) -> None:
    objects = built(minimal).objects
    assert objects.chunk.tolist() == [chunk for chunk in range(10) for _ in range(3)]
    assert objects.layer.tolist() == [0, 1, 2] * 10
    # 40, 30 and 20 kbit/s for a second
    assert objects.payload_bytes.tolist() == [5000, 3750, 2500] * 10


def test_live_chunks_are_released_when_captured_and_due_the_delay_later(minimal: Path) -> None:
    objects = built(minimal, "playout.delay_s=30").objects
    assert objects.release_ns[:6].tolist() == [S, S, S, 2 * S, 2 * S, 2 * S]
    assert (objects.deadline_ns - objects.release_ns == 30 * S).all()


def test_stored_chunks_are_there_from_the_start_with_the_same_deadlines(minimal: Path) -> None:
    live, stored = built(minimal).objects, built(minimal, "video.source=stored").objects
    assert not stored.release_ns.any()
    assert stored.deadline_ns.tolist() == live.deadline_ns.tolist()


def test_delay_in_round_trips_is_of_the_longest_link(minimal: Path) -> None:
    # the longest RTT is 16 s
    assert setup(minimal, "playout.delay_rtts=1.5").playout_delay_ns == 24 * S
    assert setup(minimal).playout_delay_ns == 32 * S
    assert setup(minimal, "playout.mode=stall").playout_delay_ns == 0


def test_stall_mode_has_no_deadlines_and_drops_nothing(minimal: Path) -> None:
    config = built(minimal, "playout.mode=stall")
    assert (config.objects.deadline_ns == NEVER_NS).all()
    assert not config.transport.drop_late
    assert built(minimal).transport.drop_late


@pytest.mark.parametrize(
    ("delay_s", "scale"), [(5, 1), (20, 1), (20.5, 2), (600, 30), (1200, 60)]
)  # 2 × delay / 40 s, rounded up
def test_auto_scale(minimal: Path, delay_s: float, scale: float) -> None:
    overrides = [parse_override(f"link.1.delay_s={delay_s}"), parse_override("link.0.delay_s=1")]
    assert scale_of(load_scenario(minimal, overrides)) == scale


def test_auto_scale_holds_for_every_seed(minimal: Path) -> None:
    drawn = parse_override("link.1.delay_s={uniform = [300, 1200]}")
    assert scale_of(load_scenario(minimal, [drawn])) == 60


def test_scale_can_be_set(minimal: Path) -> None:
    assert built(minimal, "run.scale=13").transport.scale == 13
    assert built(minimal, "run.scale=auto").transport.scale == 1


def test_slots(minimal: Path) -> None:
    # a quarter of the shortest RTT of 10 s
    assert setup(minimal).slot_ns == 2.5 * S
    assert setup(minimal, "run.slot_rtts=0.1").slot_ns == S
    assert setup(minimal, "run.slot_s=0.3").slot_ns == 0.3 * S
    # at most 2,000 slots of a run of 100,000 s
    assert setup(minimal, "scenario.duration_s=100_000").slot_ns == 50 * S


def test_slots_are_of_the_nearest_link(minimal: Path) -> None:
    # a second's delay beside one of 5 s: a quarter of 2 s
    links = "".join(f'{{name = "{delay_s}", rate_bps = 1e6, delay_s = {delay_s}}}, ' for delay_s in (5, 1))
    assert setup(minimal, f"link=[{links}]").slot_ns == 0.5 * S


def test_a_control_is_made_with_its_own_parameters_alone(minimal: Path) -> None:
    keys = "transport={fixed_cwnd_segments = 7, open_loop_bps = [1e3, 2e3]}"
    assert built(minimal, keys, congestion="open-loop").transport.parameters == {
        "open-loop": {"rate_bps": (1e3, 2e3)}
    }
    assert built(minimal, keys, congestion="cubic").transport.parameters == {}
    assert built(minimal, "transport={}", congestion="fixed").transport.parameters == {}


def test_remy_brings_its_rules_to_a_background_flow_too(minimal: Path) -> None:
    rules = {"remy": {"rules": shipped_numbers()}}
    assert built(minimal, congestion="remy").transport.parameters == rules
    flows = 'link.0.flows=[{congestion = "remy"}]'
    assert built(minimal, flows, congestion="cubic").transport.parameters == rules


def test_transport(minimal: Path) -> None:
    transport = built(
        minimal,
        'transport={mode = "lanes", lanes_per_link = 2, fixed_cwnd_segments = 7, open_loop_bps = [1e3, 2e3], '
        'scheduler = "layer-pinned", layer_links = ["direct", "relay"], receive_buffer_bytes = 2000}',
        congestion="fixed",
        scheduler="layer-pinned",
    ).transport
    assert (transport.mode, transport.lanes_per_link) == ("lanes", 2)
    assert transport.parameters == {"fixed": {"cwnd_segments": (7, 7)}}
    assert transport.layer_links == (1, 0)
    assert transport.receive_buffer_bytes == 2000
    assert built(minimal).transport.receive_buffer_bytes == 0


@pytest.mark.parametrize(
    ("congestion", "scheduler", "window", "windows"),
    [
        ("cubic", "minrtt", None, 4),
        ("cubic", "minrtt", "link", 1),
        ("tp-planet", "round-robin", None, 4),
        ("fixed", "minrtt", None, 1),
        ("fixed", "minrtt", "lane", 4),
        ("open-loop", "minrtt", None, 1),
        ("lia", "minrtt", None, 1),
        ("cubic", "redundant", None, 1),
        ("ltp", "none", None, 1),
        ("ltp", "none", "lane", 1),
        ("agent", "agent", None, 1),
        ("agent", "agent", "lane", 1),
    ],
)
def test_who_has_a_window(
    minimal: Path, congestion: str, scheduler: str, window: str | None, windows: int
) -> None:
    keys = f', window = "{window}"' if window else ""
    made = built(
        minimal,
        f'transport={{mode = "lanes", lanes_per_link = 4{keys}}}',
        congestion=congestion,
        scheduler=scheduler,
    )
    assert [link.subflows for link in made.links] == [windows, windows]
    # A lane is an ordering domain either way.
    assert windows * made.transport.lanes_per_link == 4
    assert made.transport.apart == (windows > 1)


def test_lanes_with_a_window_each_are_as_many_as_connections_can_be(minimal: Path) -> None:
    eight = ", ".join(f'{{name = "{i}", rate_bps = 1e6, delay_s = 5}}' for i in range(8))
    most = 'transport={mode = "lanes", lanes_per_link = 16}'
    assert sum(link.subflows for link in built(minimal, f"link=[{eight}]", most).links) == 128
    with pytest.raises(ScenarioError, match=r"144 lanes with a window each under 'cubic' .* at most 128"):
        nine = f'{eight}, {{name = "8", rate_bps = 1e6, delay_s = 5}}'
        built(minimal, f"link=[{nine}]", most)
    shared = 'transport={mode = "lanes", lanes_per_link = 4096, congestion = "fixed"}'
    assert built(minimal, shared, congestion="fixed").transport.lanes_per_link == 4096


def test_what_is_late_is_dropped_where_there_are_deadlines_and_base_layers_go_first_live(
    minimal: Path,
) -> None:
    def rules(*overrides: str) -> tuple[bool, bool]:
        transport = built(minimal, *overrides).transport
        return transport.drop_late, transport.layer_first

    assert rules() == (True, True)
    assert rules("video.source=stored") == (True, False)
    assert rules("playout.mode=stall") == (False, False)


def test_a_run_is_as_long_as_its_last_deadline_and_two_of_the_longest_round_trips(minimal: Path) -> None:
    # ten chunks, each due 32 s after its second; round trips of 4 and 16 s
    config = built(minimal)
    assert horizon_s(config.links, config.objects) == 10 + 32 + 2 * 16


def test_without_deadlines_it_is_as_long_as_capture_or_sending_takes(minimal: Path) -> None:
    """900 kbit in ten seconds: 3 s at the links' rates, 300 s at a hundredth of them. At half the rate after a second
    that is too short, and so doubled once; at a fifth three times."""

    def horizon(*overrides: str) -> float:
        config = built(minimal, "playout.mode=stall", *overrides)
        return horizon_s(config.links, config.objects)

    assert horizon() == 10 + 2 * 16
    slow = ("link.0.rate_bps=1000", "link.1.rate_bps=2000")
    assert horizon(*slow) == 300 + 2 * 16
    assert horizon("link.0.rate_bps=1000", "link.1.rate_bps=[[0, 2000], [1, 1000]]") == 2 * 300 + 2 * 16
    assert horizon("link.0.rate_bps=[[0, 1000], [1, 200]]", "link.1.rate_bps=[[0, 2000], [1, 400]]") == (
        8 * 300 + 2 * 16
    )
    assert horizon(*slow, "scenario.duration_s=77") == 300 + 2 * 16
    config = built(minimal)
    assert horizon_s(config.links, config.objects, 77.0) == 77


def test_a_trial_goes_on_beyond_its_outages(minimal: Path) -> None:
    assert setup(minimal, "link.0.outages=[[100, 200.5], [300, 1e9]]").length_s == 200.5
    assert setup(minimal, "link.0.outages=[[1, 2], [100, 200.5], [300, 1e9]]").length_s == 200.5


def test_work_beyond_the_limit_is_refused(minimal: Path) -> None:
    scenario, ready = load_scenario(minimal), setup(minimal)
    engine_config(scenario, ready, "cubic", "minrtt")
    with limited({"events": 10}), pytest.raises(ScenarioError, match="more than the limit of 10"):
        engine_config(scenario, ready, "cubic", "minrtt")


def test_duration(minimal: Path) -> None:
    assert built(minimal).duration_ns == NEVER_NS
    assert built(minimal, "scenario.duration_s=5").duration_ns == 5 * S


def test_outages_and_cross_traffic(minimal: Path) -> None:
    traffic = "{rate_bps = 1000, packet_bytes = 500, start_s = 1, stop_s = 9, on_s = 2, off_s = 3}"
    link = built(minimal, "link.0.outages=[[1, 2], [2, 3]]", f"link.0.cross_traffic=[{traffic}]").links[0]
    assert link.outages_ns == ((S, 2 * S), (2 * S, 3 * S))
    (cross,) = link.cross_traffic
    assert (cross.rate_bps, cross.packet_bytes) == (1000, 500)
    assert (cross.start_ns, cross.stop_ns, cross.on_ns, cross.off_ns) == (S, 9 * S, 2 * S, 3 * S)
