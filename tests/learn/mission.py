"""A small mission that takes milliseconds: two links of 2 and 3 s, two layers, a minute of video."""

from __future__ import annotations

MISSION = """
[scenario]
name = "small"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [100_000, 100_000]}
loop_to_s = 60
[[link]]
name = "a"
rate_bps = 200_000
delay_s = {uniform = [0.9, 1.1]}
loss = {packet = {log_uniform = [1e-3, 1e-2]}}
[[link]]
name = "b"
rate_bps = 300_000
delay_s = 1.5
loss = {packet = 1e-3}
[transport]
mode = "lanes"
[playout]
delay_rtts = 2
[run]
slot_rtts = 0.5
"""
