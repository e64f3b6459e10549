"""The least playout delay with everything in time, as a plan, a page and its JSON say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.errors import RunError
from dstcc.report import load_report, render
from dstcc.report.least_delay import words
from tests.report.synthetic_run import RunSpec, build_run


def of(*delays_s: float | None) -> list[dict[str, float | None]]:
    return [{"seed": seed, "delay_s": delay} for seed, delay in enumerate(delays_s, 1)]


@pytest.mark.parametrize(
    ("delays_s", "said"),
    [
        ((2713.41,), "2,713.41 s"),
        ((3.5, 12_345.678, 7.0), "12,345.7 s (the greatest of seeds 1 to 3; the least is 3.5 s)"),
        ((3.5, None), "none at 1 of 2 seeds, as the run ends first; 3.5 s is enough at the others"),
        ((None, None), "none, as the run ends first"),
    ],
)
def test_words(delays_s: tuple[float | None, ...], said: str) -> None:
    assert words(of(*delays_s)) == said


def run_with(tmp_path: Path, delays: object) -> Path:
    run = build_run(tmp_path / "run", RunSpec(congestion=("cubic",), chunks=60))
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"least_playout_delays": delays}))
    return run


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_it_below_the_share_of_the_bound(tmp_path: Path) -> None:
    report = load_report([run_with(tmp_path, of(3.5, 7.0))])
    page = render(report, "html")
    said = "Least playout delay at which that is all of the video: 7 s (the greatest of seeds 1 to 2; the least is "
    assert f"{said}3.5 s)." in page
    assert page.count(said) == 1
    line = "- Least playout delay with all in time: 7 s (the greatest of seeds 1 to 2; the least is 3.5 s)\n"
    assert render(report, "md").count(line) == 1
    assert json.loads(render(report, "json"))["sections"][0]["least_playout_delays"] == of(3.5, 7.0)


@pytest.mark.usefixtures("undrawn")
def test_a_run_without_it_says_nothing(tmp_path: Path) -> None:
    report = load_report([build_run(tmp_path / "run", RunSpec(congestion=("cubic",), chunks=60))])
    assert not any("Least playout delay" in render(report, form) for form in ("html", "md"))


@pytest.mark.parametrize("delays", [7.0, [7.0], [{"seed": 1}], [{"seed": 1, "delay_s": "7"}]])
def test_one_that_is_none_is_refused_by_name(tmp_path: Path, delays: object) -> None:
    with pytest.raises(RunError, match="least_playout_delays"):
        load_report([run_with(tmp_path, delays)])
