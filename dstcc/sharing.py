"""How a connection and background TCP flows share a link.

The connection under test (all its subflows on the link together) is compared with the *competing* flows: those that
send all they can. Application-limited flows are left out. The *contested time* of a link begins when all of these have
started and ends when the first of them ends; only whole slots count. Throughput is payload newly acknowledged at the
sender.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .engine.config import EngineResult, FlowResult, Link, subflow_links
from .frozen import dataclass

NS = 1e-9


@dataclass(frozen=True)
class ContestedTime:
    """What a link carried in its contested time."""

    seconds: float
    own_bytes: float
    flows_bytes: tuple[float, ...]
    """Bytes of each competing flow."""

    @property
    def fairness(self) -> float | None:
        """Jain's index over the connection and the flows; ``None`` if none of them delivered anything."""
        return jain((self.own_bytes, *self.flows_bytes))


def jain(shares: Sequence[float]) -> float | None:
    """(Σx)² ÷ (n Σx²): 1 when all are equal, 1/n when one flow has everything.

    Jain, Chiu, Hawe, DEC-TR-301, 1984. ``None`` when everything is 0.
    """
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None


def sharing_metrics(links: Sequence[Link], result: EngineResult) -> dict[str, float | None]:
    """``fairness_jain`` (the least over links), ``own_share`` and ``flows_bps`` (over all links together)."""
    contested = [
        link_time for index in range(len(links)) if (link_time := contested_time(links, result, index))
    ]
    indices = [index for link_time in contested if (index := link_time.fairness) is not None]
    own_bytes = sum(link_time.own_bytes for link_time in contested)
    flow_bytes = sum(sum(link_time.flows_bytes) for link_time in contested)
    return {
        "fairness_jain": min(indices, default=None),
        "own_share": own_bytes / (own_bytes + flow_bytes) if own_bytes + flow_bytes > 0 else None,
        "flows_bps": sum(8 * sum(c.flows_bytes) / c.seconds for c in contested) if contested else None,
    }


def contested_time(links: Sequence[Link], result: EngineResult, link: int) -> ContestedTime | None:
    """What a link carried in its contested time; ``None`` without competing flows or without such time."""
    flows = [flow for flow in result.flows if flow.link == link and not flow.app_limited]
    if not flows or np.isnan(result.totals.first_send_s):
        return None
    ends = np.unique(result.samples.t_ns)
    starts = np.concatenate([[0], ends[:-1]])
    begin = max(round(result.totals.first_send_s / NS), *(flow.start_ns for flow in flows))
    end = min(_last_delivery_ns(result), *(_end_ns(flow, result) for flow in flows))
    inside = (starts >= begin) & (ends <= end)
    if not inside.any():
        return None
    seconds = float((ends - starts)[inside].sum()) * NS
    ours = np.flatnonzero(np.array(subflow_links(links)) == link)
    sampled = np.isin(result.samples.subflow, ours) & np.isin(result.samples.t_ns, ends[inside])
    own_bytes = float(result.samples.delivered_bytes[sampled].sum())
    return ContestedTime(seconds, own_bytes, tuple(_acknowledged(flow, inside) for flow in flows))


def flow_documents(links: Sequence[Link], result: EngineResult) -> list[dict[str, object]]:
    """The record of every background flow of a trial; its throughput is over the time that it was active."""
    return [_document(links[flow.link].name, flow, result) for flow in result.flows]


def _document(link: str, flow: FlowResult, result: EngineResult) -> dict[str, object]:
    active_s = (_end_ns(flow, result) - flow.start_ns) * NS
    return {
        "link": link,
        "congestion": flow.congestion,
        "app_limited": flow.app_limited,
        "start_s": flow.start_ns * NS,
        "active_s": max(active_s, 0.0),
        "completion_s": None if flow.complete_ns < 0 else (flow.complete_ns - flow.start_ns) * NS,
        "throughput_bps": 8 * flow.delivered_bytes / active_s if active_s > 0 else None,
        "delivered_bytes": flow.delivered_bytes,
        "retransmitted_ratio": flow.retransmitted_bytes / flow.sent_bytes if flow.sent_bytes else None,
        "lost_segments": flow.lost_segments,
        "timeouts": flow.timeouts,
        "mean_rtt_s": flow.rtt_sum_s / flow.rtt_samples if flow.rtt_samples else None,
    }


def _acknowledged(flow: FlowResult, inside: NDArray[np.bool_]) -> float:
    return float(flow.slot_delivered_bytes[inside].sum())


def _end_ns(flow: FlowResult, result: EngineResult) -> int:
    """When the flow stopped or completed, or the run ended."""
    completed = flow.complete_ns if flow.complete_ns >= 0 else result.end_ns
    return min(flow.stop_ns, completed, result.end_ns)


def _last_delivery_ns(result: EngineResult) -> int:
    last_s = result.totals.last_delivery_s
    return -1 if np.isnan(last_s) else round(last_s / NS)
