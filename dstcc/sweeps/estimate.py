"""What a sweep would cost, from a few of its trials: ``--dry-run``."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .conduct import Pace
from .executors.base import Ended
from .executors.local import Local
from .places import Place
from .plan import Plan, Unit

MOST_MEASURED = 12
MEASURING_S = 20.0
"""The most time that goes into measuring, but for the running trial."""
FRESH_BYTES = 4096
"""Of a result's file before it is in a part: a block of the disk."""


@dataclass(frozen=True)
class Estimate:
    """A dry run's findings."""

    sweep: str
    cells: int
    left_out: int
    """Points that the exclusions leave out."""
    trials: int
    missing: int
    """Of them, those without a result."""
    workers: int
    extended: bool
    """Whether it runs somebody's own Python, which a dry run does not."""
    measured: int
    """Trials that were carried to measure them."""
    trial_s: float | None
    """Their mean."""
    low_s: float | None
    high_s: float | None
    """The least and the most (95 %) that the missing ones take."""
    bytes: int
    """The most that the results take on disk, before compression."""

    def document(self) -> dict[str, Any]:
        """As ``dstcc sweep --dry-run --json`` prints it."""
        return {"dry_run": True, **asdict(self)}


def estimate(
    plan: Plan,
    missing: list[int],
    workers: int,
    begin: Callable[[Place], None],
    *,
    limit_s: float = MEASURING_S,
) -> Estimate:
    """Carry a few of the missing trials in a folder that is removed afterwards, and reckon from them.

    ``begin`` makes the folder a study's. A trial that fails, or takes longer than ``limit_s``, is not counted; where
    somebody's own Python would run, none is carried.
    """
    pace = Pace(workers)
    with tempfile.TemporaryDirectory(prefix="dstcc-") as scratch:
        place = Place(Path(scratch, "study"))
        begin(place)
        if not plan.extended:  # a dry run runs nobody's Python
            _measure(
                place, deque(unit for batch in plan.batches(missing) for unit in batch[:1]), pace, limit_s
            )
    left = pace.left(len(missing))
    numbers = sum(field.type.bit_width // 8 for field in plan.schema if not _is_text(field))
    texts = 32 * sum(1 for field in plan.schema if _is_text(field))
    return Estimate(
        sweep=plan.study.name,
        cells=len(plan.points),
        left_out=plan.study.size - len(plan.points),
        trials=len(plan.units),
        missing=len(missing),
        workers=workers,
        extended=plan.extended,
        measured=pace.count,
        trial_s=pace.total / pace.count if pace.count else None,
        low_s=left[0] if left else None,
        high_s=left[1] if left else None,
        bytes=(numbers + texts) * len(plan.units) + FRESH_BYTES,
    )


def _is_text(field: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(field.type) or pa.types.is_boolean(field.type))


def _measure(place: Place, units: deque[Unit], pace: Pace, limit_s: float) -> None:
    end = time.monotonic() + limit_s
    with Local(place.path, 1, limit_s=limit_s) as executor:
        for _ in range(min(MOST_MEASURED, len(units))):
            if time.monotonic() > end:
                return
            executor.submit([units.popleft()])
            ended: list[Ended] = []
            while not ended:
                ended = executor.wait(1.0)
            if ended[0].error is None and ended[0].seconds is not None:
                pace.add(ended[0].seconds)
