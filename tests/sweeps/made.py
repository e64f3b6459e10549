"""Small studies, and an executor that carries them in this process, as a test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dstcc.sweeps.call import Sweep
from dstcc.sweeps.conduct import Swept
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.pieces import Failed
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit
from dstcc.sweeps.worker import carrying, keep
from tests.made_results import TOY

STUDY = """
[study]
scenario = "toy.toml"
seeds = 2
[vary]
"link.0.loss.packet" = [1e-3, 1e-2]
"""
TRIALS = 8
"""Two losses, two controls, two seeds."""


def write(folder: Path, study: str = STUDY, scenario: str = TOY) -> Path:
    """A study and its scenario in a folder."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "toy.toml").write_text(scenario)
    (folder / "study.toml").write_text(study)
    return folder / "study.toml"


class Inline:
    """An executor in this process. ``before`` is asked about each unit: what it returns is how it ended."""

    name = "inline"
    workers = 1

    def __init__(
        self,
        place: Place,
        before: Callable[[Unit], Ended | None] = lambda _unit: None,
        *,
        hands_over: bool = False,
    ) -> None:
        """With ``hands_over`` rows go through the conductor, as from a machine without the study's folder."""
        self.place, self.before, self.hands_over = place, before, hands_over
        self.batches: list[list[Unit]] = []
        self.carried: list[str] = []

    def __enter__(self) -> Inline:
        self._said = carrying(self.place)
        self.carrier = self._said.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._said.__exit__(None, None, None)

    def room(self) -> bool:
        return not self.batches

    def submit(self, batch: Sequence[Unit]) -> None:
        self.batches.append(list(batch))

    def wait(self, seconds: float) -> list[Ended]:
        ended = []
        for unit in self.batches.pop(0):
            told = self.before(unit)
            ended.append(told or self._carry(unit))
        return ended

    def _carry(self, unit: Unit) -> Ended:
        self.carried.append(unit.key)
        ((_, outcome),) = self.carrier.carry([unit])
        if isinstance(outcome, Failed):
            return Ended(unit, outcome.error, outcome.traceback, seconds=0.1)
        if self.hands_over:
            return Ended(unit, row=outcome, seconds=0.1)
        keep(self.place, unit, outcome)
        return Ended(unit, seconds=0.1)


def sweep(
    study: Path,
    folder: Path,
    before: Callable[[Unit], Ended | None] = lambda _unit: None,
    *,
    train: bool = False,
    tell: Callable[[str], None] = lambda _note: None,
    hands_over: bool = False,
    **options: Any,
) -> Swept:
    """Sweep in this process."""
    return Sweep(study, folder, train=train, tell=tell).run(
        lambda place, _limit: Inline(place, before, hands_over=hands_over), **options
    )


def contents(folder: Path) -> dict[str, bytes]:
    """The results of a study, file by file."""
    return {part.name: part.read_bytes() for part in sorted((folder / "trials").iterdir())}
