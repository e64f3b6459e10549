"""A small mission whose channel changes, and K trials of it as a sender knows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dstcc.coded.seen import Blocks, Mission, Seen
from dstcc.scenario import Scenario, load_scenario, parse_override

TEXT = """
[scenario]
name = "short"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [30_000, 30_000, 30_000]}
loop_to_s = 300
[[link]]
name = "ka"
rate_bps = 100_000
delay_s = 10
loss = {states = [{packet = 1e-4, dwell_s = 60}, {packet = 0.2, dwell_s = 40}]}
up_loss = {packet = 0.0}
[transport]
mode = "coded"
handshake = false
congestion = "open-loop"
[coding]
repair = "auto"
block_s = 5
[playout]
delay_rtts = 1.2
[run]
slot_s = 5
seed = 1
seeds = 3
"""


def write(folder: Path, text: str = TEXT, name: str = "short") -> Path:
    """The mission's file, under another name where one is given."""
    path = folder / f"{name}.toml"
    path.write_text(text.replace('name = "short"', f'name = "{name}"'))
    return path


def short(folder: Path, *overrides: str) -> Scenario:
    """The mission, read."""
    return load_scenario(write(folder), [parse_override(text) for text in overrides])


def mission(
    trials: int = 1, *, load: float = 1.0, playout_s: float = 900.0, rates: tuple[float, ...] = (7_500.0,)
) -> Mission:
    """Three layers of 96 packets in blocks of a minute; light takes 600 s; so much of what the paths carry."""
    packets = 96.0
    source = load * sum(rates) * 60 / 3
    one = [Blocks(12.0, packets, source, source / packets, 100.0 * (3 - m)) for m in range(3)]
    return Mission(
        layers=tuple(one),
        block_s=60.0,
        slot_s=60.0,
        playout_s=np.full(trials, playout_s),
        light_s=np.full((trials, len(rates)), 600.0),
        rate_bytes=np.tile(np.array(rates), (trials, 1)),
    )


def seen(of: Mission, now_s: float = 5_000.0, **more: np.ndarray) -> Seen:
    """Nothing waits, nothing was heard, unless told otherwise."""
    paths, layers = of.light_s.shape, (of.trials, len(of.layers))
    values: dict[str, np.ndarray] = {
        "time_s": np.full(of.trials, now_s),
        "heard": np.zeros(paths),
        "lost": np.zeros(paths),
        "runs": np.zeros(paths),
        "sent_s": np.full(paths, np.nan),
        "rtt_s": 2 * of.light_s,
        "delivered_bytes": np.zeros(paths),
        "pace_bytes": of.rate_bytes,
        "queue_bytes": np.zeros(paths),
        "backlog_bytes": np.zeros(layers),
        "slack_s": np.full(layers, np.inf),
    }
    return Seen(**(values | more))
