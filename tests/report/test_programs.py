"""The page of a run of programs: what its figures and words say of a folder that is made up here, number by number."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from dstcc_kernel.endhosts.records import LINKS, NODES, SOCKETS

from dstcc.errors import RunError
from dstcc.report.programs import figures, load_program_run, page
from dstcc.report.programs.load import SHOWN_LINES
from dstcc.report.programs.page import render_program_run

TIMES = (0.0, 10.0, 20.0)
LINK = {"name": "mars", "rtt_s": 600.0, "rate_bps": 2000.0, "up_rate_bps": 500.0, "outages": 0, "outage_s": 0}
META: dict[str, Any] = {
    "kind": "programs",
    "schema": 1,
    "scenario_name": "a file home",
    "argv": ["/usr/bin/dstcc", "run", "mars.toml", "--on-craft", "cat a b"],
    "programs": [
        {
            "number": 1,
            "host": "craft",
            "argv": ["curl", "-s", "a b"],
            "exit_code": 3,
            "ended_by_dstcc": False,
            "ended_s": 20.0,
            "last_words": "so long",
        }
    ],
    "problem": None,
    "mission_s": 90.0,
    "notes": [],
    "links": [LINK, LINK | {"name": "unused"}],
    "distortions": [],
    "dstcc_version": "0.1.0",
    "git_commit": None,
    "seed": 1,
    "scale": 1.0,
    "kernel": {"version": "6.12"},
    "congestion": "cubic",
    "mptcp": False,
    "wall_s": 1.0,
}


def socket(name: str, acked: int, **changed: Any) -> list[dict[str, Any]]:
    """A socket's rows: its bytes come in equal parts."""
    about = {"host": "craft", "socket": name, "local": f"10.0.0.1:{name}", "remote": "10.0.0.2:80"}
    values = {
        "link": "mars",
        "state": "established",
        "rtt_s": 600.0,
        "cwnd_segments": 10,
        "received_bytes": 0,
    }
    return [
        {"t_s": t_s, **about, **values, "acked_bytes": acked * place // 2, **changed}
        for place, t_s in enumerate(TIMES)
    ]


def way(name: str, delivered: tuple[int, ...], **counts: int) -> list[dict[str, Any]]:
    """A way's rows; ``counts`` are those of its last one."""
    rows = [
        {
            "t_s": t_s,
            "link": "mars",
            "way": name,
            "delivered_bytes": bytes_,
            "lost_packets": 0,
            "dropped_packets": 0,
        }
        for t_s, bytes_ in zip(TIMES, delivered, strict=True)
    ]
    rows[-1] |= counts
    return rows


def write(folder: Path, sockets: list[dict[str, Any]], links: list[dict[str, Any]], **meta: Any) -> Path:
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(META | meta))
    (folder / "scenario.toml").write_text('[scenario]\nname = "a file home"\n')
    for name, schema, rows in (("sockets", SOCKETS, sockets), ("links", LINKS, links)):
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{name}.parquet")
    (folder / "craft.log").write_text("0.0 1 out one\n")
    (folder / "earth.log").write_text("".join(f"{number}\n" for number in range(2 * SHOWN_LINES + 5)))
    return folder


LINES = [*way("down", (0, 1000, 4000)), *way("up", (0, 0, 0), lost_packets=2)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", [*socket("1000", 100), *socket("2000", 400)], LINES)


def report(*words: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, words)])


def test_rates_are_bits_between_two_samples(run: Path) -> None:
    """1,000 bytes in the first 10 s are 800 bit/s, 3,000 in the next 2,400."""
    (panel, unused) = figures.rate_panels(load_program_run(run))
    down, up = panel[1]
    assert (panel[0], panel[2]) == ("mars", 2000.0)
    assert down.t_s.tolist() == [10.0, 20.0] and down.y.tolist() == [800.0, 2400.0]
    assert up.y.tolist() == [0.0, 0.0]
    assert [line.y.size for line in unused[1]] == [0, 0]


def test_samples_may_be_less_than_a_second_apart(tmp_path: Path) -> None:
    """1,000 bytes in half a second are 16 kbit/s, 3,000 in the next 48."""
    rows = [row | {"t_s": row["t_s"] / 20} for row in way("down", (0, 1000, 4000))]
    panel, _ = figures.rate_panels(load_program_run(write(tmp_path / "run", [], rows)))
    assert panel[1][0].y.tolist() == [16_000.0, 48_000.0]


def test_two_samples_at_one_time_have_no_rate(tmp_path: Path) -> None:
    rows = way("down", (0, 1000, 4000))
    rows[1]["t_s"] = rows[2]["t_s"] = 10.0
    panel, _ = figures.rate_panels(load_program_run(write(tmp_path / "run", [], rows)))
    assert panel[1][0].y.tolist() == [800.0, 0.0]


def test_losses_are_shown_of_ways_that_had_any(run: Path, tmp_path: Path) -> None:
    ((name, (line,), limit),) = figures.loss_panels(load_program_run(run))
    assert (name, line.name, line.y.tolist(), limit) == (
        "mars",
        "lost to the spacecraft",
        [0.0, 0.0, 2.0],
        None,
    )
    quiet = write(tmp_path / "quiet", [], way("down", (0, 1, 2)))
    assert figures.loss_panels(load_program_run(quiet)) == []


def test_the_sockets_that_moved_most_have_lines(tmp_path: Path) -> None:
    """Bytes of both ways count, six are shown, and the time before and after a connection has no value."""
    sockets = [row for number in range(7) for row in socket(str(1000 + number), 100 + number)]
    received = socket("3000", 0, received_bytes=9000)
    received[2]["state"] = "time-wait"
    loaded = load_program_run(write(tmp_path / "run", [*sockets, *received], LINES))
    ((name, lines, limit),) = figures.socket_panels(
        loaded, "rtt_s", lambda link: 2 * float(str(link["rtt_s"]))
    )
    assert (name, limit) == ("mars", 1200.0)
    assert [line.name for line in lines] == [
        f"craft {port} → 80" for port in (3000, 1006, 1005, 1004, 1003, 1002)
    ]
    assert np.array_equal(lines[0].y, [600.0, 600.0, np.nan], equal_nan=True)


def test_the_page_of_a_dated_mission_is_in_utc(run: Path) -> None:
    (run / "scenario.toml").write_text("[scenario]\nstart = 2028-03-11T22:14:05Z\n")
    page = render_program_run(load_program_run(run)).replace("\u202f", " ")
    assert "curl ended with exit code 3 after 20 s of mission time, at 2028-03-11 22:14:25 UTC." in page
    assert "<td>2028-03-11 22:14:25 UTC</td>" in page
    assert page.count("UTC, from 2028-03-11 22:14") > 0 and "mission time (s)" not in page


def test_the_page_says_what_the_tables_hold(run: Path) -> None:
    page = render_program_run(load_program_run(run)).replace("\u202f", " ")
    assert "curl ended with exit code 3 after 20 s of mission time." in page
    assert "curl -s &#39;a b&#39;" in page and "so long" in page
    assert "dstcc run mars.toml --on-craft &#39;cat a b&#39;" in page
    assert "Packets lost over mission time. At most: on mars lost to the spacecraft 2." in page
    assert "At most: on mars to Earth 2.4 kb/s, to the spacecraft 0 b/s; on unused nothing." in page
    assert "5 lines are left out; earth.log has them." in page
    assert page.count("<svg") == 2 * 5
    assert page == render_program_run(load_program_run(run)).replace("\u202f", " ")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("problem", "ended", "said"),
    [
        ("computes without waiting", True, '<p class="verdict">computes without waiting</p>'),
        (None, True, "curl was ended with exit code 3"),
    ],
)
def test_the_verdict_says_how_it_ended(tmp_path: Path, problem: str | None, ended: bool, said: str) -> None:
    first = META["programs"][0] | {"ended_by_dstcc": ended}
    run = write(tmp_path / "run", [], way("down", (0, 0, 0)), problem=problem, programs=[first])
    assert said in render_program_run(load_program_run(run))


@pytest.mark.parametrize("name", ["scenario.toml", "links.parquet", "sockets.parquet"])
def test_a_file_that_is_not_there_is_named(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(RunError, match=f"{name}: "):
        load_program_run(run)


def test_a_damaged_table_and_another_schema_are_named(run: Path) -> None:
    (run / "links.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(RunError, match=r"links\.parquet: "):
        load_program_run(run)
    (run / "run.json").write_text(json.dumps(META | {"schema": 2}))
    with pytest.raises(RunError, match=r"run\.json: schema 2; this version reads 1"):
        load_program_run(run)


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda meta: meta.pop(key)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("programs"), "programs: is missing"),
        (lambda meta: meta.update(programs=[]), "programs: must be a list of programs"),
        (lambda meta: meta["programs"][0].update(argv=[]), "programs: must be a list of programs"),
        (lambda meta: meta["programs"][0].update(ended_s="x"), "programs.0.ended_s: must be a number"),
        (
            lambda meta: meta["programs"][0].update(ended_by_dstcc=5),
            "programs.0.ended_by_dstcc: must be true or false",
        ),
        (lambda meta: meta["links"][0].pop("rate_bps"), "links.0.rate_bps: is missing"),
        (lambda meta: meta["links"][0].update(rtt_s=float("inf")), "links.0.rtt_s: is beyond all numbers"),
        (lambda meta: meta.update(mission_s=10**400), "mission_s: is beyond all numbers"),
        (lambda meta: meta.update(wall_s=float("nan")), "wall_s: must be a number"),
        (lambda meta: meta.update(argv=5), "argv: must be a list"),
        (lambda meta: meta.update(notes=[{}]), "notes.0: must be a string"),
        (lambda meta: meta.update(kernel=None), "kernel: must be a table"),
    ],
)
def test_a_record_of_other_values_is_named(
    run: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    meta = json.loads((run / "run.json").read_text())
    change(meta)
    (run / "run.json").write_text(json.dumps(meta))
    done = report(run, "-o", run.with_name("x.html"))
    assert done.exit_code == 2 and f"run.json: {said}" in done.stderr, done.output


def column(name: str, *values: Any) -> Callable[[pa.Table], pa.Table]:
    """A change of a whole column."""

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.column_names.index(name), name, pa.array(list(values) * rows.num_rows))

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("sockets", lambda rows: rows.drop_columns(["state"]), "lacks the column state"),
        ("sockets", column("rtt_s", "x"), "column rtt_s is string, must be double"),
        ("sockets", column("local", None), "column local has no value in 6 rows"),
        ("sockets", column("acked_bytes", -1), "column acked_bytes has -1"),
        ("sockets", column("rtt_s", float("inf")), "column rtt_s has a value that is not finite"),
        ("sockets", lambda rows: rows.take([2, 1, 0]), "host craft, socket 1000: t_s = 10 does not come"),
        ("links", lambda rows: rows.drop_columns(["way"]), "lacks the column way"),
        ("links", column("t_s", float("nan")), "column t_s has a value that is not finite"),
        ("links", column("delivered_bytes", [1]), "column delivered_bytes is list"),
        ("links", lambda rows: rows.take([5, 4, 3]), "link mars, way up: t_s = 10 does not come after"),
    ],
)
def test_tables_that_are_none_of_a_run_are_named(
    run: Path, name: str, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    changed = change(pq.read_table(run / f"{name}.parquet"))
    pq.write_table(changed, run / f"{name}.parquet")
    done = report(run, "-o", run.with_name("x.html"))
    assert done.exit_code == 2 and f"{name}.parquet: {said}" in done.stderr, done.output


@pytest.mark.usefixtures("undrawn")
def test_the_command_writes_the_page(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = report(run, "-o", page, "--json")
    assert done.exit_code == 0, done.output
    data = page.read_bytes()
    assert json.loads(done.stdout) == {"report": str(page), "format": "html", "bytes": len(data)}
    assert data.decode() == render_program_run(load_program_run(run))
    again = report(run, "-o", page)
    assert again.exit_code == 2 and page.read_bytes() == data
    assert report(run, "-o", page, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "x.md"], "of a run of programs there is an HTML page"),
        (["-o", "-"], "of a run of programs there is an HTML page"),
        (["{run}", "-o", "x.html"], "has a page of its own; give it alone"),
    ],
)
def test_there_is_nothing_to_compare_it_with(run: Path, words: list[str], said: str) -> None:
    done = report(run, *(word.format(run=run) for word in words))
    assert done.exit_code == 2 and said in done.output


UP = [[0.0, 5.0], [15.0, 90.0]]
NETWORK: dict[str, Any] = {
    "nodes": [
        {"host": "craft", "name": "craft", "storage_bytes": 0},
        {"host": "orbiter", "name": "orbiter", "storage_bytes": 5000},
        {"host": "earth", "name": "earth", "storage_bytes": 0},
    ],
    "paths": [{"name": "mars+home", "via": ["mars", "home"], "rtt_s": 700.0}],
    "links": [
        LINK | {"from": "craft", "to": "orbiter", "contacts": UP},
        LINK | {"name": "home", "from": "orbiter", "to": "earth", "contacts": []},
    ],
}


def network(tmp_path: Path, **meta: Any) -> Path:
    """A run over a node, which held 0, 4,000 and 1,000 bytes and dropped two packets."""
    folder = write(tmp_path / "run", socket("1000", 100, link="mars+home"), LINES)
    (folder / "run.json").write_text(json.dumps(META | NETWORK | meta))
    rows = [
        {"t_s": t_s, "node": "orbiter", "held_packets": 0, "held_bytes": held, "dropped_packets": number}
        | {"lost_in_restarts_packets": 0}
        for number, (t_s, held) in enumerate(zip(TIMES, (0, 4000, 1000), strict=True))
    ]
    pq.write_table(pa.Table.from_pylist(rows, NODES), folder / "nodes.parquet")
    return folder


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_network_says_where_bytes_waited(tmp_path: Path) -> None:
    """On average from 0 to 20 s: 0 for 10 s, then 4,000 for 10 s. Sockets are on paths."""
    run = load_program_run(network(tmp_path))
    (row,) = page.node_rows(run)
    assert (row["host"], row["most_bytes"], row["mean_bytes"], row["dropped"]) == ("orbiter", 4000, 2000, 2)
    text = render_program_run(run).replace("\u202f", " ")
    assert "What nodes held and links carried over mission time. orbiter held at most 4 kB." in text
    assert "<td>5 kB</td><td>4 kB</td><td>2 kB</td><td>2</td><td>0</td>" in text
    assert "<td>craft, orbiter</td>" in text
    (panel,) = figures.socket_panels(run, "rtt_s", lambda link: float(str(link["rtt_s"])))
    assert (panel[0], panel[2]) == ("mars+home", 700.0)
    open_ = figures._contacts(UP)
    assert dict(zip(open_["t_s"], open_["open"], strict=True)) == {
        0.0: True,
        5.0: False,
        15.0: True,
        90.0: False,
    }


def test_a_networks_panels_are_in_thousands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 bytes are 4 kB, and 1,000 and 3,000 bytes in 10 s each 0.8 and 2.4 kbit/s."""
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "draw_network", lambda *given, **_: drawn.append(given))
    run = load_program_run(network(tmp_path, mission_s=0.5))
    figures.network_figure(run)
    ((scene, panels, *_),) = drawn
    assert scene.end_s == 0.5 and scene.names == ("mars", "home")
    lines = {name: {tuple(y.tolist()) for _, y, *_ in curves} for name, curves in panels}
    assert lines["held in orbiter (kB)"] == {(0.0, 4.0, 1.0)}
    assert (0.8, 2.4) in lines["over mars (kbit/s)"]


def test_a_node_with_a_byte_of_storage_stores(run: Path) -> None:
    nodes = [{"host": name, "storage_bytes": size} for name, size in (("a", 0), ("b", 1))]
    assert figures.stores(replace(load_program_run(run), meta={"nodes": nodes})) == ["b"]


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"nodes": [{"host": "../x", "storage_bytes": 0}]}, "nodes.0.host: must be a host's name"),
        ({"paths": None}, "paths: must be a list"),
        (
            {"links": [{**NETWORK["links"][0], "contacts": [[1.0]]}]},
            "links.0.contacts: must be pairs of times",
        ),
        ({"links": [LINK]}, "links.0.contacts: is missing"),
    ],
)
def test_what_no_network_is_like_is_refused(meta: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=said):
        load_program_run(network(tmp_path, **meta))
