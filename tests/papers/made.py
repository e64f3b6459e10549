"""A paper of a page: two algorithms on a small link."""

from __future__ import annotations

from pathlib import Path

SCENARIO = """
[scenario]
name = "small"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [400_000, 200_000]}
loop_to_s = 20
[[link]]
name = "line"
rate_bps = 1_000_000
delay_s = 0.05
loss = {packet = {log_uniform = [1e-3, 1e-2]}}
[transport]
congestion = ["newreno", "bbr"]
[playout]
delay_s = 1
"""

FIGURES = """
[[figure]]
id = "1"
title = "Throughput over the delay"
scenario = "small.toml"
seeds = 4
quick_seeds = 1
algorithms = ["newreno", "bbr"]
point = [{x = 50}, {x = 100, set = ["link.0.delay_s=0.1"], quick = false}]
plot = {kind = "lines", y = "throughput_bps", times = 1e-3, y_label = "kbit/s"}

[[figure]]
id = "2"
title = "Layers"
scenario = "small.toml"
seeds = 2
quick_seeds = 1
algorithms = ["bbr"]
extra = true
plot = {kind = "stack", y_label = "share of chunks, %"}
"""

PUBLISHED = """
[paper]
name = "made"
title = "A made paper"
authors = "Nobody"
venue = "nowhere"

[[number]]
figure = "1"
quantity = "throughput, bbr above newreno"
published = 10
unit = "%"
place = "section 1"
measure = {kind = "gain", metric = "throughput_bps", of = "bbr", over = ["newreno"]}

[[number]]
figure = "2"
quantity = "chunks played"
published = 100
unit = "%"
place = "section 2"
measure = {kind = "level", metric = "playback_ratio", of = "bbr", times = 100}
"""


def write_paper(
    folder: Path, *, figures: str = FIGURES, published: str = PUBLISHED, scenario: str = SCENARIO
) -> Path:
    """The folder of that paper."""
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("figures.toml", figures),
        ("published.toml", published),
        ("small.toml", scenario),
        ("README.md", "# A made paper\n\nNo deviations.\n"),
    ):
        (folder / name).write_text(text)
    return folder
