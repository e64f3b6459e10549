"""``experiments/remy_rules.py``: the search for rules of `remy`."""

from __future__ import annotations

import pytest

from dstcc.remy.table import shipped
from experiments.remy_rules import Trainer, networks, utility


def test_the_shipped_table_reaches_the_utility_it_claims() -> None:
    table = shipped()
    utilities = [utility(network, table.rules) for network in networks(table.trained["seed"])]
    # Room for what later versions of the engine change.
    assert sum(utilities) / len(utilities) == pytest.approx(table.trained["utility"], abs=0.05)


def test_training_is_deterministic_and_improves() -> None:
    first, again = (Trainer(3, 40, lambda line: None).train() for _ in range(2))
    assert first == again
    assert first.trained["utility"] > Trainer(3, 1, lambda line: None).train().trained["utility"]
