"""The metrics a report shows: their names, units, which way is better, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One row of the summary."""

    key: str
    """Column of ``trials.parquet``."""
    label: str
    kind: str
    """Kind of quantity: ``share``, ``bps``, ``seconds``, ``bytes``, ``db``, ``score`` or ``count``."""
    better: int
    """+1 more is better, −1 less is better, 0 neither (no winner is marked)."""
    group: str
    meaning: str


METRICS = (
    Metric(
        "playback_ratio",
        "Chunks played",
        "share",
        +1,
        "What Earth saw",
        "Share of chunks of which at least the base layer was complete by its playout deadline.",
    ),
    Metric(
        "full_quality_ratio",
        "Chunks at full quality",
        "share",
        +1,
        "What Earth saw",
        "Share of chunks played with every layer.",
    ),
    Metric(
        "weighted_layers",
        "Weighted layers",
        "share",
        +1,
        "What Earth saw",
        "Σ weights of the layers played ÷ Σ weights of all layers; layer L of M weighs (M − L) · 100, so the "
        "base layer counts most (Ha et al., equation 1).",
    ),
    Metric(
        "oracle_ratio",
        "Share of the clairvoyant bound",
        "share",
        +1,
        "What Earth saw",
        "Weighted layers ÷ an upper bound for senders that know every loss in advance, over the "
        "same channel draws, with packets of one layer each on the simulator, and of any layers on the kernel. 100 % "
        "means that no such sender can do better here.",
    ),
    Metric(
        "bytes_in_time",
        "Delivered in time",
        "bytes",
        +1,
        "What Earth saw",
        "Payload of the layers that were complete in time to be played.",
    ),
    Metric(
        "full_quality_bytes",
        "Delivered at full quality",
        "bytes",
        +1,
        "What Earth saw",
        "The same of the chunks that were played with every layer.",
    ),
    Metric(
        "startup_s",
        "Start-up",
        "seconds",
        -1,
        "What Earth saw",
        "Time until playout starts (playout that stalls rather than skips).",
    ),
    Metric(
        "stall_s",
        "Time stalled",
        "seconds",
        -1,
        "What Earth saw",
        "Total time that playout stalled after its start, waiting for a chunk.",
    ),
    Metric("stalls", "Stalls", "count", -1, "What Earth saw", "How often playout stalled after its start."),
    Metric(
        "psnr_db",
        "PSNR",
        "db",
        +1,
        "What Earth saw",
        "Peak signal-to-noise ratio of the played video against the source, mean over frames; frozen frames "
        "count.",
    ),
    Metric(
        "ssim",
        "SSIM",
        "score",
        +1,
        "What Earth saw",
        "Structural similarity of the played video to the source (1 = equal), mean over frames; frozen "
        "frames count.",
    ),
    Metric(
        "vmaf",
        "VMAF",
        "score",
        +1,
        "What Earth saw",
        "Netflix's perceptual quality score (0 to 100) of the played video, mean over frames; frozen frames "
        "count.",
    ),
    Metric(
        "goodput_bps",
        "Goodput",
        "bps",
        +1,
        "Transport",
        "Payload of the layers that came in time to play ÷ active time.",
    ),
    Metric(
        "throughput_bps",
        "Throughput",
        "bps",
        +1,
        "Transport",
        "Distinct payload delivered ÷ active time, in time to play or not.",
    ),
    Metric(
        "completion_s",
        "Completion",
        "seconds",
        -1,
        "Transport",
        "First send to last layer delivered; a trial that drops a layer never completes and has no value.",
    ),
    Metric(
        "hol_blocking_ratio",
        "Head-of-line blocked",
        "share",
        -1,
        "Transport",
        "Payload that on arrival had to wait for an earlier byte of its ordering domain ÷ payload arrived.",
    ),
    Metric(
        "hol_wait_s",
        "Head-of-line wait",
        "seconds",
        -1,
        "Transport",
        "Mean wait of a delivered byte between its arrival and its delivery in order.",
    ),
    Metric(
        "guard_actions",
        "Guard actions",
        "count",
        0,
        "Transport",
        "Times the guard bounded a controller's window or handed it to NewReno. Without a row it never had to.",
    ),
    Metric(
        "fairness_jain",
        "Fairness",
        "score",
        +1,
        "Sharing",
        "Jain's index over the connection's and every competing flow's throughput while all of them send: 1 is "
        "equal shares, 1/n is one for all. The least of the links that have such flows.",
    ),
    Metric(
        "own_share",
        "Own share",
        "share",
        0,
        "Sharing",
        "The connection's part of what it and the competing flows had acknowledged while all of them sent.",
    ),
    Metric(
        "flows_bps",
        "Competing flows",
        "bps",
        0,
        "Sharing",
        "Throughput of the competing flows together while all of them sent.",
    ),
    Metric(
        "mean_rtt_s",
        "Mean RTT",
        "seconds",
        -1,
        "Cost",
        "Mean of the round-trip time samples of all subflows.",
    ),
    Metric(
        "p95_queue_s",
        "Queueing, 95th percentile",
        "seconds",
        -1,
        "Cost",
        "95th percentile of queueing delay.",
    ),
    Metric(
        "retransmitted_ratio",
        "Retransmitted",
        "share",
        -1,
        "Cost",
        "Payload sent again ÷ payload sent.",
    ),
    Metric(
        "repair_ratio",
        "Repair",
        "share",
        0,
        "Cost",
        "With coding: payload of repair packets ÷ payload sent.",
    ),
    Metric(
        "decoded_ratio",
        "Blocks decoded",
        "share",
        +1,
        "Transport",
        "With coding: blocks of which every source packet arrived or was decoded ÷ blocks sent.",
    ),
    Metric(
        "decode_failures",
        "Blocks not decoded",
        "count",
        -1,
        "Transport",
        "With coding: the blocks of which some source packet neither arrived nor was decoded.",
    ),
    Metric("sent_bytes", "Sent", "bytes", 0, "Cost", "Payload sent, retransmissions included."),
    Metric("delivered_bytes", "Delivered", "bytes", 0, "Cost", "Distinct payload delivered in order."),
)
"""In the order of the summary; ``layers_played`` has a figure of its own."""

METRIC = {metric.key: metric for metric in METRICS}
RANKING = ("weighted_layers", "playback_ratio", "goodput_bps")
"""The metrics that rank algorithms: the first one in which two differ decides."""
PAIRED = ("weighted_layers", "playback_ratio", "goodput_bps", "hol_wait_s")
"""The metrics that are compared seed by seed."""
PROFILED = ("weighted_layers", "playback_ratio", "oracle_ratio")
"""Shares that mean the same in every scenario: they have profiles, and are pooled over scenarios."""

TERMS = (
    (
        "Chunk, layer",
        "A piece of video, cut into a base layer (BL) and enhancement layers (EL1 …); layer m needs 0…m.",
    ),
    (
        "Mission time",
        "What clocks on the spacecraft and on Earth show. Every time in this report is mission time.",
    ),
    ("Scale", "One emulated second stands for this many mission seconds; 1 is unscaled."),
    (
        "RTT, BDP",
        "Round-trip time; bandwidth-delay product, rate × RTT: what must be in flight to fill a link.",
    ),
    ("Subflow", "One TCP connection of an MPTCP connection, on one link."),
    (
        "Trial",
        "One algorithm with one seed. A seed gives every algorithm the same links and the same losses.",
    ),
    (
        "Interval",
        "95 % percentile bootstrap of the interquartile mean over seeds (of the plain mean below four "
        "seeds). With fewer than five seeds it is narrower than it should be: take it as a hint. Over several "
        "scenarios seeds are resampled within each (strata).",
    ),
    (
        "Performance profile",
        "Share of trials that reach a value of τ or more, for every τ: a higher line is better wherever it is "
        "higher, and where lines cross neither algorithm is better throughout. Band: 95 % at each τ (bootstrap).",
    ),
    (
        "Differences at the same seeds",
        "An algorithm minus the reference at the same seed, hence over the same links and losses. The mean of "
        "these differences has an interval of its own, often much narrower than those of the two values. Whether "
        "algorithms differ is a paired t test of them, with Holm's correction for all pairs and scenarios of the page.",
    ),
    (
        "Marks",
        "(transfer): sends without TCP. (learned): a trained controller. (reconstruction): its source leaves "
        "gaps that were filled.",
    ),
    (
        "Knows",
        "What an algorithm is configured with or observes beyond acknowledgements, as letters: r, l, q imply a link's "
        "rate, which others have to measure. All algorithms are ranked.",
    ),
)
