"""The cost of a trial of a study with many seeds, against the engine's part of it."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from dstcc.engine import EngineConfig, clairvoyant_weight, simulate
from dstcc.layers import layer_weights
from dstcc.run import write_run
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source, parse_override

from .figure import Measured, core_s, cpu_s, interleaved

SCENARIO = Path(__file__).parents[1] / "examples/iodst/table-1.toml"
SEEDS, REPEATS = 200, 3
SETTINGS = (
    'transport.congestion=["cubic"]',
    "variant=[]",
    "expect={}",
    "video.loop_to_s=900",
    f"run.seeds={SEEDS}",
)
"""A quarter of an hour over links drawn from table 1 of Ha et al., 2023: some 24,000 packets and 2,700 layers."""


def emulate_trial_ms() -> Measured:
    """``dstcc emulate --seeds 200 --jobs 1``, from the read scenario to the finished run directory."""
    scenario = load_scenario(SCENARIO, [parse_override(text) for text in SETTINGS])
    source = load_source(scenario)
    configs = [
        engine_config(scenario, draw_trial(scenario, source, seed), "cubic", "minrtt")
        for seed in scenario.seeds
    ]
    weights = layer_weights(configs[0].objects.layer, source.layers)

    def bound(config: EngineConfig) -> float:
        return clairvoyant_weight(config, weights)

    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(REPEATS + 1))

        def run() -> None:
            write_run(Path(folder) / f"run-{next(numbers)}", scenario, source, argv=[], jobs=1)

        run()  # imports and fills the caches
        ours, trials, bounds = interleaved(
            REPEATS,
            lambda: cpu_s(run),
            lambda: core_s(lambda: [simulate(config) for config in configs]),
            lambda: core_s(lambda: [bound(config) for config in configs]),
        )
        sizes = {
            path.name: path.stat().st_size / SEEDS for path in (Path(folder) / "run-0").glob("*.parquet")
        }
    ms = [1e3 * statistics.median(spent) / SEEDS for spent in (ours, trials, bounds)]
    return Measured(
        ms[0],
        "ms CPU",
        "the engine: the trial and the bound",
        statistics.median(o / (t + b) for o, t, b in zip(ours, trials, bounds, strict=True)),
        repeats=tuple(1e3 * spent / SEEDS for spent in ours),
        details={"trial_ms": ms[1], "bound_ms": ms[2], "bytes_a_trial": sizes},
        notes=(
            f"of it the trial {ms[1]:.2f} ms, the clairvoyant bound {ms[2]:.2f}, the rest {ms[0] - ms[1] - ms[2]:.2f}; "
            f"{sizes['chunks.parquet'] / 1e3:.1f} kB of chunks.parquet",
        ),
    )
