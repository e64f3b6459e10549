"""A paper's two files as checked models: what is run for each figure, and what was published."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dstcc.errors import InputError
from dstcc.reading import read_toml

from .places import FIGURES, PUBLISHED, README, folder_of

Text = Annotated[str, Field(min_length=1)]
OTHER = "{over}"
"""In a quantity: the other's name."""
Times = Annotated[int, Field(ge=1, le=1_000)]
BETWEEN = ("growth", "rise")
"""Measures from one point to another."""
ALONE = ("level", *BETWEEN)
"""Measures of one algorithm."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Point(_Table):
    """A place on a figure's axis: the scenario with some of its keys set."""

    x: float | str
    set: tuple[str, ...] = ()
    """As ``--set`` has them."""
    scenario: Text | None = None
    """In the place of the figure's."""
    backend: Literal["simulator", "kernel"] = "simulator"
    """What carries it; a kernel is the one that can send each layer of a stream on a subflow of its own."""
    quick: bool = True
    """Whether ``--quick`` runs it."""


class Axis(_Table):
    """What a paper leaves open, and values of it. At each value the figures' trials are run with the value's settings
    after their own, and the published numbers are compared again."""

    name: Text
    """What a verdict depends on."""
    unit: str = ""
    figures: tuple[Text, ...]
    algorithms: tuple[Text, ...]
    """Those that are run; numbers of others are left out."""
    quantities: tuple[str, ...] = ("",)
    """How the quantities of the numbers that are compared begin."""
    point: tuple[Point, ...]
    """The values; one without settings is the one that the figures use."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if len({point.x for point in self.point}) < max(2, len(self.point)):
            raise ValueError(f"{self.name}: needs two values or more, each once")
        return self

    def label(self, point: Point) -> str:
        """A value, without the unit."""
        return f"{point.x:,g}" if isinstance(point.x, float) else point.x

    def numbers(self, all_numbers: tuple[Number, ...]) -> tuple[Number, ...]:
        """The published numbers that are compared at each value."""
        kept = []
        for number in all_numbers:
            asked = number.measure
            over = tuple(name for name in asked.over if name in self.algorithms)
            ours = all(name in self.algorithms for name in asked.whose) and bool(over) == bool(asked.over)
            if number.figure in self.figures and ours and number.quantity.startswith(self.quantities):
                kept.append(number.model_copy(update={"measure": asked.model_copy(update={"over": over})}))
        return tuple(kept)


class Setting(NamedTuple):
    """A value of an axis."""

    axis: Axis
    point: Point

    @property
    def value(self) -> str:
        """With its unit, and whether the figures use it."""
        used = "" if self.point.set or self.point.scenario else " (used)"
        return f"{self.axis.label(self.point)} {self.axis.unit}".rstrip() + used

    @property
    def words(self) -> str:
        """In tables."""
        return f"{self.axis.name}: {self.value}"


class Plot(_Table):
    """How a figure is drawn."""

    kind: Literal["lines", "dots", "stack", "bars", "curve", "boxes"]
    y: Text = "playback_ratio"
    """The metric; a series for ``curve`` and ``boxes``."""
    times: float = 1.0
    """By what the metric is multiplied for its unit."""
    y_label: str = ""
    x_label: str = ""
    log_x: bool = False
    log_y: bool = False


class Exploring(_Table):
    """One of a ``dash`` figure's algorithms: a policy of the scenario that acts at random now and then while it runs,
    see :mod:`dstcc.papers.explore`."""

    of: Text
    """By the name that the scenario's trial has."""
    factor: Annotated[float, Field(gt=0, le=1)]
    """By which the probability falls at each decision, from 1."""
    least: Annotated[float, Field(ge=0, le=1)]
    """What it falls to."""
    rich_s: Annotated[float, Field(ge=0)]
    """What the client must have in its buffer when it asks for a chunk; with less nothing is random in it."""
    counts_random: bool = False
    """Whether chunks that were sent with actions at random are in the client's estimate of the rate."""
    learns: bool = False
    """Whether the policy begins without weights and learns on the way, see :mod:`dstcc.papers.learn_anew`."""

    @property
    def words(self) -> str:
        """In messages."""
        return "learning anew" if self.learns else "exploring"

    def epsilon(self, decisions: int) -> float:
        """The probability after so many decisions."""
        return max(self.least, self.factor**decisions)


class Figure(_Table):
    """What is run for one figure or table."""

    id: Text
    title: Text
    kind: Literal["trial", "training", "dash", "links", "map"] = "trial"
    scenario: str = ""
    set: tuple[str, ...] = ()
    quick_set: tuple[str, ...] = ()
    """More settings under ``--quick``, after those of the point."""
    seeds: Times
    """Of each cell; of a map at most these, as the axes' figures may have fewer."""
    quick_seeds: Times
    axis: tuple[Axis, ...] = ()
    """Of a map."""
    algorithms: tuple[Text, ...] = ()
    """Of the paper, by the names that the scenario's trials have."""
    beyond: tuple[Text, ...] = ()
    """What the paper does not have."""
    not_quick: tuple[Text, ...] = ()
    """Those of both that ``--quick`` leaves out, since they take minutes."""
    exploring: dict[str, Exploring] = {}
    """Those of both that are a policy acting at random, by name."""
    point: tuple[Point, ...] = (Point(x=0.0),)
    probes: tuple[Text, ...] = ()
    """What is taken from a trial beside its metrics, see :mod:`dstcc.papers.probes`."""
    quality: bool = False
    """Whether the pictures are judged."""
    learner: str | None = None
    """``training``: the algorithm that learns."""
    changed: dict[str, dict[str, Any]] = {}
    """``training``: further ones by name, of the same learner with other keywords of its environment."""
    steps: int = 0
    quick_steps: int = 0
    extra: bool = False
    """Run only when ``--figure`` names it."""
    plot: Plot = Plot(kind="lines")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.kind == "map") != bool(self.axis) or (self.kind == "map") == bool(self.scenario):
            raise ValueError("needs a scenario, or is a map and has axes")
        if self.kind == "training" and (self.learner is None or min(self.steps, self.quick_steps) < 1):
            raise ValueError("a training needs learner, steps and quick_steps")
        if self.changed and self.kind != "training":
            raise ValueError("changed: of a training only")
        if self.kind in ("trial", "dash") and not self.algorithms:
            raise ValueError("needs algorithms")
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise ValueError(f"algorithm named twice: {', '.join(twice)}")
        if strange := [name for name in self.not_quick if name not in self.names]:
            raise ValueError(f"not_quick: no algorithm {strange[0]}")
        if self.exploring and self.kind != "dash":
            raise ValueError("exploring: of a dash figure only")
        if strange := [name for name in self.exploring if name not in self.names]:
            raise ValueError(f"exploring: no algorithm {strange[0]}")
        if len({point.x for point in self.point}) < len(self.point):
            raise ValueError("two points of one x")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """All its algorithms; a training's and a table's one row has the figure's own."""
        if self.kind == "training":
            return (str(self.learner), *self.changed)
        return (*self.algorithms, *self.beyond) or ("links",)

    @property
    def heading(self) -> str:
        """``Figure 4``, or ``Table 1`` where its id says so."""
        return self.id.capitalize() if not self.id[:1].isdigit() else f"Figure {self.id}"

    def names_of(self, quick: bool) -> tuple[str, ...]:
        """Those of its algorithms that are run."""
        return tuple(name for name in self.names if not (quick and name in self.not_quick))

    def points(self, quick: bool) -> tuple[Point, ...]:
        """Those that are run."""
        return tuple(point for point in self.point if point.quick or not quick)

    def steps_of(self, quick: bool) -> int:
        """Of a training."""
        return self.quick_steps if quick else self.steps

    def count(self, quick: bool) -> int:
        """Seeds of each cell."""
        return self.quick_seeds if quick else self.seeds


class Measure(_Table):
    """How a number is measured. ``level``: the metric's mean. ``growth``: that at the last of the points over that at
    the first, ``rise``: less it. ``gain``: by how many percent it is above that of another, ``cut``: below it,
    ``lead``: the difference in the metric's unit."""

    kind: Literal["level", "growth", "rise", "gain", "cut", "lead"]
    metric: Text
    of: Text | tuple[Text, ...]
    """Whose. Of several (a level's) each counts like a point."""
    over: tuple[Text, ...] = ()
    """The others; a row for each."""
    at: tuple[float | str, ...] = ()
    """Points of the figure; all unless given."""
    across: Literal["most", "mean", "least"] = "most"
    """Of several points."""
    times: float = 1.0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.kind in ALONE) != (not self.over):
            raise ValueError(f"over: named by gain, cut and lead, and not by {', '.join(ALONE)}")
        if self.kind in BETWEEN and len(self.at) != 2:
            raise ValueError(f"at: a {self.kind} is from one point to another")
        if not isinstance(self.of, str) and self.over:
            raise ValueError("of: one only where there is over")
        return self

    @property
    def whose(self) -> tuple[str, ...]:
        """``of`` as a list."""
        return (self.of,) if isinstance(self.of, str) else self.of


class Number(_Table):
    """A published number, or an order that the paper claims, and where it says so."""

    figure: Text
    quantity: Text
    published: float | tuple[float, float] | None = None
    """A pair is a range."""
    claim: str = ""
    """In the place of a number: what the text says in words. The measure is positive where it holds, as a gain is."""
    unit: str = ""
    place: Text
    source: Literal["text", "computed", "plot"] = "text"
    """``computed``: from numbers of the text, as ``note`` says; ``plot``: read off a plot."""
    note: str = ""
    measure: Measure

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.published is None) == (not self.claim):
            raise ValueError("needs either published or claim")
        if self.source == "computed" and not self.note:
            raise ValueError("a computed number needs a note with its arithmetic")
        if len(self.measure.over) > 1 and OTHER not in self.quantity:
            raise ValueError(f"quantity: does not name the other ({OTHER}), of which there are several")
        if isinstance(self.published, tuple) and not self.published[0] < self.published[1]:
            raise ValueError("published: a range rises")
        return self


class About(_Table):
    """Which paper it is."""

    name: Text
    title: Text
    authors: Text
    venue: Text


class Paper(_Table):
    """A paper that can be reproduced."""

    about: About
    figure: tuple[Figure, ...]
    number: tuple[Number, ...]
    folder: Path

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """By their ids, in order."""
        return {figure.id: figure for figure in self.figure}

    @cached_property
    def readme(self) -> str:
        """Deviations, and what came out."""
        return (self.folder / README).read_text(encoding="utf-8")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.figures) < len(self.figure):
            raise ValueError("figure: two of one id")
        for index, number in enumerate(self.number):
            figure = self.figures.get(number.figure)
            if figure is None:
                raise ValueError(f"number.{index}: no figure {number.figure}")
            _check_measure(f"number.{index}", figure, number.measure)
        for figure in self.figure:
            for axis in figure.axis:
                for one in axis.figures:
                    if one not in {number.figure for number in axis.numbers(self.number)}:
                        raise ValueError(
                            f"figure {figure.id}, {axis.name}: no number of figure {one} to compare"
                        )
        return self

    def chosen(self, ids: tuple[str, ...]) -> tuple[Figure, ...]:
        """The figures of these ids, or all but the extra ones; raises :class:`InputError` for an unknown id."""
        for one in ids:
            if one not in self.figures:
                listed = ", ".join(f"{figure.id} ({figure.title})" for figure in self.figure)
                raise InputError(f"--figure {one}: {self.about.name} has {listed}")
        return tuple(one for one in self.figure if (one.id in ids if ids else not one.extra))


def _check_measure(where: str, figure: Figure, measure: Measure) -> None:
    for name in (*measure.whose, *measure.over):
        if name not in figure.names:
            raise ValueError(f"{where}: figure {figure.id} has no {name}: {', '.join(figure.names)}")
    points = {point.x for point in figure.point}
    for x in measure.at:
        if x not in points:
            raise ValueError(f"{where}: figure {figure.id} has no point {x}")


def load_paper(name: str) -> Paper:
    """Read and check a paper; raises :class:`InputError` for an unknown name or a file that breaks a rule."""
    return read_paper(folder_of(name))


def read_paper(folder: Path) -> Paper:
    """As :func:`load_paper`, of a folder."""
    figures, published = (read_toml(folder / name, InputError) for name in (FIGURES, PUBLISHED))
    document = {
        "about": published.get("paper"),
        "number": published.get("number", []),
        "figure": figures.get("figure", []),
        "folder": folder,
    }
    for path, table, known in (
        (FIGURES, figures, {"figure"}),
        (PUBLISHED, published, {"paper", "number"}),
    ):
        if strange := table.keys() - known:
            raise InputError(f"{folder / path}: unknown key {', '.join(sorted(strange))}")
    try:
        return Paper.model_validate(document)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(map(str, problem["loc"]))
        rule = str(problem["msg"]).removeprefix("Value error, ")
        file = FIGURES if (key or rule).startswith("figure") else PUBLISHED
        raise InputError(f"{folder / file}: {key + ': ' if key else ''}{rule}") from None
