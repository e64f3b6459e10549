from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import pytest
from dstcc_svc import encode, load_manifest, verify
from dstcc_svc.codecs import get_codec
from dstcc_svc.encode import _checked_layers
from dstcc_svc.stream import Stream

from dstcc.errors import DstccError, InputError, StreamError


def nothing_left(folder: Path, *kept: str) -> bool:
    return {path.name for path in folder.iterdir()} == set(kept)


def test_the_report_sums_the_manifest_up(clip: Path, tmp_path: Path) -> None:
    shares: list[float] = []
    report = encode(clip, tmp_path / "s", quality=False, progress=shares.append)
    manifest = load_manifest(tmp_path / "s")
    assert (report.frames, report.chunks, report.duration_s) == (60, 3, pytest.approx(2.4))
    for row in report.layers:
        total = sum(chunk.layers[row.layer].bytes for chunk in manifest.chunks)
        assert (row.bytes, row.bitrate_bps) == (total, pytest.approx(total * 8 / 2.4))
        assert (row.psnr_db, row.ssim, row.vmaf) == (None, None, None)
    assert shares == pytest.approx([*(frame / 60 for frame in range(1, 61)), 1.0])
    assert json.loads(json.dumps(report.document()))["layers"][0]["layer"] == 0


def test_quality_rises_with_every_layer(clip: Path, tmp_path: Path) -> None:
    shares: list[float] = []
    report = encode(clip, tmp_path / "s", progress=shares.append)
    # coding is four tenths of the work, measuring the rest, and chunks end at 1, 2 and 2.4 s
    measured = [0.4 + 0.6 * end_s / 2.4 for end_s in (1, 2, 2.4)]
    assert shares == pytest.approx([*(0.4 * frame / 60 for frame in range(1, 61)), *measured, 1.0])
    assert nothing_left(tmp_path, "s")
    for key in ("psnr_db", "ssim"):
        values = [getattr(row, key) for row in report.layers]
        assert values == sorted(values)
        assert values[0] < values[-1]


def test_layers_grow_in_size_up_to_the_full_one(clip: Path, tmp_path: Path) -> None:
    report = encode(
        clip, tmp_path / "s", scalability="quality", layers=4, spatial_layers=3, preset="ultrafast"
    )
    assert [(row.width, row.height) for row in report.layers] == [(24, 16), (48, 32), (96, 64), (96, 64)]
    psnr = [row.psnr_db for row in report.layers]
    assert psnr == sorted(psnr)  # judged at 96x64
    opened = Stream.open(tmp_path / "s")
    assert (opened.manifest.layers, opened.manifest.spatial_layers) == (4, 3)
    for level, row in enumerate(report.layers):
        chunk = opened.manifest.chunks[2]
        coded = opened.codec.decode(opened.samples(chunk, level), opened.settings)
        assert {(image.width, image.height) for image in coded} == {(row.width, row.height)}
        assert {(image.width, image.height) for image in opened.shown(chunk, level)} == {(96, 64)}


def test_as_many_layers_as_sizes_unless_told(clip: Path, tmp_path: Path) -> None:
    report = encode(
        clip, tmp_path / "s", scalability="quality", spatial_layers=2, preset="ultrafast", quality=False
    )
    assert [(row.width, row.height) for row in report.layers] == [(48, 32), (96, 64)]


@pytest.mark.parametrize(
    ("codec", "given", "sizes", "layers"),
    [
        *(
            ("x264", None, 1, 4),
            ("x264", 1, 1, 1),
            ("x264", 4, 1, 4),
            ("vp9", None, 1, 4),
            ("vp9", None, 2, 2),
        ),
        *(("vp9", None, 3, 3), ("vp9", 3, 3, 3), ("vp9", 4, 2, 4), ("openh264", 2, 1, 2)),
    ],
)
def test_how_many_layers_there_are(codec: str, given: int | None, sizes: int, layers: int) -> None:
    """As many as sizes where there are several, else four."""
    assert _checked_layers(get_codec(codec), given, sizes) == layers


def test_the_same_call_gives_the_same_stream(clip: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        encode(clip, tmp_path / name, quality=False)
    assert load_manifest(tmp_path / "one").sha256 == load_manifest(tmp_path / "two").sha256


def test_a_source_beside_its_stream_may_move_with_it(make_clip, tmp_path: Path) -> None:
    make_clip(frames=5).rename(tmp_path / "c.mp4")
    encode(tmp_path / "c.mp4", tmp_path / "s", quality=False)
    (tmp_path / "there").mkdir()
    for name in ("c.mp4", "s"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    assert load_manifest(tmp_path / "there" / "s").source_path.resolve() == tmp_path / "there" / "c.mp4"


def test_one_frame_makes_a_stream(make_clip, tmp_path: Path) -> None:
    report = encode(make_clip(frames=1), tmp_path / "s")
    assert (report.frames, report.chunks) == (1, 1)
    assert [row.bytes > 0 for row in report.layers] == [True, False, False, False]
    assert len(Stream.open(tmp_path / "s").shown(verify(tmp_path / "s").chunks[0], 3)) == 1


def test_an_odd_and_uneven_video_makes_a_stream(make_clip, tmp_path: Path) -> None:
    clip = make_clip(
        "c.mkv", codec="ffv1", pix_fmt="yuv444p", size=(65, 49), times_ms=[0, 7, 90, 1400, 1401, 2222]
    )
    encode(clip, tmp_path / "s", chunk_s=0.5)
    manifest = verify(tmp_path / "s")
    assert (manifest.width, manifest.height, [chunk.frames for chunk in manifest.chunks]) == (
        64,
        48,
        [3, 2, 1],
    )
    assert [chunk.start_s for chunk in manifest.chunks] == pytest.approx([0, 1.4, 2.222])


def test_missing_frames_are_frozen_over(stream: Path) -> None:
    opened = Stream.open(stream)
    chunk = opened.manifest.chunks[0]
    full, base = opened.shown(chunk, 3), opened.shown(chunk, 1)
    assert len({id(image) for image in base}) == 7  # IDR and 6 P of 25 frames
    for index in range(25):
        shown, last = base[index].to_ndarray(), full[index // 4 * 4].to_ndarray()
        assert (shown == last).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scalability": "spatial"}, "scalability 'spatial'"),
        ({"codec": "av1"}, "codec 'av1': unknown"),
        ({"codec": "x264", "scalability": "quality"}, "x264: has temporal layers"),
        ({"layers": 0}, "layers 0: x264 has 1..4"),
        ({"layers": 5}, "layers 5: x264 has 1..4"),
        ({"chunk_s": 0}, "chunk length 0"),
        ({"chunk_s": float("nan")}, "chunk length nan"),
        ({"crf": 52}, r"crf 52: x264 has 0\.\.51"),
        ({"crf": -1}, r"crf -1"),
        ({"height": 1000}, "height 1000"),
        (
            {"spatial_layers": 2},
            r"spatial layers 2: x264 has layers of one size \(quality .* vp9 have 1\.\.3",
        ),
        ({"spatial_layers": 0}, r"spatial layers 0: x264"),
        ({"spatial_layers": 4, "scalability": "quality"}, r"spatial layers 4: vp9 has 1\.\.3"),
        ({"spatial_layers": 3, "layers": 2, "scalability": "quality"}, "spatial layers 3: more than the 2"),
        (
            {"spatial_layers": 2, "height": 58, "scalability": "quality"},
            "size 86x58: .* multiples of 4; height 56 gives 84x56",
        ),
        ({"spatial_layers": 3, "height": 60, "scalability": "quality"}, "size 90x60: .* multiples of 8$"),
        ({"spatial_layers": 3, "height": 48, "scalability": "quality"}, "size 72x48: .* at least 64 pixels"),
    ],
)
def test_an_impossible_option_is_named(clip: Path, tmp_path: Path, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(clip, tmp_path / "s", **options)
    assert nothing_left(tmp_path)


def test_an_existing_output_needs_force(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "precious").touch()
    with pytest.raises(InputError, match="--force"):
        encode(clip, tmp_path / "s", quality=False)
    assert (tmp_path / "s" / "precious").exists()
    with pytest.raises(InputError, match=r"has no manifest\.json, and --force replaces nothing but a stream"):
        encode(clip, tmp_path / "s", quality=False, force=True)
    (tmp_path / "s" / "precious").unlink()
    for layers in (4, 2):  # an empty folder, then a stream
        encode(clip, tmp_path / "s", quality=False, layers=layers, force=True)
    assert nothing_left(tmp_path / "s", "manifest.json", "payload")


def test_a_truncated_video_leaves_nothing(make_clip, tmp_path: Path) -> None:
    path = make_clip("c.mkv", frames=100, kind="noise")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StreamError, match=r"c\.mkv: (truncated|damaged)"):
        encode(path, tmp_path / "s", quality=False)
    assert nothing_left(tmp_path, "c.mkv")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_or_ctrl_c_leaves_nothing(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def refuse(*_args: object) -> int:
        raise error

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(type(error)):
        encode(clip, tmp_path / "s", quality=False)
    assert nothing_left(tmp_path)


def test_without_ffmpeg_the_capability_is_named(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import imageio_ffmpeg
    from dstcc_svc import ffmpeg

    def missing() -> str:
        raise RuntimeError("No ffmpeg exe could be found")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)
    ffmpeg.ffmpeg_path.cache_clear()
    ffmpeg.has.cache_clear()
    with pytest.raises(DstccError, match="no FFmpeg program"):
        encode(clip, tmp_path / "s")
    assert nothing_left(tmp_path)
    encode(clip, tmp_path / "s", quality=False)


@pytest.fixture
def copied(stream: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stream, tmp_path / "copy"))


def test_verify_accepts_a_whole_stream(copied: Path) -> None:
    assert verify(copied).frames == 60


def test_pictures_of_another_size_than_the_manifest_s_are_refused(
    spatial_stream: Path, tmp_path: Path
) -> None:
    copied = Path(shutil.copytree(spatial_stream, tmp_path / "copy"))
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps({**manifest, "spatial_layers": 1}))
    opened = Stream.open(copied)
    with pytest.raises(StreamError, match=r"chunk 0, layers 0\.\.0: a picture of 48x32, not of 96x64"):
        opened.shown(opened.manifest.chunks[0], 0)


def test_verify_names_a_flipped_bit(copied: Path) -> None:
    path = copied / "payload" / "000001-2.bin"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(StreamError, match=r"000001-2\.bin: corrupt: its SHA-256"):
        verify(copied)


def test_verify_names_a_short_and_a_missing_payload(copied: Path) -> None:
    path = copied / "payload" / "000002-0.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StreamError, match=r"000002-0\.bin: corrupt: \d+ bytes, the manifest says"):
        verify(copied)
    path.unlink()
    with pytest.raises(StreamError, match=r"000002-0\.bin: payload cannot be read"):
        verify(copied)
