"""The work of a cell: what there is to do at a point of the grid, and how one piece of it is done.

A piece is a trial, or with ``--train`` a training. Each has a hash of all that decides its result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from traceback import format_exc
from typing import Any, Protocol

import pyarrow as pa

from dstcc.errors import DstccError, InputError
from dstcc.learn import check_installed
from dstcc.metrics import METRICS
from dstcc.run.asked import Asked, ask, overrides, read
from dstcc.run.directory import _resolve, trial_hashes
from dstcc.run.identity import carrier_of, made_by, short_hash
from dstcc.run.tables import TrialRow
from dstcc.run.trials import Judge, TrialKey, iter_trials, left_early, trial_keys
from dstcc.scenario import ABSENT, Override, Scenario, Sources, content_hash, extensions_of

from .axes import shown
from .pieces import Failed, Piece
from .study import Point, Study

KEPT_CELLS = 4
"""That a worker keeps, so that a cell's next trials need not read it again."""
TEXTS = ("reason", "metric", "policy_sha256")
OF_TRAININGS = ("score", "score_low", "score_high", "steps")
DEFAULT_TRAINED = ("dstcc-lanes",)


class Cell(Protocol):
    """The work at one point."""

    layers: int
    """Of its video."""
    extended: bool
    """Whether it runs somebody's own Python."""
    pieces: list[Piece]

    def run(self, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Failed]]:
        """Do these pieces, one after the other; of each the columns of its result, or why it failed."""


class Work:
    """All cells of a study. Cells share what they read: videos, and the last of themselves."""

    def __init__(self, study: Study, *, train: bool, folder: Path | None = None) -> None:
        """``folder`` is where trainings keep their state."""
        self.study, self.train, self.folder = study, train, folder
        self.points = tuple(study.points())
        self._sources = Sources()
        self._cells: dict[int, Cell] = {}
        if train and study.programs:
            raise InputError(f"{study.name}: --train: a study of programs has no trainings")
        if train:
            check_installed("--train")

    def cell(self, number: int) -> Cell:
        """The work of a point; raises :class:`InputError` naming the point where its scenario cannot run."""
        if number not in self._cells:
            while len(self._cells) >= KEPT_CELLS:
                self._cells.pop(next(iter(self._cells)))
            self._cells[number] = self._read(self.points[number])
        return self._cells[number]

    def _read(self, point: Point) -> Cell:
        study = self.study
        named = study.algorithms
        with _name_point(study, point):
            settings = {**dict(study.settings), **dict(zip(study.keys, point.values, strict=True))}
            changed = [
                *(
                    Override(tuple(key.split(".")), ABSENT if value == "" else value)
                    for key, value in settings.items()
                ),
                *overrides(
                    congestion=named["congestion"],
                    scheduler=named["scheduler"],
                    controller=named["controller"],
                    seeds=study.seeds,
                    seed=study.seed,
                ),
            ]
            scenario = read(
                point.scenario,
                changed,
                variants=named["variant"],
                congestion=named["congestion"],
                scheduler=named["scheduler"],
                folder=study.folder,
            )
            known = study.known(point)
            if study.programs:
                from .programs import ProgramRuns

                return ProgramRuns(study, scenario, known)
            if self.train:
                return _Trainings(study, scenario, known, self.folder)
            only = named["controller"] if not (named["variant"] or named["congestion"]) else ()
            asked = ask(scenario, study.backend, alone=only, source_of=self._sources.of)
            return _Trials(study, asked, known)


class _Trials:
    """The trials of a cell."""

    def __init__(self, study: Study, asked: Asked, known: Mapping[str, Any]) -> None:
        self._asked, self._quality = asked, study.quality and asked.scenario.video.quality
        self.layers = asked.source.layers
        scenario = asked.scenario
        self.extended = bool(extensions_of(scenario))
        keys = [key for key in trial_keys(scenario) if not study.excludes({**known, **_facts(key)})]
        resolved = _resolve(scenario, asked.source)
        hashes = trial_hashes(
            resolved, keys, backend=asked.backend, policies=asked.policies, quality=self._quality
        )
        maker = carrier_of(asked.backend, scenario)
        self.pieces = [
            Piece(key.id, name, maker, _facts(key)) for key, name in zip(keys, hashes, strict=True)
        ]
        self._keys = {key.id: key for key in keys}

    def run(self, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Failed]]:
        """See :class:`Cell`."""
        asked, judge = self._asked, Judge(self._asked.source, self._quality)
        carried = iter_trials(
            asked.scenario,
            asked.source,
            judge,
            backend=asked.backend,
            policies=asked.policies,
            jobs=1,
            only=[self._keys[name] for name in ids],
        )
        with left_early(carried) as trials:
            for trial in trials:
                if trial.outcome is None:
                    yield trial.id, Failed(str(trial.error), trial.traceback)
                elif judge.warnings:
                    yield trial.id, Failed(judge.warnings[0], None)
                else:
                    row = TrialRow.of(trial).values
                    yield (
                        trial.id,
                        {name: row[name] for name in result_columns(False, self.layers) if name in row},
                    )


def _facts(key: TrialKey) -> dict[str, Any]:
    return {
        "algorithm": key.name,
        "congestion": key.congestion,
        "scheduler": key.scheduler,
        "controller": key.controller,
        "variant": key.variant,
        "seed": key.seed,
    }


class _Trainings:
    """The trainings of a cell: an algorithm with a seed each."""

    layers, extended = 0, False

    def __init__(
        self, study: Study, scenario: Scenario, known: Mapping[str, Any], folder: Path | None
    ) -> None:
        from dstcc.train import any_recipe

        self._scenario, self._folder, self._steps = scenario, folder, study.steps
        self._what: dict[str, tuple[str, int, str]] = {}
        self.pieces: list[Piece] = []
        maker = made_by("training")
        for algorithm in study.trained or DEFAULT_TRAINED:
            recipe = any_recipe(algorithm)
            for seed in scenario.seeds:
                facts = {**dict.fromkeys(("congestion", "scheduler", "variant")), "controller": algorithm}
                facts |= {"algorithm": algorithm, "seed": seed}
                if study.excludes({**known, **facts}):
                    continue
                identity = {
                    "made_by": maker,
                    "scenario": content_hash(scenario),
                    "recipe": recipe.document(),
                    "algorithm": algorithm,
                    "steps": study.steps or recipe.steps,
                    "seed": seed,
                }
                name, key = f"{algorithm}/s{seed}", short_hash(identity)
                self.pieces.append(Piece(name, key, maker, facts))
                self._what[name] = (algorithm, seed, key)

    def run(self, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Failed]]:
        """See :class:`Cell`; a training that was stopped goes on from its last checkpoint."""
        from dstcc.train import train

        if self._folder is None:
            raise InputError("a training needs a folder for its state")
        for name in ids:
            algorithm, seed, key = self._what[name]
            run = self._folder / key
            try:
                run.parent.mkdir(parents=True, exist_ok=True)
                done = train(
                    self._scenario,
                    run,
                    algorithm=algorithm,
                    steps=self._steps,
                    seed=seed,
                    resume=True,
                    threads=1,
                )
            except DstccError as error:
                yield name, Failed(str(error), format_exc())
                continue
            yield (
                name,
                {
                    "score": done.evaluation.value,
                    "score_low": done.evaluation.low,
                    "score_high": done.evaluation.high,
                    "steps": float(done.steps),
                    "reason": done.reason,
                    "metric": done.metric,
                    "policy_sha256": sha256(done.policy.read_bytes()).hexdigest(),
                },
            )


def result_columns(train: bool, layers: int) -> tuple[str, ...]:
    """The columns of a result, of a video of so many layers."""
    if train:
        return (*OF_TRAININGS, *TEXTS)
    shares = ("none", *map(str, range(layers)))
    return (*(f"layers_played.{share}" for share in shares), *METRICS, "end_s", "duration_s")


def result_schema(train: bool, layers: int) -> pa.Schema:
    """The same with their types."""
    import pyarrow as pa

    columns = result_columns(train, layers)
    return pa.schema([pa.field(name, pa.string() if name in TEXTS else pa.float64()) for name in columns])


def point_words(study: Study, point: Point) -> str:
    """A point as messages name it: ``mars, playout.delay_s = 600``."""
    values = [
        f"{name} = {json.dumps(shown(value), ensure_ascii=False)}"
        for name, value in zip(study.columns, point.values, strict=True)
    ]
    return ", ".join([point.scenario.stem, *values])


@contextmanager
def _name_point(study: Study, point: Point) -> Iterator[None]:
    """Say of an input's error at which point it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{study.name}, at {point_words(study, point)}: {error}") from None
