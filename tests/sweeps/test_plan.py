"""A plan has every trial once, under the hash of all that decides it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from dstcc.errors import InputError
from dstcc.run import identity
from dstcc.sweeps import plan as plans
from dstcc.sweeps.plan import Plan, make_plan
from dstcc.sweeps.study import load_study
from dstcc.sweeps.work import Work
from dstcc.trust import allowed, looking
from tests.made_results import TOY
from tests.sweeps.made import STUDY, TRIALS, write


def plan_of(study: Path) -> Plan:
    return make_plan(Work(load_study(study), train=False))


def hashes(study: Path) -> dict[str, str]:
    plan = plan_of(study)
    return {plan.words(unit): unit.key for unit in plan.units}


def test_the_trials_are_in_the_order_of_their_points(study: Path) -> None:
    plan = plan_of(study)
    assert [(unit.cell, unit.id) for unit in plan.units] == [
        (cell, f"{name}+minrtt/s{seed}")
        for cell in (0, 1)
        for name in ("cubic", "newreno")
        for seed in (1, 2)
    ]
    assert plan.words(plan.units[0]) == "cubic+minrtt/s1 of toy, link.0.loss.packet = 0.001"
    assert plan.about([7]).to_pylist() == [
        {
            "key": plan.units[7].key,
            "made_by": identity.made_by("simulator"),
            "scenario": "toy",
            "link.0.loss.packet": 0.01,
            "algorithm": "newreno+minrtt",
            "congestion": "newreno",
            "scheduler": "minrtt",
            "controller": None,
            "variant": None,
            "seed": 2,
        }
    ]


def test_every_unit_is_handed_out_once_and_a_cells_seed_together(study: Path) -> None:
    plan = plan_of(study)
    batches = list(plan.batches(range(TRIALS)))
    assert sorted(unit.key for batch in batches for unit in batch) == sorted(unit.key for unit in plan.units)
    assert all(len({(unit.cell, unit.id[-1]) for unit in batch}) == 1 for batch in batches)
    assert len(batches) == 4
    assert batches == list(plan.batches(range(TRIALS)))


def test_what_decides_a_trial_changes_its_hash_and_nothing_else_does(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hashes(study)
    moved = write(tmp_path / "elsewhere", STUDY.replace("seeds = 2", 'seeds = 2\nname = "other"'))
    assert hashes(moved) == before
    first = "cubic+minrtt/s1 of toy, link.0.loss.packet = 0.001"
    changes = [("delay_s = 10", "delay_s = 11"), ("80_000", "80_001"), ("loop_to_s = 3", "loop_to_s = 4")]
    for place, (old, new) in enumerate(changes):
        other = write(tmp_path / str(place))
        (other.parent / "toy.toml").write_text((study.parent / "toy.toml").read_text().replace(old, new))
        assert not set(hashes(other).values()) & set(before.values())
    scaled = write(tmp_path / "scaled", STUDY + "[set]\nrun.scale = 2\n")
    assert hashes(scaled)[first] != before[first]
    judged = write(tmp_path / "judged", STUDY.replace("seeds", "quality = true\nseeds"))
    assert hashes(judged)[first] != before[first]
    monkeypatch.setattr(identity, "code_digest", lambda *_: "another")
    identity.made_by.cache_clear()
    try:
        assert hashes(study)[first] != before[first]
    finally:
        identity.made_by.cache_clear()


def test_an_extension_counts_by_its_content(tmp_path: Path) -> None:
    study = write(tmp_path, STUDY.replace("seeds", 'congestion = "mine.py:Mine"\nseeds'))
    source = "class Mine:\n    def on_ack(self, view):\n        return 10.0\n"
    (tmp_path / "mine.py").write_text(source)
    with pytest.raises(InputError, match="runs only if you say so: --allow-extensions"):
        hashes(study)
    with looking():
        before = hashes(study)
    assert "Mine+minrtt/s1 of toy, link.0.loss.packet = 0.001" in before
    with allowed():
        assert hashes(study) == before
    (tmp_path / "mine.py").write_text(source + "# another\n")
    with looking():
        assert hashes(study) != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STUDY.replace("1e-2", "2"), r"at toy, link\.0\.loss\.packet = 2: .*link\.0\.loss\.packet"),
        (STUDY.replace("link.0.loss", "link.3.loss"), r"at toy, link\.3\.loss\.packet = 0\.001: .* no entry '3'"),
        (STUDY + '[[exclude]]\nalgorithm = "!= x"', "has no trials; what its"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_point(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_of(write(tmp_path, text))


def test_what_varies_without_effect_is_refused(tmp_path: Path) -> None:
    study = write(tmp_path, STUDY + '[vary.scenario]\ndescription = ["a", "b"]\n')
    with pytest.raises(InputError, match=r"are the same trial: .* has no effect there"):
        plan_of(study)


def test_columns_have_the_types_of_their_values(tmp_path: Path) -> None:
    text = STUDY.replace("[vary]", "[vary]") + (
        '"link.0.delay_s" = {values = ["3 s", 4], as = "delay"}\n'
        '"transport.initial_cwnd" = [1, 2]\n'
        '"transport.constants.hystart" = [true, false]\n'
        '"link.0.queue_bytes" = ["64 KiB", ""]\n'
        '"link.0.up_loss" = [{packet = 0.1}]\n'
    )
    schema = plan_of(write(tmp_path, text)).schema
    types = {name: schema.field(name).type for name in schema.names[3:9]}
    assert types == {
        "link.0.loss.packet": pa.float64(),
        "delay": pa.float64(),
        "transport.initial_cwnd": pa.int64(),
        "transport.constants.hystart": pa.bool_(),
        "link.0.queue_bytes": pa.int64(),
        "link.0.up_loss": pa.string(),
    }
    plan = plan_of(tmp_path / "study.toml")
    first, second = plan.about([0, 4]).to_pylist()
    assert first["link.0.up_loss"] == '{"packet": 0.1}' and first["link.0.queue_bytes"] == 65_536
    assert second["link.0.queue_bytes"] is None


def test_a_worker_is_handed_sixteen_trials_at_most_or_one_training(tmp_path: Path) -> None:
    """Twenty controls of one point and seed are two batches, in the study's order; of other seeds others."""
    labels = [f"v{place:02}" for place in range(20)]
    variants = "".join(
        f'[[variant]]\nlabel = "{label}"\ncongestion = "cubic"\nset = {{initial_cwnd = {place + 11}}}\n'
        for place, label in enumerate(labels)
    )
    text = '[study]\nscenario = "toy.toml"\nseeds = 2\n'
    scenario = TOY.replace('congestion = ["cubic", "newreno"]', 'congestion = ["cubic"]') + variants
    plan = plan_of(write(tmp_path, text, scenario))
    batches = list(plan.batches(range(len(plan.units))))
    sizes = [len(batch) for batch in batches]
    per_seed = len(plan.units) // 2
    assert per_seed > 16 and sorted(sizes) == sorted([16, per_seed - 16] * 2)
    for batch in batches:
        assert len({plan.pieces[plan.place[unit.key]].facts["seed"] for unit in batch}) == 1
        places = [plan.place[unit.key] for unit in batch]
        assert places == sorted(places)
    assert [len(batch) for batch in replace(plan, train=True).batches(range(5))] == [1] * 5


def test_the_order_of_batches_is_that_of_their_hashes(study: Path) -> None:
    plan = plan_of(study)
    batches = list(plan.batches([7, 0, 2, 5, 1, 4, 6, 3]))
    groups = [[plan.units[first], plan.units[first + 2]] for first in (0, 1, 4, 5)]  # of a point and a seed
    drawn = sorted(groups, key=lambda group: hashlib.sha256(group[0].key.encode()).digest())
    assert batches == drawn


def test_of_some_points_only_theirs(study: Path) -> None:
    work = Work(load_study(study), train=False)
    advanced: list[int] = []
    some = make_plan(work, lambda: advanced.append(1), only=[1])
    assert [unit.cell for unit in some.units] == [1] * 4 and len(advanced) == 1
    assert [unit.key for unit in some.units] == [unit.key for unit in plan_of(study).units[4:]]
    assert some.place == {unit.key: place for place, unit in enumerate(some.units)}
    make_plan(work, lambda: advanced.append(1))
    assert len(advanced) == 3


def test_more_trials_than_a_table_takes_are_refused(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstcc.sweeps.plan.MOST_TRIALS", TRIALS)
    assert len(plan_of(study).units) == TRIALS
    monkeypatch.setattr("dstcc.sweeps.plan.MOST_TRIALS", TRIALS - 1)
    with pytest.raises(InputError, match="more than 7 trials"):
        plan_of(study)


def test_trials_that_are_the_same_are_named_both(tmp_path: Path) -> None:
    study = write(tmp_path, STUDY + '[vary.scenario]\ndescription = ["a", "b"]\n')
    with pytest.raises(InputError) as error:
        plan_of(study)
    at = "link.0.loss.packet = 0.001, scenario.description"
    assert f'cubic+minrtt/s1 of toy, {at} = "a" and cubic+minrtt/s1 of toy, {at} = "b"' in str(error.value)


def test_a_table_has_columns_for_the_most_layers_and_says_whose_python_runs(tmp_path: Path) -> None:
    text = STUDY.replace('"toy.toml"', '["toy.toml", "three.toml"]')
    three = TOY.replace("[8000, 8000]", "[8000, 8000, 8000]").replace('"toy"', '"three"')
    (tmp_path / "three.toml").write_text(three)
    plan = plan_of(write(tmp_path, text))
    assert plan.layers == 3 and not plan.extended
    assert {"layers_played.none", "layers_played.0", "layers_played.2"} <= set(plan.schema.names)
    assert "layers_played.3" not in plan.schema.names
    assert plan_of(write(tmp_path / "two")).layers == 2
    assert plan_of(write(tmp_path / "one", scenario=TOY.replace("[8000, 8000]", "[8000]"))).layers == 1
    (tmp_path / "mine.py").write_text("class Mine:\n    def on_ack(self, view):\n        return 10.0\n")
    mine = write(tmp_path, STUDY.replace("seeds", 'congestion = "mine.py:Mine"\nseeds'))
    with looking():
        assert plan_of(mine).extended


def test_which_columns_may_be_empty_and_in_which_order(study: Path) -> None:
    schema = plan_of(study).schema
    assert schema.names[:10] == [
        *("key", "made_by", "scenario", "link.0.loss.packet", "algorithm"),
        *("congestion", "scheduler", "controller", "variant", "seed"),
    ]
    there = {name for name in schema.names if not schema.field(name).nullable}
    assert there == {"key", "made_by", "scenario", "algorithm", "seed"}
    assert schema.field("seed").type == pa.int64()


@pytest.mark.parametrize(
    ("values", "kind", "cells"),
    [
        ([True, False], pa.bool_(), [True, False]),
        ([True, 2], pa.string(), ["true", "2"]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([1, "auto"], pa.string(), ["1", "auto"]),
        (["", ""], pa.string(), [None, None]),
        (["", 1.5], pa.float64(), [None, 1.5]),
        ([[1, 2], {"a": "µ"}], pa.string(), ["[1, 2]", '{"a": "µ"}']),
    ],
)
def test_a_column_has_the_type_of_all_its_values(
    values: list[object], kind: pa.DataType, cells: list[object]
) -> None:
    assert plans._type_of(values) == kind
    assert [plans._cell_value(kind, value) for value in values] == cells
    assert [type(plans._cell_value(kind, value)) for value in values] == [type(cell) for cell in cells]
