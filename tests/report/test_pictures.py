"""What Earth saw, in the report: which times are shown, what the pictures say, where the clips lie."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from dstcc_svc import encode
from PIL import Image

from dstcc.errors import InputError
from dstcc.report import load_report, pictures, render
from dstcc.report.pictures import MOMENTS, SENT, Screening, screen, typical
from tests.report.synthetic_run import RunSpec, build_run
from tests.report.test_browser import find_chromium
from tests.svc.conftest import write_clip
from tests.undrawn import leave_undrawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHUNKS = 41
"""Of the mission: clip chunks of 1, 1 and 0.4 s, 40 s of them and one more that has begun."""
SCENARIO = """
[scenario]
name = "short hop"
[video]
stream = "{stream}"
loop_to_s = 40
[[link]]
name = "direct"
rate_bps = 2_000_000
delay_s = 0.5
outages = [[9.9, 22.1]]
[transport]
congestion = ["fixed", "newreno"]
fixed_cwnd_segments = 400
[playout]
mode = "deadline"
delay_s = 1.2
"""


def dstcc(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    encode(write_clip(folder / "clip.mp4", frames=60), folder / "stream", quality=False, crf=36)
    (folder / "scenario.toml").write_text(SCENARIO.format(stream=folder / "stream"))
    done = dstcc("emulate", folder / "scenario.toml", "-o", folder / "run", "--no-quality")
    assert done.exit_code == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def page(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's report, clips within and without figures; nobody writes to it."""
    page = tmp_path_factory.mktemp("page") / "r.html"
    with pytest.MonkeyPatch.context() as patch:
        leave_undrawn(patch)
        done = dstcc("report", run, "-o", page)
    assert done.exit_code == 0, done.stderr
    return page


@pytest.fixture(scope="module")
def page_beside(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The run's report, clips in a folder beside it, and what the command said; nobody writes to it."""
    page = tmp_path_factory.mktemp("beside") / "r.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "EMBEDDED_BYTES", 1000)
        leave_undrawn(patch)
        done = dstcc("report", run, "-o", page, "--json")
    assert done.exit_code == 0, done.stderr
    return page, done


@pytest.fixture(scope="module")
def screening(run: Path) -> Screening:
    one = screen(load_report([run])).by_section[0]
    assert isinstance(one, Screening)
    return one


def levels(*rows: str) -> list[np.ndarray]:
    """``-012`` to levels."""
    return [np.array([int(c) if c != "-" else -1 for c in row]) for row in rows]


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (
            {"playback_ratio": 0.75, "psnr_db": 31.415, "weighted_layers": 0.5},
            "PSNR 31.41 dB, frozen 25.0 %, weighted layers 50.0 %",
        ),
        ({"playback_ratio": 1.0, "psnr_db": 31.415, "vmaf": 80.0}, "VMAF 80.0, frozen 0.0 %"),
        ({}, "frozen 100.0 %"),
    ],
)
def test_a_trials_facts_begin_with_its_quality(metrics: dict[str, float], said: str) -> None:
    trial: Any = SimpleNamespace(metrics=metrics)
    assert pictures._facts(trial) == said


@pytest.mark.parametrize(
    ("rows", "length", "first"),
    [
        # Half lost, half whole: the only two chunks with one of each are the middle ones.
        (["---333"], 2, 2),
        # A mean level would take two chunks at level 1; their shares are nobody's.
        (["-311-3-3"], 2, 0),
        (["11----33"], 4, 0),
        # Two trials: where both are as they are on the whole.
        (["3333----", "--------"], 4, 2),
        # Nothing to choose by: the earliest.
        (["3333"], 2, 0),
        (["3333"], 4, 0),
    ],
)
def test_the_typical_stretch(rows: list[str], length: int, first: int) -> None:
    assert typical(levels(*rows), length) == first


def test_the_typical_stretch_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        table = rng.integers(-1, 3, (rng.integers(1, 4), rng.integers(5, 30)))
        length = int(rng.integers(1, table.shape[1] + 1))
        inside = range(int(rng.integers(0, table.shape[1] - length + 1)), table.shape[1])

        def distance(start: int, table: np.ndarray = table, length: int = length) -> float:
            part = table[:, start : start + length]
            return sum(
                abs(np.mean(part[row] == level) - np.mean(table[row] == level))
                for row in range(len(table))
                for level in range(-1, 3)
            )

        starts = range(inside.start, inside.stop - length + 1)
        least = min(map(distance, starts))
        wanted = next(start for start in starts if distance(start) <= least + 1e-12)
        assert typical(list(table), length, inside) == wanted


def test_the_strip_is_in_equal_steps_and_says_what_stood_there(screening: Screening) -> None:
    assert screening.moments[0] == "T+00:00:02"
    assert len(screening.moments) == MOMENTS
    seconds = [int(moment[-2:]) for moment in screening.moments]
    assert max(np.diff(seconds)) - min(np.diff(seconds)) <= 2
    rows = dict(screening.strip)
    assert [thumb.state for thumb in rows[SENT]] == ["up to EL3, full quality"] * MOMENTS
    fixed = rows["fixed+minrtt"]
    dark = [11 <= at < 20 for at in seconds]
    assert any(dark)
    for thumb, lost in zip(fixed, dark, strict=True):
        assert thumb.frozen or not lost
        assert thumb.frozen == thumb.state.startswith("frozen ")


def test_frozen_pictures_are_those_that_stood(run: Path, screening: Screening) -> None:
    """Of one outage: the same picture, frozen for longer and longer."""
    fixed = [thumb for thumb in dict(screening.strip)["fixed+minrtt"] if thumb.frozen]
    assert len(fixed) >= 2
    assert len({thumb.jpeg for thumb in fixed}) == 1
    lasting = [float(re.sub(r"[^\d.]", "", thumb.state)) for thumb in fixed]
    assert lasting == sorted(set(lasting))


def test_what_looks_the_same_shares_a_clip(screening: Screening) -> None:
    names = [name for shot in screening.shots for name, _ in shot.names]
    assert sorted(names) == sorted([SENT, "fixed+minrtt", "newreno+minrtt"])
    assert len({shot.mp4 for shot in screening.shots}) == len(screening.shots)
    assert screening.shots[0].names[0] == (SENT, "every layer")


def test_the_numbers_are_the_trials(run: Path, screening: Screening) -> None:
    from dstcc.run import load_run

    facts = {name: fact for shot in screening.shots for name, fact in shot.names}
    for row in load_run(run).trials:
        frozen, weight = 100 * (1 - row["playback_ratio"]), 100 * row["weighted_layers"]
        name = row["id"].removesuffix("/s1")
        assert facts[name] == f"frozen {frozen:.1f} %, weighted layers {weight:.1f} %"


@pytest.mark.usefixtures("undrawn")
def test_the_page_holds_pictures_and_clips_and_is_the_same_again(run: Path, page: Path) -> None:
    text = page.read_text()
    assert dstcc("report", run, "-o", "-", "--format", "html").stdout == text
    posters = re.findall(r'poster="data:image/jpeg;base64,([^"]+)"', text)
    clips = re.findall(r'src="data:video/mp4;base64,([^"]+)"', text)
    assert len(posters) == len(clips) >= 2
    assert Image.open(io.BytesIO(base64.b64decode(posters[0]))).size == (96, 84)
    assert base64.b64decode(clips[0])[4:8] == b"ftyp"


@pytest.mark.usefixtures("undrawn")
def test_a_page_without_pictures_runs_no_script(run: Path, tmp_path: Path) -> None:
    assert dstcc("report", run, "-o", tmp_path / "r.html", "--no-pictures").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    for word in ("<script", "script-src", "media-src", "<video", "The picture on Earth"):
        assert word not in page


def test_the_page_lets_only_its_own_script_run(page: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.read_text())
    assert policy is not None
    assert "script-src &#39;sha256-" in policy[1] or "script-src 'sha256-" in policy[1]
    assert "unsafe-inline'; img-src data:" in policy[1]
    assert "media-src data:" in policy[1]


@pytest.mark.usefixtures("undrawn")
def test_a_synthetic_video_has_no_pictures(tmp_path: Path) -> None:
    report = load_report([build_run(tmp_path / "run", RunSpec(chunks=60))])
    assert screen(report).by_section == ("",)
    assert "The picture on Earth" not in render(report, "html", screen(report))


@pytest.mark.usefixtures("undrawn")
def test_a_stream_that_moved_is_said_and_found_again(run: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(run, tmp_path / "alone"))
    scenario = (moved / "scenario.toml").read_text()
    (moved / "SHA256SUMS").unlink(missing_ok=True)
    (moved / "scenario.toml").write_text(re.sub(r'stream = ".*"', 'stream = "gone"', scenario))
    assert dstcc("report", moved, "-o", tmp_path / "r.html").exit_code == 0
    assert "No picture of what Earth saw" in (tmp_path / "r.html").read_text()
    assert "--stream PATH says where to" in (tmp_path / "r.html").read_text()
    given = dstcc("report", moved, "-o", tmp_path / "s.html", "--stream", run.parent / "stream")
    assert given.exit_code == 0, given.stderr
    assert "The picture on Earth" in (tmp_path / "s.html").read_text()


def test_a_stream_that_is_not_the_runs_is_refused(run: Path, tmp_path: Path) -> None:
    done = dstcc("report", run, "-o", tmp_path / "r.html", "--stream", tmp_path)
    assert done.exit_code == 2
    assert f"{tmp_path / 'manifest.json'}: cannot be read" in done.stderr
    assert not (tmp_path / "r.html").exists()
    synthetic = load_report([build_run(tmp_path / "run", RunSpec(chunks=60))])
    with pytest.raises(InputError, match="synthetic"):
        screen(synthetic, moved_to=run.parent / "stream")


class TestBeside:
    """Clips that are too large for the page."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pictures, "EMBEDDED_BYTES", 1000)

    def test_they_lie_in_a_folder(self, page_beside: tuple[Path, Result]) -> None:
        page, done = page_beside
        named = re.findall(r'<video [^>]*src="([^"]+)"', page.read_text())
        assert sorted(named) == sorted(f"r-clips/{file.name}" for file in (page.parent / "r-clips").iterdir())
        sizes = [file.stat().st_size for file in (page.parent / "r-clips").iterdir()]
        assert json.loads(done.stdout)["bytes"] == len(page.read_bytes()) + sum(sizes)

    @pytest.mark.usefixtures("undrawn")
    def test_force_replaces_a_folder_of_clips_and_no_other(
        self, run: Path, page_beside: tuple[Path, Result], tmp_path: Path
    ) -> None:
        shutil.copytree(page_beside[0].parent, tmp_path, dirs_exist_ok=True)
        assert dstcc("report", run, "-o", tmp_path / "r.html", "--force").exit_code == 0
        (tmp_path / "r-clips" / "diary.txt").write_text("mine")
        done = dstcc("report", run, "-o", tmp_path / "r.html", "--force")
        assert done.exit_code == 2
        assert "diary.txt" in done.stderr
        assert (tmp_path / "r-clips" / "diary.txt").read_text() == "mine"

    def test_a_folder_of_others_clips_stays(self, run: Path, tmp_path: Path) -> None:
        (tmp_path / "r-clips").mkdir()
        shutil.copy(run.parent / "clip.mp4", tmp_path / "r-clips" / "holiday.mp4")
        done = dstcc("report", run, "-o", tmp_path / "r.html", "--force")
        assert done.exit_code == 2
        assert "holiday.mp4" in done.stderr
        assert (tmp_path / "r-clips" / "holiday.mp4").exists()
        assert not (tmp_path / "r.html").exists()

    @pytest.mark.usefixtures("undrawn")
    def test_stdout_has_them_in_the_page(self, run: Path) -> None:
        done = dstcc("report", run, "-o", "-", "--format", "html")
        assert 'src="data:video/mp4' in done.stdout


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield launched
        launched.close()


TIMES = "[...document.querySelectorAll('.screening video')].map(video => video.currentTime)"
READY = "[...document.querySelectorAll('.screening video')].every(video => video.readyState >= 2 && !video.seeking)"


def until(page: Page, condition: str) -> None:
    """Wait until an expression is true. Playwright's own waiting evaluates text, which the page's policy forbids."""
    ends = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < ends, condition
        page.wait_for_timeout(50)


@pytest.mark.parametrize(("width", "scheme", "beside"), [(1200, "light", False), (390, "dark", True)])
def test_one_scrubber_moves_every_clip(  # noqa: PLR0917 - fixtures
    browser: Browser,
    page: Path,
    page_beside: tuple[Path, Result],
    beside: bool,
    width: int,
    scheme: str,
) -> None:
    file = page_beside[0] if beside else page
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    said: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.goto(file.as_uri(), wait_until="load")
    until(view, READY)
    scrubber, button = view.get_by_label("Time in the clips, seconds"), view.locator(".control button")
    scrubber.fill("2.52")
    until(view, READY)
    assert view.evaluate(TIMES) == pytest.approx([2.52] * len(view.evaluate(TIMES)), abs=0.05)
    assert "2.5 s of" in view.locator(".control output").inner_text()
    button.click()
    assert button.inner_text() == "Pause"
    until(view, f"{TIMES}.every(time => time > 2.7)")
    button.click()
    assert button.inner_text() == "Play"
    times = view.evaluate(TIMES)
    assert max(times) - min(times) < 0.4
    assert view.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    for video in view.locator(".screening video").all():
        box = video.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert not video.get_attribute("controls")
    assert said == []
    view.close()


def test_without_scripts_each_clip_has_its_controls(browser: Browser, page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    view = context.new_page()
    view.goto(page.as_uri())
    assert not view.locator(".control").is_visible()
    assert all(
        video.get_attribute("controls") is not None for video in view.locator(".screening video").all()
    )
    context.close()
