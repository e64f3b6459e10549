"""Several scenarios pooled: only shares, which mean the same in every scenario, with a stratum per scenario.

Values are over all trials, resampled within each scenario (Agarwal et al., NeurIPS 2021).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from dstcc.stats import (
    Estimate,
    Paired,
    Profile,
    mean_estimate,
    performance_profile,
    stratified_estimate,
)

from .catalogue import METRIC, PROFILED, RANKING, Metric
from .footing import Footing, footing_of, shared
from .model import Algorithm, Report, Section, differences, paired


@dataclass(frozen=True)
class Pooled:
    """The algorithms that have values in every scenario."""

    sections: tuple[Section, ...]
    names: tuple[str, ...]
    """Sorted by the first metric, highest first."""
    metrics: tuple[Metric, ...]
    """Shares that each of them has in every scenario."""
    against: str | None
    missing: Mapping[str, str] = field(default_factory=dict)
    """The algorithms that lack values somewhere, and where."""

    @cached_property
    def footings(self) -> dict[str, Footing]:
        """What each algorithm knows and was given, where that is the same in every scenario."""
        footings = {
            name: shared(footing_of(self.find(footing, name)) for footing in self.sections)
            for name in self.names
        }
        return {name: footing for name, footing in footings.items() if isinstance(footing, Footing)}

    @staticmethod
    def find(section: Section, name: str) -> Algorithm:
        """The algorithm of that name in one of the scenarios."""
        return next(a for a in section.finished if a.name == name)

    def strata(self, name: str, metric: Metric) -> list[list[float]]:
        """A list of values for each scenario."""
        return [list(self.find(section, name).by_seed(metric.key).values()) for section in self.sections]

    def estimate(self, name: str, metric: Metric) -> Estimate:
        """IQM of all trials, with a stratified interval."""
        return self._estimates[name][metric.key]

    @cached_property
    def _estimates(self) -> dict[str, dict[str, Estimate]]:
        return {
            name: {metric.key: stratified_estimate(self.strata(name, metric)) for metric in self.metrics}
            for name in self.names
        }

    def profiles(self, metric: Metric) -> dict[str, Profile]:
        """Algorithm → share of trials over τ; scenarios have equal weight."""
        return {name: performance_profile(self.strata(name, metric)) for name in self.names}

    @cached_property
    def best(self) -> str:
        """The best algorithm, by the shares of a scenario's ranking, without failed trials if one has none."""
        keys = [METRIC[key] for key in RANKING if METRIC[key] in self.metrics]
        return max(
            self.names,
            key=lambda name: (self.whole(name), *(self.estimate(name, key).value for key in keys)),
        )

    def whole(self, name: str) -> bool:
        """Whether none of an algorithm's trials failed."""
        return all(self.find(section, name).whole for section in self.sections)

    def differences(self, metric: Metric, name: str, reference: str) -> list[list[float]]:
        """An algorithm's differences to another one over their common seeds, for each scenario."""
        return [differences(section, metric.key, name, reference) for section in self.sections]

    @property
    def reference(self) -> str:
        """The chosen reference, or the best algorithm."""
        return self.against if self.against in self.names else self.best

    def paired(self, metric: Metric, reference: str | None = None) -> dict[str, Paired]:
        """Algorithm → its differences to ``reference`` (or the report's), over the seeds of every scenario."""
        by_section = [paired(s, metric.key, self.find(s, reference or self.reference)) for s in self.sections]
        names = [name for name in self.names if all(name in one for one in by_section)]
        return {name: _together([one[name] for one in by_section]) for name in names}


def pool(report: Report) -> Pooled | None:
    """The report's scenarios together; None with one scenario, or without a common algorithm and share."""
    sections = report.sections
    if len(sections) < 2 or not all(section.finished for section in sections):
        return None
    names = [n for n in report.algorithms if all(any(a.name == n for a in s.finished) for s in sections)]
    estimates = [Pooled.find(section, name).estimates for section in sections for name in names]
    metrics = tuple(METRIC[key] for key in PROFILED if all(key in one for one in estimates))
    if not names or not metrics:
        return None
    missing = {name: _absence(sections, name) for name in report.algorithms if name not in names}
    pooled = Pooled(sections, tuple(names), metrics, sections[0].against, missing)
    ordered = sorted(names, key=lambda name: pooled.estimate(name, metrics[0]).value, reverse=True)
    return replace(pooled, names=tuple(ordered))


def _absence(sections: tuple[Section, ...], name: str) -> str:
    """Where an algorithm has no value: ``not run in A, B; nothing finished in C``."""
    tried = [s.name for s in sections if any(a.name == name for a in s.algorithms)]
    done = [s.name for s in sections if any(a.name == name for a in s.finished)]
    never = [s.name for s in sections if s.name not in tried]
    failed = [one for one in tried if one not in done]
    parts = [(f"not run in {', '.join(never)}", never), (f"nothing finished in {', '.join(failed)}", failed)]
    return "; ".join(text for text, names in parts if names)


def section_profiles(section: Section) -> list[tuple[Metric, dict[str, Profile]]]:
    """The profiles of one scenario; a metric of which all trials have the same value is left out."""
    profiles = []
    for metric in (METRIC[key] for key in PROFILED):
        values = {a.name: list(a.by_seed(metric.key).values()) for a in section.finished}
        values = {name: one for name, one in values.items() if one}
        if max(map(len, values.values()), default=0) > 1 and not _alike(chain(*values.values())):
            profiles.append((metric, {name: performance_profile([one]) for name, one in values.items()}))
    return profiles


def pooled_profiles(pooled: Pooled) -> list[tuple[Metric, dict[str, Profile]]]:
    """As :func:`section_profiles`, of all scenarios together."""
    return [
        (metric, pooled.profiles(metric))
        for metric in pooled.metrics
        if not _alike(chain(*(chain(*pooled.strata(name, metric)) for name in pooled.names)))
    ]


def _alike(values: chain[float]) -> bool:
    first, *others = values
    return all(math.isclose(first, other, abs_tol=1e-12) for other in others)


def _together(parts: list[Paired]) -> Paired:
    strata = [part.differences for part in parts]
    return Paired(mean_estimate(strata), tuple(chain(*(part.seeds for part in parts))), tuple(chain(*strata)))
