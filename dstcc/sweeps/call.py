"""One call of a sweep, as the command and the API make it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dstcc.errors import InputError
from dstcc.machine import cores
from dstcc.reading import read_text
from dstcc.scenario import scenario_files

from .axes import shown
from .conduct import RETRIES, TRIAL_LIMIT_S, Conductor, Progress, Swept, of_other_versions
from .estimate import Estimate, estimate
from .executors.base import Executor
from .executors.local import Local
from .executors.ray import Ray
from .executors.slurm import Slurm
from .places import PROGRAMS, TRAININGS, TRIALS, Place, check_place
from .plan import Plan, make_plan
from .results import fold, missing, settle, take_in
from .study import Study, load_study
from .work import Work


class Sweep:
    """A study and the folder it is carried out in."""

    def __init__(
        self,
        study: Path,
        folder: Path | None,
        *,
        train: bool = False,
        argv: Sequence[str] = (),
        tell: Callable[[str], None] = lambda _note: None,
    ) -> None:
        """Read the study and plan it; nothing is written.

        Raises :class:`~dstcc.errors.InputError` for a study or a scenario that cannot run, and for a folder that is
        something else.
        """
        self.study: Study = load_study(study)
        if folder is not None:
            files = [file for path in self.study.scenarios for file in scenario_files(path)]
            check_place(folder, [Path(study), *files])
        self.place = None if folder is None else Place(Path(folder))
        self._text = read_text(Path(study), InputError)
        self._train, self._argv, self._tell = train, argv, tell
        self.plan: Plan = make_plan(Work(self.study, train=train))
        self._say_idle_exclusions()

    @property
    def limit_s(self) -> float:
        """The time that a trial may take, as the study says it."""
        return self.study.trial_limit_s or TRIAL_LIMIT_S

    @property
    def retries(self) -> int:
        """How often a trial that failed is tried again, as the study says it."""
        return RETRIES if self.study.retries is None else self.study.retries

    def begin(self, place: Place) -> None:
        """Make ``place`` the study's folder, or take it up again."""
        made_by = dict.fromkeys(piece.made_by for piece in self.plan.pieces)
        more = {
            "made_by": list(made_by),
            "points": len(self.plan.points),
            "trials": len(self.plan.units),
            "description": self.study.description,
            "axes": [
                {"key": key, "column": name, "values": [shown(row[number]) for row in axis.rows]}
                for axis in self.study.axes
                for number, (key, name) in enumerate(zip(axis.keys, axis.names, strict=True))
            ],
        }
        place.begin(
            self.study.name,
            self._text,
            self.study.folder,
            kind=TRAININGS if self._train else PROGRAMS if self.study.programs else TRIALS,
            argv=self._argv,
            more=more,
        )

    def run(
        self,
        executor: Callable[[Place, float], Executor],
        *,
        retries: int | None = None,
        limit_s: float | None = None,
        watch: Callable[[Progress], None] = lambda _progress: None,
    ) -> Swept:
        """Carry what has no result yet. ``executor`` makes one from the folder and a trial's time limit."""
        place = self._place()
        with place.locked():
            self.begin(place)
            self._say_other_versions(place)
            conductor = Conductor(
                self.plan,
                place,
                executor(place, self.limit_s if limit_s is None else limit_s),
                retries=self.retries if retries is None else retries,
                watch=watch,
            )
            return conductor.carry()

    def merge(self, others: Sequence[Path]) -> int:
        """Take in the results of other folders of a study; returns how many of this study's trials now have one.

        Raises :class:`~dstcc.errors.RunError` for a folder that is no study.
        """
        place = self._place()
        for path in others:
            Place(path).about()
        with place.locked():
            self.begin(place)
            for path in others:
                take_in(place, Place(path))
            fold(self.plan, place)
            settle(self.plan, place)
            self._say_other_versions(place)
            return len(self.plan.units) - len(missing(self.plan, place))

    def script(self, executor: Callable[[Place, float], Slurm], limit_s: float | None = None) -> Path | None:
        """Prepare a job array for what has no result yet; where its script lies, ``None`` where all is done."""
        place = self._place()
        with place.locked():
            self.begin(place)
            batches = list(self.plan.batches(missing(self.plan, place)))
            slurm = executor(place, self.limit_s if limit_s is None else limit_s)
            return place.jobs / slurm.script(batches)[0] / "job.sh" if batches else None

    def estimate(self, jobs: int | None = None) -> Estimate:
        """What it would cost, by a few trials that are carried for it."""
        left = list(range(len(self.plan.units))) if self.place is None else missing(self.plan, self.place)
        return estimate(self.plan, left, jobs or cores(), self.begin)

    def _place(self) -> Place:
        if self.place is None:
            raise InputError("a sweep needs a folder: -o DIR")
        return self.place

    def _say_idle_exclusions(self) -> None:
        """Of conditions on what varies alone it is known whether they leave anything out."""
        left = dict(enumerate(self.study.exclusions))
        for point in self.study.all_points() if left else ():
            known = self.study.known(point)
            left = {n: one for n, one in left.items() if one.decides(known) and not one.leaves_out(known)}
        for number in left:
            self._tell(f"{self.study.name}: exclude.{number} leaves nothing out")

    def _say_other_versions(self, place: Place) -> None:
        for name, count in of_other_versions(self.plan, place).items():
            own = " and ".join(dict.fromkeys(piece.made_by for piece in self.plan.pieces))
            self._tell(f"{count:,} results in {place.path} are by {name}, and are not used: this is {own}")


def local(jobs: int | None) -> Callable[[Place, float], Executor]:
    """Processes on this machine."""
    return lambda place, limit_s: Local(place.path.absolute(), jobs, limit_s=limit_s)


def slurm(
    tasks: int | None = None, cores: int = 1, options: Sequence[str] = ()
) -> Callable[[Place, float], Slurm]:
    """Slurm's job arrays."""
    return lambda place, limit_s: Slurm(
        Place(place.path.absolute()), tasks=tasks, cores=cores, options=options, limit_s=limit_s
    )


def ray(address: str | None = None, jobs: int | None = None) -> Callable[[Place, float], Ray]:
    """Ray, here or on the cluster at ``address``."""
    return lambda place, limit_s: Ray(place, address=address, jobs=jobs, limit_s=limit_s)
