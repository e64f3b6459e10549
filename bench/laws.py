"""Congestion controls beside their response functions, the mean window W in segments over the loss rate p.

* NewReno: √(3/2p), Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance
  algorithm", 1997.
* CUBIC: 1.054 (RTT/p)^¾, RFC 9438 section 5.1 with C = 0.4 and β = 0.7; where Reno's window is larger,
  section 4.3 (Reno-friendly) gives that.

Both are derived for one loss in every 1/p packets, as on a link with ``periodic`` loss. Neither includes the round trip
of recovery, in which the window does not grow; that matters where a cycle has few round trips. Under independent losses
the gaps are also geometric. The ``walk`` beside each ratio steps through the formula's window curve, a round trip at a
time, with those gaps, with recovery and with one reduction per round trip: the formula's value with these effects.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dstcc.engine import EngineConfig, Loss, Transport, simulate

from .figure import Measured
from .nets import MSS, QUICK_ACK, S, bulk, link, ns

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
SEEDS = range(1, 11)
PERIODIC_CYCLES, RANDOM_CYCLES, WALKED_CYCLES = 60, 300, 10_000
SKIP = 0.3  # the share of a run that slow start may disturb
WHY = (
    "random losses differ: their gaps are geometric and W grows over a gap by a curve, so the mean over uneven"
    " gaps is not W at the mean gap; and the losses of one round trip count as one reduction"
)


@dataclass(frozen=True)
class Law:
    """A response function and the curve between two losses that it comes from."""

    congestion: str
    rtt_s: float
    window: Callable[[float, float], float]
    """(p, RTT) to the mean window."""
    beta: float
    grow: Callable[[float, float, int, float], float]
    """(window after the reduction, window to come back to, round trips since, RTT) to the window."""

    @property
    def name(self) -> str:
        return f"{self.congestion} RTT {self.rtt_s:g} s"


def _newreno(low: float, _top: float, rounds: int, _rtt_s: float) -> float:
    return low + rounds


def _cubic(low: float, top: float, rounds: int, rtt_s: float) -> float:
    """RFC 9438, equations 1 (cubic, amid the round trip), 2 (K) and 4 (Reno-friendly)."""
    alpha = 3 * (1 - 0.7) / (1 + 0.7)
    k = math.cbrt((top - low) / 0.4)
    friendly = min(low + alpha * rounds, top) + max(rounds - (top - low) / alpha, 0)
    since = (rounds + 0.5) * rtt_s - k
    return max(top + 0.4 * since * since * since, friendly)


def _reno_window(p: float, _rtt_s: float) -> float:
    return math.sqrt(1.5 / p)


def _cubic_window(p: float, rtt_s: float) -> float:
    return max(1.054 * math.pow(rtt_s / p, 0.75), _reno_window(p, rtt_s))


LAWS = (
    Law("newreno", 0.1, _reno_window, 0.5, _newreno),
    Law("cubic", 0.1, _cubic_window, 0.7, _cubic),
    Law("cubic", 1.0, _cubic_window, 0.7, _cubic),
)


def laws() -> Measured:
    """The largest deviation from any formula under periodic loss."""
    rows = {f"{law.name} p={p:g}": _compare(law, p) for law in LAWS for p in RATES}
    notes = [
        f"{name:<26} law {row['law_window']:7.1f}, cycle {row['cycle_rounds']:5.1f} RTT;"
        f"  periodic / law {row['periodic']:5.3f} (walk {row['periodic_walk']:5.3f});"
        f"  random / law {row['random']:5.3f} ± {row['random_sd']:5.3f} (walk {row['random_walk']:5.3f})"
        for name, row in rows.items()
    ]
    worst = max(rows, key=lambda name: abs(rows[name]["periodic"] - 1))
    ratio = rows[worst]["periodic"]
    return Measured(
        abs(ratio - 1), "|ratio - 1|", f"the law, {worst}", ratio, details=rows, notes=(WHY, *notes)
    )


def _compare(law: Law, p: float) -> dict[str, float]:
    expected = law.window(p, law.rtt_s)
    gaps = {
        "periodic": [1 / p] * 100,
        "random": np.random.default_rng(1).geometric(p, WALKED_CYCLES).tolist(),
    }
    runs = [_mean_window(law, Loss("packet", p), RANDOM_CYCLES, seed) / expected for seed in SEEDS]
    return {
        "law_window": expected,
        "cycle_rounds": 1 / p / expected,
        "periodic": _mean_window(law, Loss("periodic", p), PERIODIC_CYCLES, seed=1) / expected,
        "periodic_walk": _walk(law, p, gaps["periodic"]) / expected,
        "random": statistics.fmean(runs),
        "random_sd": statistics.stdev(runs),
        "random_walk": _walk(law, p, gaps["random"]) / expected,
    }


def _mean_window(law: Law, loss: Loss, cycles: int, seed: int) -> float:
    """Payload acknowledged per round trip, in segments, on a link that is never full."""
    cycle_s = max(1 / loss.rate / law.window(loss.rate, law.rtt_s), 5) * law.rtt_s
    result = simulate(_config(law, loss, cycles * cycle_s, seed))
    t = result.samples.t_ns
    first = int(len(t) * SKIP)
    seconds = float(t[-1] - t[first]) / S
    return float(result.samples.delivered_bytes[first + 1 :].sum()) / MSS / seconds * law.rtt_s


def _config(law: Law, loss: Loss, duration_s: float, seed: int) -> EngineConfig:
    return EngineConfig(
        seed=seed,
        links=(link(10e9, law.rtt_s, loss=loss),),
        transport=Transport(law.congestion, "minrtt", constants=QUICK_ACK),
        objects=bulk(),
        slot_ns=ns(law.rtt_s / 4),
        duration_ns=ns(duration_s),
    )


def _walk(law: Law, p: float, lengths: Sequence[float]) -> float:
    """Mean window of the formula's curve over these gaps between losses, in packets."""
    top = law.window(p, law.rtt_s)
    low = top * law.beta
    carried = spent = 0.0
    gaps = iter(lengths)
    for gap in gaps:
        left, rounds, window = gap - low, 0, low
        carried, spent = carried + low, spent + 1  # the round trip of recovery
        while left < 0 and (more := next(gaps, None)) is not None:
            left += more  # a loss within that round trip: no further reduction
        while left > 0:
            window = law.grow(low, top, rounds, law.rtt_s)
            share = min(left / window, 1.0)
            carried, spent, left = carried + share * window, spent + share, left - window
            rounds += 1
        # RFC 9438 section 4.7, fast convergence: a loss below the last maximum lowers W_max further
        releasing = law.congestion == "cubic" and window < top
        top = window * (1 + law.beta) / 2 if releasing else window
        low = max(window * law.beta, 1.0)
    return carried / spent
