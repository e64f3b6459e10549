"""The networks that policies run on, against their formulas, for one episode and for several."""

from __future__ import annotations

from math import exp, tanh
from typing import Any

import numpy as np
import pytest

from dstcc.learn.policies.network import ActionValues, LstmActor, Mlp, PerSubflow, Recorded

Array = np.ndarray[Any, Any]


def single(*values: Any) -> Array:
    return np.array(values, dtype=np.float32)


def both(network: Any, observations: Array) -> Array:
    """What comes out of several episodes at once, which is what comes out of each alone."""
    together: Array = network(observations.copy())
    for row, alone in zip(together, observations, strict=True):
        assert network(alone[None].copy())[0] == pytest.approx(row, abs=1e-6)
    return together


@pytest.mark.parametrize(
    ("name", "activate"), [("relu", lambda x: max(x, 0.0)), ("tanh", tanh), (None, None)]
)
def test_layers_have_their_activation_between_them_and_none_at_the_end(
    name: str | None, activate: Any
) -> None:
    """Of two values: (x - 2y + 1, 3x); then their first less half of the second, less 4. relu unless named."""
    activate = activate or (lambda x: max(x, 0.0))
    tensors = {
        "layers.0.weight": single([1, -2], [3, 0]),
        "layers.0.bias": single(1, 0),
        "layers.1.weight": single([1, -0.5]),
        "layers.1.bias": single(-4),
    }
    network = Mlp({"kind": "mlp"} | ({"activation": name} if name else {}), tensors, 2, 1)
    seen = single([1, 3], [0.5, -1], [0, 0])
    wanted = [activate(x - 2 * y + 1) - 0.5 * activate(3 * x) - 4 for x, y in seen.tolist()]
    assert both(network, seen)[:, 0] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("document", "change", "words"),
    [
        ({"activation": "sigmoid"}, {}, r"kind and activation \(relu, tanh\) only"),
        ({"more": 1}, {}, "kind and activation"),
        ({}, {"layers.0.weight": single([1, 2, 3])}, r"layers.0: weight \(1, 3\).* do not take 2 values"),
        ({}, {"layers.0.weight": single(1, 2)}, r"layers.0: weight \(2,\)"),
        ({}, {"layers.0.bias": single(1, 2)}, r"layers.0: weight \(1, 2\) and bias \(2,\)"),
        ({}, {"layers.0.weight": single([1, 2], [3, 4]), "layers.0.bias": single(1, 2)}, "puts out 2 values"),
        ({}, {"layers.2.bias": single(1)}, "an mlp has"),
    ],
)
def test_weights_that_do_not_fit_are_refused(document: Any, change: Any, words: str) -> None:
    tensors = {"layers.0.weight": single([1, 2]), "layers.0.bias": single(3)}
    Mlp({"kind": "mlp"}, tensors, 2, 1)
    with pytest.raises(ValueError, match=words):
        Mlp({"kind": "mlp", **document}, tensors | change, 2, 1)
    with pytest.raises(ValueError, match="tensors none: an mlp has"):
        Mlp({}, {}, 2, 1)


def test_every_subflow_passes_by_itself() -> None:
    tensors = {"layers.0.weight": single([1, 10]), "layers.0.bias": single(100)}
    network = PerSubflow({"kind": "per-subflow"}, tensors, 6, 3)
    assert both(network, single([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 0, 1])).tolist() == [
        [121, 143, 165],
        [100, 101, 110],
    ]
    with pytest.raises(ValueError, match="7 values are not as many for each of 3 subflows"):
        PerSubflow({}, tensors, 7, 3)


def test_ranges_of_values_are_digits_of_a_row() -> None:
    """Two cuts, one and none: 3 · 2 · 1 rows of two. A value on a cut is above it."""
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    network = ActionValues({"kind": "table", "edges": [[0.0, 1.0], [5.0], []]}, {"table": table}, 3, 2)
    seen = single([-1, 4.9, 7], [0, 4.9, 7], [0.9, 5, -7], [1, 4, 0], [9, 9, 0])
    assert both(network, seen)[:, 0].tolist() == [0, 4, 6, 8, 10]
    assert ActionValues.rows([[0.0, 1.0], [5.0], []], seen).tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("edges", "rows", "words"),
    [
        ([[0.0], [1.0]], 4, None),
        ([[1.0, 0.0], [1.0]], 6, "edges rise"),
        ([[0.0]], 2, "edges for 2 values"),
        ("none", 2, "edges for 2 values"),
        ([[0.0], [1.0]], 5, r"tensor table: \(5, 3\), .* ask for \(4, 3\)"),
    ],
)
def test_a_table_has_a_row_for_each_combination(edges: Any, rows: int, words: str | None) -> None:
    table = {"table": np.zeros((rows, 3), np.float32)}
    if words is None:
        ActionValues({"kind": "table", "edges": edges}, table, 2, 3)
        return
    with pytest.raises(ValueError, match=words):
        ActionValues({"kind": "table", "edges": edges}, table, 2, 3)


def test_a_missing_table_and_a_further_key_are_refused() -> None:
    with pytest.raises(ValueError, match="tensor table: missing"):
        ActionValues({"kind": "table", "edges": [[0.0]]}, {}, 1, 3)
    with pytest.raises(ValueError, match="network table: kind"):
        ActionValues(
            {"kind": "table", "edges": [[0.0]], "more": 1}, {"table": np.zeros((2, 3), np.float32)}, 1, 3
        )


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


def lstm(width: int = 2, features: int = 3) -> dict[str, Any]:
    draws = np.random.default_rng(5)
    shapes = {
        "lstm.weight_ih": (4 * width, features),
        "lstm.weight_hh": (4 * width, width),
        "lstm.bias": (4 * width,),
        "layers.0.weight": (1, width + features),
        "layers.0.bias": (1,),
    }
    return {name: draws.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def test_an_lstm_runs_over_the_subflows_that_are_there() -> None:
    """Hochreiter and Schmidhuber's cell in torch's order of gates, written out; then each subflow by itself."""
    t, width = lstm(), 2
    seen = np.random.default_rng(6).normal(0, 1, (3, 4, 3)).astype(np.float32)
    seen[0, 1] = seen[1, 0] = seen[2] = 0
    network = LstmActor({"kind": "lstm-actor"}, t, 12, 4)
    wanted = np.zeros((3, 4))
    for k, subflows in enumerate(seen.astype(float)):
        state, cell = np.zeros(width), np.zeros(width)
        there = [s for s in range(4) if subflows[s].any()]
        for s in there:
            gates = t["lstm.weight_ih"] @ subflows[s] + t["lstm.weight_hh"] @ state + t["lstm.bias"]
            for unit in range(width):
                into, keep, new, out = (gates[part * width + unit] for part in range(4))
                cell[unit] = sigmoid(keep) * cell[unit] + sigmoid(into) * tanh(new)
                gates[3 * width + unit] = sigmoid(out) * tanh(cell[unit])
            state = gates[3 * width :]
        for s in there:
            joint = np.concatenate([state, subflows[s]])
            wanted[k, s] = tanh(float((t["layers.0.weight"] @ joint + t["layers.0.bias"])[0]))
    assert both(network, seen.reshape(3, 12)) == pytest.approx(wanted, abs=1e-5)
    assert (wanted != 0).sum() == 6


def test_lstm_weights_that_do_not_fit_are_refused() -> None:
    t = lstm()
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"lstm.weight_hh": np.zeros((8, 3), np.float32)}, r"lstm.weight_hh \(8, 3\): not"),
        ({"lstm.weight_ih": np.zeros((8, 4), np.float32)}, r"lstm.weight_ih \(8, 4\)"),
        ({"lstm.more": np.zeros(1, np.float32)}, "lstm.weight_ih, lstm.weight_hh and lstm.bias"),
        ({"layers.0.weight": np.zeros((1, 6), np.float32)}, "do not take 5 values"),
        ({"layers.0.weight": np.zeros((2, 5)), "layers.0.bias": np.zeros(2)}, "puts out 2 values"),
    )
    for change, words in cases:
        with pytest.raises(ValueError, match=words):
            LstmActor({"kind": "lstm-actor"}, {**t, **change}, 12, 4)
    with pytest.raises(ValueError, match="as many values a subflow"):
        LstmActor({"kind": "lstm-actor"}, t, 13, 4)


def test_a_record_has_rows_of_outputs() -> None:
    rows = single([1, 2], [3, 4])
    network = Recorded({"kind": "recorded"}, {"outputs": rows}, 5, 2)
    seen = np.zeros((3, 5), np.float32)
    assert [network(seen)[0].tolist() for _ in range(3)] == [[1, 2], [3, 4], [3, 4]]
    assert network(seen).shape == (3, 2)
    for tensors, shapes in (
        ({}, "none"),
        ({"outputs": rows[:0]}, r"outputs \(0, 2\)"),
        ({"outputs": rows[0]}, r"outputs \(2,\)"),
        ({"outputs": rows, "more": rows}, r"outputs \(2, 2\), more \(2, 2\)"),
        ({"outputs": rows[:, :1]}, r"outputs \(2, 1\)"),
    ):
        with pytest.raises(ValueError, match=rf"a tensor outputs \(steps, 2\), not {shapes}$"):
            Recorded({"kind": "recorded"}, tensors, 5, 2)
    with pytest.raises(ValueError, match="network recorded: kind, and a tensor"):
        Recorded({"kind": "recorded", "more": 1}, {"outputs": rows}, 5, 2)
