"""The codecs by name; a codec's module is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module

from dstcc.errors import InputError
from dstcc_svc.codecs.base import AccessUnit, Codec, EncodeSettings, Sample, SourceFrame

__all__ = [
    "CODECS",
    "DEFAULT_CODEC",
    "AccessUnit",
    "Codec",
    "EncodeSettings",
    "Sample",
    "SourceFrame",
    "get_codec",
]

CODECS: dict[str, tuple[str, str]] = {
    "x264": ("dstcc_svc.codecs.x264", "X264"),
    "x264-program": ("dstcc_svc.codecs.x264_program", "X264Program"),
    "openh264": ("dstcc_svc.codecs.openh264", "OpenH264"),
    "vp9": ("dstcc_svc.codecs.vp9", "Vp9"),
}
"""Codec name -> (module, class)."""

DEFAULT_CODEC: dict[str, str] = {"temporal": "x264", "quality": "vp9"}
"""Scalability -> the codec taken when none is named."""


def get_codec(name: str) -> Codec:
    """Return the codec of that name; :class:`~dstcc.errors.InputError` if there is none."""
    try:
        module, attribute = CODECS[name]
    except KeyError:
        raise InputError(f"codec {name!r}: unknown; there are {', '.join(CODECS)}") from None
    codec = getattr(import_module(module), attribute)()
    assert isinstance(codec, Codec)
    return codec
