from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from dstcc_cli.play import DEFAULT_LENGTH_S
from dstcc_svc import encode

from dstcc import load

SCENARIO = """
[scenario]
name = "short hop"
[video]
{video}
[[link]]
name = "direct"
rate_bps = 2_000_000
delay_s = 0.5
outages = [[1.9, 4.1]]
[transport]
congestion = {congestion}
fixed_cwnd_segments = 400
[playout]
mode = "deadline"
delay_s = 1.2
"""


def dstcc(*arguments: object) -> Result:
    """Run in this process, with exit codes as the shell sees them."""
    return CliRunner().invoke(main, [str(word) for word in arguments])


def run_of(folder: Path, video: str, congestion: str = '"fixed"') -> Path:
    (folder / "scenario.toml").write_text(SCENARIO.format(video=video, congestion=congestion))
    done = dstcc("emulate", folder / "scenario.toml", "-o", folder / "run", "--no-quality")
    assert done.exit_code == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    rng = np.random.default_rng(0)
    with av.open(str(folder / "clip.mp4"), "w") as container:
        track = container.add_stream("libx264", rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        for index in range(60):
            picture = av.VideoFrame.from_ndarray(rng.integers(0, 99, (48, 64, 3), np.uint8))
            picture.pts, picture.time_base = index, Fraction(1, 25)
            container.mux(track.encode(picture))
        container.mux(track.encode(None))
    encode(folder / "clip.mp4", folder / "stream", quality=False, crf=40)
    return folder / "stream"


@pytest.fixture(scope="module")
def run(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trials of 6 s; the outage loses chunks in the middle."""
    folder = tmp_path_factory.mktemp("run")
    return run_of(folder, f'stream = "{stream}"\nloop_to_s = 6', '["fixed", "newreno"]')


def played_levels(run: Path, trial: str) -> list[int]:
    from dstcc.run import load_run

    rows = [row for row in load_run(run).chunks().to_pylist() if row["trial"] == trial and row["layer"] == 0]
    return [row["played_level"] for row in sorted(rows, key=lambda row: int(row["chunk"]))]


def document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_the_mp4_shows_what_the_run_played(run: Path, tmp_path: Path) -> None:
    levels = played_levels(run, "fixed+minrtt/s1")
    assert {-1, 3} <= set(levels), "the scenario is to lose some chunks and deliver others"
    named = ("--trial", "fixed+minrtt/s1")
    report = document(dstcc("play", run, *named, "--plain", "-o", tmp_path / "o.mp4", "--json"))
    assert report["trial"] == "fixed+minrtt/s1"
    assert not report["captions"]
    assert (report["chunks"], report["frozen_chunks"]) == (len(levels), levels.count(-1))
    with av.open(str(tmp_path / "o.mp4")) as container:
        track = container.streams.video[0]
        times = [float(image.pts * track.time_base) for image in container.decode(track)]
        assert container.duration / 1e6 == pytest.approx(report["duration_s"], abs=0.002)
    starts = [2.4 * (index // 3) + index % 3 for index in range(len(levels))]
    for start, level in zip(starts, levels, strict=True):
        assert (pytest.approx(start) in times) == (level >= 0 or start == 0)


def test_a_line_below_the_picture_says_what_is_seen(run: Path, tmp_path: Path) -> None:
    levels = played_levels(run, "fixed+minrtt/s1")
    report = document(dstcc("play", run, "--trial", "fixed+minrtt/s1", "-o", tmp_path / "o.mp4", "--json"))
    assert report["captions"]
    with av.open(str(tmp_path / "o.mp4")) as container:
        images = [image.to_ndarray()[: image.height] for image in container.decode(video=0)]
        assert container.duration / 1e6 == pytest.approx(report["duration_s"], abs=0.002)
    assert len(images) == report["frames"] == sum((25, 25, 10)[index % 3] for index in range(len(levels)))
    frozen = [level < 0 for index, level in enumerate(levels) for _ in range((25, 25, 10)[index % 3])]
    assert [bool(image[-1, 0] > 100) for image in images] == frozen  # the line is amber, else dark


def test_several_trials_stand_side_by_side(run: Path, tmp_path: Path) -> None:
    names = ["fixed+minrtt/s1", "newreno+minrtt/s1"]
    named = [word for name in names for word in ("--trial", name)]
    reports = document(dstcc("play", run, *named, "-o", tmp_path / "both.mp4", "--json"))["trials"]
    frozen = [played_levels(run, name).count(-1) for name in names]
    assert [(one["trial"], one["frozen_chunks"]) for one in reports] == list(zip(names, frozen, strict=True))
    alone = document(dstcc("play", run, *named[:2], "-o", tmp_path / "o.mp4", "--json"))
    assert alone["frames"] == reports[0]["frames"]
    said = dstcc("play", run, *named, "-o", tmp_path / "both.mp4", "--force").stdout
    assert all(
        f"trial {name}, {count} of {alone['chunks']} chunks frozen" in said
        for name, count in zip(names, frozen, strict=True)
    )
    again = load(run).play(tmp_path / "python.mp4", names)
    assert [one.frozen_chunks for one in again.values()] == frozen
    for words, message in ((("--plain",), "of one trial"), (named[:2], "named twice")):
        done = dstcc("play", run, *named, *words, "-o", tmp_path / "no.mp4")
        assert done.exit_code == 2 and message in done.stderr and not (tmp_path / "no.mp4").exists()


def test_the_best_trial_is_the_default_and_said(run: Path, tmp_path: Path) -> None:
    from dstcc.run import load_run

    done = dstcc("play", run, "-o", tmp_path / "o.mp4")
    best = max(load_run(run).trials, key=lambda row: float(row["weighted_layers"]))
    assert done.exit_code == 0
    assert f"trial {best['id']}: the best of 2 by weighted_layers" in done.stderr
    assert f"trial {best['id']}, " in done.stdout


def test_a_dated_mission_is_played_in_utc(stream: Path, run: Path, tmp_path: Path) -> None:
    """The same pictures with other lines: only the rows below the picture differ."""
    text = SCENARIO.replace('"short hop"', '"short hop"\nstart = 2028-03-11T22:14:05Z')
    (tmp_path / "scenario.toml").write_text(
        text.format(video=f'stream = "{stream}"\nloop_to_s = 6', congestion='["fixed", "newreno"]')
    )
    assert dstcc("emulate", tmp_path / "scenario.toml", "-o", tmp_path / "run", "--no-quality").exit_code == 0
    done = dstcc("play", tmp_path / "run", "-o", tmp_path / "dated.mp4", "--from", 1, "--to", 2)
    assert " s from 2028-03-11 22:14:06 UTC on, " in done.stdout
    assert (
        " s from 1.00 s on, " in dstcc("play", run, "-o", tmp_path / "o.mp4", "--from", 1, "--to", 2).stdout
    )
    images = []
    for name in ("dated.mp4", "o.mp4"):
        with av.open(str(tmp_path / name)) as container:
            images.append(next(container.decode(video=0)).to_ndarray(format="gray").astype(int))
    differ = abs(images[0] - images[1]) > 60
    assert not differ[:48].any() and differ[48:].any()


def test_a_stretch_is_played(run: Path, tmp_path: Path) -> None:
    report = document(dstcc("play", run, "-o", tmp_path / "o.mp4", "--from", 1, "--to", 2, "--json"))
    assert (report["start_s"], report["duration_s"], report["chunks"]) == (
        pytest.approx(1),
        pytest.approx(1),
        1,
    )


def test_a_long_mission_begins_where_something_arrived(stream: Path, tmp_path: Path) -> None:
    scenario = f'stream = "{stream}"\nloop_to_s = {DEFAULT_LENGTH_S + 300}'
    (tmp_path / "scenario.toml").write_text(
        SCENARIO.format(video=scenario, congestion='"fixed"').replace("[1.9, 4.1]", "[0, 200]")
    )
    made = dstcc("emulate", tmp_path / "scenario.toml", "-o", tmp_path / "run", "--no-quality")
    assert made.exit_code == 0, made.stderr
    report = document(dstcc("play", tmp_path / "run", "--plain", "-o", tmp_path / "o.mp4", "--json"))
    first = next(
        index for index, level in enumerate(played_levels(tmp_path / "run", report["trial"])) if level >= 0
    )
    assert report["start_s"] == pytest.approx(2.4 * (first // 3) + first % 3)
    assert report["start_s"] > 100
    assert report["duration_s"] == pytest.approx(DEFAULT_LENGTH_S, abs=2)


def test_synthetic_video_has_no_pictures(tmp_path: Path) -> None:
    run = run_of(tmp_path, "synthetic = {chunk_s = 1.0, layer_bps = [50_000, 50_000]}\nloop_to_s = 3")
    done = dstcc("play", run, "-o", tmp_path / "o.mp4")
    assert done.exit_code == 2
    assert "its video is synthetic, there are no pictures to play" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trial", "fixed+minrt/s1"], "no trial 'fixed+minrt/s1'; did you mean 'fixed+minrtt/s1'?"),
        (["--from", 5, "--to", 4], "from 5.0 to 4.0"),
        (["--from", 600], "the mission's video ends at"),
    ],
)
def test_bad_options_are_named(run: Path, tmp_path: Path, arguments, message: str) -> None:
    done = dstcc("play", run, "-o", tmp_path / "o.mp4", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_missing_run_and_a_file_in_the_way(run: Path, tmp_path: Path) -> None:
    assert dstcc("play", tmp_path / "nowhere", "-o", tmp_path / "o.mp4").exit_code == 2
    (tmp_path / "o.mp4").touch()
    done = dstcc("play", run, "-o", tmp_path / "o.mp4")
    assert (done.exit_code, "--force" in done.stderr) == (2, True)
    assert dstcc("play", run, "-o", tmp_path / "o.mp4", "--force").exit_code == 0


def test_a_lost_and_a_corrupt_stream_are_named(stream: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(stream, tmp_path / "s"))
    run = run_of(tmp_path, f'stream = "{copied}"')
    (copied / "payload" / "000000-0.bin").write_bytes(b"x")
    done = dstcc("play", run, "-o", tmp_path / "o.mp4")
    assert (done.exit_code, "000000-0.bin: corrupt" in done.stderr) == (2, True)
    shutil.rmtree(copied)
    done = dstcc("play", run, "-o", tmp_path / "o.mp4")
    assert (done.exit_code, "no such stream directory; if it moved, --stream" in done.stderr) == (2, True)
    assert not (tmp_path / "o.mp4").exists()


def test_a_run_and_its_stream_move_together(stream: Path, tmp_path: Path) -> None:
    home = tmp_path / "here"
    shutil.copytree(stream, home / "streams" / "s")
    run_of(home, f'stream = "{home}/streams/s"')
    assert 'stream = "../streams/s"' in (home / "run" / "scenario.toml").read_text()
    home.rename(tmp_path / "there")
    assert dstcc("play", tmp_path / "there" / "run", "-o", tmp_path / "o.mp4").exit_code == 0
    again = dstcc("emulate", tmp_path / "there/run/scenario.toml", "-o", tmp_path / "again", "--no-quality")
    assert again.exit_code == 0, again.stderr


def test_a_moved_stream_is_pointed_at_and_another_refused(stream: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(stream, tmp_path / "s"))
    run = run_of(tmp_path, f'stream = "{moved}"')
    moved = moved.rename(tmp_path / "t")
    assert dstcc("play", run, "--stream", moved, "-o", tmp_path / "o.mp4").exit_code == 0
    done = dstcc("play", run, "--stream", tmp_path / "nowhere", "-o", tmp_path / "p.mp4")
    assert (done.exit_code, f"{tmp_path}/nowhere: no such stream directory\n" in done.stderr) == (2, True)
    manifest = moved / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"crf": 40', '"crf": 41'))
    for options in (["--stream", moved], []):
        if not options:
            moved.rename(tmp_path / "s")
        done = dstcc("play", run, *options, "-o", tmp_path / "p.mp4")
        assert done.exit_code == 2
        assert f"not the stream that {run} was made from" in done.stderr
    assert not (tmp_path / "p.mp4").exists()
