"""The page as text; pages of unusual runs, whose figures take seconds each, are in `make test-slow`."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dstcc.report.figures.layers import percent
from dstcc.report.figures.section import FIGURES
from tests.report.conftest import Pages
from tests.report.synthetic_run import RunSpec

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)> $y_{$ & "quoted" 火星'
PAIR = ("cubic", "bbr-scaled")
QUICK = RunSpec(chunks=90, congestion=PAIR)
OTHER = RunSpec(chunks=90, congestion=PAIR, sha="beef" * 16, name="venus")
ONE_SEED = RunSpec(chunks=90, congestion=PAIR, seeds=(1,))
STALLING, PICTURES = replace(ONE_SEED, stalling=True), replace(ONE_SEED, quality=True)
FAILED = RunSpec(
    name=HOSTILE,
    congestion=(HOSTILE, "open-loop"),
    seeds=(1, 2),
    chunks=60,
    failures={"open-loop+minrtt/s2": "</style><script>alert(3)</script>"},
)
VOID = {"wbr", "meta", "link", "br", "img", "hr", "input"}

DRAWN = len(FIGURES) - 1
"""Of a section: all but the one of nodes that store."""


class Outline(HTMLParser):
    """Collects what the tests ask for and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def plain(self) -> str:
        return " ".join(" ".join(self.text).split())


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    parsed.close()
    assert parsed.open == []
    return parsed


def test_the_page_has_every_part(pages: Pages) -> None:
    parsed = outline(pages(QUICK, figures=False))
    for heading in (
        "The mission",
        "Summary",
        "Layers played",
        "Delivery delay",
        "Performance profiles",
        "Differences to bbr-scaled+minrtt at the same seeds",
        "Each chunk over time",
        "Congestion window",
        "Smoothed round-trip time",
        "Throughput",
        "Run it again",
        "Definitions",
    ):
        assert heading in parsed.plain
    assert len(parsed.named("figure")) == 6 + DRAWN
    assert all(plot["aria-label"] for plot in parsed.named("div") if plot.get("role") == "img")
    assert "dstcc emulate 'examples/mars table1.toml'" in parsed.plain
    assert "log_uniform" in parsed.plain


@pytest.mark.parametrize("specs", [(STALLING,), pytest.param((QUICK, OTHER), marks=pytest.mark.slow)])
def test_ids_are_unique_and_references_resolve(pages: Pages, specs: tuple[RunSpec, ...]) -> None:
    page = pages(*specs)
    ids = [attributes["id"] for _, attributes in outline(page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', page))
    assert used <= set(ids)


def test_the_contents_list_every_section(pages: Pages) -> None:
    page = pages(QUICK, figures=False)
    contents = re.findall(r'<nav class="contents".*?</nav>', page)
    assert len(contents) == 1
    headings = re.findall(r'<h2[^>]* id="([^"]+)"', page)
    assert re.findall(r'href="#([^"]+)"', contents[0]) == headings
    assert len(headings) > 8


def test_alternative_texts_say_what_follows(pages: Pages) -> None:
    """Each figure's text has an algorithm's name and a number beside what the figure is."""
    labels = [
        plot["aria-label"] or ""
        for plot in outline(pages(QUICK, figures=False)).named("div")
        if plot.get("role") == "img"
    ]
    said = [label for label in labels if re.search(r"(cubic|bbr-scaled).* [−+]?\d", label)]
    assert [
        label for label in labels if label not in said and not label.startswith("Congestion window")
    ] == []


def test_the_page_asks_nothing_of_the_network(pages: Pages) -> None:
    page = pages(STALLING)
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', page)
    assert outside == []
    assert "@import" not in page
    assert "<script" not in page


def test_hostile_names_stay_text(pages: Pages) -> None:
    parsed = outline(pages(FAILED))
    assert parsed.named("script") == []
    assert parsed.named("img") == []
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert HOSTILE.partition("$")[0].strip() in parsed.plain
    assert "</style><script>alert(3)</script>" in parsed.plain


def test_one_seed_shows_values_without_intervals(pages: Pages) -> None:
    page = pages(ONE_SEED, figures=False)
    assert 'class="interval"' not in page
    assert "at the same seeds</h2>" not in page
    assert "How many trials reach" not in page
    assert "there are no intervals" in page


def test_failed_trials_are_listed_with_their_error(pages: Pages) -> None:
    spec = replace(QUICK, failures={"cubic+minrtt/s2": "EngineError: out of events"})
    page = pages(spec, figures=False)
    assert "Failed trials" in page
    assert "cubic+minrtt/s2" in page
    assert "EngineError: out of events" in page


def test_only_failures_still_give_a_page(pages: Pages) -> None:
    spec = RunSpec(congestion=("cubic",), seeds=(1,), failures={"cubic+minrtt/s1": "boom"})
    parsed = outline(pages(spec, figures=False))
    assert "No trial finished" in parsed.plain
    assert parsed.named("figure") == []
    assert "Run it again" in parsed.plain


def test_several_scenarios_get_an_overview(pages: Pages) -> None:
    parsed = outline(pages(QUICK, OTHER, figures=False))
    assert "2 scenarios compared" in parsed.plain
    assert [link["href"] for link in parsed.named("a") if link["href"] in ("#s1", "#s2")] == ["#s1", "#s2"]
    assert "All scenarios together" in parsed.plain
    assert len(parsed.named("figure")) == 2 * (6 + DRAWN) + 1  # the profiles of both together


def test_scenarios_without_a_common_algorithm_are_not_taken_together(pages: Pages) -> None:
    apart = (
        replace(ONE_SEED, congestion=("cubic",)),
        replace(ONE_SEED, congestion=("westwood",), sha="beef" * 16),
    )
    assert "All scenarios together" not in pages(*apart, figures=False)


@pytest.mark.parametrize(
    "spec",
    [
        STALLING,
        replace(PICTURES, chunks=1, layer_bps=(9_000.0,)),
        *(
            pytest.param(spec, marks=pytest.mark.slow)
            for spec in (
                PICTURES,
                replace(ONE_SEED, chunks=1),
                replace(ONE_SEED, layer_bps=(9_000.0,)),
                replace(ONE_SEED, congestion=tuple(f"cc{i}" for i in range(10))),
            )
        ),
    ],
    ids=["stall", "little", "quality", "one-chunk", "one-layer", "ten-algorithms"],
)
def test_unusual_runs_give_a_page(pages: Pages, spec: RunSpec) -> None:
    assert len(outline(pages(spec)).named("figure")) == 4 + DRAWN


def test_stalls_and_quality_show_where_they_exist(pages: Pages) -> None:
    stalling = pages(STALLING)
    assert "Start-up" in stalling.partition('id="glossary"')[0]
    assert ">playout<" not in stalling  # there is no deadline, only when each chunk was shown
    assert ">shown<" in stalling
    quality = pages(PICTURES, figures=False)
    assert "PSNR" in quality.partition('id="glossary"')[0]


@pytest.mark.slow
def test_a_long_mission_stays_small(pages: Pages) -> None:
    page = pages(RunSpec(chunks=14_400, seeds=(1,)))
    assert len(page.encode()) < 3_000_000


def test_a_sender_without_a_window_does_not_stretch_the_axis(pages: Pages) -> None:
    page = pages(FAILED)
    assert ">Congestion window</h3>" in page
    assert "Without a line: open-loop+minrtt (paced, no window)." in page
    alone = pages(RunSpec(congestion=("open-loop",), seeds=(1,)), figures=False)
    assert "Congestion window" not in alone and "Smoothed round-trip time" in alone
    assert not re.search(r">\d+[MG]<", page)  # tick labels stay in the range of real windows


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100 %"), (0.99999, "99.9 %"), (0.996, "99.6 %"), (0.994, "99 %"), (0.25, "25 %")],
)
def test_only_all_of_it_is_100_percent(share: float, text: str) -> None:
    assert percent(share) == text
