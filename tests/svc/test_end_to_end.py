"""Each codec through every door: encode, verify, judge, play."""

from __future__ import annotations

import hashlib
from pathlib import Path

import av
import pytest
from dstcc_svc import encode, load_manifest, play, played_quality, verify
from dstcc_svc.codecs import get_codec
from dstcc_svc.stream import Stream

from dstcc.errors import MissingCapabilityError

SCALABILITY = {"x264": "temporal", "openh264": "temporal", "vp9": "quality"}


@pytest.fixture(scope="module", params=SCALABILITY)
def stream(request: pytest.FixtureRequest, clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        get_codec(request.param).require()
    except MissingCapabilityError as error:
        pytest.skip(str(error))
    output = tmp_path_factory.mktemp("all") / request.param
    encode(clip, output, scalability=SCALABILITY[request.param], codec=request.param, layers=3)
    return output


def test_verify_and_manifest(stream: Path) -> None:
    manifest = verify(stream)
    assert (manifest.codec, manifest.scalability) == (stream.name, SCALABILITY[stream.name])
    assert [chunk.frames for chunk in manifest.chunks] == [25, 25, 10]
    assert manifest == load_manifest(stream)


def pixels(image: av.VideoFrame) -> str:
    return hashlib.sha256(image.to_ndarray().tobytes()).hexdigest()


def test_frames_of_a_prefix(stream: Path) -> None:
    """Temporal: the very pixels of the full decode; quality: every frame, better with each layer."""
    opened = Stream.open(stream)
    chunk = opened.manifest.chunks[1]
    hashes = [
        {
            image.pts: hashlib.sha256(image.to_ndarray().tobytes()).hexdigest()
            for image in opened.decode(chunk, level)
        }
        for level in range(3)
    ]
    if opened.manifest.scalability == "temporal":
        assert hashes[0].items() < hashes[1].items() < hashes[2].items()
    else:
        assert [list(each) for each in hashes] == [chunk.frame_times()] * 3
        psnr = [layer.quality.psnr_db for layer in chunk.layers if layer.quality]
        assert psnr == sorted(set(psnr))


def test_played_quality_falls_with_losses(stream: Path) -> None:
    scores = [
        played_quality(stream, levels).psnr_db for levels in ([2, 2, 2], [2, 0, 2], [2, -1, 2], [-1, -1, 2])
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]


def test_the_picture_after_a_finer_one_is_finer(stream: Path) -> None:
    """What freezes is what was shown: with quality layers its level counts, with temporal ones its time."""
    assert played_quality(stream, [2, -1, -1]) != played_quality(stream, [0, -1, -1])


def test_play_keeps_times_and_length(stream: Path, tmp_path: Path) -> None:
    report = play(stream, [-1, 1, -1, 2], tmp_path / "o.mp4")
    opened = Stream.open(stream)
    tick = opened.manifest.tick_s
    wanted = [0.0, *(float(i.pts * tick) for i in opened.decode(opened.manifest.chunks[1], 1))]
    wanted += [2.4 + float(i.pts * tick) for i in opened.decode(opened.manifest.chunks[0], 2)]
    with av.open(str(tmp_path / "o.mp4")) as container:
        track = container.streams.video[0]
        images = list(container.decode(track))
        assert track.codec_context.name == "h264"
        assert container.duration / 1e6 == pytest.approx(3.4, abs=0.002)
        assert [float(image.pts * track.time_base) for image in images] == pytest.approx(wanted, abs=1e-6)
    assert images[0].to_ndarray()[:64].max() <= 18, "black before the first chunk"
    assert report.recoded == (stream.name == "vp9")
