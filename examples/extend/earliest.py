"""A scheduler of one's own: a segment goes where it arrives first, and may wait for a subflow that is sooner yet."""

from dstcc.extend import Item, PathView, SchedulerSetup


class Earliest:
    """The subflow of the earliest expected arrival; waiting holds up the whole backlog, so that is what it counts."""

    def __init__(self, setup: SchedulerSetup) -> None:
        self.mss_bytes = setup.mss_bytes

    def arrival_s(self, path: PathView, new_bytes: int) -> float:
        """Behind what is assigned and in flight at a window per round trip, then as far as light goes."""
        rate = path.cwnd_segments * self.mss_bytes / path.srtt_s
        ahead = path.assigned_bytes + path.inflight_segments * self.mss_bytes + new_bytes
        return max(ahead / rate - path.srtt_s, 0.0) + path.one_way_s

    def pick(
        self, paths: tuple[PathView, ...], ready: tuple[int, ...], item: Item, busy: tuple[int, ...]
    ) -> int | None:
        now = {index: self.arrival_s(paths[index], item.bytes) for index in ready}
        later = {index: self.arrival_s(paths[index], item.backlog_bytes) for index in busy}
        best = min(now, key=now.__getitem__)
        return best if now[best] <= min(later.values(), default=now[best]) else None
