"""What a tail loss probe takes from the layers that wait (RFC 8985, section 7.3)."""

from __future__ import annotations

import pytest

from dstcc.extensions import load

from . import net

SCHEDULER = """
class Own:
    def __init__(self, setup): self.left = [{first}, {first}]
    def pick(self, paths, ready, item, busy):
        for one in ready:
            if self.left[one]:
                self.left[one] -= 1
                return one
        return 1 if ready == (1,) else None
"""


@pytest.mark.parametrize(("mode", "first"), [("stream", 5), ("lanes", 1)])
def test_a_probe_is_one_segment_however_many_the_scheduler_would_give_its_subflow(
    tmp_path, mode, first
) -> None:
    # Linux tcp_send_loss_probe(). Each subflow takes five segments of its window of twenty, those of subflow 1 are
    # lost, and the scheduler waits. In a stream only the probe of 1 asks it for that subflow alone, which may then have
    # all it asks for. A lane has been written what its window has room for: its probe has no new data, and repeats.
    path = tmp_path / "own.py"
    path.write_text(SCHEDULER.format(first=first))
    result = net.run(
        "newreno",
        (net.link(4e6, 10.0), net.link(4e6, 1.0, drops=tuple((k, 1) for k in range(5)))),
        duration_s=60,
        objects=net.live(1, (5 * net.MSS,) * 40, chunk_s=32.0),
        mode=mode,
        scheduler="Own",
        scheduler_extension=load(f"{path}:Own", "scheduler"),
        initial_cwnd=20,
        trace=True,
    )
    assert result.trace is not None
    sent = result.trace.t_ns[(result.trace.event == 0) & (result.trace.sender == 1) & (result.trace.syn == 0)]
    assert sent[4] == sent[0]
    probe = sent[5]
    assert probe == pytest.approx(sent[0] + net.ns(2.02), abs=net.ns(0.1))
    assert (sent == probe).sum() == 1
