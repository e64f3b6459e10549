"""What a time scale makes of the constants of a transport that do not scale with it."""

from __future__ import annotations

from dstcc.algorithms import TRANSFERS
from dstcc.engine.config import TcpConstants

LINUX = TcpConstants()
"""Unscaled."""


def distortions(scale: float, congestion: tuple[str, ...], tcp: TcpConstants = LINUX) -> tuple[str, ...]:
    """What time scale S changes, in mission time: constants in seconds grow S-fold, per-second growth
    shrinks. Transfers without TCP have no such constants. ``tcp`` are the trial's, which a scenario may have set."""
    if scale == 1 or all(name in TRANSFERS for name in congestion):
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
