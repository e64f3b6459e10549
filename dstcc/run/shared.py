"""What several trials share. The first thread that asks for a value makes it; the last use frees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from dstcc.scenario import Scenario, Source, TrialSetup, draw_trial, scale_of

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT_ROWS = 1 << 25
"""The most rows of setups that are kept for later trials. A row is a deadline of 8 bytes: 256 MB. Other setups are
drawn again."""


class Once(Generic[K, V]):
    """Values by key. Each is freed after as many uses as ``uses`` counts."""

    def __init__(self, uses: Iterable[K], most: int | None = None) -> None:
        """``uses`` has a key as often as it will be asked for; at most ``most`` values are kept at a time."""
        self._left, self._most = Counter(uses), most
        self._made: dict[K, Future[V]] = {}
        self._lock = Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, made by its first use; later ones wait for it. What ``make`` raises, all of them do."""
        with self._lock:
            self._left[key] -= 1
            future = self._made.get(key)
            first = future is None
            if future is None:
                future = Future()
                if self._left[key] > 0 and (self._most is None or len(self._made) < self._most):
                    self._made[key] = future
            elif self._left[key] <= 0:
                del self._made[key]
        if first:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
        return future.result()


class TrialSetups:
    """The setups of a run's trials. A seed is drawn once for all variants of the same segment size and scale."""

    def __init__(
        self, scenarios: dict[str | None, Scenario], source: Source, uses: Iterable[tuple[str | None, int]]
    ) -> None:
        """``scenarios`` by variant; ``uses`` has the variant and the seed of each trial."""
        self._scenarios, self._source = scenarios, source
        self._sharing = {
            variant: (one.transport.mss_bytes, scale_of(one)) for variant, one in scenarios.items()
        }
        rows = source.chunks * source.layers
        self._once: Once[tuple[int, tuple[int, float]], TrialSetup] = Once(
            ((seed, self._sharing[variant]) for variant, seed in uses), max(1, KEPT_ROWS // rows)
        )

    def of(self, variant: str | None, seed: int) -> TrialSetup:
        """The setup of a trial."""
        return self._once.get(
            (seed, self._sharing[variant]), lambda: draw_trial(self._scenarios[variant], self._source, seed)
        )
