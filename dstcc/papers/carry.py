"""Which cells a figure needs, and running those that are not finished yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from dstcc.run.trials import WORKER_NAME

from .cells import Cell, Outcome, Store, key_of
from .dash_cell import DashCell, of_scenario
from .links_cell import LinksCell
from .model import Axis, Figure, Paper, Point, Setting
from .training_cell import TrainingCell
from .trial_cell import TrialCell, scenario_of

Place = tuple[str, float | str, int]
"""Whose (an algorithm's name), at which x, and of which seed."""


@dataclass(frozen=True)
class Planned:
    """A figure and its cells."""

    figure: Figure
    quick: bool
    cells: dict[Place, Cell]
    setting: Setting | None = None
    """Where it is a part of a map."""


@dataclass(frozen=True)
class Results:
    """A figure and what came of its cells."""

    figure: Figure
    quick: bool
    outcomes: dict[Place, Outcome]
    setting: Setting | None = None

    def at(self, name: str, x: float | str) -> list[Outcome]:
        """An algorithm's outcomes at a point, seed by seed."""
        return [outcome for (who, where, _), outcome in self.outcomes.items() if (who, where) == (name, x)]

    @property
    def names(self) -> tuple[str, ...]:
        """The algorithms that were run."""
        return self.figure.names_of(self.quick)

    @property
    def points(self) -> tuple[Point, ...]:
        """Those that were run."""
        return self.figure.points(self.quick)


def plan(figure: Figure, paper: Paper, quick: bool) -> list[Planned]:
    """A figure; a map's figures at each value. Raises :class:`~dstcc.errors.InputError` as :func:`plan_figure`."""
    if figure.kind != "map":
        return [plan_figure(figure, paper.folder, quick)]
    return [
        replace(
            plan_figure(_varied(figure, paper, axis, point, one), paper.folder, quick),
            setting=Setting(axis, point),
        )
        for axis in figure.axis
        for one in axis.figures
        for point in axis.point
        if point.quick or not quick
    ]


def _varied(figure: Figure, paper: Paper, axis: Axis, value: Point, of: str) -> Figure:
    """A figure at an axis's value, with what the axis's numbers need of it."""
    base = paper.figures[of]
    asked = [number.measure.at for number in axis.numbers(paper.number) if number.figure == of]
    needed = {x for at in asked for x in at} if all(asked) else {point.x for point in base.point}
    points = [
        point.model_copy(
            update={"set": (*point.set, *value.set), "scenario": value.scenario or point.scenario}
        )
        for point in base.point
        if point.x in needed
    ]
    names = tuple(name for name in base.names if name in axis.algorithms)
    seeds = {one: min(getattr(base, one), getattr(figure, one)) for one in ("seeds", "quick_seeds")}
    return base.model_copy(update={"algorithms": names, "beyond": (), "point": tuple(points), **seeds})


def plan_figure(figure: Figure, folder: Path, quick: bool) -> Planned:
    """All its cells; raises :class:`~dstcc.errors.InputError` for a scenario that breaks a rule or lacks a trial."""
    cells: dict[Place, Cell] = {}
    for point in figure.points(quick):
        path = folder / (point.scenario or figure.scenario)
        settings = (*figure.set, *point.set, *(figure.quick_set if quick else ()))
        first = scenario_of(path, of_scenario(settings)).run.seed
        if figure.kind == "links":
            cells[figure.names[0], point.x, first] = LinksCell(path, settings, figure.count(quick))
            continue
        make = _maker(figure, point, path, settings, quick=quick)
        for name in figure.names_of(quick):
            for seed in range(first, first + figure.count(quick)):
                cells[name, point.x, seed] = make(name, seed)
    return Planned(figure, quick, cells)


def _maker(
    figure: Figure, point: Point, path: Path, settings: tuple[str, ...], *, quick: bool
) -> Callable[[str, int], Cell]:
    """What makes the cell of an algorithm and a seed at a point."""
    if figure.kind == "training":
        learner, changed = str(figure.learner), figure.changed
        return lambda name, seed: TrainingCell(
            path, settings, learner, figure.steps_of(quick), seed, changed.get(name, {})
        )
    if figure.kind == "dash":
        how = figure.exploring
        return lambda name, seed: DashCell(
            path, settings, how[name].of if name in how else name, seed, how.get(name)
        )
    return lambda name, seed: TrialCell(
        path, settings, name, seed, figure.probes, figure.quality, point.backend
    )


def carry(
    planned: Iterable[Planned],
    store: Store,
    *,
    jobs: int | None = None,
    begin: Callable[[int, int], Callable[[], None]] = lambda _all, _kept: lambda: None,
) -> list[Results]:
    """Run what is not finished yet, and give back everything.

    ``begin`` gets the number of cells and of those that are finished, and returns what is called after each.
    An error ends it once the running cells are done; what is finished stays.
    """
    planned = list(planned)
    keys = {id(cell): key_of(cell) for one in planned for cell in one.cells.values()}
    outcomes: dict[str, Outcome] = {}
    missing: dict[str, Cell] = {}
    for one in planned:
        for cell in one.cells.values():
            key = keys[id(cell)]
            if key in outcomes or key in missing:
                continue
            found = store.find(key)
            if found is None:
                missing[key] = cell
            else:
                outcomes[key] = found
    advance = begin(len(missing) + len(outcomes), len(outcomes))
    outcomes |= _run(missing, store, jobs or os.cpu_count() or 1, advance)
    return [
        Results(
            one.figure,
            one.quick,
            {place: outcomes[keys[id(cell)]] for place, cell in one.cells.items()},
            one.setting,
        )
        for one in planned
    ]


def _run(
    missing: dict[str, Cell], store: Store, jobs: int, advance: Callable[[], None]
) -> dict[str, Outcome]:
    def work(key: str) -> Outcome:
        outcome = missing[key].run(store.scratch(key))
        store.keep(key, outcome)
        return outcome

    done: dict[str, Outcome] = {}
    pool = ThreadPoolExecutor(jobs, thread_name_prefix=WORKER_NAME)
    try:
        waiting = {pool.submit(work, key): key for key, cell in missing.items() if not cell.alone}
        for future in as_completed(waiting):
            done[waiting[future]] = future.result()
            advance()
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for key, cell in missing.items():
        if cell.alone:
            done[key] = work(key)
            advance()
    return done
