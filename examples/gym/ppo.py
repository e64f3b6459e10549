"""Train stable-baselines3's PPO on dstcc's environment, write a policy file, run it, and compare it on a ladder.

    pip install 'dstcc[learn]' stable-baselines3
    python examples/gym/ppo.py -o runs/ppo

The policy file runs without torch or stable-baselines3:

    dstcc emulate SCENARIO --controller runs/ppo/ppo.safetensors -o runs/steered
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor
from threads import ThreadedVecEnv

import dstcc
from dstcc.api import Emulation
from dstcc.learn import DeepSpaceVectorEnv, Policy, save_policy
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.training.evaluate import evaluate, validation_seeds
from dstcc.stats import mean_estimate, paired_difference

SCENARIO = Path(__file__).parent / "two-links.toml"
SPACES: dict[str, Any] = {"observation": "full", "action": "multi", "automatic": True, "history": 4}
"""A window per subflow; a subflow per layer, or ``automatic``: that of the soonest delivery."""
SHIPPED = ("iodst-dqn", "iodst-q", "drl-cc", "dstcc-lanes", "dstcc")
STOCK = ("cubic", "bbr-scaled", "westwood")
CONFIGURED = ("open-loop", "ltp")
BASELINES = ("clairvoyant", "configured", "controller", "best-constant", "stock", "random")
"""From the most side information to none."""

Values = Mapping[int, float]


def train(scenario: Path, steps: int, seed: int, envs: int) -> PPO:
    """PPO with tanh layers, as policy files have them, in ``envs`` episodes side by side."""
    vector = ThreadedVecEnv(DeepSpaceVectorEnv(envs, str(scenario), threads=2, **SPACES))
    model = PPO(
        "MlpPolicy",
        VecMonitor(vector),
        n_steps=128,
        batch_size=256,
        n_epochs=4,
        gamma=0.98,
        ent_coef=0.01,
        learning_rate=1e-3,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    return model.learn(steps)


def policy_of(model: PPO, scenario: Path, seed: int) -> Policy:
    """The actor's layers as a policy file has them: its greedy action is the model's deterministic one."""
    actor = model.policy
    layers = [actor.mlp_extractor.policy_net[0], actor.mlp_extractor.policy_net[2], actor.action_net]
    tensors = {
        f"layers.{k}.{part}": getattr(layer, part).detach().cpu().numpy().astype(np.float32)
        for k, layer in enumerate(layers)
        for part in ("weight", "bias")
    }
    episodes = to_episodes(str(scenario))
    observation, action = make_specs(episodes, **SPACES)
    return Policy(
        algorithm="ppo",
        observation=observation,
        action=action,
        network={"kind": "mlp", "activation": "tanh"},
        tensors=tensors,
        seed=seed,
        scenario_sha256=episodes.content_hash,
    )


def played(
    scenario: Path, act: Callable[[NDArray[np.float32]], NDArray[Any]], seeds: Sequence[int]
) -> Values:
    """What each seed's trial plays under ``act``."""
    episodes = to_episodes(str(scenario))
    found = evaluate(act, episodes, *make_specs(episodes, **SPACES), seeds, threads=2)
    return dict(zip(seeds, map(float, found), strict=True))


def best_constant(scenario: Path, seeds: Sequence[int]) -> tuple[str, Values]:
    """The one action, held for the whole trial, that plays most of these very seeds: chosen in hindsight."""
    _, action = make_specs(to_episodes(str(scenario)), **SPACES)
    windows, automatic = len(action.windows), action.subflows
    found = {}
    for pair in product(range(windows), repeat=action.subflows):
        one = np.array([*pair, *[automatic] * action.layers])
        found[str(pair)] = played(scenario, lambda seen, one=one: np.tile(one, (len(seen), 1)), seeds)
    name = max(found, key=lambda each: np.mean(list(found[each].values())))
    return f"windows {name}", found[name]


def random_actions(scenario: Path, seeds: Sequence[int]) -> Values:
    """Another action in every slot, all alike."""
    _, action = make_specs(to_episodes(str(scenario)), **SPACES)
    draw = np.random.default_rng(0)
    return played(
        scenario, lambda seen: draw.integers(action.branches, size=(len(seen), len(action.branches))), seeds
    )


def ladder(run: Emulation, scenario: Path, seeds: Sequence[int]) -> list[tuple[str, str, Values]]:
    """Baseline, name and values by seed, from the run's trials and what constants and random actions play."""
    by_name: dict[str, dict[int, float]] = {}
    bound: dict[int, float] = {}
    for trial in run.trials.to_pylist():
        by_name.setdefault(trial["id"].rpartition("/")[0], {})[trial["seed"]] = trial["weighted_layers"]
        if trial["oracle_ratio"]:
            bound[trial["seed"]] = trial["weighted_layers"] / trial["oracle_ratio"]
    kinds = {f"{name}+minrtt": "stock" for name in STOCK} | {
        f"{name}+minrtt": "configured" for name in CONFIGURED
    }
    baselines = [("clairvoyant", "bound", bound)]
    baselines += [
        (kinds.get(name, "configured" if name.startswith("ltp") else "controller"), name, values)
        for name, values in by_name.items()
    ]
    baselines.append(("best-constant", *best_constant(scenario, seeds)))
    baselines.append(("random", "random", random_actions(scenario, seeds)))
    return sorted(baselines, key=lambda one: (BASELINES.index(one[0]), -np.mean(list(one[2].values()))))


def table(baselines: Sequence[tuple[str, str, Values]]) -> str:
    """A row a baseline: mean with its 95 % interval, and the difference from the best constant, paired by seeds."""
    constant = next(values for baseline, _, values in baselines if baseline == "best-constant")
    lines = ["| baseline | name | `weighted_layers` | more than the best constant |", "|---|---|---|---|"]
    for baseline, name, values in baselines:
        mean, paired = mean_estimate([list(values.values())]), paired_difference(values, constant)
        more = "–"
        if paired is not None and baseline != "best-constant":
            low, high = paired.mean.bounds()
            more = f"{paired.mean.value:+.3f} [{low:+.3f}, {high:+.3f}]"
        low, high = mean.bounds()
        lines.append(f"| {baseline} | {name} | {mean.value:.3f} [{low:.3f}, {high:.3f}] | {more} |")
    return "\n".join(lines)


def main() -> None:
    """Train, write, run, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder, made if it is not there")
    parser.add_argument("--scenario", type=Path, default=SCENARIO)
    parser.add_argument("--steps", type=int, default=16_384)
    parser.add_argument("--seed", type=int, default=1, help="of the training")
    parser.add_argument("--seeds", type=int, default=10, help="trials that compare")
    parser.add_argument("--envs", type=int, default=16)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    model = train(options.scenario, options.steps, options.seed, options.envs)
    policy = policy_of(model, options.scenario, options.seed)
    score = played(options.scenario, policy.act, validation_seeds(16))
    print(f"trained: {np.mean(list(score.values())):.3f} of the layers' weight on 16 validation seeds")
    file = options.output / "ppo.safetensors"
    save_policy(file, policy)
    run = dstcc.emulate(
        options.scenario,
        options.output / "run",
        controller=[str(file), *SHIPPED],
        congestion=[*STOCK, *CONFIGURED],
        seeds=options.seeds,
        force=True,
    )
    text = table(ladder(run, options.scenario, range(1, options.seeds + 1)))
    (options.output / "ladder.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
