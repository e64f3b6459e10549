"""H.264 syntax: NAL units, slice headers, one flag of the SPS; and the base class of our H.264 codecs.

Sections and names are those of ITU-T H.264 (08/2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dstcc.errors import StreamError
from dstcc.frozen import dataclass
from dstcc_svc.codecs.base import AccessUnit, Codec, EncodeSettings, Sample

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

NAL_SLICE, NAL_IDR, NAL_SPS = 1, 5, 7
SLICE_P, SLICE_B, SLICE_I = 0, 1, 2  # slice_type modulo 5, table 7-6

_HIGH_PROFILES = frozenset({100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135})


class BitReader:
    """Reads fixed-length and Exp-Golomb codes (9.1) from an RBSP; ``position`` is the next bit."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def u(self, bits: int) -> int:
        """Read ``bits`` bits, most significant first; :class:`ValueError` past the end."""
        value = 0
        for _ in range(bits):
            byte, bit = divmod(self.position, 8)
            if byte >= len(self._data):
                raise ValueError("read past the end of a NAL unit")
            value = value << 1 | self._data[byte] >> (7 - bit) & 1
            self.position += 1
        return value

    def ue(self) -> int:
        """Read an unsigned Exp-Golomb code."""
        zeros = 0
        while not self.u(1):
            zeros += 1
            if zeros > 32:
                raise ValueError("Exp-Golomb code longer than 32 bits")
        return (1 << zeros) - 1 + self.u(zeros)

    def se(self) -> int:
        """Read a signed Exp-Golomb code."""
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -(code // 2)


@dataclass(frozen=True)
class Nal:
    """One NAL unit: where its header byte and its end lie in the access unit."""

    start: int
    end: int
    type: int
    ref_idc: int


def nal_units(data: bytes) -> Iterator[Nal]:
    """Walk the NAL units of an Annex B byte stream (B.1.1)."""
    at = data.find(b"\0\0\1")
    while at >= 0 and at + 3 < len(data):
        start = at + 3
        at = data.find(b"\0\0\1", start)
        end = len(data) if at < 0 else at
        while end > start + 1 and data[end - 1] == 0:  # trailing_zero_8bits and the long start code's zero
            end -= 1
        yield Nal(start, end, data[start] & 31, data[start] >> 5 & 3)


def unescape(payload: bytes) -> bytes:
    """Remove the emulation prevention bytes (7.4.1): NAL unit payload -> RBSP."""
    return payload.replace(b"\0\0\3", b"\0\0")


def escape(rbsp: bytes) -> bytes:
    """Put the emulation prevention bytes back (7.4.1)."""
    out = bytearray()
    zeros = 0
    for byte in rbsp:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


def slice_kind(data: bytes) -> tuple[int, int, int]:
    """Return (nal_unit_type, nal_ref_idc, slice_type modulo 5) of the first slice of an access unit.

    Raises :class:`ValueError` if there is no slice.
    """
    for nal in nal_units(data):
        if nal.type in (NAL_SLICE, NAL_IDR):
            reader = BitReader(unescape(data[nal.start + 1 : nal.end]))
            reader.ue()  # first_mb_in_slice
            return nal.type, nal.ref_idc, reader.ue() % 5
    raise ValueError("an access unit without a slice")


def _skip_scaling_lists(reader: BitReader, count: int) -> None:
    for index in range(count):
        if not reader.u(1):
            continue
        last = following = 8
        for _ in range(16 if index < 6 else 64):
            if following:
                following = (last + reader.se()) % 256
            last = following or last


def _gaps_flag_position(rbsp: bytes) -> int:
    """Bit position of gaps_in_frame_num_value_allowed_flag in an SPS's RBSP (7.3.2.1.1)."""
    reader = BitReader(rbsp)
    profile = reader.u(8)
    reader.u(16)  # constraint flags, level
    reader.ue()  # seq_parameter_set_id
    if profile in _HIGH_PROFILES:
        chroma_format = reader.ue()
        if chroma_format == 3:
            reader.u(1)
        reader.ue(), reader.ue(), reader.u(1)  # bit depths, lossless bypass
        if reader.u(1):
            _skip_scaling_lists(reader, 12 if chroma_format == 3 else 8)
    reader.ue()  # log2_max_frame_num_minus4
    order = reader.ue()
    if order == 0:
        reader.ue()
    elif order == 1:
        reader.u(1), reader.se(), reader.se()
        for _ in range(reader.ue()):
            reader.se()
    reader.ue()  # max_num_ref_frames
    position = reader.position
    reader.u(1)  # it must be there
    return position


def allow_frame_num_gaps(data: bytes) -> bytes:
    """Set gaps_in_frame_num_value_allowed_flag in every SPS of an access unit.

    Dropping a layer that holds reference frames leaves gaps in frame_num. With the flag a decoder fills them
    with "non-existing" frames (8.2.5.2), as the standard says for temporal sub-streams; without it, it takes
    them for losses and conceals.
    """
    out = bytearray()
    copied = 0
    for nal in nal_units(data):
        if nal.type != NAL_SPS:
            continue
        rbsp = bytearray(unescape(data[nal.start + 1 : nal.end]))
        byte, bit = divmod(_gaps_flag_position(bytes(rbsp)), 8)
        rbsp[byte] |= 0x80 >> bit
        out += data[copied : nal.start + 1] + escape(bytes(rbsp))
        copied = nal.end
    return bytes(out) + data[copied:] if copied else data


class H264Codec(Codec):
    """Base class of the H.264 encoders: a unit per frame, Annex B, headers at each chunk's IDR."""

    scalability = "temporal"
    max_crf = 51
    muxable = True

    def samples(self, units: Iterable[AccessUnit]) -> list[Sample]:
        """Sort by decode time; the IDR that opens the chunk is the key sample."""
        return [Sample(u.pts, u.dts, u.frame == 0, u.data) for u in sorted(units, key=lambda u: u.dts)]

    def decode(self, samples: Iterable[Sample], settings: EncodeSettings) -> Iterator[VideoFrame]:
        """Decode with FFmpeg's own H.264 decoder."""
        import av

        decoder = av.CodecContext.create("h264", "r")
        decoder.thread_count = 0
        fed = shown = 0
        try:
            for sample in samples:
                packet = av.Packet(sample.data)
                packet.pts, packet.dts, packet.time_base = sample.pts, sample.dts, settings.time_base
                fed += 1
                for image in decoder.decode(packet):
                    shown += 1
                    yield image
            for image in decoder.decode(None):
                shown += 1
                yield image
        except av.FFmpegError as error:
            raise StreamError(f"H.264 decoder: {error.strerror} after {shown} frames") from error
        if shown != fed:
            raise StreamError(f"H.264 decoder: {fed} access units in, {shown} frames out; each must give one")
