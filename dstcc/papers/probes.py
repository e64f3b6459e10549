"""What is taken from a trial beside its metrics: delays of chunks, jitter, a time line, a file's time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dstcc.run.trials import Outcome as Trial
from dstcc.scenario import Scenario

from .cells import Outcome, number

NS = 1e-9


def transfer(scenario: Scenario, trial: Trial) -> Outcome:
    """``transfer_s``: until all has arrived, or where not all has, the scenario's duration; ``transfer_whole``: 1 or
    0."""
    done, limit = trial.metrics.values["completion_s"], scenario.scenario.duration_s
    return Outcome({"transfer_s": limit if done is None else done, "transfer_whole": float(done is not None)})


def delays(_scenario: Scenario, trial: Trial) -> Outcome:
    """``delay_s``: mean time from the release of a layer until all of it is there in order; ``jitter_s``: mean change
    of that from one layer to the next that is completed. The same of base layers alone, ``base_delay_s`` and
    ``base_jitter_s``, and ``base_bps``: their bytes that came, over the run."""
    objects, done = trial.setup.objects, trial.result.objects.complete_ns
    values: dict[str, float | None] = {}
    for name, chosen in (("", done >= 0), ("base_", (done >= 0) & (objects.layer == 0))):
        order = np.argsort(done[chosen], kind="stable")
        waits = ((done - objects.release_ns)[chosen] * NS)[order]
        values[f"{name}delay_s"] = float(waits.mean()) if waits.size else None
        values[f"{name}jitter_s"] = float(np.abs(np.diff(waits)).mean()) if waits.size > 1 else None
        values[f"{name}bps"] = float(8 * objects.payload_bytes[chosen].sum() / (trial.result.end_ns * NS))
    return Outcome(values)


def formula(_scenario: Scenario, trial: Trial) -> Outcome:
    """``formula_psnr_db``: 20 lg (rate of the video / (expected - actual throughput)) with the video's rate as
    expected; no value where nothing is missing. Our text of Wei et al. has these in words, and lacks the formula."""
    sizes, came = trial.setup.objects.payload_bytes, trial.result.objects.complete_ns >= 0
    missing = int(sizes[~came].sum())
    return Outcome({"formula_psnr_db": float(20 * np.log10(sizes.sum() / missing)) if missing else None})


def rates(_scenario: Scenario, trial: Trial) -> Outcome:
    """The series ``rate_bps`` (payload newly acknowledged in each slot, all subflows) at ``rate_t_s``."""
    samples = trial.result.samples
    times, places = np.unique(samples.t_ns, return_inverse=True)
    sums = np.bincount(places, weights=samples.delivered_bytes)
    steps = np.diff(times, prepend=0) * NS
    return Outcome({}, {"rate_t_s": (times * NS).tolist(), "rate_bps": (8 * sums / steps).tolist()})


def halves(scenario: Scenario, trial: Trial) -> Outcome:
    """Mean rates before, during and after others' datagrams on the first link that has any: ``rate_before_bps``,
    ``rate_beside_bps``, ``rate_after_bps``."""
    line = rates(scenario, trial).series
    times, values = np.array(line["rate_t_s"]), np.array(line["rate_bps"])
    traffic = next(link.cross_traffic[0] for link in trial.setup.links if link.cross_traffic)
    start, stop = traffic.start_ns * NS, traffic.stop_ns * NS
    parts = {"before": times <= start, "beside": (start < times) & (times <= stop), "after": times > stop}
    return Outcome(
        {
            f"rate_{name}_bps": number(float(values[part].mean())) if part.any() else None
            for name, part in parts.items()
        }
    )


def turns(_scenario: Scenario, trial: Trial) -> Outcome:
    """How subflows take turns. ``lean``: what the busiest has of a slot's acknowledged bytes, mean over the slots that
    have any, 0 where all have the same and 1 where it has all; its series is of the slots. ``rtt_swing_s``: the
    standard deviation of a subflow's smoothed round trip over the slots, mean over the subflows."""
    samples = trial.result.samples
    subflows, slots = (
        np.unique(column, return_inverse=True)[1] for column in (samples.subflow, samples.t_ns)
    )
    count = subflows.max() + 1
    acked, rtt_s = (np.zeros((count, slots.max() + 1)) for _ in range(2))
    acked[subflows, slots], rtt_s[subflows, slots] = samples.delivered_bytes, samples.srtt_ns * NS
    busy = acked.sum(axis=0) > 0
    most = acked[:, busy].max(axis=0) / acked[:, busy].sum(axis=0)
    lean = (count * most - 1) / max(count - 1, 1)
    swings = [float(one[one > 0].std()) for one in rtt_s if (one > 0).any()]
    return Outcome(
        {
            "lean": float(lean.mean()) if lean.size else None,
            "rtt_swing_s": float(np.mean(swings)) if swings else None,
        },
        {"lean": lean.tolist()},
    )


PROBES: dict[str, Callable[[Scenario, Trial], Outcome]] = {
    "transfer": transfer,
    "delays": delays,
    "formula": formula,
    "rates": rates,
    "halves": halves,
    "turns": turns,
}
