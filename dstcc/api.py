"""dstcc from Python: :func:`emulate` a scenario, :func:`load` a run, look at its tables, report and play it.

The same trials as those of the command line: ``dstcc emulate x.toml --seeds 10`` is ``emulate("x.toml", seeds=10)``,
and both make the same run directory. Everything here is also ``dstcc.NAME``.
"""

from __future__ import annotations

import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from dstcc.run.reading import read_table
from dstcc.run.tables import TRIALS

from .errors import InputError, RunError
from .outputs import check_output
from .report import REPORT, format_of, load_report, write_report
from .run import RUN, Run, ask, load_run, write_run
from .run.asked import overrides, read
from .scenario import Override, files_of, scenario_files
from .scenario.load import DELETED
from .scenario.work import limited
from .sweeps.call import Sweep, local, ray, slurm
from .sweeps.places import Place
from .sweeps.query import Tables, whole_table
from .trust import allowed

if TYPE_CHECKING:
    from dstcc_svc import EncodeReport, PlayReport

    from .run.directory import Finished
    from .sweeps.conduct import Progress, Swept

__all__ = ["Emulation", "SweepResult", "emulate", "encode", "load", "sweep"]

Names = str | Iterable[str]
SHOWN = ("weighted_layers", "playback_ratio", "goodput_bps", "completion_s")
"""The metrics of an emulation's short table."""
LOGS = ("qlog", "pcapng")


class Emulation:
    """A run: its trials as tables, and what can be made of them.

    ``trials``, ``chunks`` and ``samples`` are the run directory's, as Arrow tables; ``.to_pandas()`` makes a data frame
    of one.
    """

    def __init__(self, run: Run, kept: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._run = run
        if kept is not None:  # the folder goes when this object does
            weakref.finalize(self, kept.cleanup)

    @property
    def path(self) -> Path:
        """The run directory; one that was not asked for lasts as long as this object."""
        return self._run.path

    @property
    def meta(self) -> dict[str, Any]:
        """``run.json``."""
        return self._run.meta

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario as resolved."""
        return self._run.scenario

    @property
    def warnings(self) -> list[str]:
        """What ``dstcc emulate`` would say of the run on stderr."""
        return list(self.meta["warnings"])

    @cached_property
    def trials(self) -> pa.Table:
        """A row a trial: its algorithms, seed, status and metrics."""
        return read_table(self.path / "trials.parquet", TRIALS)

    @property
    def chunks(self) -> pa.Table:
        """A row a trial, chunk and layer."""
        return self._run.chunks()

    @property
    def samples(self) -> pa.Table:
        """A row a trial, subflow and slot."""
        return self._run.samples()

    @property
    def ids(self) -> list[str]:
        """The trials' ids, such as ``cubic+minrtt/s1``."""
        return [row["id"] for row in self._run.trials]

    def levels(self, trial: str) -> list[int]:
        """The played level of each chunk of a trial, -1 for none; :class:`~dstcc.errors.RunError` for no such trial."""
        self._run.trial(trial)
        return self._run.levels(trial)

    def means(self, *metrics: str) -> dict[str, dict[str, float | None]]:
        """Mean over the seeds of each metric, by algorithm; ``None`` where no trial has a value."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in self._run.trials:
            rows.setdefault(row["id"].rsplit("/", 1)[0], []).append(row)
        return {
            name: {metric: _mean(row.get(metric) for row in mine) for metric in metrics or SHOWN}
            for name, mine in rows.items()
        }

    def report(
        self,
        output: str | Path,
        *,
        against: str | None = None,
        pictures: bool = True,
        stream: str | Path | None = None,
        force: bool = False,
    ) -> Path:
        """Write the report that ``dstcc report`` writes (its ending says which: HTML, PDF, PNG, ..); returns it.

        ``against`` names the algorithm that others are compared with, ``stream`` says where the video's stream lies if
        it moved. Raises :class:`~dstcc.errors.InputError` for an ending that no report has.
        """
        output = Path(output)
        form = format_of(output)
        check_output(output, REPORT, force=force, inputs=[self.path])
        loaded = load_report((self.path,), against)
        screenings = None
        if form == "html" and pictures:
            from .report.pictures import screen

            screenings = screen(loaded, moved_to=None if stream is None else Path(stream))
        write_report(loaded, output, form, screenings, force=force)
        return output

    @overload
    def play(
        self,
        output: str | Path,
        trial: str | None = None,
        *,
        from_s: float | None = None,
        to_s: float | None = None,
        stream: str | Path | None = None,
        captions: bool = True,
        force: bool = False,
    ) -> PlayReport: ...

    @overload
    def play(
        self,
        output: str | Path,
        trial: list[str] | tuple[str, ...],
        *,
        from_s: float | None = None,
        to_s: float | None = None,
        stream: str | Path | None = None,
        captions: bool = True,
        force: bool = False,
    ) -> dict[str, PlayReport]: ...

    def play(
        self,
        output: str | Path,
        trial: str | list[str] | tuple[str, ...] | None = None,
        *,
        from_s: float | None = None,
        to_s: float | None = None,
        stream: str | Path | None = None,
        captions: bool = True,
        force: bool = False,
    ) -> PlayReport | dict[str, PlayReport]:
        """Write the video of a trial (the best one unless named) as Earth saw it, as ``dstcc play`` does.

        Several trials stand side by side; then there is a report for each, by its name.
        Raises :class:`~dstcc.errors.RunError` where the video is synthetic.
        """
        from dstcc_svc import load_manifest, play, play_together, shown

        at = self._run.stream(None if stream is None else Path(stream))
        if at is None:
            raise RunError(f"{self.path}: its video is synthetic, there are no pictures to play")
        named = [trial] if isinstance(trial, str) else trial or [self._run.best()["id"]]
        levels = {self._run.trial(one)["id"]: self._run.levels(one) for one in named}
        first = next(iter(levels.values()))
        begin_s, end_s = shown(load_manifest(at), first, from_s, to_s)
        if not isinstance(trial, str | None):
            return play_together(at, levels, Path(output), from_s=begin_s, to_s=end_s, force=force)
        return play(at, first, Path(output), from_s=begin_s, to_s=end_s, captions=captions, force=force)

    def __repr__(self) -> str:
        lines = [f"{self.meta['scenario_name']}: {len(self._run.trials)} trials in {self.path}"]
        width = max(map(len, means := self.means()), default=0)
        for name, values in means.items():
            shown = ", ".join(f"{metric} {_figure(value)}" for metric, value in values.items())
            lines.append(f"  {name:<{width}}  {shown}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The short table, as notebooks show it."""
        head = "".join(f"<th>{metric}</th>" for metric in SHOWN)
        rows = "".join(
            f"<tr><td>{escape(name)}</td>{''.join(f'<td>{_figure(value)}</td>' for value in values.values())}</tr>"
            for name, values in self.means().items()
        )
        title = f"{escape(self.meta['scenario_name'])}: {len(self._run.trials)} trials"
        return f"<table><caption>{title}</caption><tr><th>mean over seeds</th>{head}</tr>{rows}</table>"


def emulate(
    scenario: str | Path,
    output: str | Path | None = None,
    *,
    congestion: Names = (),
    scheduler: Names = (),
    controller: Names = (),
    variant: Names = (),
    seeds: int | None = None,
    seed: int | None = None,
    scale: float | str | None = None,
    settings: Mapping[str, object] | None = None,
    backend: str = "simulator",
    logs: Names = (),
    quality: bool = True,
    jobs: int | None = None,
    force: bool = False,
    limits: Mapping[str, float] | None = None,
    allow_extensions: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Emulation:
    """Send a scenario's video over its links, once per algorithm and seed, as ``dstcc emulate`` does.

    ``output`` is the run directory to write; without it the run lies in a temporary folder that lasts as long as what
    is returned. ``congestion``, ``scheduler``, ``controller`` and ``variant`` are a name or several, in the scenario's
    place; ``congestion="none"`` runs controllers and variants alone. ``settings`` changes keys, as ``--set`` does:
    ``{"link.0.loss.packet": 1e-3, "playout.delay_s": "20 min"}``; ``None`` deletes a key. ``logs`` keeps every packet:
    ``"qlog"``, ``"pcapng"``. ``limits`` lets a trial take more, as ``--limit`` does: ``{"events": 1e12}``.
    ``allow_extensions`` lets the Python files run that the scenario names; those of ``congestion``, ``scheduler`` and
    ``settings`` run anyway. ``advance`` is called after each trial. Trials that fail are rows with status ``failed``.
    Raises :class:`~dstcc.errors.InputError` (a wrong scenario, name or value, or an output that is there already).
    """
    names = {"congestion": _tuple(congestion), "scheduler": _tuple(scheduler)}
    controllers, variants, wanted = _tuple(controller), _tuple(variant), frozenset(_tuple(logs))
    if strange := wanted - set(LOGS):
        raise InputError(f"logs {min(strange)!r}: one of {', '.join(LOGS)}")
    changed = [
        *(_override(key, value) for key, value in (settings or {}).items()),
        *overrides(scale=scale, controller=controllers, seeds=seeds, seed=seed, **names),
    ]
    with ExitStack() as said:
        said.enter_context(limited(limits or {}))
        if allow_extensions:
            said.enter_context(allowed())
        loaded = read(
            Path(scenario),
            changed,
            variants=variants,
            congestion=names["congestion"],
            scheduler=names["scheduler"],
        )
        path, kept = (None if output is None else Path(output)), None
        if path is None:
            kept = tempfile.TemporaryDirectory(prefix="dstcc-")
            path = Path(kept.name, "run")
        else:
            check_output(path, RUN, force=force, inputs=[*scenario_files(Path(scenario)), *files_of(loaded)])
        try:
            asked = ask(
                loaded,
                backend,
                logs=wanted,
                alone=() if variants or any(names.values()) else controllers,
            )
            _written: Finished = write_run(
                path,
                asked.scenario,
                asked.source,
                argv=sys.argv,
                backend=asked.backend,
                policies=asked.policies,
                force=force,
                quality=quality,
                logs=wanted,
                jobs=jobs,
                advance=advance,
            )
        except BaseException:
            if kept is not None:
                kept.cleanup()
            raise
    return Emulation(load_run(path), kept)


class SweepResult:
    """A study's folder: its tables, and questions about them, also while its sweep runs."""

    def __init__(self, path: str | Path, swept: Swept | None = None) -> None:
        """Of a folder that is there; raises :class:`~dstcc.errors.RunError` where it is none of a study."""
        self._place, self.swept = Place(Path(path)), swept
        self._place.about()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._place.path

    @property
    def trials(self) -> pa.Table:
        """A row a trial that has a result, in the study's order; :class:`~dstcc.errors.RunError` for a damaged part."""
        return whole_table(self._place)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Of each trial that failed: ``trial``, ``error``, ``tries``, ``traceback``."""
        return self._place.failures()

    def query(self, sql: str) -> pa.Table:
        """The answer to one SELECT over ``trials`` and ``failures``, as ``dstcc query`` gives it."""
        with Tables(self.path) as tables:
            return tables.ask(sql)

    def __repr__(self) -> str:
        about = self._place.about()
        return f"{about['name']}: {self.trials.num_rows} of {about['trials']} trials in {self.path}"


def sweep(
    study: str | Path,
    output: str | Path,
    *,
    engine: str = "local",
    jobs: int | None = None,
    train: bool = False,
    retries: int | None = None,
    trial_limit_s: float | None = None,
    address: str | None = None,
    tasks: int | None = None,
    slurm_options: Names = (),
    limits: Mapping[str, float] | None = None,
    allow_extensions: bool = False,
    watch: Callable[[Progress], None] = lambda _progress: None,
) -> SweepResult:
    """Run a study's grid into ``output`` as ``dstcc sweep`` does, or go on with it.

    ``engine`` is ``"local"``, ``"slurm"`` (``tasks``, ``slurm_options`` for ``sbatch``) or ``"ray"`` (``address``).
    ``watch`` gets the progress. Trials that failed are in ``failures`` of what is returned. Raises
    :class:`~dstcc.errors.InputError` (a wrong study or scenario, or an output that is something else).
    """
    if engine not in ("local", "slurm", "ray"):
        raise InputError(f"engine {engine!r}: one of local, slurm, ray")
    with ExitStack() as said:
        said.enter_context(limited(limits or {}))
        if allow_extensions:
            said.enter_context(allowed())
        executor = local(jobs)
        if engine == "slurm":
            executor = slurm(tasks, jobs or 1, _tuple(slurm_options))
        elif engine == "ray":
            executor = ray(address, jobs)
        planned = Sweep(Path(study), Path(output), train=train, argv=sys.argv)
        swept = planned.run(executor, retries=retries, limit_s=trial_limit_s, watch=watch)
    return SweepResult(output, swept)


def load(run: str | Path) -> Emulation:
    """Read a run directory; raises :class:`~dstcc.errors.RunError` naming the file that cannot be used."""
    return Emulation(load_run(Path(run)))


def encode(video: str | Path, output: str | Path, **options: Any) -> EncodeReport:
    """Encode a video into a stream directory; ``options`` are those of :func:`dstcc_svc.encode`."""
    from dstcc_svc import encode as encode_video

    return encode_video(Path(video), Path(output), **options)


def _tuple(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _override(key: str, value: object) -> Override:
    """``--set KEY=VALUE`` with a Python value."""
    keys = tuple(part.strip() for part in key.split("."))
    if not all(keys):
        raise InputError(f"settings: {key!r} is no key, like 'link.0.loss.packet'")
    return Override(keys, DELETED if value is None else value)


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
