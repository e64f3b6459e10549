"""The numbers behind each figure as rows, which ``dstcc report --figures`` writes as CSV beside the pictures.

Shares are of 1, times are mission seconds, sizes are bytes. What a figure draws as thinned lines is thinned here, too:
the run's tables have all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .figures.paired import paired_metrics
from .figures.profiles import Panels
from .figures.transport import Quantity, drawn_lines
from .frontier import BOUND_NAME, Frontier
from .model import Section, paired
from .tables import Tables

Rows = Iterator[Sequence[Any]]
"""The heading first."""


def layers_rows(section: Section) -> Rows:
    """Share of chunks by the highest layer played, -1 for none."""
    yield "algorithm", "level", "share"
    for algorithm in section.finished:
        for level, share in sorted(algorithm.played.items()):
            yield algorithm.name, level, share


def transport_rows(section: Section, tables: Tables, what: Quantity) -> Rows:
    """The lines of a quantity: the number of a line among those of its link."""
    yield "algorithm", "link", "line", "t_s", what.key
    for algorithm, link, line, t_s, values in drawn_lines(section, tables, what):
        for t, value in zip(t_s.tolist(), values.tolist(), strict=True):
            yield algorithm, link, line, t, value


def profile_rows(panels: Panels) -> Rows:
    """Steps of the performance profiles."""
    yield "metric", "algorithm", "tau", "share", "low", "high"
    for metric, profiles in panels:
        for name, one in profiles.items():
            for i, tau in enumerate(one.tau.tolist()):
                low, high = (None if band is None else float(band[i]) for band in (one.low, one.high))
                yield metric.key, name, tau, float(one.share[i]), low, high


def paired_rows(section: Section) -> Rows:
    """Differences to the reference: of each seed, and their mean with its interval."""
    yield "metric", "algorithm", "minus", "seed", "difference", "low", "high"
    minus = section.reference.name if section.reference else None
    for metric in paired_metrics(section):
        for name, one in paired(section, metric.key).items():
            for seed, difference in zip(one.seeds, one.differences, strict=True):
                yield metric.key, name, minus, seed, difference, None, None
            yield metric.key, name, minus, None, one.mean.value, one.mean.low, one.mean.high


def frontier_rows(frontier: Frontier) -> Rows:
    """Weighted layers of each algorithm and of the bound at each playout delay."""
    yield "algorithm", "delay_rtts", "weighted_layers", "low", "high"
    lines = {BOUND_NAME: frontier.bound, **{name: frontier.line(name) for name in frontier.names}}
    for name, line in lines.items():
        for delay, one in zip(frontier.delays, line, strict=True):
            if one is not None:
                yield name, delay, one.value, one.low, one.high
