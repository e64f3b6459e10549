"""Blocks of a sender that restarted: which layers a connection codes, and what its blocks are in the trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from dstcc.engine import Coding
from dstcc.engine.config import CodingResults
from dstcc.engine.recoded import coding_of, joined_coding


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_connection_codes_what_is_left_of_the_layers() -> None:
    """Of five objects in periods 0, 0, 2, 3, 3 the last three and the first are left; the second of these is asked for
    as it is there at once, the fourth at 7 s."""
    coding = Coding(array(0, 0, 2, 3, 3), 9, (0.1,))
    left = coding_of(coding, array(0, 2, 3, 4), array(-1, 5, 0, -1, 7))
    assert left is not None
    assert left.period.tolist() == [0, 1, 2, 2]
    assert (left.asked, left.there_ns) == ((1, 3), (0, 7))
    assert (left.block_ns, left.repair) == (9, (0.1,))
    assert coding_of(None, array(0), array(-1)) is None
    nothing = Coding(array(), 9, (0.1,))
    assert coding_of(nothing, array(0), array(-1)) is nothing


def results(**columns: Any) -> CodingResults:
    """Of two blocks and two objects, unless told otherwise."""
    plain = {
        "source_packets": array(4, 4),
        "repair_packets": array(1, 1),
        "planned_packets": array(1, 1),
        "repair_bytes": array(9, 9),
        "arrived_packets": array(0, 0),
        "decoded_ns": array(-1, -1),
        "whole": array(0, 0),
        "block": array(0, 1),
        "recovered": array(0, 0),
    }
    return CodingResults(**(plain | columns))


def test_rows_are_those_of_one_connection_after_another() -> None:
    """The first sends objects 0 and 1 in two blocks, the second objects 1 and 3 in a row of three, of which the middle
    one stays without packets; object 2 is in none."""
    sent = results(repair_packets=array(1, 0))
    heard = results(
        arrived_packets=array(4, 3, 8),
        decoded_ns=array(-1, 70, 9),
        whole=array(0, 0, 1),
        recovered=array(0, 1),
    )
    later = results(
        **dict.fromkeys(("repair_packets", "planned_packets", "repair_bytes"), array(2, 0, 2)),
        source_packets=array(4, 0, 5),
        arrived_packets=array(3, 0, 4),
        decoded_ns=array(-1, -1, -1),
        whole=array(0, 0, 1),
        block=array(0, -1),
        recovered=array(0, 1),
    )
    joined = joined_coding([(array(0, 1), sent, heard), (array(1, 3), later, later)], 4)
    assert joined is not None
    assert joined.source_packets.tolist() == [4, 4, 4, 0, 5]
    assert joined.repair_packets.tolist() == [1, 0, 2, 0, 2]
    assert joined.arrived_packets.tolist() == [4, 3, 3, 0, 4]
    assert joined.decoded_ns.tolist() == [-1, 70, -1, -1, -1]
    # all source packets came, repair brought it back, too few came, nothing was sent, and the receiver has it whole
    assert joined.whole.tolist() == [1, 1, 0, 0, 1]
    assert joined.block.tolist() == [0, 2, -1, -1]
    assert joined.recovered.tolist() == [0, 1, 0, 1]
    assert joined.state is None
    assert joined_coding([(array(0), sent, None)], 1) is joined_coding([(array(0), None, sent)], 1) is None


def test_a_block_that_decodes_at_once_is_whole() -> None:
    none = results(source_packets=array(0, 4), decoded_ns=array(0, 0), arrived_packets=array(0, 0))
    joined = joined_coding([(array(0, 1), none, none)], 2)
    assert joined is not None and joined.whole.tolist() == [0, 1]
