"""Questions in SQL: answered from the tables alone, and nothing else is read, written or changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc import engine
from dstcc.errors import DstccError, InputError, RunError
from dstcc.report.study import load_study_report
from dstcc.sweeps import query
from dstcc.sweeps.places import Place
from dstcc.sweeps.query import Tables, whole_table
from tests.made_results import toy_bound, toy_simulate
from tests.sweeps import million
from tests.sweeps.made import TRIALS, contents, sweep, write
from tests.sweeps.test_conduct import stop_after


def forget_sums(study: Path) -> None:
    """What was in order stays so, but its checksums are not known: as of a study of before there were any."""
    document = json.loads((study / "parts.json").read_text())
    del document["sha256"]
    (study / "parts.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "simulate", toy_simulate)
        patch.setattr(engine, "clairvoyant_weight", toy_bound)
        sweep(write(folder / "given"), folder / "out")
    return folder / "out"


def test_answers(finished: Path) -> None:
    with Tables(finished) as tables:
        answer = tables.ask(
            'SELECT "link.0.loss.packet" AS loss, count(*) AS n FROM trials GROUP BY ALL ORDER BY loss'
        )
        assert answer.to_pylist() == [{"loss": 0.001, "n": 4}, {"loss": 0.01, "n": 4}]
        assert tables.ask("DESCRIBE trials").column("column_name").to_pylist()[:3] == [
            "key",
            "made_by",
            "scenario",
        ]
        assert tables.ask("FROM failures").num_rows == 0
        assert tables.ask("WITH a AS (SELECT 1 AS x) SELECT x FROM a").to_pylist() == [{"x": 1}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('{here}/*.json')",
        "SELECT * FROM read_parquet('{here}/trials/*.parquet')",
        "SELECT * FROM glob('{here}/*')",
        "COPY trials TO '{here}/x.csv'",
        "COPY (SELECT 1) TO '{here}/x.parquet'",
        "EXPORT DATABASE '{here}/x'",
        "ATTACH '{here}/x.db'",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW trials",
        "INSERT INTO trials VALUES (1)",
        "DELETE FROM trials",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "SELECT * FROM nothing",
        "SELEKT",
        "",
    ],
)  # fmt: skip
def test_nothing_else_is_possible(finished: Path, sql: str) -> None:
    before = sorted(finished.rglob("*"))
    with Tables(finished) as tables, pytest.raises(InputError, match=r"^query: "):
        tables.ask(sql.replace("{here}", str(finished)))
    assert sorted(finished.rglob("*")) == before


ENDLESS = "SELECT sum(a.range * b.range % 7) FROM range(10_000_000) a, range(10_000_000) b"
"""A hundred thousand billion rows."""


def test_a_question_that_takes_too_long_is_given_up_and_the_next_one_answered(finished: Path) -> None:
    with Tables(finished) as tables:
        with pytest.raises(DstccError, match=r"query: took longer than 0\.1 s \(--time-limit\)"):
            tables.ask(ENDLESS, limit_s=0.1)
        assert tables.ask("SELECT 1 AS x", limit_s=60.0).to_pylist() == [{"x": 1}]


def test_the_command_gives_a_question_up_after_its_time_limit(finished: Path) -> None:
    done = CliRunner().invoke(main, ["query", str(finished), ENDLESS, "--time-limit", "0.1"])
    assert (done.exit_code, done.stderr) == (1, "dstcc: query: took longer than 0.1 s (--time-limit)\n")


@pytest.mark.parametrize(
    ("value", "table", "as_json"),
    [
        ("sum(seed)", "12", 12),  # of whole numbers DuckDB makes one of 128 bits
        ("sum(seed) * 1.5", "18.0", 18.0),
        ("DATE '2026-11-21'", "2026-11-21", "2026-11-21"),
        ("'infinity'::DATE", "infinity", "infinity"),  # Python has none, and ends at the year 9999
        ("DATE '9999-12-31' + 1", "10000-01-01", "10000-01-01"),
        ("TIMESTAMP_NS '2026-11-21 00:00:00.123456789'",) + ("2026-11-21 00:00:00.123456789",) * 2,
        ("INTERVAL 90 MINUTE", "01:30:00", "01:30:00"),
        ("[DATE '2026-11-21']", "[2026-11-21]", "[2026-11-21]"),
        ("'\\x41\\xFF'::BLOB", "A\\xFF", "A\\xFF"),
        ("340282366920938463463374607431768211455::UHUGEINT",) + ("340282366920938463463374607431768211455",) * 2,
        ("{'a': [1, NULL]}", "{'a': [1, None]}", {"a": [1, None]}),
        ("'nan'::DOUBLE", "nan", None),
    ],
)  # fmt: skip
def test_a_value_of_any_type_is_printed(finished: Path, value: str, table: str, as_json: object) -> None:
    def said(form: str) -> str:
        done = CliRunner().invoke(
            main, ["query", str(finished), f"SELECT {value} AS v FROM trials", *form.split()]
        )
        assert done.exit_code == 0, done.output
        return done.stdout

    if not value.startswith("sum"):
        value = f"any_value({value})"
    assert said("--format table").split("\n")[3].strip() == table
    assert json.loads(said("--json")) == [{"v": as_json}]
    assert len(said("--format csv").splitlines()) == 2


def test_two_columns_of_one_name_do_not_become_one(finished: Path) -> None:
    done = CliRunner().invoke(main, ["query", str(finished), "SELECT 1 AS a, 2 AS a", "--json"])
    assert (done.exit_code, done.stdout) == (2, "") and "two columns are called 'a'" in done.stderr


def test_a_question_has_no_more_memory_than_its_limit(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Half a million groups of lists take some 100 MB; with 16 MiB DuckDB has to give up, as it may write nothing.
    sql = "SELECT count(*) FROM (SELECT range % 500_000 AS g, list(range) FROM range(2_000_000) GROUP BY g)"
    monkeypatch.setattr(query, "memory_limit", lambda: 16 << 20)
    with Tables(finished) as tables, pytest.raises(DstccError, match=r"query: needs more than 0\.0 GiB"):
        tables.ask(sql)


def test_an_answer_has_no_more_bytes_than_its_limit(finished: Path) -> None:
    with Tables(finished) as tables:
        with pytest.raises(
            DstccError, match="query: the answer has more than 1 MiB; aggregate, or add a LIMIT"
        ):
            tables.ask("FROM range(1_000_000)", most_bytes=1 << 20)
        assert tables.ask("FROM range(100_000)", most_bytes=1 << 20).num_rows == 100_000  # of eight bytes


def test_a_table_of_python_is_not_seen(finished: Path) -> None:
    secret = [1]
    with Tables(finished) as tables, pytest.raises(InputError, match="secret"):
        tables.ask("SELECT * FROM secret")
    assert secret


def test_a_trial_in_two_parts_is_asked_once(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "out")
    (part,) = contents(finished)
    shutil.copy(finished / "trials" / part, tmp_path / "out" / "trials" / "part-0000000000000000.parquet")
    with Tables(tmp_path / "out") as tables:
        assert tables.ask("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": TRIALS}]


def test_a_damaged_column_chunk_ends_no_process(tmp_path: Path, finished: Path) -> None:
    """What Arrow looks a condition up in: in a process of its own, which it would end."""
    shutil.copytree(finished, tmp_path / "out")
    forget_sums(tmp_path / "out")
    (part,) = (tmp_path / "out/trials").iterdir()
    part.write_bytes((Path(__file__).parents[1] / "fuzz/corpus/run/f0e0b881bd9181a0").read_bytes()[1:])
    sql = "SELECT count(*) FROM trials WHERE trial = 'cubic+minrtt/s1'"
    done = subprocess.run(
        [sys.executable, "-m", "dstcc_cli", "query", str(tmp_path / "out"), sql],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "10" in done.stdout


def test_a_part_of_a_type_that_duckdb_has_not_is_named(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "out")
    forget_sums(tmp_path / "out")
    (part,) = (tmp_path / "out/trials").iterdir()
    rows = pq.read_table(part)
    halves = pa.array([0.5] * rows.num_rows, pa.float16())
    pq.write_table(rows.append_column("half", halves), part)
    with pytest.raises(RunError, match=r"part-\*\.parquet: .*Unsupported"):
        Tables(tmp_path / "out")


def test_a_part_whose_pages_are_damaged_is_named(tmp_path: Path, finished: Path) -> None:
    """Its footer is whole, so that it has its columns."""
    shutil.copytree(finished, tmp_path / "out")
    forget_sums(tmp_path / "out")
    (part,) = (tmp_path / "out/trials").iterdir()
    data = bytearray(part.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little")
    for at in range(4, len(data) - footer - 8, 7):
        data[at] ^= 0x55
    part.write_bytes(data)
    for read in (load_study_report, lambda path: whole_table(Place(path))):
        with pytest.raises(RunError, match=r"trials/part-\*\.parquet: a part is damaged"):
            read(tmp_path / "out")
    with Tables(tmp_path / "out") as tables, pytest.raises(InputError, match=r"^query: "):
        tables.ask("SELECT * FROM trials WHERE seed = 1")


def test_a_part_that_was_edited_is_named(tmp_path: Path, finished: Path) -> None:
    """A table as whole as ours, with another number in it."""
    shutil.copytree(finished, tmp_path / "out")
    (part,) = (tmp_path / "out/trials").iterdir()
    rows = pq.read_table(part)
    place = rows.column_names.index("seed")
    pq.write_table(rows.set_column(place, "seed", pc.add(rows["seed"], 1)), part)
    for read in (Tables, load_study_report, lambda path: whole_table(Place(path))):
        with pytest.raises(RunError, match=f"{part.name}: changed since it was written"):
            read(tmp_path / "out")


def test_a_part_that_rotted_before_it_was_in_order_is_named(tmp_path: Path, finished: Path) -> None:
    """By its pages' own checksums: of a bit in a page nothing else might tell."""
    shutil.copytree(finished, tmp_path / "out")
    (tmp_path / "out/parts.json").unlink()
    (part,) = (tmp_path / "out/trials").iterdir()
    whole, rows = part.read_bytes(), whole_table(Place(tmp_path / "out"))
    named, places = 0, range(4, len(whole) - int.from_bytes(whole[-8:-4], "little") - 8, 61)
    for place in places:
        part.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert whole_table(Place(tmp_path / "out")).equals(rows), (
                place
            )  # a statistic of a page, which nobody reads
        except RunError as error:
            named += "damaged" in str(error)
    assert named > len(places) // 2


@pytest.mark.usefixtures("toy")
def test_a_study_without_tables_says_what_has_finished(tmp_path: Path, study: Path) -> None:
    """Killed before its first part; after Ctrl-C finished trials are in parts."""
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "out", stop_after(3))
    with Tables(tmp_path / "out") as tables:
        assert tables.ask(
            "SELECT count(DISTINCT algorithm) > 0 AS some, count(*) AS n FROM trials"
        ).to_pylist() == [{"some": True, "n": 3}]
    place = Place(tmp_path / "out")
    key = whole_table(place)["key"][0].as_py()
    for part in place.trials.iterdir():
        part.unlink()
    for waiting, said in ((0, "no trial has finished yet"), (1, "1 finished trials are in no table yet")):
        if waiting:
            place.fresh.save(key, {"row": {}})
        with Tables(tmp_path / "out") as tables, pytest.raises(InputError, match=said):
            tables.ask("SELECT algorithm FROM trials")


def test_a_folder_that_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no study: it has no study\.json"):
        Tables(tmp_path)
    (tmp_path / "study.json").write_text('{"schema": 1, "kind": "trials", "made_by": 3}')
    with pytest.raises(RunError, match=r"study\.json: dstcc_version: is missing"):
        Tables(tmp_path)


@pytest.mark.slow
def test_a_million_trials(tmp_path: Path) -> None:
    """Opened within 1 s and summed up within 2 s of processor time, on one core or several."""
    place = million.make(tmp_path)
    import duckdb  # noqa: F401 its import is not the opening
    import pyarrow.dataset  # noqa: F401

    began = time.process_time()
    with Tables(place.path) as tables:
        opened = time.process_time()
        answer = tables.ask(
            "SELECT algorithm, loss, avg(playback_ratio), stddev(weighted_layers), count(*) AS n "
            "FROM trials GROUP BY ALL"
        )
        answered = time.process_time()
    assert sum(answer["n"].to_pylist()) == million.TRIALS == 1_000_000
    print(f"open {opened - began:.2f} s, grouped summary {answered - opened:.2f} s of processor time")
    assert opened - began <= 1.0
    assert answered - opened <= 2.0
