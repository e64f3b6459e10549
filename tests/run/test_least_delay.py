"""Of each seed the playout delay with less than which no sender has everything in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.engine import clairvoyant_weight
from dstcc.layers import layer_weights
from dstcc.run import plan, write_run
from dstcc.run.backends import BACKENDS, Backend
from dstcc.run.least_delay import documents, least_playout_delays
from dstcc.scenario import (
    Scenario,
    draw_links,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_override,
)

LOSSLESS = "link.0.loss="
SIMULATOR, KERNEL = BACKENDS["simulator"], BACKENDS["kernel"]


def scenario_of(path: Path, *overrides: str) -> Scenario:
    return load_scenario(path, [parse_override(text) for text in overrides])


def delays(
    path: Path, *overrides: str, seeds: int = 1, backend: Backend = SIMULATOR
) -> dict[int, float | None]:
    scenario = scenario_of(path, f"run.seeds={seeds}", *overrides)
    return least_playout_delays(scenario, load_source(scenario), backend)


def test_it_is_of_each_seeds_draws(scenario_file: Path) -> None:
    scenario = scenario_of(scenario_file, LOSSLESS)
    light_s = {seed: draw_links(scenario, seed)[0].delay_ns[0] / 1e9 for seed in (1, 2, 3)}
    assert len(set(light_s.values())) == 3
    # two layers of 1,000 bytes: two packets of 1,040 at 80 kbit/s; Linux fills packets, 2,000 · 1,500 / 1,460
    for backend, served_s in ((SIMULATOR, 0.208), (KERNEL, 0.2 * 1500 / 1460)):
        found = delays(scenario_file, LOSSLESS, seeds=3, backend=backend)
        assert found == {seed: pytest.approx(light_s[seed] + served_s, rel=2e-5) for seed in (1, 2, 3)}


@pytest.mark.parametrize("loss", [LOSSLESS, "link.0.loss.packet=0.3"])
def test_a_scenario_with_that_delay_has_a_bound_of_1_and_with_less_has_not(
    scenario_file: Path, loss: str
) -> None:
    found = delays(scenario_file, loss, seeds=2)

    def bound(seed: int, delay_s: float) -> float:
        scenario = scenario_of(scenario_file, loss, f"playout.delay_s={delay_s!r}")
        source = load_source(scenario)
        config = engine_config(scenario, draw_trial(scenario, source, seed), "cubic", "minrtt")
        weights = layer_weights(config.objects.layer, source.layers)
        return clairvoyant_weight(config, weights) / float(weights.sum())

    for seed, delay_s in found.items():
        assert delay_s is not None
        assert bound(seed, delay_s) == 1 > bound(seed, 0.9999 * delay_s)


def test_the_kernels_losses_do_not_count(scenario_file: Path) -> None:
    # a layer of five full packets
    full = "video.synthetic.layer_bps=[58_400]"
    lossy, on_kernel = (
        delays(scenario_file, full, "link.0.loss.packet=0.6", backend=one)[1] for one in (SIMULATOR, KERNEL)
    )
    assert on_kernel == delays(scenario_file, full, LOSSLESS, backend=KERNEL)[1]
    assert lossy is not None and on_kernel is not None and lossy > on_kernel + 0.5


def test_none_is_enough_where_the_run_ends_first(scenario_file: Path) -> None:
    # the last of three chunks is captured at 3 s, and light takes 2 s at least
    assert delays(scenario_file, "scenario.duration_s=5", seeds=2) == {1: None, 2: None}
    assert documents({1: None, 2: 3.5}) == (
        {"seed": 1, "delay_s": None},
        {"seed": 2, "delay_s": 3.5},
    )


def test_without_deadlines_there_is_none(scenario_file: Path) -> None:
    assert delays(scenario_file, 'playout={mode = "stall"}') == {}


@pytest.mark.parametrize(("seeds", "known"), [(2, 2), (12, 10)])
def test_a_plan_and_a_run_have_it_of_the_first_seeds(
    toy: None, scenario_file: Path, tmp_path: Path, seeds: int, known: int
) -> None:
    scenario = scenario_of(scenario_file, f"run.seeds={seeds}", 'transport.congestion="cubic"')
    source = load_source(scenario)
    found = delays(scenario_file, seeds=seeds)
    assert list(found) == list(range(1, known + 1))
    assert plan(scenario, source, "simulator").least_playout_delays == documents(found)
    write_run(tmp_path / "run", scenario, source, argv=[])
    said = json.loads((tmp_path / "run/run.json").read_text())["least_playout_delays"]
    assert said == list(documents(found))
