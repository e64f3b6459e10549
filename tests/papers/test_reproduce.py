"""From a paper's folder to the page: going on after an end, the same bytes, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dstcc.atomic import SUFFIX
from dstcc.errors import InputError
from dstcc.papers.cells import Outcome, Store
from dstcc.papers.model import read_paper
from dstcc.papers.reproduce import Reproduced, reproduce
from dstcc.papers.verdict import judge
from dstcc.papers.write import open_folder
from dstcc.stats import Estimate
from tests.papers.made import FIGURES, PUBLISHED, SCENARIO, write_paper


def run(folder: Path, out: Path, **options) -> Reproduced:
    return reproduce(read_paper(folder), out, **options)


def written(out: Path) -> dict[str, bytes]:
    """The files of ``out`` by name, without the hidden ones that a killed process was writing (see dstcc.atomic)."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not (path.name.startswith(".") and path.suffix == SUFFIX)
    }


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return write_paper(tmp_path / "paper")


def test_what_is_written(paper: Path, tmp_path: Path) -> None:
    made = run(paper, tmp_path / "out")
    (row,) = made.rows  # figure 2 is extra
    assert row.measured is not None
    measured = Estimate(row.measured, row.low, row.high, row.seeds)
    assert row.verdict == judge(measured, 10.0, effect=True, unit="%")
    assert measured.low is not None
    assert measured.low < measured.value
    assert row.seeds == 4
    document = json.loads((tmp_path / "out" / "rows.json").read_bytes())
    assert document == json.loads(json.dumps(made.document()))
    assert (tmp_path / "out" / "rows.json").read_text() == (
        json.dumps(made.document(), indent=2, ensure_ascii=False) + "\n"
    )
    mark = (tmp_path / "out" / "reproduction.json").read_text()
    assert mark.startswith('{\n  "schema": 1,\n  "paper": "made",\n  "dstcc_version"') and mark.endswith(
        "}\n"
    )
    assert {"figure", "quantity", "published", "measured", "low", "high", "verdict"} <= document["rows"][
        0
    ].keys()
    assert (tmp_path / "out" / "rows.csv").read_text().splitlines()[0].startswith("figure,quantity,published")
    table = (tmp_path / "out" / "rows.md").read_text().splitlines()
    assert table[2].startswith("| 1 | throughput, bbr above newreno | 10 % | ")
    drawn = (tmp_path / "out" / "figures" / "figure-1.csv").read_text().splitlines()
    assert drawn[1].startswith("newreno,50.0,throughput_bps,")
    assert len(drawn) == 1 + 2 * 2
    svg = (tmp_path / "out" / "figures" / "figure-1.svg").read_text()
    assert "var(--" not in svg
    assert "<svg xmlns=" in svg
    page = (tmp_path / "out" / "index.html").read_text()
    assert "throughput, bbr above newreno" in page
    assert "No deviations." in page
    assert "4 seeds, lines and marks" in page and "Made with --quick" not in page
    held = int(row.verdict.startswith("reproduced"))
    assert f"Of 1 comparisons with what the paper says, {held} came out as published." in page
    assert (tmp_path / "out" / "figures" / "figure-1.md").read_text().count("\n") == 2 + 2
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    assert len(list((tmp_path / "out" / "cells").rglob("*.json"))) == 2 * 2 * 4


def test_each_figure_has_a_section_with_its_own_numbers(paper: Path, tmp_path: Path) -> None:
    run(paper, tmp_path / "out", figures=("1", "2"))
    page = (tmp_path / "out" / "index.html").read_text()
    first, second = page.split("<section")[1:3]
    for section, own, other in (
        (first, "throughput, bbr above newreno", "chunks played"),
        (second, "chunks played", "throughput, bbr above newreno"),
    ):
        assert f'<th scope="row">{own}</th>' in section and other not in section
    assert "Figure 1: Throughput over the delay" in first and "Figure 2: Layers" in second
    assert "4 seeds" in first and "2 seeds" in second


def test_a_figure_by_name_and_quick(paper: Path, tmp_path: Path) -> None:
    made = run(paper, tmp_path / "out", figures=("2",))
    assert [row.figure for row in made.rows] == ["2"]
    assert not (tmp_path / "out" / "figures" / "figure-2.md").exists()
    quick = run(paper, tmp_path / "quick", quick=True)
    page = (tmp_path / "quick" / "index.html").read_text()
    assert (
        "Made with --quick" in page and "1 seed, lines" in page and "One seed: there are no intervals" in page
    )
    assert len(list((tmp_path / "quick" / "cells").rglob("*.json"))) == 2  # one point, one seed
    assert quick.rows[0].verdict.endswith("(one seed)")


def test_a_growth_is_of_means_from_one_point_to_another(tmp_path: Path) -> None:
    growth = PUBLISHED.replace(
        'kind = "gain", metric = "throughput_bps", of = "bbr", over = ["newreno"]',
        'kind = "growth", metric = "throughput_bps", of = "bbr", at = [50, 100]',
    )
    made = run(write_paper(tmp_path / "paper", published=growth), tmp_path / "out")
    lines = [line.split(",") for line in (tmp_path / "out/figures/figure-1.csv").read_text().splitlines()]
    first, last = (float(line[3]) for line in lines if line[0] == "bbr")
    assert made.rows[0].measured == pytest.approx(last / first)
    assert made.rows[0].verdict == f"not reproduced: smaller by a factor of {10 * first / last:.0f}"
    quick = run(tmp_path / "paper", tmp_path / "quick", quick=True)  # without the second point
    assert quick.rows[0].verdict == "not measured"


def test_a_rise_is_the_difference_of_means_in_the_numbers_unit(tmp_path: Path) -> None:
    rise = PUBLISHED.replace(
        'kind = "gain", metric = "throughput_bps", of = "bbr", over = ["newreno"]',
        'kind = "rise", metric = "throughput_bps", of = "bbr", at = [50, 100], times = 1e-3',
    )
    made = run(write_paper(tmp_path / "paper", published=rise), tmp_path / "out")
    lines = [line.split(",") for line in (tmp_path / "out/figures/figure-1.csv").read_text().splitlines()]
    first, last = (float(line[3]) for line in lines if line[0] == "bbr")
    assert first != last
    assert made.rows[0].measured == pytest.approx((last - first) / 1e3)


def test_what_quick_leaves_out_is_not_measured(tmp_path: Path) -> None:
    figures = FIGURES.replace(
        'algorithms = ["newreno", "bbr"]', 'algorithms = ["newreno", "bbr"]\nnot_quick = ["bbr"]'
    )
    folder = write_paper(tmp_path / "paper", figures=figures)
    made = run(folder, tmp_path / "out", quick=True)
    assert [row.verdict for row in made.rows] == ["not measured"]
    assert (tmp_path / "out" / "figures" / "figure-1.csv").read_text().count("newreno,") == 1
    with pytest.raises(InputError, match="not_quick: no algorithm cubic"):
        read_paper(
            write_paper(
                tmp_path / "other", figures=figures.replace('not_quick = ["bbr"]', 'not_quick = ["cubic"]')
            )
        )


def test_after_an_end_it_goes_on_and_gives_the_same_bytes(paper: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    run(paper, whole)
    half, counts = tmp_path / "half", []

    def begin(cells: int, kept: int):
        counts.append((cells, kept))
        left = iter(range(5))

        def advance() -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        return advance

    with pytest.raises(KeyboardInterrupt):
        run(paper, half, begin=begin, jobs=1)
    kept = len(list((half / "cells").rglob("*.json")))
    assert kept >= 6
    assert not (half / "index.html").exists()

    def count(cells: int, there: int):
        counts.append((cells, there))
        return lambda: None

    run(paper, half, begin=count)
    assert counts[0] == (16, 0)
    assert counts[1][0] == 16
    assert counts[1][1] >= kept  # what was under way may have ended after the interrupt
    assert written(half) == written(whole)


def test_after_a_kill_it_gives_the_same_bytes(paper: Path, tmp_path: Path, uncovered: None) -> None:
    whole, half = tmp_path / "whole", tmp_path / "half"
    run(paper, whole)
    program = (
        "import sys, time; from pathlib import Path; from dstcc.papers.model import read_paper; "
        "from dstcc.papers.reproduce import reproduce; "
        "reproduce(read_paper(Path(sys.argv[1])), Path(sys.argv[2]), jobs=1, "
        "begin=lambda *_: lambda: time.sleep(0.05))"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(paper), str(half)])
    try:
        while len(list((half / "cells").rglob("*.json"))) < 3:
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert not (half / "index.html").exists()
    run(paper, half)
    assert written(half) == written(whole)


def test_after_a_kill_while_it_wrote_its_mark_it_begins(paper: Path, tmp_path: Path) -> None:
    """Of the process nothing is there but the folder, with the mark's hidden sibling in it."""
    script = (
        "import os, sys; from pathlib import Path; from dstcc.atomic import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])): os._exit(9)"
    )
    (tmp_path / "out").mkdir()
    killed = subprocess.run([sys.executable, "-c", script, tmp_path / "out/reproduction.json"], check=False)
    assert killed.returncode == 9 and len(list((tmp_path / "out").iterdir())) == 1
    open_folder(tmp_path / "out", read_paper(paper))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["reproduction.json"]


def test_a_damaged_cell_is_made_again(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(paper, out)
    before = written(out)
    for cell, text in zip(sorted((out / "cells").rglob("*.json")), ("", "{}", "[1]", "{"), strict=False):
        cell.write_text(text)
    changed = sorted((out / "cells").rglob("*.json"))[-1]
    kept = json.loads(changed.read_bytes())
    kept["document"]["values"]["throughput_bps"] = 1.0
    changed.write_text(json.dumps(kept))
    run(paper, out)
    assert written(out) == before


def test_a_store_holds_what_it_is_given(tmp_path: Path) -> None:
    store, outcome = Store(tmp_path / "cells"), Outcome({"a": 0.1, "b": None}, {"c": [1.0, 2.0]})
    assert store.find("key") is None
    store.scratch("key").mkdir(parents=True)
    store.keep("key", outcome)
    assert store.find("key") == outcome
    assert not store.scratch("key").exists()


def test_another_scenario_is_another_cell(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(paper, out, quick=True)
    write_paper(paper, scenario=SCENARIO.replace("1e-2]", "2e-2]"))
    from dstcc.papers.trial_cell import scenario_of, source_of

    scenario_of.cache_clear()
    source_of.cache_clear()
    run(paper, out, quick=True)
    assert len(list((out / "cells").rglob("*.json"))) == 4


def test_a_folder_is_made_with_those_above_it(paper: Path, tmp_path: Path) -> None:
    for _ in range(2):
        open_folder(tmp_path / "a" / "b", read_paper(paper))
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["reproduction.json"]


def test_folders_that_hold_something_else(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="not empty, and no reproduction of a paper"):
        run(paper, out)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    other = tmp_path / "other"
    run(paper, other, quick=True)
    write_paper(paper, published=PUBLISHED.replace('"made"', '"remade"'))
    with pytest.raises(InputError, match="is a reproduction of made; name another folder for remade"):
        run(paper, other, quick=True)
    with pytest.raises(InputError, match="is no folder"):
        run(paper, out / "thesis.tex")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("published", PUBLISHED.replace("published = 10\n", ""), "number.0: needs either published or claim"),
        ("published", PUBLISHED.replace('place = "section 1"', ""), "number.0.place: Field required"),
        ("published", PUBLISHED.replace('of = "bbr", over', 'of = "bbr2", over'), "figure 1 has no bbr2"),
        (
            "published",
            PUBLISHED.replace('over = ["newreno"]', "over = []"),
            "over: named by gain, cut and lead",
        ),
        (
            "published",
            PUBLISHED.replace('"gain"', '"growth"').replace(', over = ["newreno"]', ", at = [50]"),
            "at: a growth is from one point to another",
        ),
        ("published", PUBLISHED.replace('figure = "2"', 'figure = "7"'), "number.1: no figure 7"),
        ("published", PUBLISHED.replace('"gain"', '"gains"'), "measure.kind"),
        ("published", PUBLISHED.replace('unit = "%"', 'unti = "%"'), "unti"),
        (
            "published",
            PUBLISHED.replace('place = "section 1"', 'place = "x"\nsource = "computed"'),
            "a computed number needs a note",
        ),
        (
            "published",
            PUBLISHED.replace("times = 100}", "times = 100, at = [3]}"),
            "figure 2 has no point 3",
        ),
        ("figures", FIGURES.replace('kind = "lines"', 'kind = "pie"'), "figure.0.plot.kind"),
        ("figures", FIGURES.replace('id = "2"', 'id = "1"'), "two of one id"),
        ("figures", FIGURES.replace("x = 100", "x = 50"), "two points of one x"),
        ("figures", FIGURES + "\n[other]\n", "unknown key other"),
        ("figures", "figure = [", "not TOML"),
    ],
)
def test_files_that_break_a_rule(tmp_path: Path, file: str, text: str, said: str) -> None:
    folder = write_paper(tmp_path / "paper", **{file: text})
    with pytest.raises(InputError) as error:
        read_paper(folder)
    assert said in str(error.value)
    assert f"{file}.toml" in str(error.value)


def test_a_trial_that_the_scenario_lacks(tmp_path: Path) -> None:
    folder = write_paper(
        tmp_path / "paper",
        figures=FIGURES.replace('["newreno", "bbr"]', '["newreno", "bbr", "vegas"]'),
    )
    with pytest.raises(InputError, match="no trial 'vegas'; its trials are newreno"):
        run(folder, tmp_path / "out")
