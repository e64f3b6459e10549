from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.apart import dstcc


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as container:
        track = container.add_stream("libx264", rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        for index in range(30):
            picture = av.VideoFrame.from_ndarray(rng.integers(0, 8 * index + 1, (48, 64, 3), np.uint8))
            picture.pts, picture.time_base = index, Fraction(1, 25)
            container.mux(track.encode(picture))
        container.mux(track.encode(None))
    return path


def test_json_is_the_interface_s_document(clip: Path, tmp_path: Path) -> None:
    done = dstcc("encode", clip, "-o", tmp_path / "s", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    layers = document.pop("layers")
    assert document == {
        "stream": str(tmp_path / "s"),
        "codec": "x264",
        "scalability": "temporal",
        "duration_s": pytest.approx(1.2),
        "frames": 30,
        "chunks": 2,
    }
    assert [row["layer"] for row in layers] == [0, 1, 2, 3]
    for row in layers:
        assert row["bitrate_bps"] == pytest.approx(row["bytes"] * 8 / 1.2)
        assert 0 < row["psnr_db"] <= 100
        assert 0 < row["ssim"] <= 1
    assert (tmp_path / "s" / "manifest.json").is_file()


def test_layers_of_several_sizes_are_asked_for_by_their_number(clip: Path, tmp_path: Path) -> None:
    pytest.importorskip("dstcc_svc._vpx", reason="libvpx-dev was not there at the build")
    options = ("--scalability", "quality", "--spatial-layers", 2, "--no-quality")
    done = dstcc("encode", clip, "-o", tmp_path / "s", *options, "--json")
    assert done.returncode == 0, done.stderr
    sizes = [(row["width"], row["height"]) for row in json.loads(done.stdout)["layers"]]
    assert sizes == [(32, 24), (64, 48)]
    done = dstcc("encode", clip, "-o", tmp_path / "t", *options)
    assert "32x24" in done.stdout


def test_people_get_a_table_on_stdout(clip: Path, tmp_path: Path) -> None:
    done = dstcc("encode", clip, "-o", tmp_path / "s", "--layers", 3, "--no-quality", "--chunk-seconds", 0.4)
    assert (done.returncode, done.stderr) == (0, "")
    assert "30 frames in 3 chunks of 3 temporal layers by x264" in done.stdout
    for heading in ("kbit/s", "PSNR", "SSIM", "VMAF"):
        assert heading in done.stdout


def test_existing_output_is_kept_without_force(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    done = dstcc("encode", clip, "-o", tmp_path / "s", "--no-quality")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert not list((tmp_path / "s").iterdir())
    assert dstcc("encode", clip, "-o", tmp_path / "s", "--no-quality", "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.mp4"], "nowhere.mp4: no such file"),
        (["{clip}", "--layers", 9], "layers 9: x264 has 1..4"),
        (["{clip}", "--chunk-seconds", -1], "chunk length -1"),
        (["{clip}", "--scalability", "quality", "--codec", "x264"], "x264: has temporal layers"),
        (["{clip}", "--codec", "av1"], "'av1' is not one of"),
        (["{clip}", "--height", 9000], "height 9000: outside 16..48"),
        (["{clip}", "--spatial-layers", 2], "spatial layers 2: x264 has layers of one size"),
        ([__file__], "not a video file"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(clip: Path, tmp_path: Path, arguments, message: str) -> None:
    given = [str(clip) if word == "{clip}" else word for word in arguments]
    done = dstcc("encode", *given, "-o", tmp_path / "s")
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, dstcc_cli.encode, dstcc_cli.play; print({'av', 'numpy', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_pictures_too_small_to_judge_cost_their_figures_alone(tmp_path: Path) -> None:
    path = tmp_path / "wide.mkv"
    with av.open(str(path), "w") as container:
        track = container.add_stream("ffv1", rate=25)
        track.width, track.height, track.pix_fmt = 101, 17, "yuv444p"  # 100x16 as yuv420p
        for index in range(12):
            grey = np.full((17, 101, 3), 20 * index, np.uint8)
            container.mux(track.encode(av.VideoFrame.from_ndarray(grey)))
        container.mux(track.encode(None))
    small = "dstcc: no psnr_db, ssim and vmaf: a picture's sides need 17 pixels to be judged, not 100x16\n"
    done = dstcc("encode", path, "-o", tmp_path / "s", "--json")
    assert (done.returncode, done.stderr) == (0, small)
    assert {row["psnr_db"] for row in json.loads(done.stdout)["layers"]} == {None}
    asked = dstcc("encode", path, "-o", tmp_path / "t", "--no-quality", "--json")
    assert (asked.returncode, asked.stderr) == (0, "")

    scenario = tmp_path / "s.toml"
    scenario.write_text(
        '[scenario]\nname = "small"\n[video]\nstream = "s"\n[[link]]\nname = "x"\n'
        "rate_bps = 1e6\nup_rate_bps = 1e6\ndelay_s = 1\n[playout]\ndelay_s = 10\n[run]\nseeds = 2\n"
    )
    run = dstcc("emulate", scenario, "-o", tmp_path / "run", "--json")
    assert (run.returncode, run.stderr) == (0, small)
    trials = json.loads(run.stdout)["trials"]
    assert [(one["status"], one["metrics"]["playback_ratio"]) for one in trials] == [("ok", 1), ("ok", 1)]
    assert {one["metrics"]["psnr_db"] for one in trials} == {None}
