"""Draws of the law of which sealed 03 is one realisation."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from dstcc.scenario import parse_override
from experiments.law_draws import SCENARIO, Law, law, main
from experiments.played import mission


def values_of(law: Law, seed: int) -> list[np.ndarray]:
    """Logarithms of the probabilities of both tables of a draw."""
    return [np.log(np.array(parse_override(text).value["table"])[:, 1]) for text in law.draw(seed)]


def test_draws_have_mean_deviation_memory_and_the_uplinks_offset_of_the_table() -> None:
    t_s = 100.0 * np.arange(50)
    ups_and_downs = np.exp(-4 + 0.5 * np.sqrt(2) * np.sin(2 * np.pi * np.arange(50) / 25))
    down = np.stack([t_s, ups_and_downs], axis=1)
    known = Law(down, np.stack([t_s[::2], 2 * ups_and_downs[::2]], axis=1))
    assert known.mean == pytest.approx(-4)
    assert known.deviation == pytest.approx(0.5)
    assert known.up == pytest.approx(np.log(2))
    kept = np.exp(-100 / known.memory_s)
    assert kept == pytest.approx(np.cos(2 * np.pi / 25), abs=0.01)
    drawn = [values_of(known, seed) for seed in range(400)]
    values = np.array([down for down, _ in drawn])
    assert values.shape == (400, 50)
    assert values.mean() == pytest.approx(-4, abs=0.05)
    assert values[:, 0].std() == pytest.approx(values[:, -1].std(), abs=0.08) == pytest.approx(0.5, abs=0.05)
    assert np.corrcoef(values[:, 20], values[:, 21])[0, 1] == pytest.approx(kept, abs=0.02)
    for down, up in drawn[:20]:
        assert up - down[::2] == pytest.approx(np.full(25, np.log(2)), abs=0.05)  # of two digits each


def test_a_draw_is_a_scenario_of_the_same_times_and_no_probability_is_above_a_half() -> None:
    texts = law().draw(1001)
    one, plain = (
        link.model_dump() for link in (mission(SCENARIO, *texts).link[0], mission(SCENARIO).link[0])
    )
    for key in ("loss", "up_loss"):
        (t_s, p), (own_t_s, own_p) = (np.array(link[key]["table"]).T for link in (one, plain))
        assert t_s.tolist() == own_t_s.tolist()
        assert 0 < p.max() <= 0.5
        assert p.tolist() != own_p.tolist()
    assert texts == law().draw(1001) != law().draw(1002)


def test_all_transports_play_over_the_same_draws() -> None:
    result = CliRunner().invoke(main, ["--draws", "2"])
    assert result.exit_code == 0, result.output
    rows = [row for row in result.output.splitlines() if row.startswith("| ")]
    assert len(rows) == 6
    assert rows[-1].startswith("| gru-mpc, told")
    assert rows[-1].endswith("| +0.000 [+0.000, +0.000] |")
