"""What each change from ``iodst-dqn`` to ``iodst-dqn+`` brings: the tables of docs/policies/iodst-dqn+.md.

    python -m experiments.dqn_plus rewards
    python -m experiments.dqn_plus ablation -o FOLDER [--trainings 5] [--most 10] [--only TEXT]

rewards: the rank correlation (Spearman) of what constants earn by the paper's reward and by that of ``iodst-dqn+`` with
what they play, over 18 constants that a generator draws from the 288 of the paper's actions, each with four seeds.

ablation: trainings of the recipe, of the recipe with one change taken back, and of ``iodst-dqn`` in as many slots, on
examples/iodst/four-hours-quarter.toml, seeds 1 and up; each keeps its best evaluation, as ``dstcc train`` does. Values
are interquartile means of `weighted_layers` over trainings and seeds 1 to 10 of the mission and of two scenarios that
nothing was trained on, with 95 % intervals by a bootstrap over trainings and seeds; beside them the shipped policies, a
random choice of the same actions in each slot, the best constant and a rule of three cases. Of each training the folder
keeps what it played, and of the whole recipe the policy; what is there is not trained again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dstcc.arrays import Float64Array
from dstcc.atomic import atomic_write
from dstcc.engine.stepper import RUNNING
from dstcc.learn.algorithms.recipes import RECIPES, Recipe
from dstcc.learn.algorithms.recipes.iodst_dqn_plus import DelayedDqnSettings
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.env.episodes import Episodes
from dstcc.learn.env.reward import REWARDS
from dstcc.learn.env.runner import Runner
from dstcc.learn.policies.policy import Policy, load_policy, save_policy
from dstcc.learn.training.evaluate import evaluate
from dstcc.learn.training.state import Training
from dstcc.stats import interquartile_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Act = Callable[[NDArray[np.float32]], NDArray[Any]]

NAME = "iodst-dqn+"
EXAMPLES = Path(__file__).parents[1] / "examples" / "iodst"
TRAINED_ON = EXAMPLES / "four-hours-quarter.toml"
MISSION = EXAMPLES / "four-hours.toml"
PLAYED = {
    "four-hours": MISSION,
    "bursts-50": EXAMPLES / "held-out" / "bursts-50.toml",
    "cross-traffic": EXAMPLES / "held-out" / "cross-traffic.toml",
}
SEEDS = range(1, 11)
DRAWN, DRAW_SEED, REWARD_SEEDS = 18, 1, range(1, 5)
SCREENED, FINALISTS = range(1, 2), 3
"""Seeds on which all constants play, and how many of the best then play on all seeds."""
GROWS = 4
"""The first of the paper's windows that comes to a link's rate: ten segments more in each of a hundred slots are
23 kbit/s at last, less than any layer needs."""
RESAMPLES, BOOTSTRAP_SEED = 4_999, 1
WHOLE = RECIPES[NAME]
assert isinstance(WHOLE.learner, DelayedDqnSettings)
CONSTANTS = tuple(product(range(6), range(6), range(2), range(2), range(2)))
"""A window of each subflow, a subflow of each layer: the paper's 288 actions."""


def without(**settings: Any) -> Recipe:
    """The recipe with other settings of its learner."""
    assert isinstance(WHOLE.learner, DelayedDqnSettings)
    return replace(WHOLE, learner=replace(WHOLE.learner, **settings))


PAPER = RECIPES["iodst-dqn"]
VARIANTS: dict[str, Recipe] = {
    NAME: WHOLE,
    "the paper's reward": replace(WHOLE, reward=PAPER.reward),
    "one step": without(n_step=1),
    "no actions under way": replace(WHOLE, environment={**WHOLE.environment, "history": 0}),
    "not dueling": without(dueling=False, additive=False),
    "not double": without(double=False),
    "random choices of a slot": without(explore_for=1),
    "the paper's state": replace(WHOLE, environment={**WHOLE.environment, "observation": "paper"}),
    "iodst-dqn, as many slots": replace(
        PAPER,
        steps=WHOLE.steps,
        warm_up=WHOLE.warm_up,
        epsilon_steps=WHOLE.epsilon_steps,
        evaluate_every=WHOLE.evaluate_every,
        validation=WHOLE.validation,
    ),
}
"""The recipe, and the recipe with one change taken back."""


class Missions:
    """The scenarios that all play."""

    def __init__(self) -> None:
        self.episodes = {name: to_episodes(path) for name, path in PLAYED.items()}

    def policy(self, policy: Policy, name: str) -> list[float]:
        """What a policy plays of one, seed by seed."""
        played = evaluate(policy.act, self.episodes[name], policy.observation, policy.action, SEEDS)
        return [float(value) for value in played]

    def acting(self, act: Act, name: str, seeds: Sequence[int] = SEEDS) -> Float64Array:
        """What one of these scenarios plays under a function of its observations, in the recipe's spaces."""
        episodes = self.episodes[name]
        return evaluate(act, episodes, *make_specs(episodes, **WHOLE.environment), seeds)


def always(action: Sequence[int]) -> Act:
    """One action at every decision."""
    return lambda seen: np.tile(np.array(action), (len(seen), 1))


def at_random() -> Act:
    """Every action anew in each slot, all alike."""
    draws = np.random.default_rng(DRAW_SEED)
    return lambda seen: draws.integers(0, (6, 6, 2, 2, 2), (len(seen), 5))


def by_rule(names: Sequence[str]) -> Act:
    """Each window doubles until its link's queue holds 2 % of a window, and shrinks where it holds 10 %; the largest
    and the smallest layer go over the second link."""
    queues = [names.index(f"subflow{subflow}.queue") for subflow in range(2)]

    def act(seen: NDArray[np.float32]) -> NDArray[Any]:
        queue = seen[:, queues]
        windows = np.where(queue > 0.1, 1, np.where(queue > 0.02, 2, 5))
        return np.concatenate([windows, np.tile([1, 0, 1], (len(seen), 1))], axis=1)

    return act


def best_constant(missions: Missions, name: str) -> tuple[tuple[int, ...], Float64Array]:
    """The action that plays most of a scenario if it is always taken, found on the very seeds. One whose windows
    do not come to the links' rates plays next to nothing and is left out."""
    growing = [action for action in CONSTANTS if min(action[:2]) >= GROWS]
    first = [missions.acting(always(action), name, SCREENED).mean() for action in growing]
    finalists = [growing[place] for place in np.argsort(first)[::-1][:FINALISTS]]
    played = {action: missions.acting(always(action), name) for action in finalists}
    best = max(played, key=lambda action: float(interquartile_mean(played[action])))
    return best, played[best]


def shown(values: Float64Array) -> str:
    """The interquartile mean of (trainings, seeds), and its interval: trainings and seeds are drawn anew."""
    draws = np.random.default_rng(BOOTSTRAP_SEED)
    rows, columns = values.shape
    trainings = draws.integers(rows, size=(RESAMPLES, rows, 1))
    seeds = draws.integers(columns, size=(RESAMPLES, 1, columns))
    low, high = np.quantile(middle(values[trainings, seeds].reshape(RESAMPLES, -1)), [0.025, 0.975])
    return f"{middle(values.reshape(1, -1))[0]:.3f} [{low:.3f}, {high:.3f}]"


def middle(rows: Float64Array) -> Float64Array:
    """The interquartile mean of each row: :func:`dstcc.stats.interquartile_mean`, quicker."""
    out = rows.shape[1] // 4
    mean: Float64Array = np.sort(rows, axis=1)[:, out : rows.shape[1] - out].mean(axis=1)
    return mean


def trained(recipe: Recipe, seed: int) -> tuple[Policy, list[float], float]:
    """The policy of a training, its evaluations, and its CPU seconds."""
    import torch

    torch.set_num_threads(1)
    began = time.process_time()
    training = Training(TRAINED_ON, NAME, recipe, seed=seed)
    while training.steps < recipe.steps:
        training.step()
        training.evaluate_if_due()
    policy = training.final_policy()
    return policy, [point.score for point in training.points], time.process_time() - began


class Kept:
    """What was played, in a file that is written anew after each training."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "played.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.rows: dict[str, dict[str, Any]] = json.loads(self.file.read_text()) if self.file.exists() else {}

    def make(self, variant: str, key: str, play: Callable[[], Any]) -> Any:
        """What is kept under a key, made first if there is none."""
        kept = self.rows.setdefault(variant, {})
        if key not in kept:
            kept[key] = play()
            atomic_write(self.file, json.dumps(self.rows, indent=1) + "\n")
        return kept[key]


def train_all(kept: Kept, missions: Missions, trainings: int, most: int, only: Sequence[str]) -> None:
    """Every training that lacks, the first of all variants first."""
    if tuple(only) == ("-",):
        return
    for seed in range(1, most + 1):
        for variant, recipe in VARIANTS.items():
            wanted = not only or any(text in variant for text in only)
            if not wanted or seed > (most if variant == NAME else trainings):
                continue

            def play(variant: str = variant, recipe: Recipe = recipe, seed: int = seed) -> dict[str, Any]:
                policy, curve, cpu_s = trained(recipe, seed)
                if variant == NAME:
                    save_policy(kept.folder / f"{seed}.safetensors", policy)
                played = {name: missions.policy(policy, name) for name in PLAYED}
                return {"cpu_s": cpu_s, "curve": curve, "played": played}

            kept.make(variant, str(seed), play)


def yardsticks(kept: Kept, missions: Missions) -> dict[str, dict[str, list[float]]]:
    """What those play that nothing was trained for, and the shipped policies."""
    specs = make_specs(missions.episodes["four-hours"], **WHOLE.environment)
    rules: dict[str, Callable[[str], list[float]]] = {
        "the rule": lambda name: missions.acting(by_rule(specs[0].names), name).tolist(),
        "the best constant": lambda name: best_constant(missions, name)[1].tolist(),
        "random": lambda name: missions.acting(at_random(), name).tolist(),
        "iodst-dqn, shipped": lambda name: missions.policy(load_policy("iodst-dqn"), name),
    }
    rows: dict[str, dict[str, list[float]]] = {rule: {} for rule in rules}
    for name in PLAYED:
        for rule, play in rules.items():
            key = f"{rule}, {name}"
            rows[rule][name] = kept.make("yardsticks", key, partial(play, name))
    return rows


@click.group(help=__doc__)
def main() -> None:
    """Print the tables."""


@main.command()
def rewards() -> None:
    """Print what constants earn and play, and the rank correlations."""
    from scipy.stats import spearmanr

    episodes = to_episodes(MISSION)
    observation, action = make_specs(episodes, **WHOLE.environment)
    draws = np.random.default_rng(DRAW_SEED)
    chosen = [CONSTANTS[place] for place in draws.choice(len(CONSTANTS), DRAWN, replace=False)]
    paid = (PAPER.reward, WHOLE.reward)
    print("| action | " + " | ".join(paid) + " | weighted_layers |\n|---|---|---|---|")
    rows = []
    for choice in chosen:
        row = [*(earned(episodes, observation, action, choice, name) for name in paid)]
        rows.append([*row, evaluate(always(choice), episodes, observation, action, REWARD_SEEDS).mean()])
        print(f"| {choice} | " + " | ".join(f"{value:.3f}" for value in rows[-1]) + " |", flush=True)
    values = np.array(rows)
    for place, name in enumerate(paid):
        print(f"{name}: rank correlation {spearmanr(values[:, place], values[:, -1]).statistic:.2f}")


def earned(episodes: Episodes, observation: Any, action: Any, choice: Sequence[int], reward: str) -> float:
    """What an action that is always taken earns in an episode, on average."""
    assert reward in REWARDS
    runner = Runner(len(REWARD_SEEDS), observation, action, reward=reward)
    for place, seed in enumerate(REWARD_SEEDS):
        runner.begin(place, episodes.config(seed, action))
    act = always(choice)
    while (runner.stepper.done == RUNNING).any():
        runner.step(act(runner.observations))
    return float(runner.returns.mean())


@main.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of what is kept."
)
@click.option("--trainings", default=5, show_default=True)
@click.option("--most", default=10, show_default=True, help="Trainings of the whole recipe.")
@click.option("--only", multiple=True, help="Variants whose name contains this; `-` trains none.")
def ablation(output: Path, *, trainings: int, most: int, only: tuple[str, ...]) -> None:
    """Train what lacks, and print the table."""
    kept, missions = Kept(output), Missions()
    train_all(kept, missions, trainings, most, only)
    print(
        "| | trainings | " + " | ".join(PLAYED) + " | CPU seconds |\n|---|---|" + "---|" * (len(PLAYED) + 1)
    )
    for variant in VARIANTS:
        done = [kept.rows[variant][seed] for seed in sorted(kept.rows.get(variant, {}), key=int)]
        if done:
            cells = [shown(np.array([one["played"][name] for one in done])) for name in PLAYED]
            cpu_s = np.mean([one["cpu_s"] for one in done])
            print(f"| {variant} | {len(done)} | " + " | ".join(cells) + f" | {cpu_s:.0f} |", flush=True)
    for name, played in yardsticks(kept, missions).items():
        cells = [shown(np.array([played[scenario]])) for scenario in PLAYED]
        print(f"| {name} | – | " + " | ".join(cells) + " | – |", flush=True)


if __name__ == "__main__":
    main()
