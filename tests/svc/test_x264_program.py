"""x264 through the ffmpeg program: what is its own beside the layers, which ``test_x264.py`` holds both to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_svc import encode, ffmpeg, play, verify
from dstcc_svc.codecs import EncodeSettings, SourceFrame, get_codec
from dstcc_svc.source import probe, read_frames
from dstcc_svc.stream import Stream

from dstcc.errors import DstccError, MissingCapabilityError

PROGRAM = get_codec("x264-program")


def frames_of(path: Path) -> tuple[list[SourceFrame], EncodeSettings]:
    source = probe(path)
    settings = EncodeSettings(source.width, source.height, source.time_base, source.fps, 4)
    return list(read_frames(source, Fraction(1))), settings


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyAV that was built without x264; clips have been made before."""
    create: Any = av.CodecContext.create

    def without(name: object, *options: object) -> object:
        if name == "libx264":
            raise AssertionError("x264 was called in this process")
        return create(name, *options)

    monkeypatch.setattr(av.CodecContext, "create", without)
    monkeypatch.setattr(av, "codecs_available", av.codecs_available - {"libx264"})
    with pytest.raises(AssertionError):
        av.CodecContext.create("libx264", "w")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that is taken for the ffmpeg program."""
    path = tmp_path / "my-ffmpeg"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(path))
    for cached in (ffmpeg.ffmpeg_path, ffmpeg.has):
        cached.cache_clear()
    yield path
    for cached in (ffmpeg.ffmpeg_path, ffmpeg.has):
        cached.cache_clear()


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_stream_is_made_judged_and_played_without_the_library(
    clip: Path, tmp_path: Path, no_library: None
) -> None:
    report = encode(clip, tmp_path / "s", codec="x264-program", crf=30)
    assert (report.codec, report.scalability, report.chunks) == ("x264-program", "temporal", 3)
    assert [row.psnr_db for row in report.layers] == sorted(row.psnr_db for row in report.layers)
    assert verify(tmp_path / "s").codec == "x264-program"
    # three times over, one chunk lost, and a black picture before anything arrived, which is coded too
    play(tmp_path / "s", [-1, 3, 0, 2, -1, 1, 3, 3, 3], tmp_path / "o.mp4")
    with av.open(str(tmp_path / "o.mp4")) as container:
        times = [image.pts for image in container.decode(video=0)]
    assert times == sorted(times)
    # 60 pictures in chunks of 25, 25 and 10; black; 25; 1; 13 of 25, 7 of 25... each level's share of the chunk
    opened = Stream.open(tmp_path / "s")
    shown = sum(
        len(list(opened.decode(opened.manifest.chunks[index % 3], level)))
        for index, level in enumerate([-1, 3, 0, 2, -1, 1, 3, 3, 3])
        if level >= 0
    )
    assert len(times) == 1 + shown


def test_layers_that_players_do_not_show_are_coded_again_by_the_program(
    spatial_stream: Path, tmp_path: Path, no_library: None
) -> None:
    assert play(spatial_stream, [1, 0, 1], tmp_path / "o.mp4").recoded
    with av.open(str(tmp_path / "o.mp4")) as container:
        assert len(list(container.decode(video=0))) == 60


def test_it_costs_what_the_library_costs_for_a_chunk_alone(make_clip) -> None:
    """The same encoder with the same settings; the two may be of different versions. Its notes on
    settings, which the program writes twice, do not count."""
    frames, settings = frames_of(make_clip(kind="moving", frames=25, size=(192, 128)))
    by_program, by_library = (
        sum(coded_bytes(unit.data) for unit in codec.encode(frames, settings))
        for codec in (PROGRAM, get_codec("x264"))
    )
    assert by_program == pytest.approx(by_library, rel=0.05)


def coded_bytes(data: bytes) -> int:
    """Of NAL units (Annex B) that are not of type 6, supplemental information."""
    return sum(len(unit) for unit in data.split(b"\x00\x00\x01")[1:] if unit[0] & 31 != 6)


def test_a_chunk_does_not_depend_on_the_others(make_clip) -> None:
    frames, settings = frames_of(make_clip(kind="cuts", frames=60))
    together = [unit.data for unit in PROGRAM.encode(frames, settings) if unit.chunk == 1]
    alone = [unit.data for unit in PROGRAM.encode([one for one in frames if one.chunk == 1], settings)]
    assert together == alone


def test_decode_times_rise_over_varying_times_and_short_chunks(make_clip) -> None:
    times = [0, 1000, 1001, 2000, 2001, 2002, 5000, 5500, 5501, 5502, 5503, 5504, 7000]
    frames, settings = frames_of(make_clip("vfr.mkv", times_ms=times))
    units = list(PROGRAM.encode(frames, settings))
    assert sorted(unit.pts for unit in units) == [frame.pts for frame in frames]
    assert all(unit.dts <= unit.pts for unit in units)
    assert all(one.dts < other.dts for one, other in pairwise(units))


def test_without_the_program_the_capability_is_named(clip: Path, tmp_path: Path, program: Path) -> None:
    words = ["encode", str(clip), "-o", str(tmp_path / "s"), "--codec", "x264-program", "--no-quality"]
    for make, message in (
        (lambda: None, "my-ffmpeg: no FFmpeg program (No such file or directory); pip install"),
        (lambda: script(program, "echo ' V libopenh264 '"), "my-ffmpeg has no libx264; pip install"),
    ):
        make()
        ffmpeg.has.cache_clear()
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, message in done.stderr) == (1, True), done.stderr
        assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("echo 'it hurts' >&2; exit 3", "failed in chunk 0: it hurts"),
        ("cat > /dev/null", "Invalid data found"),
        ("kill -9 $$", "30 pictures in, 0 out|pictures in, 0 out"),
    ],
    ids=["complains", "says nothing", "is killed"],
)
def test_a_program_that_fails_is_told(make_clip, program: Path, does: str, message: str) -> None:
    script(program, f'case "$*" in *-encoders*) echo " libx264 ";; *) {does};; esac')
    frames, settings = frames_of(make_clip(frames=30))
    PROGRAM.require()
    with pytest.raises(DstccError, match=message):
        list(PROGRAM.encode(frames, settings))


def test_a_library_without_x264_names_the_program(no_library: None) -> None:
    with pytest.raises(MissingCapabilityError, match="--codec x264-program"):
        get_codec("x264").require()


def test_an_interrupted_encoder_leaves_no_program(make_clip, program: Path, tmp_path: Path) -> None:
    script(program, f"echo $$ > {tmp_path}/pid; exec cat > /dev/null")
    frames, settings = frames_of(make_clip(frames=30))

    def interrupted() -> Iterator[SourceFrame]:
        yield from frames[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(PROGRAM.encode(interrupted(), settings))
    pid_file = tmp_path / "pid"  # it may have been killed before it wrote
    if pid_file.exists() and (number := pid_file.read_text().strip()):
        assert not Path("/proc", number).exists()


def test_a_scenario_takes_it(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f"""
[scenario]
name = "program"
[video]
input = "{clip}"
encode = {{codec = "x264-program", layers = 3}}
[[link]]
name = "a"
rate_bps = 2e6
delay_s = 0.1
"""
    )
    words = ["emulate", str(tmp_path / "s.toml"), "-o", str(tmp_path / "run"), "--no-quality"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.stderr


def test_the_library_is_loaded_with_pyav_whatever_codec_is_named() -> None:
    """What README says of the wheel: libavcodec needs x264, so that to import PyAV is to load it."""
    code = (
        "import av._core; maps = open('/proc/self/maps').read(); "
        "print('libx264' in maps, av._core.library_meta['libavcodec'])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    if "--enable-libx264" not in done.stdout:
        pytest.skip("this PyAV is built against an FFmpeg without x264")
    assert done.stdout.startswith("True")


def test_settings_of_another_size_are_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=5))
    with pytest.raises(DstccError, match="96x64"):
        list(PROGRAM.encode(frames, replace(settings, width=48)))
