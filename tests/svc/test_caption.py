from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import av
import numpy as np
import pytest
from dstcc_svc.caption import FROZEN, LEAST_BAND, MOVING, Caption, words
from dstcc_svc.seen import Seen
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from dstcc.clock import Clock

TICK_S = Fraction(1, 1000)


def picture(size: tuple[int, int] = (96, 64), seed: int = 0) -> av.VideoFrame:
    rng = np.random.default_rng(seed)
    planes = rng.integers(16, 235, (size[1] * 3 // 2, size[0]), np.uint8)
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def planes(image: av.VideoFrame) -> list[NDArray[np.uint8]]:
    """The three planes as arrays of rows."""
    flat, luma = image.to_ndarray().reshape(-1).astype(np.uint8), image.width * image.height
    cuts = (flat[:luma], flat[luma : luma * 5 // 4], flat[luma * 5 // 4 :])
    widths = (image.width, image.width // 2, image.width // 2)
    return [cut.reshape(-1, width) for cut, width in zip(cuts, widths, strict=True)]


@pytest.mark.parametrize("size", [(96, 64), (480, 270), (1280, 720), (64, 48)])
@pytest.mark.parametrize("since", [None, 4000])
def test_no_pixel_of_the_picture_changes(size: tuple[int, int], since: int | None) -> None:
    image = picture(size)
    caption = Caption(size, 4, TICK_S)
    tall = caption(Seen(5000, image, 3 if since is None else -1, since))
    assert (tall.width, tall.height) == (size[0], size[1] + caption.extra)
    for before, after in zip(planes(image), planes(tall), strict=True):
        np.testing.assert_array_equal(after[: len(before)], before)


def test_the_line_is_amber_only_while_frozen() -> None:
    caption = Caption((96, 64), 4, TICK_S)
    for since, ((luma, blue, red), ink) in ((None, MOVING), (4000, FROZEN)):
        y, u, v = planes(caption(Seen(5000, picture(), 3 if since is None else -1, since)))
        assert (u[32:] == blue).all()
        assert (v[32:] == red).all()
        assert y[64, 0] == luma
        assert abs(int(y[64:].max() if ink > luma else y[64:].min()) - ink) < 60  # something is written


def test_contrast_of_the_text_is_enough() -> None:
    """WCAG 2.2's 4.5 : 1, by BT.601's luma as a grey (the ground is nearly grey, or lighter than its grey)."""
    for (luma, _, _), ink in (MOVING, FROZEN):
        levels = sorted((max(0, value - 16) / 219) ** 2.2 for value in (luma, ink))
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 4.5


def test_the_line_follows_what_it_says() -> None:
    caption = Caption((480, 270), 4, TICK_S)
    same, other = Seen(5000, picture((480, 270)), 3, None), Seen(6000, picture((480, 270)), 3, None)
    lines = [
        planes(caption(one))[0][270:]
        for one in (same, same._replace(tick=5999), other, same._replace(level=0))
    ]
    np.testing.assert_array_equal(lines[0], lines[1])
    assert (lines[0] != lines[2]).any()
    assert (lines[0] != lines[3]).any()


def test_long_words_fit_a_small_picture() -> None:
    """The margins stay free, so nothing is cut off."""
    caption = Caption((160, 90), 4, TICK_S)
    late = Seen(100 * 86_400_000, picture((160, 90)), -1, 99 * 86_400_000)
    line = planes(caption(late))[0][90:]
    assert line.shape[0] >= LEAST_BAND
    assert (line[:, :2] == FROZEN[0][0]).all()
    assert (line[:, -2:] == FROZEN[0][0]).all()


@pytest.mark.parametrize("size", [(480, 270), (1280, 720), (160, 90), (96, 64)])
def test_texts_stand_at_both_margins_and_are_as_large_as_fits(size: tuple[int, int]) -> None:
    """A band of a sixteenth of the height, 20 rows at least and an even number; a quarter of it is the margin, and two
    margins are between the texts. They have 0.72 of its height, less by halves of a point where they do not fit."""
    caption = Caption(size, 4, TICK_S)
    band = max(20, size[1] // 16) // 2 * 2
    assert (caption.extra, caption.size) == (band, (size[0], size[1] + band))
    one = Seen(61_000, picture(size), 3, None)
    line = planes(caption(one))[0][size[1] :].astype(int)
    margin, texts = max(2, band // 4), ("T+00:01:01", "up to EL3, full quality")

    def widths(points: float) -> list[float]:
        return [ImageFont.load_default(points).getlength(text) for text in texts]

    points = band * 0.72
    while points > 5 and sum(widths(points)) + 2 * margin > size[0] - 2 * margin:
        points -= 0.5
    assert (points < band * 0.72) == (size[0] <= 160)
    expected = Image.new("L", (size[0], band), MOVING[0][0])
    draw = ImageDraw.Draw(expected)
    font = ImageFont.load_default(points)
    for x, text, anchor in ((margin, texts[0], "lm"), (size[0] - margin, texts[1], "rm")):
        draw.text((x, band / 2), text, fill=MOVING[1], font=font, anchor=anchor)
    np.testing.assert_array_equal(line, np.asarray(expected, int))
    written = np.flatnonzero((line != MOVING[0][0]).any(axis=0))
    if size[0] > 96:  # there it does not fit in the least size
        assert margin <= written[0] <= margin + 2 and size[0] - margin - 2 <= written[-1] <= size[0] - margin
    rows = np.flatnonzero((line != MOVING[0][0]).any(axis=1))
    assert abs((rows[0] + rows[-1]) / 2 - band / 2) <= 0.1 * band


def test_a_name_begins_the_line() -> None:
    size = (640, 360)
    one = Seen(61_000, picture(size), 3, None)
    named, plain = (planes(Caption(size, 4, TICK_S, name=name)(one))[0][360:] for name in ("cubic", ""))
    band, margin = 22, 5
    expected = Image.new("L", (640, band), MOVING[0][0])
    font = ImageFont.load_default(band * 0.72)
    for x, text, anchor in (
        (margin, "cubic   T+00:01:01", "lm"),
        (640 - margin, "up to EL3, full quality", "rm"),
    ):
        ImageDraw.Draw(expected).text((x, band / 2), text, fill=MOVING[1], font=font, anchor=anchor)
    np.testing.assert_array_equal(named, np.asarray(expected))
    assert (named != plain).any()


def test_the_words() -> None:
    image = picture()
    assert words(Seen(61_000, image, 3, None), 4, TICK_S) == ("T+00:01:01", "up to EL3, full quality")
    assert words(Seen(61_000, image, -1, 60_500), 4, TICK_S) == ("T+00:01:01", "frozen since T+00:01:00")
    assert words(Seen(61_000, image, -1, 0), 4, TICK_S) == ("T+00:01:01", "nothing yet")


def test_the_words_are_utc_where_the_mission_has_a_date() -> None:
    """61 s after 23:59:30 it is 00:00:31 of the next day; what froze half a second before did so on the same day."""
    image, clock = picture(), Clock(datetime(2028, 3, 11, 23, 59, 30, tzinfo=UTC))
    now = Seen(61_000, image, 3, None)
    assert words(now, 4, TICK_S, clock)[0] == "2028-03-12 00:00:31 UTC"
    assert words(now._replace(level=-1, since=60_500), 4, TICK_S, clock)[1] == "frozen since 00:00:30"
    assert words(now._replace(level=-1, since=500), 4, TICK_S, clock)[1] == "frozen since 2028-03-11 23:59:30"


def test_the_line_has_the_clocks_times() -> None:
    """The date takes more of the line than T+00:00:05 does."""
    size, seen = (480, 270), Seen(5000, picture((480, 270)), 3, None)
    plain = planes(Caption(size, 4, TICK_S)(seen))[0][270:]
    dated = planes(Caption(size, 4, TICK_S, Clock(datetime(2028, 3, 11, tzinfo=UTC)))(seen))[0][270:]
    written = [int(np.flatnonzero((line[:, :240] > 150).any(axis=0)).max()) for line in (plain, dated)]
    assert written[1] > 1.5 * written[0]
