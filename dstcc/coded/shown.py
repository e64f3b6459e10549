"""From the numbers of coded trials to what their senders see, and from what they decide back.

The numbers are a stepper's (:class:`~dstcc.engine.CodedStepper`), or those of a trial on real sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.coded_stepper import CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.config import NEVER_NS
from dstcc.wire import HEADER_BYTES

from .seen import Blocks, Mission, RepairDecision, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstcc.arrays import Float64Array
    from dstcc.engine import CodedStepper, EngineConfig
    from dstcc.engine.stepper import Shown
    from dstcc.scenario import Scenario


REPAIR = {0.0: "none", 0.05: "to 5 %", 0.1: "5 to 10 %", 0.2: "10 to 20 %", 0.4: "20 to 40 %"}
"""Shares of repair in words, by their upper ends."""
_S = {name: i for i, name in enumerate(CODED_SUBFLOW_VALUES)}
_L = {name: i for i, name in enumerate(CODED_LAYER_VALUES)}


def unplannable(scenario: Scenario, planner: str) -> str | None:
    """Why ``planner`` cannot plan repair for a scenario of coded packets; None where it can."""
    if scenario.playout.mode == "deadline":
        return None
    return (
        f"playout.mode = '{scenario.playout.mode}', but {planner} plans repair by deadlines, "
        "which requires mode = 'deadline'"
    )


def mission_of(
    configs: list[EngineConfig], layers: int, links: Sequence[int], *, captured_ns: int = NEVER_NS
) -> Mission:
    """What a sender knows of coded trials before they begin; ``links``: of each subflow. Blocks are means over those
    that begin until ``captured_ns``, and over the first one at least."""
    first = configs[0]
    coding, objects, mss = first.coding, first.objects, first.transport.mss_bytes
    assert coding is not None
    packets = objects.packets(mss)
    known = objects.release_ns <= max(captured_ns, int(objects.release_ns.min()) + coding.block_ns)
    periods = int(coding.period[known].max()) + 1
    blocks = []
    for layer in range(layers):
        of = (objects.layer == layer) & (coding.period < periods)
        source = float(packets[of].sum()) / periods
        wire = float((objects.payload_bytes[of] + packets[of] * HEADER_BYTES).sum()) / periods
        largest = float(min(objects.payload_bytes[of].max(), mss)) + HEADER_BYTES
        blocks.append(Blocks(float(of.sum()) / periods, source, wire, largest, 100.0 * (layers - layer)))
    playout = [(c.objects.deadline_ns[0] - c.objects.release_ns[0]) / 1e9 for c in configs]
    assert max(c.objects.deadline_ns[0] for c in configs) < NEVER_NS
    return Mission(
        layers=tuple(blocks),
        block_s=coding.block_ns / 1e9,
        slot_s=first.slot_ns / 1e9,
        playout_s=np.array(playout),
        light_s=np.array([[max(c.links[i].delay_ns) / 1e9 for i in links] for c in configs]),
        rate_bytes=np.array(
            [[c.links[i].rate_bps / 8 / c.links[i].subflows for i in links] for c in configs]
        ),
    )


def seen_of(shown: Shown, mission: Mission) -> Seen:
    """What the senders of these trials see now."""
    subflow, layer = shown.subflow_values, shown.layer_values
    heard = subflow[..., _S["heard_packets"]]
    rtt = subflow[..., _S["srtt_s"]]
    pace = subflow[..., _S["pacing_bps"]] / 8
    window = subflow[..., _S["cwnd_segments"]] * mission.layers[0].packet_bytes
    rtt = np.where(rtt > 0, rtt, 2 * mission.light_s)
    return Seen(
        time_s=shown.episode_values[:, 0].copy(),
        heard=heard.copy(),
        lost=subflow[..., _S["lost_packets"]].copy(),
        runs=subflow[..., _S["loss_runs"]].copy(),
        sent_s=sent_s(subflow),
        rtt_s=rtt,
        delivered_bytes=subflow[..., _S["delivered_bytes"]].copy(),
        pace_bytes=np.where(pace > 0, pace, np.minimum(window / rtt, mission.rate_bytes)),
        queue_bytes=subflow[..., _S["queue_bytes"]].copy(),
        backlog_bytes=layer[..., _L["backlog_bytes"]].copy(),
        slack_s=layer[..., _L["slack_s"]].copy(),
    )


def sent_s(subflow: Float64Array) -> Float64Array:
    """The middle of when the packets were sent whose feedback a slot has, by ``subflow_values``; NaN where nothing
    was."""
    middle = (subflow[..., _S["heard_from_s"]] + subflow[..., _S["heard_to_s"]]) / 2
    return np.where(subflow[..., _S["heard_packets"]] > 0, middle, np.nan)


def act(stepper: CodedStepper, decision: RepairDecision) -> None:
    """Put a decision for all of its trials into a stepper."""
    stepper.repair[:] = decision.repair
    stepper.place[:] = decision.place
    stepper.left_out[:] = 0
    for layer in decision.left_out:
        stepper.left_out[:, layer] = 1


def share_in_words(share: float) -> str:
    """Repair packets for each source packet, in one of a few ranges."""
    return next((words for most, words in REPAIR.items() if share <= most), "above 40 %")
