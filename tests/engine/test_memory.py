"""What the engine keeps of packets: small records, counted as they lie there together."""

from __future__ import annotations

import pytest

from dstcc.engine import EngineResult

from . import net

SEGMENT, PACKET = 24, 32  # bytes: what a sender may have to repeat, and what is on its way


def bulk(control: str, slot_s: float, **more: object) -> EngineResult:
    return net.run(control, net.link(120e6, 0.5, queue_bdp=1.0), duration_s=20, slot_s=slot_s, **more)


@pytest.mark.parametrize("slot_s", [0.1, 5.0, 60.0])
def test_it_is_counted_however_long_a_slot_is(slot_s):
    # BDP 5,000 packets: at the end of the run a window of segments is on record, whatever was sampled.
    assert bulk("fixed", slot_s).totals.engine_peak_bytes >= 5_000 * SEGMENT


@pytest.mark.parametrize("control", ["fixed", "newreno", "cubic"])
def test_a_packet_in_flight_takes_no_more_than_64_bytes(control):
    result = bulk(control, 0.1)
    in_flight = int(result.samples.inflight_segments.max())
    assert SEGMENT <= result.totals.engine_peak_bytes / in_flight <= 64


def test_laws_that_sample_rates_have_more_kept():
    # BBR in its start-up fills twice the BDP; then 12 bytes a segment lie beside what any law needs.
    result = bulk("bbr", 0.1)
    in_flight = int(result.samples.inflight_segments.max())
    assert SEGMENT + 12 <= result.totals.engine_peak_bytes / in_flight <= SEGMENT + 12 + PACKET + 16
