"""A congestion control by itself: windows are set, ACKs and losses handed in, the published arithmetic compared."""

from __future__ import annotations

from dstcc.engine import TcpConstants, Transport
from dstcc.engine._testing import LawBench

from .net import ns


class Law:
    """Subflows of one connection with these RTTs; time passes only when a test says so."""

    def __init__(
        self,
        name: str,
        *rtt_s: float,
        scale: float = 1.0,
        line_bps: float = 0,
        bdp_segments: int = 10,
        **transport: object,
    ) -> None:
        self.rtt_s = list(rtt_s)
        self.now_ns = ns(max(rtt_s))
        self._bench = LawBench(
            Transport(name, "minrtt", scale=scale, constants=TcpConstants(), **transport),  # type: ignore[arg-type]
            len(rtt_s),
            line_bps,
            bdp_segments,
        )
        for i, rtt in enumerate(rtt_s):
            self._bench.establish(i, self.now_ns, ns(rtt))

    def set(self, i: int = 0, *, cwnd: int, ssthresh: int | None = None) -> None:
        """Set a window; without a threshold congestion avoidance has begun."""
        self._bench.set_cwnd(i, cwnd)
        self._bench.set_ssthresh(i, cwnd if ssthresh is None else ssthresh)

    def cwnd(self, i: int = 0) -> int:
        return self._bench.cwnd(i)

    def ssthresh(self, i: int = 0) -> int:
        return self._bench.ssthresh(i)

    def pacing_bps(self, i: int = 0) -> float:
        return self._bench.pacing_bytes_per_ns(i) * 8e9

    def join(self, answered_s: float, i: int = 0) -> None:
        """An ACK of a join's handshake comes in; its SYN was answered so long ago."""
        self._bench.join(i, self.now_ns - ns(answered_s), self.now_ns)

    def wait(self, seconds: float) -> None:
        self.now_ns += ns(seconds)

    def send(self, segments: int, i: int = 0) -> None:
        self._bench.send(i, segments, self.now_ns)

    def ack(self, segments: int, i: int = 0, *, rtt_s: float | None = None, one_way_s: float = -1e-9) -> None:
        """Acknowledge segments sent before."""
        rtt = self.rtt_s[i] if rtt_s is None else rtt_s
        self._bench.ack(i, segments, ns(rtt), self.now_ns, ns(one_way_s))

    def round(
        self, i: int = 0, *, rtt_s: float | None = None, step: int = 1, one_way_s: float = -1e-9
    ) -> None:
        """Send a window, wait a round trip, acknowledge it in ACKs of ``step`` segments."""
        window = self.cwnd(i)
        self.send(window, i)
        self.wait(self.rtt_s[i] if rtt_s is None else rtt_s)
        for acked in range(0, window, step):
            self.ack(min(step, window - acked), i, rtt_s=rtt_s, one_way_s=one_way_s)

    def lose(self, i: int = 0, *, segments: int = 1) -> None:
        """Lose segments, and be through with the recovery."""
        self._bench.lose(i, segments, self.now_ns)

    def lose_and_stay(self, i: int = 0) -> None:
        """Lose a segment: the recovery has begun."""
        self._bench.enter_recovery(i, 1, self.now_ns)

    def recover(self, i: int = 0) -> None:
        """End the recovery."""
        self._bench.leave_recovery(i, self.now_ns)

    def sample(
        self,
        acked: int,
        i: int = 0,
        *,
        delivered: int,
        interval_s: float,
        rtt_s: float | None = None,
        losses: int = 0,
        prior_delivered: int | None = None,
        prior_in_flight: int = 0,
        app_limited: bool = False,
    ) -> None:
        """Acknowledge segments with a delivery-rate sample of its own; ``prior_delivered`` is all before, unless
        said."""
        bench = self._bench
        rtt = self.rtt_s[i] if rtt_s is None else rtt_s
        before = bench.delivered(i) if prior_delivered is None else prior_delivered
        bench.sample(
            i,
            acked,
            delivered,
            ns(interval_s),
            ns(rtt),
            losses,
            before,
            prior_in_flight,
            app_limited,
            self.now_ns,
        )

    def return_from_idle(self, i: int = 0) -> None:
        self._bench.restart_idle(i, self.now_ns)

    def undo(self, i: int = 0) -> None:
        """The reduction was for nothing."""
        self._bench.undo(i, self.now_ns)

    @property
    def state(self) -> LawBench:
        """The engine's record of the subflows."""
        return self._bench

    def time_out(self, i: int = 0) -> None:
        self._bench.time_out(i, self.now_ns)
