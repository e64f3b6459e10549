"""What a run would do, without doing it: links, time scale, trials and a count of packets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dstcc.algorithms import TRANSFERS, reconstructed
from dstcc.engine import Link
from dstcc.engine.config import TcpConstants
from dstcc.scenario import Scenario, Source, describe, horizon_s, link_notes, rtt_s, scale_of, settle

from .trials import trial_keys

HEADER_BYTES = 40
"""Wire bytes beside the payload of a data packet (IPv4 and TCP without options)."""


@dataclass(frozen=True)
class PlannedLink:
    """A link as the first seed draws it."""

    name: str
    rate_bps: float
    up_rate_bps: float
    rtt_s: float
    delay_s: Any
    """One way: a number, a table, or the least and the greatest of a curve."""
    bdp_packets: float
    """Full wire packets that fill the round trip at the data direction's rate."""
    loss: dict[str, Any]
    queue_bytes: int
    outages: int
    outage_s: float
    """Sum of their lengths within the run."""
    subflows: int
    """Of the connection under test."""
    flows: list[dict[str, Any]]
    """TCP connections of others, those of a ``mix`` included."""
    datagrams_bps: list[float]
    """Rate of each source of others' datagrams while it is on."""


@dataclass(frozen=True)
class Plan:
    """A dry run's findings; ``seconds`` are mission seconds."""

    scenario: str
    backend: str
    seed: int
    """The seed whose draws are shown."""
    links: tuple[PlannedLink, ...]
    scale: float
    distorts: tuple[str, ...]
    """What the scale makes different from an unscaled run."""
    chunks: int
    layers: int
    payload_bytes: int
    playout_delay_s: float
    mission_s: float
    """The length of a run, as a guess."""
    notes: tuple[str, ...]
    """What a reader must know of the links."""
    trials: tuple[str, ...]
    reconstructions: tuple[str, ...]
    """Those of the trials that rest on a reconstruction."""
    estimated_packets: int
    """Data packets of all trials together, without repeats."""

    def document(self) -> dict[str, object]:
        """As ``dstcc emulate --dry-run --json`` prints it."""
        return {"dry_run": True, **asdict(self)}


def plan(scenario: Scenario, source: Source, backend: str) -> Plan:
    """Work out what running a scenario would mean."""
    setting = settle(scenario, source, scenario.run.seed)
    mss, keys = scenario.transport.mss_bytes, trial_keys(scenario)
    packets = int((-(-setting.objects.payload_bytes // mss)).sum())
    return Plan(
        scenario=scenario.scenario.name,
        backend=backend,
        seed=setting.seed,
        links=tuple(_planned(link, mss, setting.length_s) for link in setting.links),
        scale=setting.scale,
        distorts=distortions(scale_of(scenario), scenario.transport.congestion),
        chunks=source.chunks,
        layers=source.layers,
        payload_bytes=int(setting.objects.payload_bytes.sum()),
        playout_delay_s=setting.playout_delay_ns / 1e9,
        mission_s=horizon_s(scenario, setting.links, setting.objects),
        notes=link_notes(scenario),
        trials=tuple(key.id for key in keys),
        reconstructions=tuple(key.id for key in keys if reconstructed(key.congestion, key.scheduler)),
        estimated_packets=packets * len(keys),
    )


def distortions(scale: float, congestion: tuple[str, ...]) -> tuple[str, ...]:
    """What time scale S changes, in mission time: constants in seconds grow S-fold, per-second growth
    shrinks. Transfers without TCP have no such constants."""
    if scale == 1 or all(name in TRANSFERS for name in congestion):
        return ()
    tcp = TcpConstants()
    found = [
        f"least retransmission timeout {tcp.rto_min_s:g} s → {tcp.rto_min_s * scale:g} s, "
        f"first {tcp.rto_initial_s:g} s → {tcp.rto_initial_s * scale:g} s, "
        f"longest {tcp.rto_max_s:g} s → {tcp.rto_max_s * scale:g} s",
        f"delayed ACK {tcp.delayed_ack_s * 1e3:g} ms → {tcp.delayed_ack_s * scale * 1e3:g} ms",
    ]
    if "cubic" in congestion:
        found.append(f"CUBIC's C 0.4 → 0.4/S³ = {0.4 / scale**3:.3g} segments/s³")
    if "bbr" in congestion:
        found.append(
            f"BBR's RTTmin window {tcp.bbr_min_rtt_window_s:g} s → {tcp.bbr_min_rtt_window_s * scale:g} s, "
            f"PROBE_RTT {tcp.bbr_probe_rtt_s * 1e3:g} ms → {tcp.bbr_probe_rtt_s * scale * 1e3:g} ms"
        )
    if "westwood" in congestion:
        found.append(
            f"Westwood's least sample {tcp.westwood_rtt_min_s * 1e3:g} ms → "
            f"{tcp.westwood_rtt_min_s * scale * 1e3:g} ms"
        )
    if "ledbat" in congestion:
        found.append(
            f"LEDBAT's target {tcp.ledbat_target_s * 1e3:g} ms → {tcp.ledbat_target_s * scale * 1e3:g} ms, "
            f"base history {10 * tcp.ledbat_minute_s:g} s → {10 * tcp.ledbat_minute_s * scale:g} s"
        )
    if "bic" in congestion:
        found.append(f"BIC's pause between steps 1/32 s → {scale / 32:g} s")
    return tuple(found)


def _planned(link: Link, mss_bytes: int, end_s: float) -> PlannedLink:
    values: dict[str, Any] = describe(link, end_s)
    return PlannedLink(
        name=link.name,
        rate_bps=link.rate_bps,
        up_rate_bps=link.up_rate_bps,
        rtt_s=rtt_s(link),
        delay_s=values["delay_s"],
        bdp_packets=link.rate_bps * rtt_s(link) / 8 / (mss_bytes + HEADER_BYTES),
        loss=values["loss"],
        queue_bytes=link.queue_bytes,
        outages=values["outages"],
        outage_s=values["outage_s"],
        subflows=values["subflows"],
        flows=values["flows"],
        datagrams_bps=values["datagrams_bps"],
    )
