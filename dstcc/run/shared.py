"""What several trials share: worked out once, by whichever thread comes first, and let go with its last use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from dstcc.scenario import scale_of, settle

if TYPE_CHECKING:
    from dstcc.scenario import Scenario, Setting, Source

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT_ROWS = 1 << 25
"""Of the settings that wait for another trial: each row is a deadline of 8 bytes, so 256 MB. What is more is worked out
again."""


class Once(Generic[K, V]):
    """Values by key, each for so many uses as ``uses`` says."""

    def __init__(self, uses: Iterable[K], most: int | None = None) -> None:
        """``uses`` has a key as often as it will be asked for; at most ``most`` values are kept at a time."""
        self._left, self._most = Counter(uses), most
        self._made: dict[K, Future[V]] = {}
        self._lock = Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, made by its first use; later ones wait for it. What ``make`` raises, all of them do."""
        with self._lock:
            self._left[key] -= 1
            found = self._made.get(key)
            first = found is None
            if found is None:
                found = Future()
                if self._left[key] > 0 and (self._most is None or len(self._made) < self._most):
                    self._made[key] = found
            elif self._left[key] <= 0:
                del self._made[key]
        if first:
            try:
                found.set_result(make())
            except BaseException as error:
                found.set_exception(error)
        return found.result()


class Settings:
    """The settings of a run's trials, each seed settled once for all that are alike in what a variant may change."""

    def __init__(
        self, scenarios: dict[str | None, Scenario], source: Source, uses: Iterable[tuple[str | None, int]]
    ) -> None:
        """``scenarios`` by variant; ``uses`` has the variant and the seed of each trial."""
        self._scenarios, self._source = scenarios, source
        self._alike = {
            variant: (one.transport.mss_bytes, scale_of(one)) for variant, one in scenarios.items()
        }
        rows = source.chunks * source.layers
        self._once: Once[tuple[int, tuple[int, float]], Setting] = Once(
            ((seed, self._alike[variant]) for variant, seed in uses), max(1, KEPT_ROWS // rows)
        )

    def of(self, variant: str | None, seed: int) -> Setting:
        """The setting of a trial."""
        return self._once.get(
            (seed, self._alike[variant]), lambda: settle(self._scenarios[variant], self._source, seed)
        )
