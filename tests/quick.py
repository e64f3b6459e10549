"""A scenario that takes no time."""

QUICK = """
[scenario]
name = "quick"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}
loop_to_s = 5
[[link]]
name = "a"
rate_bps = 1_000_000
delay_s = 0.05
"""
"""Two layers of 1000 bytes a second for five seconds, over one link whose keys may be added to."""
