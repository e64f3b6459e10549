"""A congestion control of one's own: additive increase, multiplicative decrease, paced at a window per round trip."""

from dstcc.extend import CongestionSetup, SubflowView, Window


class Aimd:
    """One segment more per round trip; three quarters of the window after a loss, one segment after a timeout."""

    def __init__(self, setup: CongestionSetup) -> None:
        self.window = float(setup.initial_cwnd_segments)
        self.wire_bits = 8 * (setup.mss_bytes + setup.header_bytes)
        self.slow_start = True

    def on_ack(self, view: SubflowView) -> Window:
        if not view.in_recovery and view.inflight_segments + view.acked_segments >= self.window / 2:
            self.window += view.acked_segments / (1 if self.slow_start else self.window)
        return self.window, 1.2 * self.window * self.wire_bits / view.srtt_s

    def on_loss(self, view: SubflowView) -> Window:
        self.slow_start = False
        self.window = 1.0 if view.timeout else max(self.window * 0.75, 2.0)
        return self.window
