"""``dstcc/DeepSpace-v1``: one trial as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dstcc.engine import EngineResult
from dstcc.errors import ScenarioError
from dstcc.learn.spaces.actions import ActionSpace
from dstcc.learn.spaces.branched import BranchedActions
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import make_actions
from dstcc.learn.spaces.scales import HIGH, LOW
from dstcc.scenario import Scenario
from dstcc.scenario.network import node_that

from .episodes import Episodes
from .runner import Runner

Scenarios = Union["Scenario", Path, str, Sequence[Union["Scenario", Path, str]], None]
MAX_SEED = 1 << 62


def make_specs(
    episodes: Episodes,
    *,
    observation: str = "full",
    action: str = "multi",
    history: int = 8,
    subflows: int | None = None,
    layers: int | None = None,
    **options: Any,
) -> tuple[ObservationSpec, ActionSpace]:
    """The two spaces that the environments' keywords mean; ``options`` are those of the action space.

    Raises ValueError for spaces that make no sense, TypeError for a keyword that nobody has and
    :class:`~dstcc.errors.ScenarioError` for scenarios of coded packets, and for nodes that end connections.
    """
    for scenario in episodes.scenarios:
        if scenario.transport.mode == "coded":
            raise ScenarioError(
                f'{scenario.scenario.name}: transport.mode = "coded": this environment steers TCP; '
                "dstcc/CodedDeepSpace-v1 has these"
            )
        if (node := node_that(scenario, "split", "custody")) is not None:
            raise ScenarioError(
                f"{scenario.scenario.name}: node '{node}': a controller goes from end to end; needs "
                'forwards = "packets"'
            )
    n, m = subflows or episodes.subflows, layers or episodes.layers
    if n < episodes.subflows or m < episodes.layers:
        raise ValueError(
            f"{n} subflows and {m} layers, but the scenarios have {episodes.subflows} and {episodes.layers}"
        )
    sees = ObservationSpec(observation, n, m, history if observation == "full" else 0)
    return sees, make_actions(n, m, action, **options)


def to_episodes(scenario: Scenarios) -> Episodes:
    """One scenario, several or none to :class:`Episodes`."""
    if scenario is None:
        return Episodes()
    several = isinstance(scenario, Sequence) and not isinstance(scenario, str)
    return Episodes(scenario if several else [scenario])  # type: ignore[arg-type, list-item]


def observation_space(spec: ObservationSpec) -> spaces.Space[NDArray[np.float32]]:
    """The Box of an observation."""
    box: Any = spaces.Box(LOW, HIGH, (spec.size,), np.float32)
    space: spaces.Space[NDArray[np.float32]] = box
    return space


def action_space(spec: ActionSpace) -> spaces.Space[Any]:
    """The space of an action."""
    made: spaces.Space[Any]
    if spec.single:
        made = spaces.Discrete(spec.outputs)
    elif isinstance(spec, BranchedActions):
        made = spaces.MultiDiscrete(list(spec.branches))
    else:
        made = spaces.Box(-1.0, 1.0, (spec.outputs,), np.float32)
    return made


def draw_seed(rng: np.random.Generator) -> int:
    """The scenario seed of an environment's next episode."""
    return int(rng.integers(MAX_SEED))


class DeepSpaceEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """
    ## Description

    A spacecraft sends layered video to Earth over N subflows of a multipath connection, one per link unless the
    scenario says otherwise. Once per step the agent moves each subflow's congestion window and says which subflow
    carries each layer. A step lasts ``hold`` slots (1 unless given; 4 for the shipped ``dstcc-lanes``). A slot is
    as long as the keyword ``slot_rtts`` or the scenario's ``[run]`` says, else a quarter of the shortest round trip.
    Packets, losses, queues and acknowledgements are simulated one by one. Every episode is drawn from the
    scenario, as ``dstcc emulate`` draws a trial from its seed. Control law, state and the reward ``eq6`` follow Ha et
    al., ICT Express 2023.

    ## Action Space

    `action="multi"` (default): `MultiDiscrete([A] * N + [N] * M)`. The first N entries index ``windows``, pairs
    (α, β) that set W ← α·W + β, in segments, at least 2 and at most ``headroom`` times the larger of the measured
    bandwidth-delay product and the initial window; it is held between actions and paced over the smoothed round
    trip. The next M entries name the subflow of each layer, of those that wait as well; with ``automatic`` a further
    choice N takes the one with the earliest expected delivery. With ``copies`` a last entry of 1 sends base layers a
    second time on another subflow.

    `action="joint"`: the same as one number, `Discrete(A**N * N**M)`, the first entry the most significant digit.

    `action="continuous"`: `Box(-1, 1, (N,))`, W ← W·2^(octaves·a); layers are automatic. With ``pacing="bbr"``
    packets leave at BBR's pace.

    `action="policies"`: `Discrete(7)`, which scheduling policy of Lee and Yoo, Sensors 2022, has the slot
    (`dstcc.learn.spaces.POLICIES`); windows are those of the control ``congestion``, ``cubic`` unless given.
    Where layers are says nothing then.

    Before a subflow's handshake is done its window action does nothing. Entries for subflows or layers that an
    episode lacks do nothing.

    ## Observation Space

    A `Box(-1, 4, float32)`; ``env.unwrapped.spec_observation.names`` says what each place holds.

    `observation="paper"`: 4·N values, equation 3, for each subflow

    | place | value | scale |
    |---|---|---|
    | `cwnd` | congestion window W, segments | log2(1 + W) / 10 |
    | `loss` | of the segments whose fate the slot showed, the share lost | |
    | `utilisation` | W ÷ the measured bandwidth-delay product, 0 while unknown | 1 is 100 % |
    | `rtt` | smoothed round trip, s | log10(1 + 1000·s) / 6 |

    `observation="pbq"`, `"drl-cc"`, `"mpquic-rl"`: what those papers' controllers see (`dstcc.learn.spaces.published`);
    the last holds the chunk in transfer and is for `action="policies"`.

    `observation="full"` (default): `slot` (length ÷ shortest round trip) and `copying`; then for each subflow the
    four above, `present`, `established`, `min_rtt`, `rtt_trend` (change over the slot ÷ least), `queueing` (rtt ÷
    least − 1), `rate` (log10(1 + acknowledged bit/s) / 10), `rate_share` (of a window per round trip), `inflight`
    (÷ W), `queue` (at the link, ÷ W), `assigned` (waiting for the subflow, log2(1 + windows) / 4), `light` (light
    time ÷ the longest), `link_up`, `change` (exp of −time until the next outage or contact ÷ round trip), `steered`
    (0 while NewReno has the window), and the window's last ``history`` changes (log2 / 2, newest first); then for
    each layer `present`, `backlog` (released and unsent, log2(1 + windows) / 4), `slack` (to the deadline of the
    oldest that waits ÷ longest round trip; 4 if none waits), the subflow it is on as one place each, and the
    subflows of the last ``history`` slots. With minutes of delay a state is Markov only with the actions whose
    effect is not observed yet, which is what the history holds.

    ## Rewards

    `reward="weighted-layers"` (default): percent of the episode's summed layer weights (300, 200, 100 for M = 3,
    equation 1) that came to be on Earth in time in the slot, with all lower layers of their chunk. An episode's
    return is the metric ``weighted_layers`` × 100.

    `reward="eq6"`: ln max(1, Σ_i (1 − Lr_i) Σ_j W(ch_j)) + ln max(1, Σ_i Th_i), the paper's equation 6 with the
    share delivered for the share lost. `reward="pbq"`, `"log-goodput"`, `"chunks"`: those of the other papers
    (`dstcc.learn.env.reward`).

    ## Starting State

    Mission time 0: no handshake is done, windows are the scenario's initial window, nothing is released.
    `reset(seed=k)` seeds the draws of this and the following episodes; `reset(options={"scenario_seed": k})` starts
    the very trial that `dstcc emulate --seed k` runs.

    ## Episode End

    Terminated when every layer is delivered or given up; truncated when the scenario's `duration_s` is over.

    ## Information

    `reset` and `step` return `time_s` (mission time), `scenario_seed` and, on the last step, `episode_return`.

    ## Arguments

    ```python
    import gymnasium, dstcc.learn
    gymnasium.make("dstcc/DeepSpace-v1", scenario="mars.toml", observation="paper", action="joint", reward="eq6")
    ```

    `scenario`: a file, a `dstcc.scenario.Scenario`, or a list of them of which each episode draws one; table 1 of
    the paper unless given. `subflows`, `layers`: sizes of the spaces where they should be more than the scenarios'
    own. `observation`, `action`, `history` (8), `windows`, `automatic`, `copies`, `octaves` (1), `headroom` (2; 0
    lifts the bound), `congestion` (`"cubic"`), `reward`: above.

    `pacing` (`"window"`): `"window"` spreads a window over a round trip; `"rate"` keeps that pace whatever is under
    way; `"bbr"` leaves the pace to BBR.

    `measured` (False): windows are pairs (f, t) in the place of (α, β): f times what the path was measured to carry,
    and so much more or less that its queue holds t slots of it after the slot. `orders` (none): pairs (gap, repair).
    Each layer goes `gap` of the longest round trip later than the one below it (infinite: base layers first), and the
    share `repair` of the spare time is kept for a repair. Two entries, one of `dstcc.learn.spaces.PLACES` and one of
    `orders`, then stand in the place of the M. They go together, with
    `observation="measured"` and `action="multi"`.

    `lanes` (0: the scenario's own): lanes of each subflow. `slot_rtts` (0: the scenario's own): a slot in round trips
    of the shortest link, a chunk at least. `hold` (1): slots that an action holds for; rewards of a step are summed
    over them.

    ## Version History

    * v1: first version
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        scenario: Scenarios = None,
        *,
        reward: str = "weighted-layers",
        render_mode: None = None,
        **keywords: Any,
    ) -> None:
        """Take the keywords of "Arguments".

        Raises ValueError for spaces that make no sense and :class:`~dstcc.errors.ScenarioError` for a scenario
        that does not.
        """
        self.render_mode = render_mode
        self.episodes = to_episodes(scenario)
        self.spec_observation, self.spec_action = make_specs(self.episodes, **keywords)
        self.runner = Runner(1, self.spec_observation, self.spec_action, reward=reward)
        self.observation_space = observation_space(self.spec_observation)
        self.action_space = action_space(self.spec_action)
        self.scenario_seed = -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; ``options["scenario_seed"]`` chooses it."""
        super().reset(seed=seed)
        chosen = (options or {}).get("scenario_seed")
        self.scenario_seed = draw_seed(self.np_random) if chosen is None else int(chosen)
        self.runner.begin(0, self.episodes.config(self.scenario_seed, self.spec_action))
        return self.runner.observations[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act for one slot, or for ``hold`` slots where the environment was made so.

        Raises ValueError for an action outside the space, NaN included.
        """
        self.runner.step(np.asarray(action)[None])
        ended, over = bool(self.runner.terminated[0]), bool(self.runner.truncated[0])
        info = self._info()
        if ended or over:
            info["episode_return"] = float(self.runner.returns[0])
        return self.runner.observations[0].copy(), float(self.runner.rewards[0]), ended, over, info

    def result(self) -> EngineResult:
        """What happened in the episode so far, as :func:`dstcc.engine.simulate` reports it."""
        return self.runner.result(0)

    def _info(self) -> dict[str, Any]:
        return {"time_s": self.runner.time_s(0), "scenario_seed": self.scenario_seed}
