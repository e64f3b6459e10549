"""How often the 95 % intervals of reports hold, by the number of seeds and by the distribution of the values.

    python -m experiments.interval_coverage [--only intervals|false]

Values are drawn from six distributions: shares that are skewed, near one, often exactly one, or lost at a quarter of
the seeds; and values that are normal or lognormal. For each number of seeds the table has the percentage of samples
whose interval holds the trimmed mean of the distribution, at the share that is trimmed of so many values, by four
methods: the percentile bootstrap; BCa (Efron, 1987); Student's t with the winsorized variance (Tukey and McLaughlin,
1963); and the expanded percentiles of :mod:`dstcc.stats`. The second table has the percentage of pages of 13 equal
algorithms that call any pair different, which is no less than that of pages that say *worse* of one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import stats

from dstcc.arrays import Float64Array
from dstcc.report.printed import heading, line
from dstcc.stats import SIGNIFICANT, _tail, holm, paired_p

Distribution = Callable[[Float64Array], Float64Array]
"""From levels of a uniform distribution to values, so that seeds can be common to algorithms."""
DISTRIBUTIONS: dict[str, Distribution] = {
    "Beta(8, 2)": lambda q: stats.beta.ppf(q, 8, 2),
    "Beta(20, 0.8), near one": lambda q: stats.beta.ppf(q, 20, 0.8),
    "one in 60 %, else Beta(5, 2)": lambda q: np.where(
        q > 0.4, 1.0, stats.beta.ppf(np.minimum(q / 0.4, 1), 5, 2)
    ),
    "0.3 in 25 %, else 0.95": lambda q: np.where(q < 0.25, 0.2 + 0.8 * q, 0.9 + 0.1 * q),
    "normal": stats.norm.ppf,
    "lognormal": lambda q: np.exp(stats.norm.ppf(q)),
}
SEEDS = (3, 5, 6, 10, 20)
PAGE_SEEDS = (5, 10)
ALGORITHMS, PAGES = 13, 1000


def trimmed(values: Float64Array, count: int) -> Float64Array:
    """Mean along the last axis without the ``count`` lowest and highest values."""
    ordered = np.sort(values, axis=-1)
    mean: Float64Array = ordered[..., count : ordered.shape[-1] - count].mean(axis=-1)
    return mean


def coverage(distribution: Distribution, n: int, samples: int, resamples: int) -> dict[str, float]:
    """Method → share of samples whose interval holds the distribution's trimmed mean."""
    draw, cut = np.random.default_rng(n), n // 4
    levels = (np.arange(1_000_000) + 0.5) / 1_000_000
    truth = float(trimmed(distribution(levels), len(levels) * cut // n))
    values = distribution(draw.random((samples, n)))
    picked = draw.integers(0, n, (resamples, n))
    drawn = np.sort(np.stack([trimmed(values[:, one], cut) for one in picked], axis=1), axis=1)
    tail = _tail(n, 1)
    intervals = {
        "percentile": np.quantile(drawn, [0.025, 0.975], axis=1),
        "BCa": _bca(values, drawn, cut),
        "t": _student(values, cut),
        "expanded": np.quantile(drawn, [tail, 1 - tail], axis=1),
    }
    slack = 1e-9
    return {
        name: float(np.mean((low <= truth + slack) & (truth - slack <= high)))
        for name, (low, high) in intervals.items()
    }


def _student(values: Float64Array, cut: int) -> Float64Array:
    n = values.shape[1]
    winsorized = np.sort(values, axis=1)
    winsorized[:, :cut] = winsorized[:, [cut]]
    winsorized[:, n - cut :] = winsorized[:, [n - cut - 1]]
    kept = n - 2 * cut
    error = winsorized.std(axis=1, ddof=1) * np.sqrt((n - 1) / (kept * (kept - 1)))
    reach = stats.t.ppf(0.975, kept - 1) * error
    return np.stack([trimmed(values, cut) - reach, trimmed(values, cut) + reach])


def _bca(values: Float64Array, drawn: Float64Array, cut: int) -> Float64Array:
    samples, n = values.shape
    mean = trimmed(values, cut)[:, None]
    below = (drawn < mean).mean(axis=1) + 0.5 * (drawn == mean).mean(axis=1)
    resamples = drawn.shape[1]
    bias = stats.norm.ppf(np.clip(below, 1 / resamples, 1 - 1 / resamples))
    without = np.stack([trimmed(np.delete(values, i, axis=1), (n - 1) // 4) for i in range(n)], axis=1)
    apart = without.mean(axis=1, keepdims=True) - without
    spread = 6 * (apart**2).sum(axis=1) ** 1.5
    skew = np.divide((apart**3).sum(axis=1), spread, out=np.zeros(samples), where=spread > 0)
    ends = []
    for z in stats.norm.ppf([0.025, 0.975]):
        share = stats.norm.cdf(bias + (bias + z) / (1 - skew * (bias + z)))
        ends.append(drawn[np.arange(samples), np.clip((share * resamples).astype(int), 0, resamples - 1)])
    return np.stack(ends)


def wrong_pages(distribution: Distribution, n: int) -> float:
    """Share of pages of equal algorithms on which Holm's correction leaves a difference; half of the variance is the
    seeds' own, which all algorithms share."""
    draw, pairs = np.random.default_rng(n), list(combinations(range(ALGORITHMS), 2))
    level = (draw.normal(size=(PAGES, n, 1)) + draw.normal(size=(PAGES, n, ALGORITHMS))) / 2**0.5
    values = distribution(stats.norm.cdf(level))
    first, second = np.transpose(pairs)
    differences = values[..., first] - values[..., second]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.abs(differences.mean(axis=1)) / (differences.std(axis=1, ddof=1) / n**0.5)
    # Far below Holm's level no test need be done page by page.
    doubtful = np.nanmax(reach, axis=1) > 0.9 * stats.t.isf(SIGNIFICANT / len(pairs) / 2, n - 1)
    wrong = 0
    for page in differences[doubtful]:
        adjusted = holm({pair: paired_p([list(one)]) for pair, one in zip(pairs, page.T, strict=True)})
        wrong += min(adjusted.values()) < SIGNIFICANT
    return wrong / PAGES


def main() -> int:
    """Print the tables in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=2000, metavar="N")
    parser.add_argument("--resamples", type=int, default=999, metavar="N")
    parser.add_argument("--only", choices=("intervals", "false"))
    arguments = parser.parse_args()
    if arguments.only != "false":
        heading("Intervals", ("distribution", *(f"{n} seeds" for n in SEEDS)))
        for name, distribution in DISTRIBUTIONS.items():
            cells = [coverage(distribution, n, arguments.samples, arguments.resamples) for n in SEEDS]
            line(name, *(", ".join(f"{100 * share:.0f}" for share in one.values()) for one in cells))
    if arguments.only != "intervals":
        heading("False differences", ("distribution", *(f"{n} seeds" for n in PAGE_SEEDS)))
        for name, distribution in DISTRIBUTIONS.items():
            line(name, *(f"{100 * wrong_pages(distribution, n):.1f} %" for n in PAGE_SEEDS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
