"""``dstcc/CodedDeepSpace-v1``: a trial of coded packets as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dstcc.algorithms import OWN
from dstcc.engine import CodedStepper, EngineConfig, EngineResult
from dstcc.engine.coded_stepper import CODED_EPISODE_VALUES, CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.stepper import FINISHED, TIME_OVER
from dstcc.errors import ScenarioError
from dstcc.extensions import label
from dstcc.learn.spaces.scales import HIGH, LOW, clip, column, log_time, log_window
from dstcc.scenario import draw_trial, engine_config
from dstcc.scenario.variant import as_own

from .deep_space import Scenarios, draw_seed, to_episodes
from .reward import PERCENT

MOST_REPAIR = 2.0
"""Repair packets for each source packet, at the most."""
OBSERVED_SUBFLOW = (
    "established",
    "rtt",
    "inflight",
    "heard",
    "loss",
    "burst",
    "queue",
    "rate",
    "link_up",
    "change",
)
OBSERVED_LAYER = ("backlog", "slack", "released", "repair")
OBSERVED_EPISODE = ("loss_share", "loss_bursts")


class CodedDeepSpaceEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """
    ## Description

    A spacecraft sends layered video to Earth as coded packets over N subflows: the mode ``coded`` of
    docs/simulator.md. Once a slot the agent says how much repair each layer's blocks get, and how hard each subflow
    is pressed. Packets, losses and reports are simulated one by one; every episode is drawn from the scenario, as
    ``dstcc emulate`` draws a trial from its seed. The congestion control is the scenario's first.

    ## Action Space

    `Box(-1, 1, (M + N,), float32)`. The first M entries: repair packets for each source packet of the layer's blocks
    that close from now on, 2 · ((a + 1) / 2)², so that half of the range is below 0.5. The next N entries: the pace
    of the congestion control is multiplied by 2^a; a control without a pace is not pressed. Entries for layers and
    subflows that an episode lacks do nothing.

    ## Observation Space

    `Box(-1, 4, float32)`. For each subflow: `established`; `rtt`, smoothed, log10(1 + 1000·s) / 6; `inflight`,
    log2(1 + packets) / 10; `heard`, packets whose fate the slot showed, likewise; `loss`, the share lost of these;
    `burst`, log2 of the length of a row of lost packets / 4; `queue`, of the own queue, log2(1 + packets) / 10;
    `rate`, log10(1 + bit/s of the pace) / 10; `link_up`, by the contact plan; `change`, exp(−time until the plan's
    next change ÷ round trip). For each layer: `backlog`, log2(1 + packets) / 10; `slack`, of the oldest that waits,
    log10(1 + 1000·s) / 6, 4 if none does; `released` in the slot, log2(1 + packets) / 10; `repair`, of the block that
    closed last, for each source packet. Then `loss_share` and `loss_bursts` (log2 / 4), as the transport's own rule
    holds them to be.

    ## Rewards

    Percent of the episode's summed layer weights that came to be on Earth in time in the slot, with all lower layers
    of their chunk. An episode's return is the metric ``weighted_layers`` × 100.

    ## Starting State

    Mission time 0, nothing is released. `reset(seed=k)` seeds the draws of this and the following episodes;
    `reset(options={"scenario_seed": k})` starts the trial of that seed.

    ## Episode End

    Terminated when every layer is there or given up; truncated when the scenario's `duration_s` is over.

    ## Information

    `reset` and `step` return `time_s`, `scenario_seed` and, on the last step, `episode_return`.

    ## Arguments

    ```python
    import gymnasium, dstcc.learn
    gymnasium.make("dstcc/CodedDeepSpace-v1", scenario="examples/demo/mars-two-links.toml")
    ```

    `scenario`: a file, a `dstcc.scenario.Scenario`, or a list of them of which each episode draws one. Each has
    `mode = "coded"`, names `congestion = "paced"`, or has `controller = "dstcc"`, whose transport is then steered.

    ## Version History

    * v1: first version
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(self, scenario: Scenarios, *, render_mode: None = None) -> None:
        """Raises :class:`~dstcc.errors.ScenarioError` for a scenario that is not of coded packets."""
        self.render_mode = render_mode
        self.episodes = to_episodes(scenario)
        if any(OWN in one.transport.controller for one in self.episodes.scenarios):
            self.episodes = to_episodes(
                [as_own(one) if OWN in one.transport.controller else one for one in self.episodes.scenarios]
            )
        for one in self.episodes.scenarios:
            check(one.scenario.name, one.transport.mode, one.transport.congestion)
        self.subflows, self.layers = self.episodes.subflows, self.episodes.layers
        self._stepper = CodedStepper(1, self.subflows, self.layers)
        size = (
            self.subflows * len(OBSERVED_SUBFLOW) + self.layers * len(OBSERVED_LAYER) + len(OBSERVED_EPISODE)
        )
        seen: Any = spaces.Box(LOW, HIGH, (size,), np.float32)
        decided: Any = spaces.Box(-1.0, 1.0, (self.layers + self.subflows,), np.float32)
        self.observation_space = seen
        self.action_space = decided
        self.scenario_seed = -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; ``options["scenario_seed"]`` chooses it."""
        super().reset(seed=seed)
        chosen = (options or {}).get("scenario_seed")
        self.scenario_seed = draw_seed(self.np_random) if chosen is None else int(chosen)
        config = self.config(self.scenario_seed)
        self._packet = float(config.transport.mss_bytes)
        self._return = 0.0
        self._stepper.load(0, config)
        return self._observe(), self._info()

    def config(self, seed: int) -> EngineConfig:
        """The trial of a seed."""
        index = self.episodes.pick(seed)
        scenario = self.episodes.scenarios[index]
        setup = draw_trial(scenario, self.episodes.sources[index], seed)
        return engine_config(scenario, setup, label(scenario.transport.congestion[0]), "minrtt")

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act for one slot. Raises ValueError for an action outside the space, NaN included."""
        given = np.asarray(action, dtype=np.float64)
        if given.shape != self.action_space.shape or not (np.abs(given) <= 1).all():
            raise ValueError(f"an action has {self.layers + self.subflows} numbers from -1 to 1")
        stepper = self._stepper
        stepper.repair[0] = MOST_REPAIR * ((given[: self.layers] + 1) / 2) ** 2
        stepper.pace[0] = 2.0 ** given[self.layers :]
        stepper.step()
        earned, total = (self._episode(name) for name in ("played_weight", "total_weight"))
        reward = PERCENT * earned / total
        self._return += reward
        ended, over = bool(stepper.done[0] == FINISHED), bool(stepper.done[0] == TIME_OVER)
        info = self._info()
        if ended or over:
            info["episode_return"] = self._return
        return self._observe(), reward, ended, over, info

    def result(self) -> EngineResult:
        """What happened in the episode so far, as :func:`dstcc.engine.simulate` reports it."""
        return self._stepper.result(0)

    def _episode(self, name: str) -> float:
        return float(column(self._stepper.episode_values, CODED_EPISODE_VALUES, name)[0])

    def _observe(self) -> NDArray[np.float32]:
        path = {name: self._stepper.subflow_values[0, :, i] for i, name in enumerate(CODED_SUBFLOW_VALUES)}
        layer = {name: self._stepper.layer_values[0, :, i] for i, name in enumerate(CODED_LAYER_VALUES)}
        packets = {name: layer[name] / self._packet for name in ("backlog_bytes", "released_bytes")}
        per_subflow = (
            path["established"],
            log_time(path["srtt_s"]),
            log_window(path["inflight_segments"]),
            log_window(path["heard_packets"]),
            path["lost_packets"] / np.maximum(path["heard_packets"], 1),
            np.log2(np.maximum(path["lost_packets"] / np.maximum(path["loss_runs"], 1), 1)) / 4,
            log_window(path["queue_bytes"] / self._packet),
            np.log10(1 + path["pacing_bps"]) / 10,
            path["link_up"],
            np.exp(-path["change_s"] / np.maximum(2 * path["one_way_s"], 1e-9)),
        )
        per_layer = (
            log_window(packets["backlog_bytes"]),
            np.where(np.isfinite(layer["slack_s"]), log_time(np.maximum(layer["slack_s"], 0)), HIGH),
            log_window(packets["released_bytes"]),
            layer["block_repair"] / np.maximum(layer["block_source"], 1),
        )
        whole = np.array([self._episode("loss_share"), np.log2(max(self._episode("loss_bursts"), 1.0)) / 4])
        return clip(
            np.concatenate(
                [np.stack(per_subflow, axis=-1).ravel(), np.stack(per_layer, axis=-1).ravel(), whole]
            )
        )

    def _info(self) -> dict[str, Any]:
        return {"time_s": self._episode("time_s"), "scenario_seed": self.scenario_seed}


def check(name: str, mode: str, congestion: tuple[str, ...]) -> None:
    """Raise :class:`ScenarioError` for a scenario that is no trial of coded packets under one congestion control."""
    if mode != "coded":
        raise ScenarioError(
            f'{name}: transport.mode = "{mode}": this environment has coded packets: mode = "coded"'
        )
    if len(congestion) != 1:
        raise ScenarioError(f"{name}: transport.congestion: names {len(congestion)}; an episode has one")
