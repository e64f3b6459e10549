"""A line of text below a picture: when it was captured, the layers that arrived, since when it is frozen."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dstcc.clock import MISSION_TIME, Clock
from dstcc.layers import level_name
from dstcc_svc.seen import Seen

if TYPE_CHECKING:
    import numpy as np
    from av.video.frame import VideoFrame
    from numpy.typing import NDArray

BAND = 16
"""The line's height is the picture's divided by this, but at least :data:`LEAST_BAND`."""
LEAST_BAND = 20
TEXT = 0.72
"""The text's size as a share of the line's height."""
LEAST_TEXT = 5
MOVING = ((18, 128, 128), 225)
"""Of the line while pictures arrive: luma, blue and red difference of the ground, luma of the text."""
FROZEN = ((180, 44, 158), 20)
"""The same while the picture is frozen: dark on amber."""
_KEPT = 64  # lines kept: the text changes once a second


class Caption:
    """Puts the line below pictures of one size; they become :attr:`extra` rows higher and lose none of theirs.

    The line begins with ``name``, if there is one: which of several screens it is.
    """

    def __init__(
        self,
        size: tuple[int, int],
        layers: int,
        tick_s: Fraction,
        clock: Clock = MISSION_TIME,
        name: str = "",
    ) -> None:
        self.width, self.height = size
        self.extra = max(LEAST_BAND, self.height // BAND) // 2 * 2
        self.size = (self.width, self.height + self.extra)
        """Of the captioned picture."""
        self._layers, self._tick_s, self._clock, self._name = layers, tick_s, clock, name
        self._line = lru_cache(_KEPT)(self._drawn)

    def __call__(self, one: Seen) -> VideoFrame:
        """A new picture: the given one (yuv420p of the size), and the line below."""
        import av
        import numpy as np

        clock, state = words(one, self._layers, self._tick_s, self._clock)
        clock = f"{self._name}   {clock}" if self._name else clock
        line = self._line(clock, state, one.since is not None)
        parts: list[NDArray[np.uint8]] = []
        for plane, band in zip(planes(one.image), line, strict=True):
            parts += [plane.ravel(), band]
        rows = (self.height + self.extra) * 3 // 2
        whole: NDArray[np.uint8] = np.concatenate(parts).reshape(rows, self.width)
        return av.VideoFrame.from_ndarray(whole, format="yuv420p")

    def _drawn(
        self, clock: str, state: str, frozen: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
        """The line's three planes, flat."""
        import numpy as np
        from PIL import Image, ImageDraw, ImageFont

        (luma, blue, red), ink = FROZEN if frozen else MOVING
        margin = max(2, self.extra // 4)
        size = self.extra * TEXT
        gap = 2 * margin

        def length(points: float) -> float:
            font = ImageFont.load_default(points)
            return font.getlength(clock) + gap + font.getlength(state)

        while size > LEAST_TEXT and length(size) > self.width - 2 * margin:
            size -= 0.5
        font = ImageFont.load_default(size)
        image = Image.new("L", (self.width, self.extra), luma)
        draw = ImageDraw.Draw(image)
        middle = self.extra / 2
        draw.text((margin, middle), clock, fill=ink, font=font, anchor="lm")
        draw.text((self.width - margin, middle), state, fill=ink, font=font, anchor="rm")
        quarter = self.width * self.extra // 4
        return (
            np.asarray(image, np.uint8).ravel(),
            np.full(quarter, blue, np.uint8),
            np.full(quarter, red, np.uint8),
        )


def planes(image: VideoFrame) -> list[NDArray[np.uint8]]:
    """Luma and both colour differences of a yuv420p picture, as arrays of rows."""
    import numpy as np

    samples = image.to_ndarray().ravel().astype(np.uint8, copy=False)
    luma = image.width * image.height
    cuts = (samples[:luma], samples[luma : luma * 5 // 4], samples[luma * 5 // 4 :])
    return [
        cut.reshape(-1, width)
        for cut, width in zip(cuts, (image.width, image.width // 2, image.width // 2), strict=True)
    ]


def words(one: Seen, layers: int, tick_s: Fraction, clock: Clock = MISSION_TIME) -> tuple[str, str]:
    """What the line says at the left and at the right."""
    now_s = one.tick * tick_s
    left = clock.reading(now_s)
    if one.since is None:
        return left, level_name(one.level, layers)
    return (
        left,
        "nothing yet" if one.since == 0 else f"frozen since {clock.reading(one.since * tick_s, now_s)}",
    )
