"""The codecs by name (:mod:`dstcc.codecs`); a codec's module is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module

from dstcc.codecs import CODECS, DEFAULT_CODEC
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


def get_codec(name: str) -> Codec:
    """Return the codec of that name; :class:`~dstcc.errors.InputError` if there is none."""
    try:
        module, _, attribute = CODECS[name].place.partition(":")
    except KeyError:
        raise InputError(f"codec {name!r}: unknown; there are {', '.join(CODECS)}") from None
    codec = getattr(import_module(module), attribute)()
    assert isinstance(codec, Codec)
    return codec
