"""The readers, each as a function of bytes that may raise what a reader may: an error that the command line prints."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dstcc.errors import DstccError
from scripts.fuzzing import guests
from tests.quick import QUICK

ROOT = Path(__file__).resolve().parents[2]
MOST = 1 << 16
"""Bytes of an input."""


class Room:
    """A folder for the files that readers are given; in memory where the machine has such a place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, data: bytes) -> Path:
        """The file of that name with that content."""
        path = self.folder / name
        path.write_bytes(data)
        return path


@dataclass(frozen=True)
class Target:
    """A reader."""

    read: Callable[[Room, bytes], object]
    """Raises :class:`DstccError` for what it refuses, and nothing else."""
    seeds: Callable[[Room], list[bytes]]
    documents: Callable[[bytes], Any] = field(default=lambda _data: None)
    """The document that an input is, for changes of its values; ``None`` for what is none."""
    written: Callable[[Any], bytes] = field(default=lambda document: json.dumps(document).encode())
    slow: Callable[[bytes], bool] = field(default=lambda _data: False)
    """Whether an input takes far longer than others, so that it is changed less often."""


def _scenario(room: Room, data: bytes) -> None:
    from dstcc.run.asked import estimates
    from dstcc.scenario import load_scenario, load_source, parse_scenario
    from dstcc.scenario.units import with_units
    from dstcc.scenario.work import limited
    from dstcc.trust import looking

    with looking(), limited({"memory": 3e7}):
        if data[:1] == b"{":  # as it is when changed in place
            document = _json(data)
            scenario = parse_scenario(with_units(document, "fuzz"), source="fuzz")
        else:
            scenario = load_scenario(room.file("scenario.toml", data))
        if scenario.video.synthetic is not None and all(
            link.profile is None and link.contacts is None and isinstance(link.delay_s, float)
            for link in scenario.link
        ):
            estimates(scenario, load_source(scenario))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise DstccError("no JSON") from None


def _toml(data: bytes) -> Any:
    if data[:1] == b"{":
        return _json(data)
    return json.loads(json.dumps(tomllib.loads(data.decode()), default=str))


def _scenarios(_room: Room) -> list[bytes]:
    examples = sorted((ROOT / "examples").glob("**/*.toml"))
    return [QUICK.encode(), *(path.read_bytes() for path in examples if path.stat().st_size < 4000)]


def _physics(data: bytes) -> bool:
    """Whether a scenario's links are worked out from orbits, contacts and weather, which takes up to a second."""
    return b"profile" in data or b"contacts" in data or b"extends" in data


def _study(room: Room, data: bytes) -> None:
    """The grid of a study; of a small one also the points, and what the first is read as."""
    from dstcc.scenario.work import limited
    from dstcc.sweeps.study import load_study, parse_study
    from dstcc.sweeps.work import Work
    from dstcc.trust import looking

    if not (room.folder / "quick.toml").exists():
        room.file("quick.toml", QUICK.encode())
    if data[:1] == b"{":
        study = parse_study(_json(data), source="fuzz", folder=room.folder)
    else:
        study = load_study(room.file("study.toml", data))
    if study.size > 1000:
        return
    with looking(), limited({"memory": 3e7}):
        work = Work(study, train=False)
        if work.points:
            work.cell(0)


STUDY = b"""
[study]
scenario = "quick.toml"
congestion = ["cubic", "bbr"]
scheduler = "minrtt"
seeds = 2
trial_limit_s = "5 min"
[set]
playout.delay_s = 5
[vary]
link.0.delay_s = {from = "1 s", to = "3 s", steps = 3, as = "distance"}
"link.0.loss.packet" = [1e-3, 1e-2]
[[zip]]
link.0.rate_bps = {from = 1e4, to = 1e6, steps = 2, scale = "log"}
run.slot_s = {from = 1, to = 2, by = 1}
[[exclude]]
congestion = "bbr"
distance = ">= 2 s"
[train]
algorithm = "iodst-q"
steps = 100
"""


def _manifest(room: Room, data: bytes) -> None:
    from dstcc_svc.manifest import load_manifest

    room.file("manifest.json", data)
    load_manifest(room.folder)


def _nal(_room: Room, data: bytes) -> None:
    from dstcc_svc.codecs import h264

    from dstcc.errors import StreamError

    for read in (h264.slice_kind, h264.allow_frame_num_gaps):
        try:
            read(data)
        except (ValueError, StreamError):
            continue
    if h264.unescape(h264.escape(data)) != data and b"\0\0\3" not in data:
        raise AssertionError("escaped bytes do not come back")


SPS = bytes.fromhex("000000016742c00d95a0507c00000168ce3c80000001658880400000030040000003000003")


def _contacts(_room: Room, data: bytes) -> None:
    from dstcc_channels.contacts import parse_plan

    from dstcc.errors import InputError

    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError("not UTF-8") from None
    parse_plan(text)


PLAN = b"""# ION
a contact +0 +3600 1 2 100000
a range +0 +3600 1 2 600
a contact 2026/11/21-00:00:00 2026/11/21-01:00:00 2 1 500
m horizon +0
"""


def _profile(room: Room, data: bytes) -> None:
    from dstcc_channels.profiles import load_profile

    load_profile(str(room.file("profile.toml", data)))


def _profiles(_room: Room) -> list[bytes]:
    return [
        path.read_bytes() for path in sorted((ROOT / "channel-models/dstcc_channels/profiles").glob("*.toml"))
    ]


def _codes(_room: Room, data: bytes) -> None:
    """The table of frame error rates: a scenario's ``loss`` asks it for any code, Eb/N0 and size."""
    from dstcc_channels.codes import CODE_NAMES, code

    document = _json(data)
    if not isinstance(document, list) or len(document) != 3:
        raise DstccError("no question")
    name, ebn0_db, size = document
    if isinstance(name, int) and not isinstance(name, bool):
        name = CODE_NAMES[name % len(CODE_NAMES)]
    if not isinstance(name, str) or not isinstance(size, int) or not isinstance(ebn0_db, (int, float)):
        raise DstccError("no question")
    if not -50 <= ebn0_db <= 100 or not 1 <= size <= 1 << 20:
        raise DstccError("no question")
    loss = float(code(name).packet_loss(ebn0_db, size))
    if not 0 <= loss <= 1:
        raise AssertionError(f"a packet loss of {loss}")


def _tables(room: Room, data: bytes) -> None:
    from dstcc.coded.stored import load_rules
    from dstcc.errors import InputError
    from dstcc.ltp_rates import table as rates
    from dstcc.remy import table as remy

    path = room.file("table.json", data)
    refused = 0
    for load in (load_rules, rates.load, remy.load):
        try:
            load(path)
        except InputError:
            refused += 1
    if refused == 3:
        raise DstccError("no table")


def _shipped_tables(_room: Room) -> list[bytes]:
    found = [*(ROOT / "dstcc/ltp_rates").glob("*.json"), ROOT / "dstcc/coded/rules.json"]
    remy = json.loads((ROOT / "dstcc/remy/trained.json").read_text())
    remy["rules"] = remy["rules"][:2]
    small = [path.read_bytes() for path in sorted(found) if path.stat().st_size < MOST]
    return [*small, json.dumps(remy).encode()]


@cache
def _policy_parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the weights of a policy of a few hundred bytes; of a shipped one, its weights cut."""
    from safetensors import safe_open

    from dstcc.learn.policies.controller import ENTRY

    smallest = min(
        (ROOT / "dstcc/learn/policies").glob("*.safetensors"), key=lambda path: path.stat().st_size
    )
    with safe_open(smallest, framework="numpy") as file:
        header = json.loads(file.metadata()[ENTRY])
        return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _policy(room: Room, data: bytes) -> None:
    """Bytes that begin with a brace are a header, which gets its right checksum; others are a whole file."""
    from safetensors.numpy import save

    from dstcc.learn.policies.controller import ENTRY, digest
    from dstcc.learn.policies.policy import load_policy

    if data[:1] == b"{":
        _, tensors = _policy_parts()
        try:
            header = json.loads(data)
            body = {key: value for key, value in header.items() if key != "sha256"}
            text = json.dumps({**body, "sha256": digest(body, tensors)})
        except (ValueError, RecursionError, AttributeError):
            text = data.decode(errors="replace")
        data = save(tensors, metadata={ENTRY: text})
    load_policy(room.file("policy.safetensors", data))


def _checkpoint(room: Room, data: bytes) -> None:
    from dstcc.learn.training.checkpoint import load_checkpoint
    from dstcc.reading import json_sha256

    if data[:1] == b"{":
        try:
            whole = json.loads(data)
            whole.pop("sha256", None)
            data = json.dumps({**whole, "sha256": json_sha256(whole)}).encode()
        except (ValueError, RecursionError, AttributeError, TypeError):
            pass
    name = "checkpoint-1.safetensors" if data[:1] != b"{" and len(data) % 2 else "checkpoint-1.json"
    good = dict(_saved())
    for other, content in good.items():
        if not (room.folder / other).exists():
            room.file(other, content)
    room.file(name, data)
    try:
        load_checkpoint(room.folder)
    finally:
        room.file(name, good[name])


@cache
def _saved() -> tuple[tuple[str, bytes], ...]:
    import tempfile

    import numpy as np

    from dstcc.learn.training.checkpoint import save_checkpoint

    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(
            Path(folder), 1, {"w": np.ones(3, dtype=np.float32)}, {"step": 5, "recipe": {"a": [1, 2]}}
        )
        return tuple((path.name, path.read_bytes()) for path in sorted(Path(folder).iterdir()))


@cache
def _run_files() -> tuple[tuple[str, bytes], ...]:
    import tempfile

    import dstcc

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "s.toml").write_text(QUICK)
        run = dstcc.emulate(Path(folder, "s.toml"), Path(folder, "run"), congestion=["cubic", "bbr"]).path
        return tuple((path.name, path.read_bytes()) for path in sorted(run.iterdir()))


class _Remembered:
    """Stands for :mod:`dstcc.run.reading`: of good files each answer is found once, of the changed one as ever.

    Most inputs change one file of six, and reading the others took nine tenths of the time.
    """

    MOST = 1000

    def __init__(self, changed: str, known: dict[object, Any]) -> None:
        self._changed, self._known = changed, known

    def once(self, name: str) -> Callable[..., Any]:
        """That function of the module."""
        from dstcc.run import reading

        real = getattr(reading, name)

        def asked(path: Path, *more: Any, **named: Any) -> Any:
            if path.name == self._changed or not path.exists():
                return real(path, *more, **named)
            key = (str(path), name, str(more), str(named))
            if key not in self._known:
                if len(self._known) > self.MOST:
                    self._known.clear()
                self._known[key] = real(path, *more, **named)
            return self._known[key]

        return asked


_KNOWN: dict[object, Any] = {}
"""Of :class:`_Remembered`."""


EDIT = 0x80
"""A bit of the first byte: the others edit a table's value instead of being the file."""
EDITS: tuple[Any, ...] = (
    *map(float, ("nan", "inf", "-inf", "-0.0")),
    1e308,
    -1e308,
    1e-320,
    -1,
    0,
    2**62,
    -(2**62),
    None,
)


ROWS = ("taken out", "twice", "none", "half", "backwards")
"""What an edit does to a table's rows, or to the one that it names."""
TYPES = ("string", "bool", "double", "int64", "uint8", "null")
"""What it makes of a column."""


def _changed(table: Any, column: int, row: int, change: int) -> Any:
    """A table with a value, its rows, or a column's type changed."""
    import pyarrow as pa

    index, row = column % table.num_columns, row % table.num_rows
    field = table.schema.field(index)
    if change < len(EDITS):
        values = table.column(index).to_pylist()
        values[row] = EDITS[change]
        return table.set_column(index, field, pa.array(values, field.type))
    if change < len(EDITS) + len(TYPES):
        kind = TYPES[change - len(EDITS)]
        cast = pa.nulls(table.num_rows) if kind == "null" else table.column(index).cast(kind, safe=False)
        return table.set_column(index, field.name, cast)
    rows = {
        "taken out": [*range(row), *range(row + 1, table.num_rows)],
        "twice": [*range(table.num_rows), row],
        "none": [],
        "half": range(table.num_rows // 2),
        "backwards": range(table.num_rows - 1, -1, -1),
    }
    return table.take(pa.array(rows[ROWS[change - len(EDITS) - len(TYPES)]], pa.int64()))


def _edited(content: bytes, edit: bytes) -> bytes:
    """A table with one change: column, row and change by three bytes; as it was if it can have none such."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    column, row, change = (edit + b"\0\0\0")[:3]
    table = pq.read_table(io.BytesIO(content))
    if not table.num_rows:
        return content
    try:
        changed = _changed(table, column, row, change % (len(EDITS) + len(TYPES) + len(ROWS)))
        out = io.BytesIO()
        pq.write_table(changed, out)
    except (pa.ArrowException, TypeError, OverflowError, ValueError):
        return content
    return out.getvalue()


@contextmanager
def _replaced(run: Path, files: tuple[tuple[str, bytes], ...], data: bytes) -> Iterator[str]:
    """A good run of these files, of which one is changed: its name.

    The first byte says which file the other bytes are in the place of, or edit (:data:`EDIT`); bytes that begin with a
    brace are ``run.json``.
    """
    if not run.is_dir():
        run.mkdir()
        for name, content in files:
            (run / name).write_bytes(content)
    if data[:1] == b"{":
        name, content = "run.json", data
    else:
        first = (data or b"\0")[0]
        name, content = files[(first & ~EDIT) % len(files)][0], data[1:]
        if first & EDIT and name.endswith(".parquet"):
            content = _edited(dict(files)[name], content)
    (run / name).write_bytes(content)
    try:
        yield name
    finally:
        (run / name).write_bytes(dict(files)[name])


def _run(room: Room, data: bytes) -> None:
    """Reports and players read it (:func:`_replaced`)."""
    from dstcc.report import load_report
    from dstcc.run import directory

    with _replaced(room.folder / "run", _run_files(), data) as name:
        run, known = room.folder / "run", _Remembered(name, _KNOWN)
        with ExitStack() as patched:
            for function in ("check_columns", "groups_by_trial", "read_table"):
                patched.enter_context(patch.object(directory, function, known.once(function)))
            for section in load_report((run,)).sections:
                for loaded in section.runs:
                    for row in loaded.trials:
                        loaded.levels(str(row["id"]))
                        loaded.rows("samples", str(row["id"]), ("t_s",))
                    loaded.links()


@cache
def _program_files() -> tuple[tuple[str, bytes], ...]:
    import tempfile

    from tests.report.test_programs import LINES, socket, write

    with tempfile.TemporaryDirectory() as folder:
        run = write(Path(folder, "run"), [*socket("1000", 100), *socket("2000", 400)], LINES)
        return tuple((path.name, path.read_bytes()) for path in sorted(run.iterdir()))


def _programs(room: Room, data: bytes) -> None:
    """Its page reads it; figures are not drawn."""
    from dstcc.report.programs import figures, load_program_run
    from dstcc.report.programs.page import _verdict

    with _replaced(room.folder / "programs", _program_files(), data):
        loaded = load_program_run(room.folder / "programs")
        _verdict(loaded)
        figures.socket_panels(loaded, "rtt_s", lambda _: None)
        figures.rate_panels(loaded)
        figures.loss_panels(loaded)


def _runs(_room: Room) -> list[bytes]:
    return _seeds_of(_run_files())


def _seeds_of(files: tuple[tuple[str, bytes], ...]) -> list[bytes]:
    """A run's record, its small files, and an edit of every sort of its tables."""
    wanted = [bytes([number]) + content for number, (_, content) in enumerate(files) if len(content) < MOST]
    edits = [
        bytes([EDIT | number, column, 0, value])
        for number, (name, _) in enumerate(files)
        if name.endswith(".parquet")
        for column in range(0, 32, 4)
        for value in (0, 1, 4, *range(len(EDITS), len(EDITS) + len(TYPES) + len(ROWS), 3))
    ]
    return [dict(files)["run.json"], *wanted, *edits]


TARGETS: Mapping[str, Target] = {
    "scenario": Target(_scenario, _scenarios, _toml, slow=_physics),
    "study": Target(_study, lambda _room: [STUDY], _toml),
    "manifest": Target(_manifest, lambda _room: [], _json),
    "nal": Target(_nal, lambda _room: [SPS]),
    "codes": Target(_codes, lambda _room: [b"[3, 2.5, 1500]", b'["ccsds-turbo-1/6-8920", 0.1, 40]'], _json),
    "contacts": Target(_contacts, lambda _room: [PLAN]),
    "profile": Target(_profile, _profiles),
    "tables": Target(_tables, _shipped_tables, _json),
    "policy": Target(_policy, lambda _room: [json.dumps(_policy_parts()[0]).encode()], _json),
    "checkpoint": Target(_checkpoint, lambda _room: [content for _, content in _saved()], _json),
    "run": Target(_run, _runs, lambda data: _json(data) if data[:1] == b"{" else None),
    "programs": Target(
        _programs,
        lambda _room: _seeds_of(_program_files()),
        lambda data: _json(data) if data[:1] == b"{" else None,
    ),
    "guest-outcome": Target(guests.outcome, guests.outcomes, _json),
    "guest-samples": Target(guests.samples, guests.records),
    "guest-ring": Target(guests.ring, guests.rings),
    "guest-log": Target(guests.log, lambda _room: [b"1.000000 1 out one\n2.5 2 err two\n"]),
    "guest-trial": Target(guests.trial, guests.trials),
}


def digest(data: bytes) -> str:
    """A name for an input."""
    return hashlib.sha256(data).hexdigest()[:16]
