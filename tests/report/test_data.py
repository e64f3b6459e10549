"""``--figures``: each figure as SVG, and with ``--data`` its numbers as CSV, in a folder beside the page."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dstcc.errors import InputError
from dstcc.report import load_report, write_report
from dstcc.report.figures.delay import curves
from dstcc.report.figures.timeline import timeline_rows
from dstcc.report.tables import Tables
from dstcc.spreadsheet import to_csv
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec, build_run

SPEC = RunSpec(chunks=60, congestion=("cubic", "bbr-scaled"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    report = load_report([build_run(folder / "run", SPEC)])
    write_report(report, folder / "page.html", "html", figures=True, data=True)
    return folder


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_each_figure_of_the_page_links_to_its_files(written: Path) -> None:
    page = (written / "page.html").read_text()
    linked = re.findall(r'href="page-figures/([^"]+)"', page)
    assert len(linked) == 2 * page.count("<figure>")
    assert sorted(linked) == sorted(file.name for file in (written / "page-figures").iterdir())


def test_a_picture_stands_alone(written: Path) -> None:
    for file in (written / "page-figures").glob("*.svg"):
        text = file.read_text()
        assert "var(--" not in text
        title = ET.fromstring(text).find("{http://www.w3.org/2000/svg}title")
        assert title is not None and title.text


def test_the_numbers_are_those_of_the_run(written: Path) -> None:
    folder = written / "page-figures"
    shares: dict[str, float] = {}
    for row in rows(folder / "s1-layers.csv"):
        shares[row["algorithm"]] = shares.get(row["algorithm"], 0.0) + float(row["share"])
    assert shares == pytest.approx({"cubic+minrtt": 1.0, "bbr-scaled+minrtt": 1.0})
    played = rows(folder / "s1-timeline.csv")
    assert len(played) == 2 * SPEC.chunks
    means = [row for row in rows(folder / "s1-paired.csv") if not row["seed"]]
    seeds = [
        row for row in rows(folder / "s1-paired.csv") if row["seed"] and row["metric"] == means[0]["metric"]
    ]
    mean = sum(float(row["difference"]) for row in seeds) / len(seeds)
    assert float(means[0]["difference"]) == pytest.approx(mean)


@pytest.mark.usefixtures("undrawn")
def test_a_folder_with_a_file_of_the_user_stays(tmp_path: Path) -> None:
    report = load_report([build_run(tmp_path / "run", SPEC)])
    write_report(report, tmp_path / "page.html", "html", figures=True)
    first = {file.name: file.read_bytes() for file in (tmp_path / "page-figures").iterdir()}
    assert {Path(name).suffix for name in first} == {".svg"}, "numbers are written where they are asked for"
    assert ".csv" not in (tmp_path / "page.html").read_text()
    with pytest.raises(InputError, match="page-figures"):
        write_report(report, tmp_path / "page.html", "html", figures=True)
    write_report(report, tmp_path / "page.html", "html", figures=True, force=True)
    assert first == {file.name: file.read_bytes() for file in (tmp_path / "page-figures").iterdir()}
    (tmp_path / "page-figures" / "note.txt").write_text("mine")
    with pytest.raises(InputError, match=r"note\.txt"):
        write_report(report, tmp_path / "page.html", "html", figures=True, force=True)


def test_each_row_has_the_columns_of_its_header(written: Path) -> None:
    for file in (written / "page-figures").glob("*.csv"):
        with file.open(encoding="utf-8") as stream:
            head, *values = csv.reader(stream)
        assert {len(row) for row in values} == {len(head)}, file.name


def test_a_chunk_of_one_layer_has_a_row(make_run: RunFactory) -> None:
    (section,) = load_report([make_run(RunSpec(congestion=("cubic",), chunks=9, layer_bps=(9e4,)))]).sections
    _, *values = timeline_rows(section, Tables())
    assert [row[1] for row in values] == list(range(9))


def test_delays_are_from_capture_to_the_last_byte(make_run: RunFactory) -> None:
    """The curve of a layer rises at each of its delays, by one of the layers sent."""
    path = make_run(RunSpec(congestion=("cubic",), seeds=(1,), chunks=9, layer_bps=(9e4,)))
    (section,) = load_report([path]).sections
    chunks = pq.read_table(path / "chunks.parquet").to_pydict()
    delays = sorted(
        end - begin for end, begin in zip(chunks["complete_s"], chunks["capture_s"], strict=True) if end
    )
    assert len(delays) == 9
    delay_s, share = curves(section, Tables())["cubic+minrtt", 0]
    assert delay_s[2:-1].tolist() == pytest.approx(delays)
    assert share[2:-1].tolist() == pytest.approx([(place + 1) / 9 for place in range(9)])


def test_a_missing_value_is_empty() -> None:
    assert to_csv([("a", "b"), (None, float("nan")), (1, 0.5)]) == "a,b\n,\n1,0.5\n"
