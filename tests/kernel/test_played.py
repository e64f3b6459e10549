"""Links that netem has not all of: a program of ours plays them in a guest, with the simulator's line and draws.

A link of each kind is in `make test`, further ones in `make test-kernel`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend, host, link_plan, plan
from dstcc_kernel.coded_plan import in_words
from dstcc_kernel.link_plan import OF_NETEM, is_played
from dstcc_kernel.names import misfit

from dstcc.engine import EngineConfig, EngineResult, Link, simulate
from dstcc.errors import InputError
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

STEPS = {"rate_bps": [[0, 200_000], [40, 90_000], [70, 160_000]], "loss": {"packet": 0.02}}
STATES = {
    "rate_bps": 160_000,
    "loss": {"states": [{"packet": 1e-3, "dwell_s": 15}, {"packet": 0.1, "dwell_s": 8, "rate": 0.5}]},
}
OTHERS = {
    "rate_bps": 160_000,
    "cross_traffic": [
        {"rate_bps": 60_000, "on_s": 5, "off_s": 5, "periods": "exponential"},
        {"rate_bps": 30_000, "packet_bytes": 300, "start_s": 20, "stop_s": 60},
    ],
    "loss": {"gilbert_elliott": {"p": 0.01, "r": 0.2}},
}
FRAMES = {
    "rate_bps": [[0, 160_000], [50, 120_000]],
    "loss": {"ebn0_db": 0.6, "code": "ccsds-turbo-1/3-1784"},
    "outages": [[30, 38]],
    "delay_s": [[0, 5], [100, 6]],
}
FLOWS: dict[str, Any] = {
    "rate_bps": 160_000,
    "flows": [
        {"congestion": "newreno", "bytes": 600_000, "start_s": 3},
        {"congestion": "same", "rate_bps": 20_000, "start_s": 20, "stop_s": 70, "on_s": 8, "off_s": 4},
    ],
}

LOOK_NS = 1_000_000


def scenario(link: dict[str, Any], transport: dict[str, Any], **more: Any) -> Scenario:
    """A minute of video that fills the link, over a round trip of 10 s."""
    base = {"name": "one", "delay_s": 5.0, "queue_bytes": 200_000, "up_rate_bps": 40_000}
    return Scenario.model_validate(
        {
            "scenario": {"name": "played", "duration_s": 150.0},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [60_000, 60_000]}, "loop_to_s": 80.0},
            "link": [base | link],
            "transport": transport,
            "playout": {"delay_s": 60.0},
            "run": {"slot_s": 5.0, "scale": 2},
            **more,
        }
    )


def trial(given: Scenario, seed: int = 3) -> EngineConfig:
    config = engine_config(
        given,
        draw_trial(given, load_source(given), seed),
        given.transport.congestion[0],
        given.transport.scheduler[0],
    )
    return config if config.coding is None else in_words(config)


def in_slots(result: EngineResult, times_ns: Any, config: EngineConfig) -> Any:
    """Bytes of the layers' parts that were there by each slot's end."""
    there = times_ns >= 0
    slots = np.arange(0, 150 * 10**9, config.slot_ns)
    return np.array([result.objects.delivered_bytes[there & (times_ns <= end)].sum() for end in slots])


@pytest.mark.parametrize(
    "link",
    [*(pytest.param(link, marks=pytest.mark.kernel) for link in (STEPS, STATES, OTHERS)), FRAMES],
    ids=["steps", "states", "others", "frames"],
)
@pytest.mark.usefixtures("kernel")
def test_an_open_loop_has_the_simulators_bytes_in_every_slot(link: dict[str, Any]) -> None:
    """The same packets are lost, as the draws are those of the line's slots and frames: all is where it is in the
    simulator. The program for coded packets looks often here; what it sends late meets other frames."""
    given = scenario(
        link,
        {"mode": "coded", "congestion": "open-loop", "handshake": False},
        coding={"repair": [0.0, 0.0], "block_s": 5},
    )
    config = trial(given)
    assert is_played(config.links[0])
    carried, simulated = backend.run(config, tick_ns=LOOK_NS), simulate(config)
    lost = simulated.totals.lost_channel_packets
    assert lost > 5, "a mission without losses shows nothing of them"
    for name in ("data_packets", "sent_wire_bytes", "arrived_payload_bytes", "delivered_payload_bytes"):
        assert getattr(carried.totals, name) == pytest.approx(getattr(simulated.totals, name), rel=0.01), name
    mine, theirs = (in_slots(one, one.objects.complete_ns, config) for one in (carried, simulated))
    assert theirs[-1] > 500_000
    assert np.abs(mine - theirs).max() <= 0.01 * theirs[-1]


@pytest.mark.parametrize("mode", ["stream", pytest.param("lanes", marks=pytest.mark.kernel)])
@pytest.mark.usefixtures("kernel")
def test_tcp_over_steps_of_the_rate_is_the_simulators(mode: str) -> None:
    link = STEPS | {"loss": None}
    given = scenario(link, {"mode": mode, "congestion": "cubic", "scheduler": "minrtt"})
    config = trial(given)
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = (in_slots(one, one.objects.complete_ns, config) for one in (carried, simulated))
    assert theirs[-1] > 300_000
    assert np.abs(mine - theirs).max() <= 0.1 * theirs[-1]
    assert carried.totals.sent_wire_bytes == pytest.approx(simulated.totals.sent_wire_bytes, rel=0.1)


@pytest.mark.usefixtures("kernel")
def test_others_connections_take_from_the_link_what_they_take_in_the_simulator() -> None:
    transport = {"mode": "lanes", "lanes_per_link": 2, "congestion": "cubic"}
    config, alone = (trial(scenario(link, transport)) for link in (FLOWS, {"rate_bps": 160_000}))
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = (in_slots(one, one.objects.complete_ns, config) for one in (carried, simulated))
    least = in_slots(simulate(alone), simulate(alone).objects.complete_ns, config)
    assert np.abs(mine - theirs).max() <= 0.1 * theirs[-1]
    assert (least - mine).max() > 0.2 * least[-1], "they took nothing"
    sent = carried.totals.sent_wire_bytes
    assert sent == pytest.approx(simulated.totals.sent_wire_bytes, rel=0.05), "others' bytes are counted"
    # the line is full while all have something to send: what they sent stands in its queue
    assert carried.totals.queue_p95_s == pytest.approx(simulated.totals.queue_p95_s, rel=0.15)


@pytest.mark.kernel
@pytest.mark.parametrize("congestion", ["paced", "cubic"])
@pytest.mark.usefixtures("kernel")
def test_coded_packets_see_others_connections_in_their_queue_as_in_the_simulator(congestion: str) -> None:
    flows = FLOWS | {"flows": [flow | {"congestion": "newreno"} for flow in FLOWS["flows"]]}
    transport = {"mode": "coded", "congestion": congestion, "handshake": False}
    given = scenario(flows, transport, coding={"repair": [0.1, 0.1], "block_s": 5})
    config, alone = trial(given), trial(scenario({"rate_bps": 160_000}, transport, coding={"block_s": 5}))
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = (in_slots(one, one.objects.complete_ns, config) for one in (carried, simulated))
    least = in_slots(simulate(alone), simulate(alone).objects.complete_ns, config)
    assert np.abs(mine - theirs).max() <= 0.1 * theirs[-1]
    assert (least - mine).max() > 0.1 * least[-1], "they took nothing"
    queue = [one.samples.queue_bytes.max() for one in (carried, simulated)]
    assert queue[0] == pytest.approx(queue[1], rel=0.15)


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_a_program_in_the_place_of_netem_is_netem_where_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = trial(scenario({"rate_bps": 130_000, "queue_bytes": 4_000_000}, {"congestion": "cubic"}))
    theirs = backend.run(config)
    for module in (backend, link_plan, plan):
        monkeypatch.setattr(module, "is_played", lambda _: True)
    mine = backend.run(config)
    assert theirs.totals.queue_p95_s > 2
    came = theirs.objects.complete_ns >= 0
    assert came.sum() > 100 and (came == (mine.objects.complete_ns >= 0)).all()
    assert np.abs(mine.objects.complete_ns - theirs.objects.complete_ns).max() < 1_000_000
    for name in ("sent_wire_bytes", "queue_p95_s"):
        assert getattr(mine.totals, name) == pytest.approx(getattr(theirs.totals, name), rel=1e-3), name


def test_only_what_netem_has_not_is_played() -> None:
    coded = {"mode": "coded", "congestion": "open-loop", "handshake": False}
    for link, played in (
        ({"rate_bps": 1e5}, False),
        ({"rate_bps": [[0, 1e5]]}, False),
        (
            {
                "rate_bps": 1e5,
                "loss": {"states": [{"packet": 0.1, "dwell_s": 5}, {"packet": 0, "dwell_s": 5}]},
            },
            False,
        ),
        (STEPS, True),
        (STATES, True),
        (OTHERS, True),
    ):
        given = scenario(link, coded, coding={"block_s": 5})
        config = trial(given)
        assert misfit(given) is None
        assert is_played(config.links[0]) == played
        job = plan.job_of(config, program=Path("/p"))
        assert job.links[0].played == played
        # netem's losses are netem's; the queue counts packets there, bytes here
        lines = dict(line.split(" ", 1) for line in job.links[0].config[1:])
        assert lines[".loss.kind"] == (config.links[0].loss.kind if played else "none")
        assert lines[".queue_packets"] == ("0" if played else "133")


def test_a_property_that_netem_has_not_has_its_link_played_whatever_it_is() -> None:
    names = {one.name for one in fields(Link)}
    assert names >= OF_NETEM
    plain = trial(scenario({"rate_bps": 1e5}, {"congestion": "cubic"})).links[0]
    for name in names - OF_NETEM:
        assert is_played(replace(plain, **{name: "something"}))  # type: ignore[arg-type]


def test_times_that_the_scale_would_let_fall_together_rise() -> None:
    config = trial(scenario(STATES, {"congestion": "cubic"}))
    times = config.links[0].loss.t_ns
    assert min(np.diff(times)) == 1  # a step of a schedule takes a nanosecond
    lines = dict(line.split(" ", 1) for line in plan.job_of(config, program=Path("/p")).links[0].config[1:])
    rows = [int(word) for word in lines[".loss.t_ns"].split()]
    assert len(rows) == len(times) and min(np.diff(rows)) >= 1


def test_a_host_has_no_such_links(monkeypatch: pytest.MonkeyPatch) -> None:
    given = scenario(STEPS, {"congestion": "cubic"})
    monkeypatch.setattr(host, "require_netem", lambda: None)
    with pytest.raises(
        InputError, match=r"played: link\.0: netem has neither rates that change .* --backend kernel"
    ):
        backend.check(given, load_source(given), on_host=True)


@pytest.mark.usefixtures("kernel")
def test_a_program_that_fails_is_the_trials_error() -> None:
    config = trial(scenario(STEPS, {"congestion": "cubic"}))
    with pytest.MonkeyPatch.context() as patch:
        lines = plan.job_of

        def broken(*args: Any, **keys: Any) -> Any:
            job = lines(*args, **keys)
            link = replace(job.links[0], config=(*job.links[0].config, ".delay_ns x"))
            return replace(job, links=(link,))

        patch.setattr(backend, "job_of", broken)
        with pytest.raises(Exception, match=r"plan: links\.0\.delay_ns: a value is missing or no number"):
            backend.run(config)
