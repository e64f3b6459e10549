"""Questions in SQL over a study's tables: DuckDB, which sees them, changes nothing and reads no file.

Tables: ``trials``, a row each (docs/sweeps.md); ``failures`` (``trial``, ``key``, ``made_by``, ``error``, ``tries``,
``traceback``). DuckDB gets the tables from Arrow, those columns that a question needs, and is itself shut out of the
file system and the network.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.errors import DstccError, InputError, MissingCapabilityError, RunError
from dstcc.parquet import UNREADABLE

from .places import Place
from .results import GLOB, check_parts, parts_in, read_steadily, settled_parts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

ALLOWED = ("SELECT", "EXPLAIN")
"""Kinds of statements that only look; ``WITH``, ``DESCRIBE``, ``SUMMARIZE`` and ``PIVOT`` are of the first."""
ALL = f"SELECT * FROM parts LIMIT {2**63 - 1}"
"""The limit keeps a question's conditions from Arrow, which would look them up in the parts' statistics: where those of
a part are damaged, that ends the process, or never ends."""
TIME_LIMIT_S = 300.0
"""A question over a million trials takes some seconds."""
MOST_BYTES = 1 << 30
"""Of an answer, in memory."""
BATCH_ROWS = 100_000
WHOLE = frozenset({f"{sign}{size}int" for sign in ("", "u") for size in ("tiny", "small", "big")})
PLAIN = WHOLE | {"boolean", "integer", "uinteger", "float", "double", "varchar", "enum", '"null"'}
"""Types whose every value Arrow and Python have, too, and JSON has a word for."""
NESTED = frozenset({"list", "array", "struct", "map"})
FAILURES = ("trial", "key", "made_by", "error", "tries", "traceback")


class Tables(AbstractContextManager["Tables"]):
    """A study's tables, open for questions; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open them: nothing is read but the parts' columns.

        Raises :class:`~dstcc.errors.RunError` for a folder that is no study and for a damaged part.
        """
        duckdb = _duckdb()
        self._place = Place(Path(path))
        self.about = self._place.about()
        self._error: type[Exception] = duckdb.Error
        self._connection = duckdb.connect(config={"python_enable_replacements": False})
        once = self._once()
        parts = dataset(self._place)
        self._lacking = "" if parts is not None else _lacking(self._place)
        if parts is None:
            self._connection.execute("CREATE VIEW trials AS SELECT NULL AS key WHERE false")
        else:
            try:
                self._connection.register("parts", parts)
            except duckdb.Error as error:
                raise RunError(f"{self._place.trials / GLOB}: {error}") from None
            self._connection.execute(f"CREATE VIEW trials AS SELECT * FROM ({ALL}){once}")
        self._connection.register("failures", self._failures())
        self._connection.execute(f"SET memory_limit = '{memory_limit() >> 20}MiB'")
        self._connection.execute("SET temp_directory = ''")  # nothing is written, also where memory ends
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._connection.close()

    def ask(self, sql: str, *, limit_s: float = TIME_LIMIT_S, most_bytes: int = MOST_BYTES) -> pa.Table:
        """The answer to one SELECT.

        Raises :class:`InputError` for another statement, and for a wrong one; :class:`DstccError` for one that takes
        longer than ``limit_s``, and for an answer of more than ``most_bytes`` or one that needs more memory than
        :func:`memory_limit`.
        """
        import duckdb

        late = threading.Timer(limit_s, self._connection.interrupt)
        late.start()
        try:
            statements: Sequence[Any] = self._connection.extract_statements(sql)
            kinds = [str(one.type).rpartition(".")[2] for one in statements]
            if len(kinds) != 1 or kinds[0] not in ALLOWED:
                raise InputError(f"query: must be one SELECT, and is {' and '.join(kinds) or 'empty'}")
            return self._answer(sql, most_bytes)
        except duckdb.InterruptException:
            raise DstccError(f"query: took longer than {limit_s:g} s (--time-limit)") from None
        except duckdb.OutOfMemoryException:
            size = memory_limit() / 2**30
            raise DstccError(
                f"query: needs more than {size:.1f} GiB, half of this machine's memory"
            ) from None
        except self._error as error:
            raise InputError(f"query: {self._lacking}{error}") from None
        finally:
            late.cancel()

    def _answer(self, sql: str, most_bytes: int) -> pa.Table:
        import pyarrow as pa

        relation = self._connection.sql(sql)
        if relation is None:
            return pa.table({})
        relation = _in_plain_types(relation)
        reader, batches, size = relation.to_arrow_reader(BATCH_ROWS), [], 0
        for batch in reader:
            size += batch.nbytes
            if size > most_bytes:
                raise DstccError(
                    f"query: the answer has more than {most_bytes / 2**20:g} MiB; aggregate, or add a LIMIT"
                )
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)

    def _once(self) -> str:
        """Nothing where no trial can be in two parts; else what leaves one of each."""
        if settled_parts(self._place) is not None:
            return ""
        return " QUALIFY row_number() OVER (PARTITION BY key) = 1"

    def _failures(self) -> pa.Table:
        import pyarrow as pa

        rows = [
            {name: one.get(name) for name in FAILURES} | {"tries": len(one.get("tries") or ())}
            for one in self._place.failures()
        ]
        types = [pa.field(name, pa.int64() if name == "tries" else pa.string()) for name in FAILURES]
        return pa.Table.from_pylist(rows, schema=pa.schema(types))


def _lacking(place: Place) -> str:
    """Why a study without parts has no columns."""
    waiting = len(set(place.fresh.found()))
    if not waiting:
        return f"{place.path}: no trial has finished yet. "
    return (
        f"{place.path}: {waiting} finished trials are in no table yet, as the sweep was killed; "
        "the next dstcc sweep puts them there. "
    )


def _in_plain_types(relation: Any) -> Any:
    """An answer whose columns of other types (dates, intervals, bytes) are the text that DuckDB itself prints: Python
    has no infinite date, no year 10,000, no interval, and Arrow hands over -1 for the largest whole number."""
    texts = [not (_exact(kind) or _plain(kind)) for kind in relation.types]
    if not any(texts):
        return relation
    names = ('"' + name.replace('"', '""') + '"' for name in relation.columns)
    numbered = zip(texts, names, strict=True)
    return relation.project(
        ", ".join(
            f"CAST(#{place} AS VARCHAR) AS {name}" if text else f"#{place} AS {name}"
            for place, (text, name) in enumerate(numbered, 1)
        )
    )


def _plain(kind: Any) -> bool:
    if kind.id in NESTED:
        return all(_plain(child) for _, child in kind.children if not isinstance(child, int))
    return kind.id.lower() in PLAIN


def _exact(kind: Any) -> bool:
    """Whether Arrow has it as a decimal number: what ``sum`` of whole numbers is."""
    return kind.id in ("hugeint", "decimal")


def rows_of(answer: pa.Table) -> list[dict[str, Any]]:
    """An answer's rows for JSON: a decimal number is a number there.

    Raises :class:`InputError` where two columns have one name, of which JSON would lose one.
    """
    names = answer.column_names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"query: two columns are called {twice[0]!r}: name one with AS")
    columns = [map(_number, column.to_pylist()) for column in answer.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _number(value: object) -> object:
    if not isinstance(value, Decimal):
        return value
    return int(value) if value.as_tuple().exponent == 0 else float(value)


def memory_limit() -> int:
    """Bytes that a question's work may take: half of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def dataset(place: Place) -> ds.Dataset | None:
    """The study's parts as one table; ``None`` without any. Raises :class:`RunError` for one that cannot be read."""
    return read_steadily(place, lambda: _dataset(place))


def _dataset(place: Place) -> ds.Dataset | None:
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    parts = parts_in(place.trials)
    if not parts:
        return None
    check_parts(place)
    try:
        settled = settled_parts(place)
        parts, some = (parts, parts) if settled is None else (settled, settled[:1])
        schemas = [pq.read_schema(part).remove_metadata() for part in some]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        verified = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        form = ds.ParquetFileFormat(default_fragment_scan_options=verified)
        return ds.dataset([str(part) for part in parts], format=form, schema=schema)
    except UNREADABLE as error:
        raise RunError(f"{place.trials / GLOB}: cannot be read ({error})") from None


def rows_in(place: Place, parts: ds.Dataset, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of all parts, or some columns of them; raises :class:`RunError` for a part that is damaged.

    Without a condition on them: see :mod:`dstcc.parquet`.
    """
    try:
        table = parts.to_table(columns=None if columns is None else list(columns))
        table.validate(full=True)  # Parquet's reader takes any bytes for text
    except UNREADABLE as error:
        raise RunError(f"{place.trials / GLOB}: a part is damaged ({error})") from None
    return table


def whole_table(place: Place) -> pa.Table:
    """All results, each trial once; raises :class:`RunError` for a part that cannot be read."""
    return read_steadily(place, lambda: _whole_table(place))


def _whole_table(place: Place) -> pa.Table:
    import pyarrow as pa

    parts = _dataset(place)
    if parts is None:
        return pa.table({"key": pa.array([], pa.string())})
    table = rows_in(place, parts)
    if settled_parts(place) is not None:
        return table
    first = {key: row for row, key in reversed(list(enumerate(table["key"].to_pylist())))}
    return table.take(pa.array(sorted(first.values()), pa.int64()))


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingCapabilityError("dstcc query needs duckdb: pip install 'dstcc[sweep]'") from None
    return duckdb
