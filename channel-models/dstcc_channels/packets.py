"""What becomes of packets on a coded link: the losses of one, and of two in a row, under fading or without."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .codes import any_lost, code
from .scintillation import faded
from .spans import Spans, burst_end, lost, spans


def lost_packets(
    name: str, ebn0_db: NDArray[np.float64], index: NDArray[np.float64], ways: Spans
) -> NDArray[np.float64]:
    """Probability that a packet which lies over frames and gains in ``ways`` loses a frame of a code, by Eb/N0 (mean,
    dB) and scintillation index. All arrays have one shape."""
    fer = code(name).frame_error_rate(ebn0_db)
    share = np.array(lost(ways, lambda frames: any_lost(frames, fer)))
    if (fading := index > 0).any():
        share[fading] = lost(ways, lambda frames: faded(name, ebn0_db[fading], index[fading], frames))
    return share


def packet_process(
    name: str,
    ebn0_db: NDArray[np.float64],
    index: NDArray[np.float64],
    packet_bytes: int,
    *,
    gain_bits: float,
    behind_bits: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probability that a packet is lost, and that the one after a lost packet gets through; shaped as ``ebn0_db``.

    ``gain_bits`` is what is sent in a coherence time. The next packet begins ``behind_bits`` after a packet's first
    bit, at the packet's own end unless that is later.
    """
    known, behind_bits = code(name), max(behind_bits, 8.0 * packet_bytes)

    def share(behind: float) -> NDArray[np.float64]:
        ways = spans(packet_bytes, known.frame_bits, behind_bits=behind, gain_bits=gain_bits)
        return lost_packets(name, ebn0_db, index, ways)

    one = share(0.0)
    return one, burst_end(one, share(behind_bits))
