"""The run directory: written whole or not at all, and read back.

::

    run.json          what was run, from what, where; the only file with the clock in it
    scenario.toml     the scenario as resolved
    trials.parquet    a row a trial: status, metrics, drawn links
    chunks.parquet    a row a trial, chunk and layer
    samples.parquet   a row a trial, subflow and slot
    links.parquet     a row a seed, link and moment: whether it is up, Eb/N0, the Sun's angle
    nodes.parquet     with nodes: a row a trial, node and slot: what it holds, and what it dropped
    hops.parquet      with nodes: a row a trial, link and slot: packets that were put on it
    *.qlog, *.pcapng  every packet of a trial, on request
    SHA256SUMS        the checksums of these files (:mod:`dstcc.sums`)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dstcc.algorithms import RENAMED
from dstcc.atomic import atomic_directory, atomic_write
from dstcc.errors import RunError
from dstcc.machine import git_commit, machine
from dstcc.metrics import METRICS
from dstcc.outputs import Kind, check_output, stranger
from dstcc.parquet import UNREADABLE, Places, read_parquet
from dstcc.reading import read_json, read_toml
from dstcc.scenario import (
    Scenario,
    Source,
    any_delay_hash,
    content_hash,
    describe,
    draw_links,
    extensions_of,
    files_of,
    link_notes,
    manifest_hash,
    scale_of,
    to_toml,
)
from dstcc.scenario.draws import draw_lines
from dstcc.scenario.notes import notes_on
from dstcc.sums import NAME as SHA256SUMS
from dstcc.sums import Sums, read_sums, write_sums
from dstcc.version import __version__

from .agreement import (
    CHUNK_KEYS,
    SAMPLE_KEYS,
    check_chunks,
    check_counts,
    check_links,
    check_order,
    check_samples,
    check_trials,
)
from .backends import Backend
from .footing import distorted, footings
from .identity import Identity, carrier_of
from .kept import Kept
from .least_delay import documents, least_playout_delays
from .link_table import LINKS, READ, Drawn, links_table
from .logs import log_names, logs_of, write_logs
from .network_plan import notes_on_network
from .reading import check_columns, groups_by_trial, read_table
from .record import SCENARIO, misshapen
from .tables import (
    ALWAYS,
    HOPS,
    NODES,
    SAMPLES,
    TRIALS,
    VALUES,
    TrialRow,
    rows_of,
    table_files,
    trials_table,
)
from .trials import (
    SIMULATOR,
    Judge,
    TrialKey,
    iter_trials,
    left_early,
    load_controllers,
    scenarios_of,
    trial_keys,
)

if TYPE_CHECKING:
    from dstcc.engine import Link
    from dstcc.learn.policies.controller import Controller, Policies

SCHEMA = 1
TABLES = tuple(f"{name}.parquet" for name in ("trials", "chunks", "samples", "links", "nodes", "hops"))
IDENTITY = ("scenario_sha256", "backend", "scale")
"""What of ``run.json`` distinguishes runs."""
LINK_FACTS = (
    "name",
    "rate_bps",
    "least_rate_bps",
    "up_rate_bps",
    "rtt_s",
    "delay_s",
    "loss",
    "outages",
    "outage_s",
)
"""What ``run.json`` says of each link, as the first seed draws it; outages until the longest trial ends, the least rate
where it changes."""


@dataclass(frozen=True)
class Finished:
    """A run that was written: its trials and its ``run.json``."""

    trials: list[TrialRow]
    meta: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A run read back."""

    path: Path
    meta: dict[str, Any]
    """``run.json``."""
    scenario: dict[str, Any]
    """``scenario.toml`` as resolved."""
    trials: list[dict[str, Any]]
    """The rows of ``trials.parquet``."""
    sums: Sums = Sums(Path(), {}, RunError)  # noqa: RUF009 - of no file
    """Its files' checksums; a table is checked when it is first read."""

    def stream(self, moved_to: Path | None = None) -> Path | None:
        """The stream directory that the run was made from, ``None`` for a synthetic video.

        ``moved_to`` says where it lies now, if not where ``scenario.toml`` has it. Raises :class:`RunError`
        when there is no stream, or not the one that the run was made from.
        """
        named = self.scenario.get("video", {}).get("stream")
        if named is None:
            return None
        stream = self.path / named if moved_to is None else Path(moved_to)
        if not stream.is_dir():
            hint = "; if it moved, --stream PATH says where to" if moved_to is None else ""
            raise RunError(f"{stream}: no such stream directory{hint}")
        if manifest_hash(stream) != (self.meta.get("video") or {}).get("manifest_sha256"):
            raise RunError(f"{stream}: not the stream that {self.path} was made from (its manifest differs)")
        return stream

    def trial(self, name: str) -> dict[str, Any]:
        """The row of the trial of that id; :class:`RunError` when there is none."""
        row = self._by_id.get(name)
        if row is None:
            ids = list(self._by_id)
            near = get_close_matches(name, ids) or ids
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RunError(f"{self.path}: no trial {name!r}{hint}")
        return row

    def best(self) -> dict[str, Any]:
        """The row of the trial with the most weighted layers, the first of a tie; :class:`RunError` without any."""
        scored = [row for row in self.trials if row["status"] == "ok" and row["weighted_layers"] is not None]
        if not scored:
            raise RunError(f"{self.path}: no completed trial, nothing to play")
        return max(scored, key=lambda row: float(row["weighted_layers"]))

    def chunks(self) -> pa.Table:
        """``chunks.parquet``; raises :class:`RunError` when it cannot be used."""
        return self._chunks

    def samples(self) -> pa.Table:
        """``samples.parquet``; raises :class:`RunError` when it cannot be used."""
        return self._samples

    def rows(self, name: str, trial: str, columns: Sequence[str]) -> pa.Table:
        """Columns of one trial's rows of the table ``name`` (``chunks`` or ``samples``), in the file's order.

        Reads those parts of the file that have any. Raises :class:`RunError` when it cannot be used or lacks a column.
        """
        path, schema = self.path / f"{name}.parquet", {"chunks": ALWAYS, "samples": SAMPLES}[name]
        if name not in self._groups:
            self._groups[name] = groups_by_trial(path, schema)
            if name == "chunks":
                check_counts(path, self._groups[name].rows)
        keys = CHUNK_KEYS if name == "chunks" else SAMPLE_KEYS
        wanted = list(dict.fromkeys(("trial", *columns, *keys)))
        rows = read_table(path, schema, wanted, self._groups[name].groups.get(trial, ()))
        rows = rows.filter(pc.equal(rows["trial"], pa.scalar(trial)))
        if not rows.num_rows:
            raise RunError(f"{path}: has no rows of trial {trial!r}")
        if name == "chunks":
            check_chunks(path, trial, rows, self._by_id.get(trial))
        else:
            check_links(path, rows, self.meta)
            check_samples(path, trial, rows)
        self.sums.check(path.name)
        return rows.select(list(columns))

    def links(self) -> pa.Table:
        """``links.parquet``; without rows for a run of before there was one. :class:`RunError` when it is damaged."""
        path = self.path / "links.parquet"
        if not path.exists():
            return LINKS.empty_table()
        rows = read_table(path, READ)
        check_links(path, rows, self.meta)
        check_order(path, rows, ("seed", "link"))
        self.sums.check(path.name)
        return rows

    def nodes(self) -> pa.Table:
        """``nodes.parquet``; without rows for a run without nodes. :class:`RunError` when it is damaged."""
        return self._of_network("nodes", NODES)

    def hops(self) -> pa.Table:
        """``hops.parquet``, likewise."""
        return self._of_network("hops", HOPS)

    def _of_network(self, name: str, schema: pa.Schema) -> pa.Table:
        if not self.scenario.get("node"):
            return schema.empty_table()
        return self._table(f"{name}.parquet", schema)

    def _table(self, name: str, schema: pa.Schema) -> pa.Table:
        rows = read_table(self.path / name, schema)
        self.sums.check(name)
        return rows

    def levels(self, trial: str) -> list[int]:
        """The played level of each chunk of a trial in order, -1 for none; :class:`RunError` unless all are there."""
        table = self.rows("chunks", trial, CHUNK_KEYS)
        rows = zip(*(table[name].to_pylist() for name in CHUNK_KEYS), strict=True)
        return [level for _, level in sorted((chunk, level) for chunk, layer, level in rows if layer == 0)]

    @cached_property
    def _by_id(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in self.trials}

    @cached_property
    def _groups(self) -> dict[str, Places]:
        """Of a table that was asked for a trial's rows: where in the file each trial's are."""
        return {}

    @cached_property
    def _chunks(self) -> pa.Table:
        return self._table("chunks.parquet", ALWAYS)

    @cached_property
    def _samples(self) -> pa.Table:
        return self._table("samples.parquet", SAMPLES)


def write_run(
    path: Path,
    scenario: Scenario,
    source: Source,
    *,
    argv: Sequence[str],
    force: bool = False,
    quality: bool = True,
    backend: Backend = SIMULATOR,
    policies: Policies | None = None,
    logs: frozenset[str] = frozenset(),
    jobs: int | None = None,
    keep: bool = False,
    resume: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Finished:
    """Run a scenario's trials and put the run directory at ``path``; calls ``advance`` after each trial.

    ``policies`` are the controllers where :func:`load_controllers` has read them already. ``logs`` names packet logs to
    write for each trial: ``qlog``, ``pcapng``. Raises :class:`~dstcc.errors.InputError` when ``path`` exists and
    ``force`` is not given, or is no run, or has in it what the scenario names. Whatever stops it, no half-written run
    stays. With ``keep`` its finished trials stay beside it (:mod:`.kept`) until the run is there. ``resume`` goes on
    with those of the same run, and its tables are then the same as if nothing had stopped it.
    """
    check_output(path, RUN, force=force, inputs=files_of(scenario))
    started, resolved, keys = time.monotonic(), _resolve(scenario, source), trial_keys(scenario)
    policies = load_controllers(scenario, source) if policies is None else policies
    judge = Judge(source, quality and scenario.video.quality)
    judge.warnings += [note for policy in policies.values() for note in _notes_on(policy, scenario, source)]
    judge.warnings += [*notes_on_network(scenario, source), *notes_on(scenario, source)]
    with ExitStack() as around:
        kept, hashes = None, []
        if keep:
            same = _identity(resolved, source, backend, policies, quality) | {"logs": sorted(logs)}
            kept = around.enter_context(Kept(path, same, resume=resume, force=force))
            hashes = trial_hashes(resolved, keys, backend=backend, policies=policies, quality=quality)
        folder = around.enter_context(atomic_directory(path, replaces=RUN if force else None))
        rows: list[TrialRow] = []
        drawn = Drawn()
        found = {place for place in range(len(keys)) if kept is not None and kept.has(hashes[place])}
        carried = iter_trials(
            scenario,
            source,
            judge,
            backend=backend,
            policies=policies,
            jobs=jobs,
            trace=bool(logs),
            only=[key for place, key in enumerate(keys) if place not in found],
        )
        files = table_files(folder, nodes=bool(scenario.node))
        with ExitStack() as open_, left_early(carried) as trials:
            for file in files.values():
                open_.enter_context(file)
            for place in range(len(keys)):
                if kept is not None and place in found:
                    row, tables = kept.load(hashes[place])
                    kept.take_logs(hashes[place], folder)
                    judge.warnings += [note for note in row.warnings if note not in judge.warnings]
                else:
                    said, trial = len(judge.warnings), next(trials)
                    if trial.outcome is not None:
                        drawn.add(scenario, trial.key.seed, trial.outcome.setup.links)
                        judge.warnings += write_logs(folder, trial.id, trial.outcome, logs)
                    row, tables = TrialRow.of(trial, judge.warnings[said:]), rows_of(trial)
                    if kept is not None and trial.outcome is not None:
                        kept.save(hashes[place], row, tables, logs_of(folder, trial.id))
                rows.append(row)
                for name, table in tables.items():
                    files[name].add(table)
                advance()
        pq.write_table(trials_table(rows, source.layers), folder / "trials.parquet", compression="zstd")
        ends_s = _ends_s(rows)
        pq.write_table(links_table(scenario, ends_s, drawn), folder / "links.parquet", compression="zstd")
        end_s = max(ends_s.values(), default=0.0)
        wall_s = time.monotonic() - started
        meta = _meta(resolved, source, argv, backend, end_s=end_s, wall_s=wall_s, warnings=judge.warnings)
        meta["algorithms"] = [one.document() for one in footings(scenario, source, keys, policies, backend)]
        meta["controllers"] = [policy.about() for policy in policies.values()]
        placed = {row.id: row.layers for row in rows if row.layers}
        meta |= {"layers": placed} if placed else {}
        heading = f"# dstcc {meta['dstcc_version']}, scenario {meta['scenario_sha256']}\n"
        atomic_write(folder / "scenario.toml", heading + to_toml(_relate_paths(resolved, scenario, path)))
        atomic_write(folder / "run.json", json.dumps(meta, indent=2, ensure_ascii=False) + "\n")
        write_sums(folder, RunError)
    return Finished(rows, meta)


def trial_hashes(
    scenario: Scenario,
    keys: Sequence[TrialKey],
    *,
    backend: Backend,
    policies: Policies,
    quality: bool,
) -> list[str]:
    """The hash of each trial (:mod:`.identity`) of a resolved scenario."""
    identities = {
        name: Identity(one, carrier=carrier_of(backend, one), policies=policies, quality=quality)
        for name, one in scenarios_of(scenario).items()
    }
    return [identities[key.setting].key(key) for key in keys]


def load_run(path: Path) -> Run:
    """Read a run directory; raises :class:`RunError` naming the file that is missing or cannot be used."""
    path = Path(path)
    if not path.is_dir():
        raise RunError(f"{path}: {'not a run directory' if path.exists() else 'no such run'}")
    meta = _read_meta(path / "run.json")
    _renamed(meta)
    scenario = _whole(read_toml, path / "scenario.toml")
    problem = misshapen(scenario, SCENARIO)
    if problem is not None:
        raise RunError(f"{path / 'scenario.toml'}: {problem}")
    for name, schema in (("chunks.parquet", ALWAYS), ("samples.parquet", SAMPLES)):
        check_columns(path / name, schema)
    if (path / "links.parquet").exists():  # a run of before has none
        check_columns(path / "links.parquet", LINKS)
    rows = read_table(path / "trials.parquet", TRIALS, also=VALUES).to_pylist()
    check_trials(path / "trials.parquet", rows, meta)
    trials = [row | {name: None for name in METRICS if name not in row} for row in rows]
    sums = read_sums(path, RunError)
    sums.check("run.json", "scenario.toml", "trials.parquet")
    return Run(path, meta, scenario, trials, sums)


def _ends_s(rows: Sequence[TrialRow]) -> dict[int, float]:
    """Seed → when its longest trial ended."""
    ends_s: dict[int, float] = {}
    for row in rows:
        if "end_s" in row.values:
            ends_s[row.key.seed] = max(row.values["end_s"], ends_s.get(row.key.seed, 0.0))
    return ends_s


def _no_run(path: Path) -> str | None:
    """What keeps a folder from being a run and nothing else; its tables need not be whole."""
    try:
        meta = read_json(path / "run.json", RunError)
        if meta["schema"] != SCHEMA or not (meta["dstcc_version"] and meta["argv"] is not None):
            return "has a run.json that is not dstcc's"
    except FileNotFoundError:
        return "has no run.json"
    except (RunError, TypeError, KeyError):
        return "has a run.json that is damaged, or not dstcc's"
    other = stranger(path, {"run.json", "scenario.toml", SHA256SUMS, *TABLES, *_logs_in(path)})
    return None if other is None else f"holds {other}, which is no part of the run"


def _logs_in(path: Path) -> set[str]:
    """Names that the packet logs of a run's trials have."""
    try:
        trials = read_parquet(path / "trials.parquet", ["id"])["id"].to_pylist()
    except UNREADABLE:
        return set()
    return {name for trial in trials for name in log_names(str(trial))}


RUN = Kind("a run", _no_run, folder=True)
"""What ``dstcc emulate`` writes."""


def _notes_on(policy: Controller, scenario: Scenario, source: Source) -> list[str]:
    """Whether a policy is far from where it was trained, and whether its algorithm had another name."""
    from dstcc.learn.policies.scope import outside

    said = outside(policy.trained_within, scenario, source)
    far = [f"{policy.name} runs far outside its training: {'; '.join(said)}"] if said else []
    once = (
        [f"{policy.name}: its algorithm, {policy.once}, is called {policy.algorithm} now"]
        if policy.once
        else []
    )
    return far + once


OLD_KEYS = {
    "told_bytes": "assigned_bytes",
    "left_bytes": "sent_bytes",
    "carried_bytes": "first_bytes",
    "strayed_bytes": "misrouted_bytes",
    "moved_bytes": "reinjected_bytes",
}
"""Of what links carried of each layer: keys of version 0.1.0 before November 2026, which are read for one release."""


def _renamed(meta: dict[str, Any]) -> None:
    """Of a run of before keys or a learned controller were renamed: today's names, and a warning."""
    placed = meta.get("layers")
    lists = placed.values() if isinstance(placed, dict) else ()
    rows = [row for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, dict)]
    old = [key for key in OLD_KEYS if any(key in row for row in rows)]
    for row in rows:
        for key in old:
            if key in row:
                row[OLD_KEYS[key]] = row.pop(key)
    if old:
        now = ", ".join(OLD_KEYS[key] for key in old)
        meta["warnings"] = [*meta.get("warnings", ()), f"layers: {', '.join(old)} are called {now} now"]
    for about in meta.get("controllers") or ():
        once = about.get("algorithm")
        if once in RENAMED and about.get("trained_on"):
            about["algorithm"] = RENAMED[once]
            meta["warnings"] = [
                *meta.get("warnings", ()),
                f"{about['name']} is what is called {RENAMED[once]} now",
            ]


def _resolve(scenario: Scenario, source: Source) -> Scenario:
    """The scenario with the stream that an input was encoded to in the input's place."""
    if source.stream is None or scenario.video.stream is not None:
        return scenario
    video = scenario.video.model_copy(update={"stream": str(source.stream), "input": None, "encode": None})
    return scenario.model_copy(update={"video": video})


def _relate_paths(resolved: Scenario, given: Scenario, run: Path) -> Scenario:
    """The scenario with its stream's path relative to the run directory, where a move is likely to take both.

    That is where the stream lies in the folder that holds the run. Streams in the cache stay where they are.
    """
    if given.video.stream is None:
        return resolved
    home, stream = run.absolute().parent.resolve(), Path(given.video.stream).resolve()
    if not stream.is_relative_to(home):
        return resolved
    video = resolved.video.model_copy(update={"stream": str(Path("..", stream.relative_to(home)))})
    return resolved.model_copy(update={"video": video})


def _identity(
    scenario: Scenario, source: Source, backend: Backend, policies: Policies, quality: bool
) -> dict[str, Any]:
    """What decides its trials' rows and they have in common, in words that a message can show."""
    return {
        "dstcc_version": __version__,
        "git_commit": git_commit(),
        "scenario": content_hash(scenario),
        "scale": scale_of(scenario),
        "video": _video(source),
        "backend": {"name": backend.name, **_facts(backend, scenario)},
        "policies": [policy.about() for policy in policies.values()],
        "quality": quality,
    }


def _meta(
    scenario: Scenario,
    source: Source,
    argv: Sequence[str],
    backend: Backend,
    *,
    end_s: float,
    wall_s: float,
    warnings: list[str],
) -> dict[str, Any]:
    seed = scenario.run.seed
    drawn = draw_links(scenario, seed)
    links = [_facts_of(link, end_s) for link in drawn]
    return {
        "schema": SCHEMA,
        "dstcc_version": __version__,
        "git_commit": git_commit(),
        # a word of the command line need not be UTF-8, a file of ours is
        "argv": [word.encode("utf-8", "backslashreplace").decode() for word in argv],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "scenario_name": scenario.scenario.name,
        "scenario_sha256": content_hash(scenario),
        "any_delay_sha256": any_delay_hash(scenario),
        "video": _video(source),
        "backend": backend.name,
        "scale": scale_of(scenario),
        "distorts": list(distorted(scenario, drawn)),
        **_facts(backend, scenario),
        "seeds": list(scenario.seeds),
        "least_playout_delays": documents(least_playout_delays(scenario, source, backend)),
        "machine": machine(),
        "wall_s": wall_s,
        "links": links,
        **(
            {"hops": [_facts_of(link, end_s) for link in draw_lines(scenario, seed)]} if scenario.node else {}
        ),
        "trials": len(trial_keys(scenario)),
        "extensions": [extension.document() for extension in extensions_of(scenario)],
        "warnings": [*link_notes(scenario), *warnings],
    }


def _facts_of(link: Link, end_s: float) -> dict[str, Any]:
    """What ``run.json`` says of a drawn link, or of a path; of one between nodes under ``hops``."""
    said = describe(link, end_s)
    return {key: said[key] for key in LINK_FACTS if key in said}


def _facts(backend: Backend, scenario: Scenario) -> dict[str, Any]:
    """What the backend says of the scenario, with its notes on variants under their labels."""
    facts = backend.facts(scenario)
    notes = facts.get("kernel", {}).get("notes")
    for name, one in scenarios_of(scenario).items() if notes is not None else ():
        new = [note for note in backend.facts(one)["kernel"]["notes"] if note not in notes]
        notes += [f"{name}: {note}" for note in new]
    return facts


def _video(source: Source) -> dict[str, str | None]:
    """What people call the video, and what tells its stream from others."""
    if source.stream is None:
        return {"name": "synthetic", "manifest_sha256": None}
    return {"name": source.name, "manifest_sha256": manifest_hash(source.stream)}


def _read_meta(path: Path) -> dict[str, Any]:
    meta = _whole(read_json, path)
    schema = meta.get("schema") if isinstance(meta, dict) else None
    if schema != SCHEMA:
        raise RunError(f"{path}: schema {schema!r}, but this version reads {SCHEMA}")
    missing = [key for key in IDENTITY if meta.get(key) is None]
    if missing:
        raise RunError(f"{path}: lacks {missing[0]}, without which nothing can be compared")
    problem = misshapen(meta)
    if problem is not None:
        raise RunError(f"{path}: {problem}")
    return dict(meta)


def _whole(read: Callable[[Path, type[RunError]], Any], path: Path) -> Any:
    """A file of the run; :class:`RunError` also when it is missing."""
    try:
        return read(path, RunError)
    except FileNotFoundError:
        raise RunError(f"{path}: missing, so {path.parent} is incomplete") from None
