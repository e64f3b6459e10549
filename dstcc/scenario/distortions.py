"""What constants of a transport in seconds do to a mission: its scale changes them, or its round trip is longer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil

from dstcc.algorithms import TRANSFERS
from dstcc.engine import Link
from dstcc.engine.config import TcpConstants

from .draws import rtt_s

INITIAL_WINDOW = 10
"""Segments, by default."""
LINUX = TcpConstants()
"""Unscaled."""
LARGEST_SRTT_S = 2**32 / 8 / 1e6
"""Linux's smoothed RTT is a u32 of eighths of microseconds."""


def longest_rtt_s(mode: str, links: Iterable[Link]) -> float:
    """Of what TCP's timers wait for: 0 where the transport's mode has none."""
    return 0.0 if mode == "coded" else max(map(rtt_s, links))


def full_rtts_s(mode: str, links: Iterable[Link]) -> dict[str, float]:
    """Round trips of links whose queues are full, by name: the most that TCP can measure. None where it is not used."""
    return {} if mode == "coded" else {link.name: rtt_s(link) + _queue_s(link) for link in links}


def _queue_s(link: Link) -> float:
    """How long full queues take at the least rates of their lines; stores are none."""
    lines = (link, *(hop.line for hop in link.onward if hop.node.storage_bytes == 0))
    return sum(8 * line.queue_bytes / (line.rate_bps * min(line.rate_share, default=1.0)) for line in lines)


def distortions(
    scale: float,
    congestion: tuple[str, ...],
    longest_s: float,
    tcp: TcpConstants = LINUX,
    full_s: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """What of a transport's constants in seconds does not fit the mission, in mission time.

    That is a longest retransmission timeout below :func:`longest_rtt_s`, at whatever time scale S; round trips that
    Linux cannot count, of :func:`full_rtts_s`; and what S changes: constants in seconds grow S-fold, per-second growth
    shrinks. Transfers without TCP have no such constants. ``tcp`` are the trial's, which a scenario may have set.
    """
    if all(name in TRANSFERS for name in congestion):
        return ()
    notes = (
        *_short_timeouts(scale, longest_s, tcp),
        *uncounted(scale, full_s or {}),
        *_silent_bbr(scale, longest_s, congestion),
    )
    return (*notes, *_scaled(scale, congestion, tcp))


def _short_timeouts(scale: float, longest_s: float, tcp: TcpConstants) -> tuple[str, ...]:
    timeout_s = tcp.rto_max_s * scale
    if timeout_s >= longest_s:
        return ()
    return (
        f"longest retransmission timeout {timeout_s:g} s, below the round trip of {longest_s:g} s: TCP times out "
        "before an ACK can come, repeats what is not lost and reduces its window; not so from "
        f"scale = {longest_s / tcp.rto_max_s:.3g} on",
    )


def uncounted(scale: float, full_s: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each link whose round trip is longer than Linux can count once its queue is full (srtt_us,
    tcp_rtt_estimator)."""
    most_s = LARGEST_SRTT_S * scale
    return tuple(
        f"link {name}: a round trip of up to {longest_s:.4g} s with its queue full, and Linux counts to {most_s:.4g} "
        "s: its smoothed RTT (srtt_us) begins again at 0 there, and timeouts follow it; the simulator's does not. "
        f"Not so from scale = {ceil(longest_s / LARGEST_SRTT_S * 100) / 100:g} on"
        for name, longest_s in full_s.items()
        if longest_s > most_s
    )


def _silent_bbr(scale: float, longest_s: float, congestion: tuple[str, ...]) -> tuple[str, ...]:
    """Linux's BBR counts 2^-24 segments a microsecond (bbr_init_pacing_rate_from_rtt); MPTCP leaves out a subflow whose
    pacing rate is 0 (mptcp_subflow_get_send)."""
    least_s = INITIAL_WINDOW * 2**24 / 1e6 * scale
    if "bbr" not in congestion or longest_s <= least_s:
        return ()
    return (
        f"BBR's first rate on Linux is 0 at a round trip above {least_s:.4g} s, and MPTCP then sends nothing; the "
        "simulator does",
    )


def _scaled(scale: float, congestion: tuple[str, ...], tcp: TcpConstants) -> tuple[str, ...]:
    if scale == 1:
        return ()
    notes = [
        f"least retransmission timeout {LINUX.rto_min_s:g} s → {tcp.rto_min_s * scale:g} s, "
        f"first {LINUX.rto_initial_s:g} s → {tcp.rto_initial_s * scale:g} s, "
        f"longest {LINUX.rto_max_s:g} s → {tcp.rto_max_s * scale:g} s",
        f"delayed ACK {LINUX.delayed_ack_s * 1e3:g} ms → {tcp.delayed_ack_s * scale * 1e3:g} ms",
    ]
    if "cubic" in congestion:
        notes.append(
            f"CUBIC's C 0.4 → 0.4/S³ = {0.4 / scale**3:.3g} segments/s³, HyStart's delays "
            f"{LINUX.hystart_delay_min_s * 1e3:g}–{LINUX.hystart_delay_max_s * 1e3:g} ms → "
            f"{tcp.hystart_delay_min_s * scale * 1e3:g}–{tcp.hystart_delay_max_s * scale * 1e3:g} ms"
        )
    if "bbr" in congestion:
        notes.append(
            f"BBR's RTTmin window {LINUX.bbr_min_rtt_window_s:g} s → {tcp.bbr_min_rtt_window_s * scale:g} s, "
            f"PROBE_RTT {LINUX.bbr_probe_rtt_s * 1e3:g} ms → {tcp.bbr_probe_rtt_s * scale * 1e3:g} ms"
        )
    if "westwood" in congestion:
        notes.append(
            f"Westwood's least sample {LINUX.westwood_rtt_min_s * 1e3:g} ms → "
            f"{tcp.westwood_rtt_min_s * scale * 1e3:g} ms"
        )
    if "ledbat" in congestion:
        notes.append(
            f"LEDBAT's target {LINUX.ledbat_target_s * 1e3:g} ms → {tcp.ledbat_target_s * scale * 1e3:g} ms, "
            f"base history {10 * LINUX.ledbat_minute_s:g} s → {10 * tcp.ledbat_minute_s * scale:g} s"
        )
    if "bic" in congestion:
        notes.append(f"BIC's pause between steps 1/32 s → {scale / 32:g} s")
    return tuple(notes)
