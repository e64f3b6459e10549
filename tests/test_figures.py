"""``scripts/figures.py``: published tables are what their commands print; `make test-slow` tries more rows."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from dstcc.papers import verdict
from scripts import fidelity_summary, figures, verdicts
from scripts.figures import NoTableError, Published, Workshop
from scripts.published.tables import (
    Difference,
    csv_of,
    differences,
    markdown_of,
    marked,
    placed,
    shortened,
    table_of,
)

ROOT = Path(__file__).parents[1]
TABLES, ELSEWHERE = figures.load()
SETTINGS: dict[str, list[str]] = tomllib.loads(figures.LIST.read_text(encoding="utf-8"))["settings"]
NUMBER = re.compile(r"[`*≈+−<-]*\d[\d,.]*")
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
PAGE = (
    "# A\n\n<!-- t -->\n| x | a | b |\n|---|---|---|\n| one | 1 | 2 |\n| two | 3 | 4 |\n<!-- / -->\n\nEnd.\n"
)
TERMINAL = """
 trial    played  MB in time
 ────────────────────────
 cubic/s1  67.3%    847.3
 cubic/s2  70.1%    942.2
 ltp/s1    99.6%  1,495.0
"""


@cache
def links(path: Path) -> set[Path]:
    """The files that a page links."""
    text = path.read_text(encoding="utf-8")
    return {(path.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", text)}


def page(one: Published) -> str:
    """The page that names a table's command: its own; of a CSV file those that link it, or the one about papers."""
    linking = [path for path in PAGES if ROOT / one.page in links(path)] or [ROOT / "docs/reproduce.md"]
    pages = [ROOT / one.page] if one.page.endswith(".md") else linking
    return "".join(path.read_text(encoding="utf-8") for path in pages)


def tables_outside_of_marks(text: str) -> list[list[str]]:
    text = re.sub(r"<!-- [\w.-]+ -->\n.*?<!-- / -->\n", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [block.splitlines() for block in re.findall(r"(?m)(?:^\|.*\n?)+", text)]


def is_of_numbers(lines: list[str]) -> bool:
    """Whether a third of the cells behind the first column are numbers."""
    cells = [cell.strip() for line in lines[2:] for cell in line.strip("|").split("|")[1:]]
    return bool(cells) and sum(NUMBER.match(cell) is not None for cell in cells) > len(cells) / 3


@pytest.mark.parametrize("budget_s", [figures.SAMPLE_S, pytest.param(figures.MORE_S, marks=pytest.mark.slow)])
def test_this_commits_sample_of_published_rows_is_what_the_commands_print(budget_s: float) -> None:
    seed = figures.commit()
    drawn = figures.sample(TABLES, seed, budget_s)
    assert drawn
    assert figures.check(drawn) == [], f"`make figures` writes what is true; again: --sample {seed}"


@pytest.mark.parametrize("one", TABLES, ids=lambda one: one.id)
def test_a_table_stands_between_its_marks_below_its_command(one: Published) -> None:
    assert table_of(one.shown(), one.keys).rows
    for command in (one.command, *one.after):
        assert command in page(one), "so that a reader can print it"


def test_every_table_of_numbers_is_made_again_or_said_not_to_be() -> None:
    used = set()
    for path in PAGES:
        name = str(path.relative_to(ROOT))
        known = [one.what for one in ELSEWHERE if one.page == name] + SETTINGS.get(name, [])
        for lines in filter(is_of_numbers, tables_outside_of_marks(path.read_text(encoding="utf-8"))):
            (what,) = [what for what in known if what in lines[0]] or [None]
            assert what is not None, (
                f"{name}: {lines[0]}: neither in scripts/figures.toml's tables nor elsewhere"
            )
            used.add((name, what))
    listed = {(one.page, one.what) for one in ELSEWHERE if not one.what.endswith((".svg", ".png", ".csv"))}
    listed |= {(name, what) for name, whats in SETTINGS.items() for what in whats}
    assert listed == used, "what is listed is there"


def test_marks_and_tables_are_the_same_set() -> None:
    in_pages = Counter(
        f"{path.relative_to(ROOT)}#{name}"
        for path in PAGES
        for name in re.findall(r"<!-- ([\w.-]+) -->\n", path.read_text(encoding="utf-8"))
    )
    assert in_pages == Counter(one.id for one in TABLES if one.page.endswith(".md"))


def test_a_table_of_markdown_keeps_its_cells_as_csv() -> None:
    table = '| x | a |\n| --- | --- |\n| one, two | *1* |\n| "three" | – |'
    assert csv_of(table) == 'x,a\n"one, two",*1*\n"""three""",–\n'
    assert markdown_of(csv_of(table)) == table
    with pytest.raises(ValueError, match="has no rows"):
        markdown_of("")


def test_every_papers_verdicts_are_of_a_class() -> None:
    assert verdicts.counted(
        ["reproduced (one seed)", "same direction, larger by a factor of 1.9", "not reproduced"]
    ) == [*(3, 1, 1, 0, 0, 1)]
    assert verdict.class_of("not reproduced: opposite (one seed)") == "opposite"
    with pytest.raises(ValueError, match="of no class"):
        verdict.class_of("not measured")


def test_a_cell_that_drifted_is_named_with_both_values() -> None:
    there = table_of(marked(PAGE, "t"))
    here = table_of(marked(PAGE.replace("| 4 |", "| 5 |"), "t"))
    assert list(differences(there, there)) == []
    (found,) = differences(there, here)
    assert found == Difference("two, b", "4", "5")
    assert str(found) == "two, b: the page has 4, the command prints 5"


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (PAGE.replace("| two | 3 | 4 |\n", ""), Difference("two", "a row", "none")),
        (PAGE.replace("| two |", "| 2 |"), Difference("2", "no such row", "3 | 4")),
        (PAGE.replace("| b |", "| c |"), Difference("columns", "x | a | b", "x | a | c")),
        (PAGE.replace("| 3 | 4 |", "| 3 |"), Difference("two", "3 | 4", "3")),
    ],
)
def test_rows_and_columns_drift_too(now: str, found: Difference) -> None:
    assert found in list(differences(table_of(marked(PAGE, "t")), table_of(marked(now, "t"), 1)))


def test_some_rows_are_held_to_theirs_alone() -> None:
    there, here = table_of(TERMINAL), table_of(TERMINAL.replace(" cubic/s2  70.1%    942.2\n", ""), 1)
    assert list(differences(there, here, part=True)) == []
    assert list(differences(there, here)) == [Difference("cubic/s2", "a row", "none")]
    other = table_of(TERMINAL.replace("ltp/s1 ", "ltp/s9 "), 1)
    assert list(differences(there, other, part=True)) == [
        Difference("ltp/s9", "no such row", "99.6% | 1,495.0")
    ]


def test_rows_of_the_same_first_cells_are_told_apart() -> None:
    table = table_of("| a | lanes | v |\n|---|---|---|\n| cubic | 2 | 5 |\n| cubic | 32 | 5 |\n")
    assert table.rows == {("cubic", "2"): ("5",), ("cubic", "32"): ("5",)}
    twice = table_of("one  1\none  1\n", 1)
    assert twice.rows == {("one",): ("1",), ("one", "(2)"): ("1",)}


def test_a_shortened_text_says_where_lines_are_missing() -> None:
    text = f"     a title\n{TERMINAL}\nlegend: all\nruns/x: 3 trials\n"
    lines = shortened(text, ["ltp/", "legend"])
    assert lines == [*TERMINAL.splitlines()[1:3], " ...", TERMINAL.splitlines()[5], "", "legend: all", "..."]
    assert table_of("\n".join(lines[:-2])).rows == {("ltp/s1",): ("99.6%", "1,495.0")}
    assert shortened(text, ()) == TERMINAL.strip("\n").splitlines()
    assert shortened("  a  1\n\n  b  2", ["a"]) == ["  a  1", "  ..."]
    assert shortened("  a  1\n\n  b  2", ()) == ["  a  1", "  b  2"]


@pytest.mark.parametrize(
    "text", ["", "<!-- t -->\n| a |\n", PAGE + PAGE, PAGE.replace("| one", "<!-- u -->\n| one")]
)
def test_marks_that_are_no_pair_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pair of marks"):
        marked(text, "t")


def test_a_page_keeps_all_but_what_is_between_the_marks() -> None:
    assert placed(PAGE, "t", "new") == "# A\n\n<!-- t -->\nnew\n<!-- / -->\n\nEnd.\n"
    assert placed(PAGE, "t", marked(PAGE, "t").rstrip("\n")) == PAGE


PRINTS = "import sys; print('**one**\\n\\n| x |\\n|---|\\n| 1 |\\n\\n**two**\\n\\n| y |\\n|---|\\n| 2 |')"


def test_a_table_is_found_below_its_heading(tmp_path: Path) -> None:
    command = f'python -c "{PRINTS}"'
    one = Published("page", "t", command, 1.0, title="**two**")
    assert Workshop(tmp_path).block(one, command, "") == "| y |\n|---|\n| 2 |"


def test_a_command_that_fails_or_prints_no_table_is_an_error(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    with pytest.raises(NoTableError, match="exit code 3: bad"):
        workshop.run("python -c \"import sys; print('bad', file=sys.stderr); sys.exit(3)\"")
    command = f'python -c "{PRINTS}"'
    with pytest.raises(NoTableError, match="prints no table 'three'"):
        workshop.block(Published("page", "t", command, 1.0, title="three"), command, "")


def test_a_sample_is_the_seeds_and_within_its_cost() -> None:
    def cost(drawn: list[tuple[Published, str]]) -> float:
        return sum(one.cheap()[command] for one, command in drawn)

    first, again, other = (figures.sample(TABLES, seed) for seed in ("a", "a", "b"))
    assert first == again != other
    assert max(cost(first), cost(other)) <= figures.SAMPLE_S
    for budget_s in (figures.SAMPLE_S, figures.MORE_S):
        drawn = {one.id for seed in range(1000) for one, _ in figures.sample(TABLES, str(seed), budget_s)}
        cheap = {one.id for one in TABLES if min(one.cheap().values()) <= budget_s}
        assert drawn == cheap, "whatever is cheap is drawn some time"


def test_cells_are_summed_by_control() -> None:
    head = [*fidelity_summary.WHERE, "ratio", "z", "kernel", "ratio", "z"]

    def row(control: str, *numbers: str) -> list[str]:
        return [control, "10 and up to 9 µs", *"1234567", *numbers]

    rows = [head, row("bbr", "0.9 *", "-4.1", "1", "7", "+1.9"), row("bbr", "1.05", "–", "1", "1.16", "–")]
    both = list(fidelity_summary.cells_of([*rows, row("cubic", "1.000", "+0.2", "1", "inf", "+2.0")]))
    assert [(cell.name[0], cell.result.ratio, cell.repeats.ratio) for cell in both[:2]] == [
        ("bbr", 0.9, 7.0),
        ("bbr", 1.05, 1.16),
    ]
    # near: 1.05 is within 5 %, 7.0 within chance
    assert fidelity_summary.summary(both[:2]) == ("2", "1", "0.075", "0.100", "1")
    assert fidelity_summary.summary(both[2:]) == ("1", "1", "0.000", "0.000", "0")


def test_each_cell_that_is_apart_has_a_reason_and_each_reason_a_cell() -> None:
    apart = {cell.why for cells in fidelity_summary.kept().values() for cell in cells} - {None}
    assert apart == set(fidelity_summary.REASONS.values())
