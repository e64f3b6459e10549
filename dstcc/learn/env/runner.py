"""K episodes under one observation and action space: what the environments and the policies run on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import EngineConfig, EngineResult, Stepper
from dstcc.engine.config import subflow_links
from dstcc.engine.stepper import EPISODE_VALUES, FALL_BACK, RUNNING, SILENT, TIME_OVER
from dstcc.learn.spaces.actions import Actions, ActionSpace, Decoder
from dstcc.learn.spaces.observe import ObservationSpec, make_observer
from dstcc.learn.spaces.scales import column

from .beside import Beside, go
from .reward import PER_SLOT, PERCENT, REWARDS


def put(actions: Actions, stepper: Stepper) -> None:
    """Have the stepper's next step take these actions in all of its episodes."""
    stepper.alpha_q16[:], stepper.beta[:] = actions.alpha_q16, actions.beta
    stepper.layer_subflow[:], stepper.copied[:] = actions.layer_subflow, actions.copied
    stepper.order[:] = actions.order


class Runner:
    """Steps K trials; :meth:`begin` each before the first :meth:`step`.

    After either call ``observations`` (K, size), ``rewards`` (K,), ``terminated`` and ``truncated`` (K,) hold
    what came out.
    """

    def __init__(
        self,
        episodes: int,
        observation: ObservationSpec,
        action: ActionSpace,
        *,
        reward: str = "weighted-layers",
        threads: int = 1,
        flows: int = 0,
    ) -> None:
        """``flows`` rows of the stepper are for background flows of the same control, which ``beside`` steers.

        Raise ValueError where the two spaces do not fit together or the reward is not known."""
        if (observation.subflows, observation.layers) != (action.subflows, action.layers):
            raise ValueError("observation and action are of different numbers of subflows or layers")
        if action.measured and observation.kind != "measured":
            raise ValueError("measured actions need the observation 'measured'")
        if reward not in REWARDS:
            raise ValueError(f"reward '{reward}': one of {', '.join(REWARDS)}")
        self.observation, self.action = observation, action
        self.stepper = Stepper(episodes, action.subflows, action.layers, flows=flows, threads=threads)
        self.observations = np.zeros((episodes, observation.size), dtype=np.float32)
        self.rewards = np.zeros(episodes)
        self.returns = np.zeros(episodes)
        """Sum of rewards since the episode began."""
        self._reward, self._per_slot = REWARDS[reward], reward in PER_SLOT
        self.beside: tuple[Beside, ...] = ()
        """Those that steer the background flows of a single episode."""
        self._observer = make_observer(observation, episodes)
        self._mss = np.ones((episodes, 1))
        self._counts = np.zeros((episodes, 2), dtype=np.int64)
        self._even = np.ones(episodes)
        """By what rewards are multiplied."""

    def begin(self, episode: int, config: EngineConfig) -> None:
        """Put a trial in this place; ``observations[episode]`` is its first.

        Raises ValueError when it has more subflows or layers than the spaces.
        """
        self.stepper.load(episode, config)
        self._begin_to_look(episode, config)

    def wait(self, episode: int, config: EngineConfig) -> None:
        """Let a trial whose connection begins later (``begin_ns``) come to that, and begin to look there.

        Nothing is in flight until then: windows stay as they begin, and layers where they are in a new stepper.
        """
        until_s = config.begin_ns * 1e-9
        while self.stepper.done[episode] == RUNNING and self.time_s(episode) < until_s:
            self.stepper.alpha_q16[episode], self.stepper.beta[episode] = 0, config.transport.initial_cwnd
            self._go()
        self._begin_to_look(episode, config)

    def _begin_to_look(self, episode: int, config: EngineConfig) -> None:
        mss = config.transport.mss_bytes
        layers = config.objects.layers if len(config.objects.layer) else 1
        subflows = len(subflow_links(config.links))
        self._observer.begin(episode, subflows=subflows, layers=layers, mss_bytes=mss)
        self._observer.measure(episode, config)
        self._counts[episode] = subflows, layers
        self._mss[episode] = mss
        if self._per_slot:
            span = float(config.objects.release_ns.max()) or config.slot_ns
            self._even[episode] = span / config.slot_ns / self.action.hold / PERCENT
        self.stepper.active[episode] = 1
        self.returns[episode] = self.rewards[episode] = 0
        place = slice(episode, episode + 1)
        self.observations[place] = self._observer.observe(self.stepper, place)

    def step(self, actions: NDArray[Any]) -> None:
        """Act in every running episode for the slots that a decision holds; raises ValueError for actions outside the
        space.

        The shapes are those of :meth:`ActionSpace.decode`.
        """
        running, rewards = self.stepper.done == RUNNING, np.zeros(len(self.rewards))
        decode = self.action.decoder(actions)
        for left in reversed(range(self.action.hold)):
            self._act(decode)
            rewards += self.rewards
            if not left or not (running & (self.stepper.done == RUNNING)).any():
                break
            self._observer.pass_by(self.stepper)
        self.observations[:] = self._observer.observe(self.stepper)
        self.rewards[:] = rewards

    def _act(self, decode: Decoder) -> None:
        stepper = self.stepper
        decoded = decode(self._observer.units(stepper))
        if len(decoded.beta) != len(stepper.done):
            raise ValueError(f"{len(decoded.beta)} actions for {len(stepper.done)} episodes")
        put(decoded, stepper)
        self._go()

    def idle(self, *, fall_back: bool = False) -> None:
        """Go to the next slot without an action; with ``fall_back`` NewReno takes the windows at once."""
        self.stepper.alpha_q16[:] = FALL_BACK if fall_back else SILENT
        self._go()
        self.observations[:] = self._observer.observe(self.stepper)

    def subflows(self, episode: int) -> int:
        """Of the trial in this place; the spaces may have more."""
        return int(self._counts[episode, 0])

    def layers(self, episode: int) -> int:
        """Likewise."""
        return int(self._counts[episode, 1])

    def believed(self, episode: int) -> dict[str, NDArray[np.float64]]:
        """What the observer holds to be true of each subflow's path now; empty for observers that only look."""
        return self._observer.believed(episode)

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """Every layer was delivered or given up."""
        ended: NDArray[np.bool_] = (self.stepper.done != RUNNING) & (self.stepper.done != TIME_OVER)
        return ended

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """The scenario's duration is over."""
        over: NDArray[np.bool_] = self.stepper.done == TIME_OVER
        return over

    def time_s(self, episode: int) -> float:
        """Mission time."""
        return float(column(self.stepper.episode_values[episode], EPISODE_VALUES, "time_s"))

    def result(self, episode: int) -> EngineResult:
        """What happened in a trial so far."""
        return self.stepper.result(episode)

    def _go(self) -> None:
        stepper = self.stepper
        running = stepper.done == RUNNING
        stepper.active[:] = running
        self._observer.note(stepper.layer_subflow, stepper.copied)
        go(self.beside, stepper)
        self.rewards[:] = np.where(
            running, self._reward(stepper.subflow_values, stepper.episode_values, self._mss) * self._even, 0.0
        )
        self.returns += self.rewards
