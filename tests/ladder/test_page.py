"""The page of a ladder: what it says, and that it says it of any names."""

from __future__ import annotations

import re

import pytest

from dstcc.ladder.baselines import BASELINES, Baseline, Ladder
from dstcc.ladder.figure import whole
from dstcc.ladder.page import KNOWS, render_ladder, verdict

HOSTILE = "<script>alert(1)</script>"
ARGV = ["dstcc", "ladder", "a b.toml"]
TOP = {kind: 0.95 - 0.05 * place for place, kind in enumerate(BASELINES)}


def baseline(
    kind: str, *, scenario: str = "one", name: str = "", spread: float = 0.01, seeds: int = 5
) -> Baseline:
    values = {seed: TOP[kind] + spread * (seed - seeds // 2) / seeds for seed in range(seeds)}
    return Baseline(scenario, kind, name or f"a {kind}", values)


def ladder(*, scenario: str = "one", seeds: int = 5) -> Ladder:
    return Ladder(tuple(baseline(kind, scenario=scenario, seeds=seeds) for kind in BASELINES))


def test_the_same_ladder_gives_the_same_bytes() -> None:
    assert render_ladder(ladder(), ARGV) == render_ladder(ladder(), ARGV)


def test_each_baseline_has_its_mean_interval_and_meaning() -> None:
    page = render_ladder(ladder(), ARGV)
    rows = re.findall(
        r'<tr><th scope="row">(\S+?)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>5</td>', page
    )
    assert [row[0] for row in rows] == list(BASELINES)
    for (kind, name, value, interval), one in zip(rows, ladder().baselines, strict=True):
        low, high = one.estimate.bounds()
        assert (name, value) == (f"a {kind}", f"{one.estimate.value:.4f}")
        assert interval == f"{low:.4f} to {high:.4f}"
        assert low < one.estimate.value < high
    assert page.count("<dt>") == len(KNOWS) == len(BASELINES)
    assert "dstcc ladder &#39;a b.toml&#39;" in page


def test_the_gap_is_that_of_the_table_and_of_the_alternative_text() -> None:
    """0.90 of planner-law less 0.75 of the best constant, at every seed."""
    page = render_ladder(ladder(), ARGV)
    assert "<td>+0.1500<span" in page
    labels = re.findall(r'role="img" aria-label="([^"]*)"', page)
    assert len(labels) == 2  # for a screen and for a phone
    for label in labels:
        assert "planner-law plays +0.1500" in label
        assert "random (a random) 0.6500" in label


def test_the_data_is_linked() -> None:
    page = render_ladder(ladder(), ARGV)
    assert {"ladder.csv", "ladder.svg", "ladder.json"} <= set(re.findall(r'href="([^"]+)"', page))


@pytest.mark.usefixtures("undrawn")
def test_the_verdict_says_where_there_is_something_to_learn() -> None:
    alike = Ladder(
        tuple(Baseline("same", kind, kind, dict.fromkeys(range(5), 0.8)) for kind in BASELINES)
        + ladder().baselines
    )
    assert verdict(alike).startswith("In 1 of 2 scenarios")
    assert verdict(alike).endswith("constant: one.")
    page = render_ladder(alike, ARGV)
    assert re.findall(r"<td>(something|nothing|unknown)</td>", page) == ["nothing", "something"]
    assert "this scenario teaches nothing" in page
    assert page.count("<figure>") == 2


@pytest.mark.usefixtures("undrawn")
def test_of_one_scenario_the_finding_is_said_once() -> None:
    alone = ladder()
    finding = alone.gaps[0].sentence()

    def paragraphs(of: Ladder) -> list[str]:
        return re.findall(r'<p class="(verdict|finding)">', render_ladder(of, ARGV))

    assert f'<p class="verdict">{finding}.</p>' in render_ladder(alone, ARGV)
    assert paragraphs(alone) == ["verdict"]
    assert paragraphs(Ladder((*alone.baselines, *ladder(scenario="two").baselines))) == [
        "verdict",
        "finding",
        "finding",
    ]


def test_one_seed_has_no_interval_and_says_so() -> None:
    page = render_ladder(ladder(seeds=1), ARGV)
    assert "one seed is not enough for a gap" in page
    assert "<td>–</td>" in page
    assert "<td>unknown</td>" in page


@pytest.mark.usefixtures("undrawn")
def test_names_are_text_everywhere() -> None:
    named = Ladder(tuple(baseline(kind, scenario=HOSTILE, name=HOSTILE) for kind in BASELINES))
    assert HOSTILE not in render_ladder(named, ["dstcc", HOSTILE])
    assert HOSTILE not in whole(named, HOSTILE)


@pytest.mark.parametrize("kind", BASELINES)
def test_a_ladder_may_lack_a_baseline(kind: str) -> None:
    short = Ladder(tuple(baseline(one) for one in BASELINES if one != kind))
    page = render_ladder(short, ARGV)
    assert f"<dt>{kind}</dt>" not in page
