"""One update of each learner, against its docstring's formulas in arithmetic of its own."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch

from dstcc.engine.stepper import EPISODE_VALUES
from dstcc.learn.algorithms import ddpg, delayed_dqn, dqn, mpquic, ppo, qtable, rollouts, torches
from dstcc.learn.algorithms.learner import Slot
from dstcc.learn.algorithms.recipe import Recipe
from dstcc.learn.algorithms.recipes import RECIPES, Task
from dstcc.learn.algorithms.recipes.dstcc_lanes import RolloutSettings
from tests.learn.algorithms.test_learners import make

Array = np.ndarray[Any, Any]
DRAWS = np.random.default_rng(3)
START = DRAWS.bit_generator.state


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Whatever runs before."""
    DRAWS.bit_generator.state = START


def slot(count: int = 4, features: int = 10, **more: Any) -> Slot:
    """A slot of so many episodes, of values at random unless given."""
    no, own = np.zeros(count, dtype=np.bool_), np.zeros((count, len(EPISODE_VALUES)))
    whole: dict[str, Any] = {
        "observations": DRAWS.normal(size=(count, features)).astype(np.float32),
        "actions": DRAWS.uniform(-1, 1, (count, 2)).astype(np.float32),
        "rewards": DRAWS.normal(size=count),
        "following": DRAWS.normal(size=(count, features)).astype(np.float32),
        **{"terminated": no, "done": no, "before": own, "after": own},
    }
    return Slot(**{**whole, **more})


def adams(parameters: Any, loss: Any, rate: float, most: float | None = None) -> list[torch.Tensor]:
    """What one step of Adam makes of parameters (Kingma and Ba: the first goes by the sign of the gradient), whose
    gradient's norm is bounded."""
    parameters = list(parameters)
    gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
    norm = torch.sqrt(sum((one.square().sum() for one in gradients), torch.zeros(())))
    share = 1.0 if most is None or norm <= most else most / norm
    return [
        one.detach() - rate * share * grad / ((share * grad).abs() + 1e-8)
        for one, grad in zip(parameters, gradients, strict=True)
    ]


def same(parameters: Any, wanted: list[torch.Tensor], atol: float = 1e-5) -> None:
    for one, other in zip(parameters, wanted, strict=True):
        assert torch.allclose(one.detach(), other, atol=atol)


# --------------------------------------------------------------------------------------------------------------- recipe


@pytest.mark.parametrize(("step", "share"), [(0, 0.8), (50, 0.5), (100, 0.2), (101, 0.2), (1000, 0.2)])
def test_random_actions_grow_rarer_in_a_line(step: int, share: float) -> None:
    recipe = Recipe({}, "eq6", RECIPES["iodst-q"].learner, steps=1, epsilon=(0.8, 0.2), epsilon_steps=100)
    assert recipe.epsilon_at(step) == pytest.approx(share)


def test_updates_are_due_where_a_multiple_was_passed_after_the_warm_up() -> None:
    """Steps of 4 episodes at once, an update every 6, from 12 on."""
    recipe = Recipe(
        {}, "eq6", RECIPES["iodst-q"].learner, steps=1, episodes=4, learn_every=6, warm_up=12, metric="m"
    )
    assert [recipe.updates_due(step) for step in range(4, 33, 4)] == [0, 0, 1, 0, 1, 1, 0, 1]
    assert [replace(recipe, episodes=13).updates_due(step) for step in (13, 26)] == [2, 2]


# ------------------------------------------------------------------------------------------------------------- networks


def test_layers_begin_within_the_root_of_what_goes_into_them() -> None:
    """U(-b, b), b = 1 / sqrt(fan in), of every layer; the same draws give the same."""
    layers: Any = torches.chain((50, 30, 20), torch.Generator().manual_seed(1))
    assert [(layer.in_features, layer.out_features) for layer in layers] == [(50, 30), (30, 20)]
    network = dqn.Network(50, (3, 2), (30, 20), seed=1)
    linears = (*network.hidden, network.advantage)
    assert [(layer.in_features, layer.out_features) for layer in linears] == [(50, 30), (30, 20), (20, 5)]
    dueling = delayed_dqn.DuelingNetwork(50, (3, 2), (30,), seed=1)
    assert (dueling.value.in_features, dueling.value.out_features) == (30, 1)
    for layer in (*layers, *linears, dueling.value):
        weight, bound = layer.weight.detach().abs(), layer.in_features**-0.5
        assert weight.max() <= bound and layer.bias.detach().abs().max() <= bound
        assert weight.max() > (0.98 if weight.numel() > 50 else 0.8) * bound and weight.min() < 0.1 * bound
    again: Any = torches.chain((50, 30, 20), torch.Generator().manual_seed(1))
    assert all((a.weight == b.weight).all() for a, b in zip(layers, again, strict=True))
    assert all((a.bias == b.bias).all() for a, b in zip(layers, again, strict=True))


def test_torchs_draws_are_of_a_runs_seed_and_their_purpose() -> None:
    for seed, name in ((5, "weights"), (6, "weights"), (5, "value")):
        wanted = int(np.random.default_rng([seed, crc32(name.encode())]).integers(2**62))
        assert torches.torch_draws(seed, name).initial_seed() == wanted


def test_windows_stand_still_at_first() -> None:
    """The last layer of an actor is a hundredth of what it would be; a critic's is not."""
    one, _ = make("pbq", hidden=(64,))
    actor, critic = one.networks.actor, one.networks.critic
    assert actor[-1].weight.abs().max() <= 0.01 / 8 and actor[-1].weight.abs().max() > 0.009 / 8
    assert critic[-1].weight.abs().max() > 0.9 / 8
    other, _ = make("drl-cc", hidden=(64,))
    assert 0.009 / 8 < other.actor.head[-1].weight.abs().max() <= 0.01 / 8
    assert other.critic.head[-1].weight.abs().max() > 0.9 / 8
    assert other.actor.reader.cell.weight_ih.shape == (4 * 8, 5)
    assert other.critic.reader.cell.weight_ih.shape == (4 * 8, 6)


def test_the_moments_of_a_network_begin_at_nothing_and_are_kept_by_name() -> None:
    one, _ = make("drl-cc")
    first = one.changed()[0]
    before = [parameter.detach().clone() for parameter in first.network.parameters()]
    first.begin()
    same(first.network.parameters(), before, 0.0)
    tensors = first.tensors()
    moments = [tensor for name, tensor in tensors.items() if name.startswith("adam.actor.")]
    assert moments and all((tensor == 0).all() or tensor.ndim == 0 for tensor in moments)
    assert all(
        parameter.grad is None or (parameter.grad == 0).all() for parameter in first.network.parameters()
    )


# ------------------------------------------------------------------------------------------------------------------ ppo


def test_ppos_update_is_that_of_the_clipped_objective() -> None:
    """Ratios beyond the clip on either side, with gains of both signs; one subflow is not there in two rows."""
    learner, _ = make(
        "pbq", slots=5, hidden=(8,), learning_rate=1e-2, clip=0.2, entropy=0.03, max_grad_norm=0.5
    )
    assert isinstance(learner, ppo.Ppo)
    seen = torch.from_numpy(DRAWS.normal(size=(20, 2, 5)).astype(np.float32))
    seen[3:5, 1] = 0
    batch = {
        "seen": seen,
        "action": torch.from_numpy(DRAWS.normal(size=(20, 2)).astype(np.float32)),
        "advantage": torch.from_numpy(DRAWS.normal(size=20).astype(np.float32)),
        "value_target": torch.from_numpy(DRAWS.normal(size=20).astype(np.float32)),
    }
    there = torch.ones(20, 2)
    there[3:5, 1] = 0
    networks = deepcopy(learner.networks)

    def through(layers: Any) -> Any:
        return (torch.tanh(seen @ layers[0].weight.T + layers[0].bias) @ layers[1].weight.T + layers[1].bias)[
            ..., 0
        ]

    std = networks.log_std.exp()
    values = (through(networks.critic) * there).sum(dim=1) / there.sum(dim=1)
    log = (
        -((batch["action"] - through(networks.actor)) ** 2) / (2 * std**2)
        - networks.log_std
        - np.log(2 * np.pi) / 2
    )
    now = (log * there).sum(dim=1)
    batch["before"] = now.detach() + torch.linspace(-0.6, 0.6, 20)
    advantage = (batch["advantage"] - batch["advantage"].mean()) / batch["advantage"].std()
    ratio = (now - batch["before"]).exp()
    assert (ratio > 1.2).sum() > 3 and (ratio < 0.8).sum() > 3
    gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    entropy = ((0.5 + 0.5 * np.log(2 * np.pi) + networks.log_std) * there).sum(dim=1).mean()
    loss = -gain + 0.5 * ((values - batch["value_target"]) ** 2).mean() - 0.03 * entropy
    actor = adams((*networks.actor.parameters(), networks.log_std), loss, 1e-2, 0.5)
    critic = adams(networks.critic.parameters(), loss, 1e-2, 0.5)
    found = learner._update(batch)
    assert float(found.detach()) == pytest.approx(float(loss.detach()), abs=1e-5)
    same((*learner.networks.actor.parameters(), learner.networks.log_std), actor, 2e-4)
    same(learner.networks.critic.parameters(), critic, 2e-4)
    once = [parameter.grad.clone() for parameter in learner.networks.critic.parameters()]
    learner.networks.load_state_dict(networks.state_dict())
    learner._update(batch)
    again = [parameter.grad for parameter in learner.networks.critic.parameters()]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(once, again, strict=True))


def test_a_rollout_is_kept_slot_by_slot_and_learned_from_when_it_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner, recipe = make("pbq", slots=3, epochs=2, batch=5)
    own = np.zeros((4, len(EPISODE_VALUES)))
    updates: list[dict[str, torch.Tensor]] = []

    def update(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        updates.append(batch)
        return torch.tensor(7.0)

    monkeypatch.setattr(learner, "_update", update)
    for number in range(4):
        ends = np.array([number == 1, False, False, number == 0])
        one = slot(terminated=ends & [True, True, True, False], done=ends)
        chosen = learner.act(one.observations, own, 0)
        assert (np.abs(chosen) <= 1).all()
        drawn = learner._drawn.copy()
        found = learner.take(replace(one, actions=chosen), 0)
        assert found == (7.0 if number == 2 else None) and learner._filled[0] == (number + 1) % 3
        kept = {name: values[number % 3] for name, values in learner._rollout.items()}
        assert (kept["actions"] == drawn).all(), "as drawn, and not as cut off"
        assert (kept["observations"] == one.observations).all() and (kept["following"] == one.following).all()
        assert kept["rewards"] == pytest.approx(one.rewards)
        assert kept["goes_on"].tolist() == (~one.done).tolist()
        assert kept["terminated"].tolist() == one.terminated.tolist()
    assert (learner.updates, recipe.episodes) == (1, 4)
    # 12 slots of episodes in batches of 5, 5 and 2, twice; each row once
    assert [len(batch["advantage"]) for batch in updates] == [5, 5, 2] * 2
    for epoch in (updates[:3], updates[3:]):
        targets = torch.cat([batch["value_target"] for batch in epoch])
        assert len(set(targets.tolist())) == 12
    assert [batch["seen"].shape for batch in updates[:3]] == [(5, 2, 5), (5, 2, 5), (2, 2, 5)]
    assert learner.exploration(0) == pytest.approx(float(learner.networks.log_std.exp().detach()))


def test_actions_are_drawn_about_the_mean() -> None:
    learner, _ = make("pbq", log_std=-2.0)
    seen = np.tile(DRAWS.normal(size=(1, 10)).astype(np.float32), (4, 1))
    with torch.no_grad():
        mean = learner.networks.mean_and_value(learner._tensor(seen))[0].numpy()
    drawn = np.stack([learner.act(seen, np.zeros((4, 1)), 0) - mean for _ in range(1000)])
    assert drawn.std() == pytest.approx(np.exp(-2), rel=0.05) and abs(drawn.mean()) < 0.01


# ----------------------------------------------------------------------------------------------------------------- ddpg


def of_critic(before: Any) -> tuple[Any, Any]:
    """What the next 16 steps that are drawn observed, and the critic's loss on them, by the copies' values."""
    drawn = before.replay.sample(before._draw, 16)
    seen, following = (torch.from_numpy(drawn[name].reshape(16, 2, 5)) for name in ("observation", "next"))
    actor, critic = before._targets
    with torch.no_grad():
        after = critic(following, actor(following))
        wanted = torch.from_numpy(drawn["reward"]) + torch.from_numpy(drawn["discount"]) * after
    return seen, (before.critic(seen, torch.from_numpy(drawn["action"])) - wanted).square().mean()


def test_ddpgs_update_is_that_of_critic_then_actor_then_copies() -> None:
    learner, _ = make(
        "drl-cc", batch=16, discount=0.9, target_share=0.25, actor_rate=1e-3, critic_rate=2e-3, hidden=(8,)
    )
    assert isinstance(learner, ddpg.Ddpg)
    with torch.no_grad():
        for target in learner._targets:
            for parameter in target.parameters():
                parameter.mul_(1.5)
    learner.recipe = replace(learner.recipe, warm_up=10**9)
    ends = np.array([False, True, False, False] * 2)
    assert learner.take(slot(8, terminated=ends), 8) is None and len(learner.replay) == 8
    assert learner.replay.arrays()["discount"].tolist() == pytest.approx([0.9, 0, 0.9, 0.9] * 2)
    before = deepcopy(learner)
    seen, loss = of_critic(before)
    critics = adams(before.critic.parameters(), loss, 2e-3)
    found = learner._learn()
    assert found == pytest.approx(float(loss.detach()), rel=1e-5) and learner.updates == 1
    same(learner.critic.parameters(), critics, 1e-4)
    worse = -learner.critic(seen, before.actor(seen)).mean()
    same(learner.actor.parameters(), adams(before.actor.parameters(), worse, 1e-3), 1e-4)
    for copy, old, network in zip(
        learner._targets, before._targets, (learner.actor, learner.critic), strict=True
    ):
        same(
            copy.parameters(),
            [
                0.75 * a.detach() + 0.25 * b.detach()
                for a, b in zip(old.parameters(), network.parameters(), strict=True)
            ],
            1e-6,
        )


def test_a_second_update_has_gradients_of_its_own() -> None:
    """Of the actor those of its loss alone; of the critic those of both losses, of which the second is for the actor,
    and is forgotten before the next."""
    learner, _ = make("drl-cc", batch=16, hidden=(8,))
    learner.recipe = replace(learner.recipe, warm_up=10**9)
    learner.take(slot(8), 8)
    learner._learn()
    before = deepcopy(learner)
    seen, loss = of_critic(before)
    first = torch.autograd.grad(loss, list(before.critic.parameters()))
    learner._learn()
    worse = -learner.critic(seen, before.actor(seen)).mean()
    both = torch.autograd.grad(worse, [*before.actor.parameters(), *learner.critic.parameters()])
    count = len(list(before.actor.parameters()))
    found = [parameter.grad for parameter in learner.actor.parameters()]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, both[:count], strict=True))
    found = [parameter.grad for parameter in learner.critic.parameters()]
    assert all(
        torch.allclose(a, b + c, atol=1e-6) for a, b, c in zip(found, first, both[count:], strict=True)
    )


def test_ddpgs_noise_falls_in_a_line_and_updates_come_as_they_are_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner, _ = make("drl-cc", noise=(0.5, 0.1))
    learner.recipe = replace(learner.recipe, epsilon_steps=100, warm_up=8, learn_every=2, episodes=4)
    assert [learner.exploration(step) for step in (0, 50, 100, 300)] == pytest.approx([0.5, 0.3, 0.1, 0.1])
    seen = np.tile(DRAWS.normal(size=(1, 10)).astype(np.float32), (4, 1))
    with torch.no_grad():
        still = learner.actor(learner._tensor(seen)).numpy()
    noise = np.stack([learner.act(seen, np.zeros((4, 1)), 100) - still for _ in range(1000)])
    assert noise.std() == pytest.approx(0.1, rel=0.05) and noise.dtype == np.float32
    losses = iter(range(1, 10))
    monkeypatch.setattr(learner, "_learn", lambda: float(next(losses)))
    assert [learner.take(slot(), step) for step in (4, 8, 12)] == [None, 2.0, 4.0]


# ------------------------------------------------------------------------------------------------------------------ dqn


def test_dqns_update_is_the_mean_of_squares_by_adam_and_the_copy_is_renewed() -> None:
    given: Any = RECIPES["iodst-dqn"].learner
    settings = replace(
        given, hidden=(8,), batch=16, buffer=64, target_every=2, max_grad_norm=0.05,
        discount=0.9, learning_rate=1e-2, double=False,
    )  # fmt: skip
    learner = dqn.Dqn(4, (3, 2), settings, seed=3)
    learner.remember(
        {
            "observation": DRAWS.normal(size=(40, 4)).astype(np.float32),
            "action": DRAWS.integers(0, (3, 2), (40, 2)),
            "reward": DRAWS.normal(size=40),
            "next": DRAWS.normal(size=(40, 4)).astype(np.float32),
            "discount": np.full(40, 0.9),
        }
    )
    before = deepcopy(learner)
    drawn = before.replay.sample(before._draw, 16)
    values = before.target(torch.from_numpy(drawn["next"]))
    most = (values[:, :3].max(dim=1)[0] + values[:, 3:].max(dim=1)[0]) / 2
    wanted = torch.from_numpy(drawn["reward"]) + torch.from_numpy(drawn["discount"]) * most
    own = before.online(torch.from_numpy(drawn["observation"]))
    rows = torch.arange(16)
    first, second = (torch.from_numpy(drawn["action"][:, k]).long() for k in (0, 1))
    loss = ((own[rows, first] - wanted) ** 2).mean() / 2 + ((own[rows, 3 + second] - wanted) ** 2).mean() / 2
    found = learner.learn()
    assert found == pytest.approx(float(loss.detach()), rel=1e-5) and learner.updates == 1
    same(learner.online.parameters(), adams(before.online.parameters(), loss, 1e-2, 0.05), 2e-4)
    same(learner.target.parameters(), [one.detach() for one in before.target.parameters()], 0.0)
    again = deepcopy(learner)
    drawn = again.replay.sample(again._draw, 16)
    batch = {name: torch.from_numpy(values) for name, values in drawn.items()}
    own = again.online(batch["observation"]).gather(1, batch["action"].long() + again._starts)
    gradients = torch.autograd.grad(
        (own - again._td_target(batch)[:, None]).square().mean(), list(again.online.parameters())
    )
    norm = torch.sqrt(sum((one.square().sum() for one in gradients), torch.zeros(())))
    learner.learn()
    for parameter, gradient in zip(learner.online.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient * min(1.0, 0.05 / float(norm)), atol=1e-6)
    same(learner.target.parameters(), [one.detach() for one in learner.online.parameters()], 0.0)
    assert not any(one.requires_grad for one in learner.target.parameters())


def test_an_off_policy_learner_remembers_first_and_learns_as_often_as_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner, _ = make("iodst-dqn", discount=0.75)
    assert isinstance(learner, dqn.OffPolicy)
    learner.recipe = replace(
        learner.recipe, warm_up=8, learn_every=2, episodes=4, epsilon=(1.0, 0.0), epsilon_steps=8
    )
    losses = iter(range(1, 10))
    monkeypatch.setattr(learner.dqn, "learn", lambda: float(next(losses)))
    features, branches = learner.dqn.replay._arrays["observation"].shape[1], len(learner.dqn.branches)
    for step, loss in ((4, None), (8, 2.0), (12, 4.0)):
        ends = np.array([True, False, False, False])
        actions = np.zeros((4, branches), dtype=np.int64)
        assert learner.take(slot(4, features, actions=actions, terminated=ends), step) == loss
    assert learner.dqn.replay.arrays()["discount"].tolist() == [0.0, 0.75, 0.75, 0.75] * 3
    assert [learner.exploration(step) for step in (0, 4, 8)] == [1.0, 0.5, 0.0]


# --------------------------------------------------------------------------------------------------------------- qtable


def test_a_tables_rate_is_within_its_bounds_and_its_loss_the_mean_of_squares() -> None:
    learner, _ = make("iodst-q", discount=0.5, rates=(0.5, 0.25))
    assert isinstance(learner, qtable.QTable)
    low = np.zeros((2, 8), dtype=np.float32)
    low[1] = 3.9  # another row
    actions = np.array([[5, 5, 1, 0], [0, 0, 0, 0]])
    rows = learner._rows(low)
    assert rows[0] != rows[1]
    learner.table[:] = 0
    loss = learner.take(
        slot(2, 8, observations=low, following=low, actions=actions, rewards=np.array([4.0, 2.0])), 2
    )
    assert loss == pytest.approx((16 + 4) / 2)
    places = learner._starts + actions
    assert learner.table[rows[0], places[0]].tolist() == [2.0] * 4, "half at first"
    assert learner.table[rows[1], places[1]].tolist() == [1.0] * 4
    alone = slot(1, 8, observations=low[:1], following=low[1:], actions=actions[:1], rewards=np.array([0.0]))
    loss = learner.take(alone, 2)
    assert loss == pytest.approx((0.5 - 2.0) ** 2)
    assert learner.table[rows[0], places[0]] == pytest.approx([1.25] * 4)
    learner.visits[rows[0], places[0]] = 9
    learner.take(alone, 2)
    assert learner.table[rows[0], places[0]] == pytest.approx([1.25 - 0.25 * 0.75] * 4), "a quarter at least"


def test_what_is_random_is_any_choice_alike() -> None:
    """Of 2,000 actions, each of six choices some 333 times, of two 1,000 times: no fewer than five deviations below."""
    table, recipe = make("iodst-q")
    table.recipe = replace(recipe, epsilon=(1.0, 1.0))
    given: Any = RECIPES["iodst-dqn"].learner
    plain = dqn.Dqn(4, (6, 2), replace(given, hidden=(8,)), seed=3)
    delayed_settings: Any = replace(RECIPES["iodst-dqn+"].learner, explore_for=1)  # type: ignore[call-arg]
    delayed = delayed_dqn.DelayedDqn(4, (6, 2), delayed_settings, seed=3)
    scheduler, _ = make("mpquic-rl")
    own = np.zeros((2000, len(EPISODE_VALUES)))
    own[:, EPISODE_VALUES.index("chunk_due_s")] = 1e6
    chosen = {
        "table": table.act(np.zeros((2000, 8), np.float32), own, 0)[:, [0, 2]],
        "dqn": plain.act(np.zeros((2000, 4), np.float32), 1.0),
        "delayed": delayed.act(np.zeros((2000, 4), np.float32), 1.0),
    }
    for name, actions in chosen.items():
        for branch, choices in enumerate((6, 2)):
            counts = np.bincount(actions[:, branch], minlength=choices)
            assert len(counts) == choices and counts.min() > 2000 / choices - 5 * (2000 / choices) ** 0.5, (
                name
            )
    counts = np.bincount(scheduler.act(np.zeros((2000, 10), np.float32), own, 0)[:, 0], minlength=7)
    assert len(counts) == 7 and counts.min() > 2000 / 7 - 5 * (2000 / 7) ** 0.5


def test_a_table_begins_with_holding_and_explores_as_often_as_is_said() -> None:
    learner, recipe = make("iodst-q")
    hold = recipe.environment["windows"].index((1.0, 0))
    first = np.zeros(learner.table.shape[1])
    first[[hold, 6 + hold]] = 1e-6
    assert (learner.table == first).all() and learner.visits.sum() == 0
    assert learner._starts.tolist() == [0, 6, 12, 14] and learner.table.shape[1] == 16
    learner.recipe = replace(recipe, epsilon=(0.5, 0.5))
    chosen = learner.act(np.zeros((20_000, 8), np.float32), np.zeros((20_000, 1)), 0)
    # half explore, of which 143 of 144 differ: 0.4965 ± 5 sqrt(0.25 / 20,000)
    assert (chosen != [hold, hold, 0, 0]).any(axis=1).mean() == pytest.approx(0.4965, abs=0.018)
    without, _ = make("iodst-q")
    assert [part.shape for part in without._parts(np.zeros((3, 16)))] == [(3, 6), (3, 6), (3, 2), (3, 2)]


# ------------------------------------------------------------------------------------------------------------- rollouts


def group_learner(**changes: Any) -> Any:
    from tests.learn.algorithms import test_rollouts as given

    settings = replace(given.SETTINGS, **changes)
    recipe = replace(
        RECIPES["dstcc-lanes"], learner=settings, episodes=2 * given.SIZE, learn_every=given.SIZE
    )
    return rollouts.Rollouts(Task(recipe, given.OBSERVATION, given.ACTION, 1)), given


def test_a_group_keeps_what_its_policy_saw_evenly_and_what_choices_brought_within_bounds() -> None:
    """Of eleven slots three are kept: the first, the middle and the last. Gains are bounded at either end."""
    learner, given = group_learner(kept=3, clip=2.5)
    size, features = learner.size, given.OBSERVATION.size
    rows = [(np.full(features, float(k)), np.full(4, k)) for k in range(11)]
    for turn in (0, 1):
        learner._seen[(1, turn)] = rows
        learner._ended[(1, turn)] = {member: 10.0 + member * (-1) ** turn for member in range(size)}
        learner._close((1, turn))
    assert learner.added == 2 and learner._seen == learner._ended == {}
    assert learner._data["observation"][:2, :, 0].tolist() == [[0, 5, 10]] * 2
    assert learner._data["chosen"][:2, :, 3].tolist() == [[0, 5, 10]] * 2
    assert learner._data["gain"][0].tolist() == [min(member, 2.5) for member in range(1, size)]
    assert learner._data["gain"][1].tolist() == [max(-member, -2.5) for member in range(1, size)]
    assert learner.exploration(0) == pytest.approx(1 - 1 / size)
    assert isinstance(learner.settings, RolloutSettings)


def test_updates_of_rollouts_come_as_they_are_due_once_there_are_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An update for each group's size of steps: two a slot of two groups, once two groups are whole."""
    learner, given = group_learner()
    losses = iter(range(1, 10))
    monkeypatch.setattr(learner, "_learn", lambda: float(next(losses)))
    count = 2 * learner.size
    for added, loss in ((1, None), (2, 2.0), (7, 4.0)):
        learner.added = added
        actions = np.zeros((count, 4), dtype=np.int64)
        one = slot(count, given.OBSERVATION.size, actions=actions, rewards=np.ones(count))
        assert learner.take(one, 5 * count) == loss
    assert learner._returns.tolist() == [3.0] * count and len(learner._seen[(0, 0)]) == 3
    assert len(learner._seen[(1, 0)]) == 3
    done = np.arange(count) == learner.size + 2
    learner.take(replace(one, done=done), 6 * count)
    assert learner._returns.tolist() == np.where(done, 0.0, 4.0).tolist()
    assert learner._turns.tolist() == done.astype(int).tolist() and learner._ended == {(1, 0): {2: 4.0}}


def test_rollouts_learn_by_adam_from_a_batch_of_what_is_kept() -> None:
    learner, given = group_learner(memory=4, kept=2, batch=8, learning_rate=1e-2, max_grad_norm=0.1)
    draws = np.random.default_rng(8)
    for name, values in learner._data.items():
        values[:] = (
            draws.integers(0, 2, values.shape) if name == "chosen" else draws.normal(size=values.shape)
        )
    present = [place for place, name in enumerate(given.OBSERVATION.names) if name.endswith("present")]
    learner._data["observation"][:, :, present] = 1
    learner.added = 3  # the fourth place is empty
    learner._data["gain"][3] = 1e6
    twin = np.random.default_rng()
    twin.bit_generator.state = learner._draw.bit_generator.state
    starts, wide, wanted = (0, 2, 4, 8), (2, 2, 4, 2), (0, 0, 2, 6)
    for number in (1, 2):
        before = deepcopy(learner.network)
        groups, rows = twin.integers(0, 3, 8), twin.integers(0, 2, 8)
        seen = torch.from_numpy(learner._data["observation"][groups, rows])
        chosen, gain = learner._data["chosen"][groups, rows], torch.from_numpy(learner._data["gain"][groups])
        values = before(seen)
        total = torch.zeros(())
        for branch, (start, choices, at) in enumerate(zip(starts, wide, wanted, strict=True)):
            part = values[:, start : start + choices]
            own = part[torch.arange(8), torch.from_numpy(chosen[:, branch])][:, None]
            error = (part - own - gain[:, at : at + choices]).square().mean(dim=1)
            total = total + error.mean() * (0.5 if branch < 2 else 1.0)
        found = learner._learn()
        assert found == pytest.approx(float(total.detach()), rel=1e-4) and learner.updates == number
        gradients = torch.autograd.grad(total, list(before.parameters()), retain_graph=True)
        norm = float(torch.sqrt(sum((one.square().sum() for one in gradients), torch.zeros(()))))
        for parameter, gradient in zip(learner.network.parameters(), gradients, strict=True):
            assert torch.allclose(parameter.grad, gradient * min(1.0, 0.1 / norm), atol=1e-5)
        if number == 1:
            same(learner.network.parameters(), adams(before.parameters(), total, 1e-2, 0.1), 5e-4)


# ----------------------------------------------------------------------------------------------------------- mpquic-rl


def test_a_scheduler_acts_at_random_less_and_less_and_down_to_its_least() -> None:
    learner, _ = make("mpquic-rl", epsilon_factor=0.5, epsilon_least=0.2, batch=1000)
    assert isinstance(learner, mpquic.MpquicRl)
    shares = []
    own = np.zeros((4, len(EPISODE_VALUES)))
    own[:2, EPISODE_VALUES.index("chunk_bytes")] = 0.5
    for _ in range(3):
        shares.append(learner.exploration(0))
        assert learner.take(slot(before=own, actions=np.zeros((4, 1), dtype=np.int64)), 0) is None
    assert shares == [1.0, 0.25, 0.2] and learner.actions == 6 and len(learner.dqn.replay) == 6


def test_a_scheduler_learns_once_there_is_a_batch_once_an_action() -> None:
    learner, _ = make("mpquic-rl", batch=5, target_every=4)
    own = np.zeros((4, len(EPISODE_VALUES)))
    own[:3, EPISODE_VALUES.index("chunk_bytes")] = 1.0
    done = np.array([False, True, False, False])
    updates = []
    for _ in range(3):
        loss = learner.take(slot(before=own, done=done, actions=np.ones((4, 1), dtype=np.int64)), 0)
        updates.append((learner.dqn.updates, loss is None))
    assert updates == [(0, True), (3, False), (6, False)]
    seen = DRAWS.normal(size=(20, 10)).astype(np.float32)
    own[1:] = 0  # one action at a time
    before = learner._acting(seen)
    for number in (7, 8):
        learner.take(slot(before=own, actions=np.ones((4, 1), dtype=np.int64)), 0)
        assert learner.dqn.updates == number and (learner._acting(seen) != before).any() == (number == 8)
    with torch.no_grad():
        assert learner._acting(seen) == pytest.approx(
            learner.dqn.target(torch.from_numpy(seen)).numpy(), abs=1e-5
        )
    discount = learner.settings.discount
    assert learner.dqn.replay.arrays()["discount"][:3].tolist() == pytest.approx([discount, 0.0, discount])
