"""Helpers for codecs with a native module: loading it, and giving it pictures chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from dstcc.errors import DstccError, InputError, MissingCapabilityError
from dstcc_svc.codecs.base import EncodeSettings, SourceFrame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def load(module: str, codec: str, package: str) -> ModuleType:
    """Import a native module; :class:`MissingCapabilityError` names the Debian package if it is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingCapabilityError(
            f"codec {codec}: its native part was not built ({error}); "
            f"install the Debian package {package} and install dstcc again (`make setup`)"
        ) from error


def check(codec: str, settings: EncodeSettings, max_layers: int, crf: tuple[int, int], min_side: int) -> None:
    """Raise :class:`~dstcc.errors.InputError` for settings outside a codec's bounds."""
    if not 1 <= settings.layers <= max_layers:
        raise InputError(f"layers {settings.layers}: codec {codec} makes 1..{max_layers}")
    if not crf[0] <= settings.crf <= crf[1]:
        raise InputError(
            f"crf {settings.crf}: codec {codec} with {settings.layers} layers takes {crf[0]}..{crf[1]}"
        )
    if min(settings.width, settings.height) < min_side:
        raise InputError(
            f"size {settings.width}x{settings.height}: codec {codec} needs at least {min_side} pixels a side"
            + (f" for {settings.spatial_layers} spatial layers" if settings.spatial_layers > 1 else "")
        )


def by_chunk(frames: Iterable[SourceFrame]) -> Iterator[Iterator[SourceFrame]]:
    """Split the frames at chunk boundaries, lazily; each part must be consumed before the next."""
    for _, part in groupby(frames, key=lambda source: source.chunk):
        yield part


def encoded(
    codec: str, frames: Iterable[SourceFrame], settings: EncodeSettings, encoder: Callable[[], Any]
) -> Iterator[tuple[SourceFrame, Any]]:
    """Each frame and what a native encoder makes of it, a new one for each chunk: a chunk is a function of its frames
    alone. :class:`~dstcc.errors.DstccError` for a frame that it cannot code."""
    for chunk in by_chunk(frames):
        try:
            native = encoder()
        except (RuntimeError, ValueError) as error:
            raise InputError(f"codec {codec}: {error}") from error
        for source in chunk:
            try:
                made = native.encode(picture(codec, source, settings))
            except RuntimeError as error:
                raise DstccError(
                    f"frame {source.frame} of chunk {source.chunk}: {error}; a larger --crf than {settings.crf} helps"
                ) from error
            yield source, made


def picture(codec: str, source: SourceFrame, settings: EncodeSettings) -> NDArray[np.uint8]:
    """The frame in the layout of the native modules: (height * 3/2, width) uint8, Y over U over V."""
    image = source.image
    if (image.width, image.height, image.format.name) != (settings.width, settings.height, "yuv420p"):
        raise DstccError(
            f"codec {codec}: frame {source.frame} of chunk {source.chunk} is {image.width}x{image.height} "
            f"{image.format.name}, the stream {settings.width}x{settings.height} yuv420p"
        )
    return cast("NDArray[np.uint8]", image.to_ndarray())
