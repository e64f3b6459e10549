"""The one table of congestion controls, transfers without TCP and schedulers, with their sources.

Scenarios, the command line and the tests take the names from here; a test compares the table with the names that the
engine was compiled with.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from dstcc.errors import did_you_mean
from dstcc.frozen import dataclass

RECONSTRUCTED = "(reconstruction)"
"""The mark of an algorithm whose source leaves gaps that we filled."""
SIMULATOR = ("simulator",)
BOTH = ("simulator", "kernel")
"""The backends of this version."""


@dataclass(frozen=True)
class Parameter:
    """Numbers that the engine makes a congestion control or a transfer with: from a key, or from a function."""

    name: str
    """In the engine (:data:`dstcc.engine.PARAMETERS`)."""
    key: str = ""
    """The key under ``[transport]`` that sets it."""
    per_link: bool = True
    """Whether the key has a value per link, or one for all; else it has one value."""
    function: str = ""
    """``MODULE:FUNCTION`` that returns the values, where no key does."""


@dataclass(frozen=True)
class Algorithm:
    """One row of the table, with the fields of ``dstcc algorithms --json``."""

    name: str
    kind: str
    """``congestion``, ``transfer`` (without TCP, in a congestion control's place), ``scheduler`` or
    ``controller``."""
    state: str
    """``built-in``: written after its source; ``learned``; ``reconstruction``: the source leaves gaps;
    ``extension``: from an installed package."""
    source: str
    backends: tuple[str, ...] = SIMULATOR
    needs: tuple[str, ...] = ()
    """What it needs to have an effect, keys of :data:`NEEDS`."""
    knows: tuple[str, ...] = ()
    """What it knows beyond what acknowledgements show, keys of :data:`KNOWLEDGE`; of a controller what its policy file
    says (:attr:`dstcc.learn.policies.policy.Policy.knows`), so that to list them no file is read."""
    copies: str = ""
    """What it sends twice without a loss, a key of :data:`COPIES`; nothing where empty."""
    parameters: tuple[Parameter, ...] = ()
    """What the engine makes it with."""


NEEDS = {
    "paths": "it weighs one path against another; the connection has one",
    "stream": 'it keeps one stream in order across paths; mode = "lanes" has an order per lane, none across',
    "layers": "it treats layers differently; the source has one",
    "coded": 'it depends on reports of coded packets; needs mode = "coded"',
}
"""What an algorithm may need, and the message if it is missing."""


@dataclass(frozen=True)
class Known:
    """A kind of knowledge that one sender has and another may not have."""

    letter: str
    """Its abbreviation in tables."""
    noun: str
    """Its name in sentences."""
    what: str


KNOWLEDGE = {
    "rates": Known("r", "the rates", "is configured with the rate of each link"),
    "line": Known("l", "its transmitter's rate", "is configured with the rate of its own transmitter"),
    "queue": Known("q", "its queue", "observes the queue of its own transmitter"),
    "contacts": Known("c", "the contacts", "has the contact plan: timers or subflows pause during outages"),
    "deadlines": Known("d", "deadlines", "drops layers that cannot meet their deadline"),
    "mission": Known("m", "sizes to come", "is configured with the sizes of all layers in advance"),
}
"""What a sender may know beyond what acknowledgements show, in the order of tables. Every sender knows the light times
and when a handshake can pass."""


def letters(knows: Container[str]) -> str:
    """``rcd`` for rates, contacts and deadlines; a dash for nothing."""
    return "".join(known.letter for key, known in KNOWLEDGE.items() if key in knows) or "–"


TOLD_RATES = "told_rates"
"""The parameter of a control that finds rates and can be told them, and its key under ``[transport]``."""
SHOWS_RATES = ("rates", "line", "queue")
"""Knowledge of a link's rate beforehand, or of what shows it within a slot; others learn it by what comes back."""
COPIES = {
    "all": "sends everything on every subflow",
    "spare": "fills unused capacity with copies",
    "idle": "repeats on an idle subflow what another has in flight for longer than MPTCP's timer runs",
}
"""What may be sent twice."""

TABLE = (
    Algorithm(
        "fixed",
        "congestion",
        "built-in",
        "a constant window; the link's BDP unless set",
        backends=BOTH,
        knows=("rates",),
        parameters=(Parameter("cwnd_segments", key="fixed_cwnd_segments"),),
    ),
    Algorithm(
        "open-loop",
        "congestion",
        "built-in",
        "a constant rate without control; the link's unless set",
        knows=("rates",),
        parameters=(Parameter("rate_bps", key="open_loop_bps"),),
    ),
    Algorithm("newreno", "congestion", "built-in", "RFC 5681, RFC 6582", backends=BOTH),
    Algorithm(
        "cubic", "congestion", "built-in", "RFC 9438; HyStart as in Linux's tcp_cubic.c", backends=BOTH
    ),
    Algorithm("westwood", "congestion", "built-in", "Westwood+ as in Linux's tcp_westwood.c", backends=BOTH),
    Algorithm(
        "bbr",
        "congestion",
        "built-in",
        "BBRv1: Cardwell et al., ACM Queue 2016; Linux tcp_bbr.c",
        backends=BOTH,
    ),
    Algorithm("bbr-scaled", "congestion", "built-in", "BBRv1 with its windows counted in round trips"),
    Algorithm(
        "bic",
        "congestion",
        "built-in",
        "Xu et al., INFOCOM 2004; constants of Linux's tcp_bic.c",
        backends=BOTH,
    ),
    Algorithm(
        "vegas",
        "congestion",
        "built-in",
        "Brakmo, Peterson, JSAC 1995; Linux's tcp_vegas.c, α 2, β 4, γ 1",
        backends=BOTH,
    ),
    Algorithm("ledbat", "congestion", "built-in", "RFC 6817: 100 ms of one-way queueing delay"),
    Algorithm(
        "paced",
        "congestion",
        "built-in",
        "this project's own: a rate from its own queue, and from reports",
        needs=("coded",),
        knows=("queue",),
        parameters=(Parameter(TOLD_RATES, key=TOLD_RATES, per_link=False),),
    ),
    Algorithm(
        "ltp",
        "transfer",
        "built-in",
        "Licklider Transmission Protocol: RFC 5326",
        knows=("rates", "contacts"),
        parameters=(
            Parameter("rate_bps", key="open_loop_bps"),
            Parameter("green_from_layer", key="ltp_green_from_layer", per_link=False),
            Parameter("retry_limit", key="ltp_retry_limit", per_link=False),
        ),
        backends=BOTH,
    ),
    Algorithm("lia", "congestion", "built-in", "coupled: RFC 6356", needs=("paths",)),
    Algorithm(
        "olia",
        "congestion",
        "built-in",
        "coupled: Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
        needs=("paths",),
    ),
    Algorithm(
        "balia",
        "congestion",
        "built-in",
        "coupled: Peng et al., ToN 2016; draft-walid-mptcp-congestion-control-04",
        needs=("paths",),
    ),
    Algorithm(
        "wvegas",
        "congestion",
        "built-in",
        "coupled: Cao et al., ICNP 2012; draft-xu-mptcp-congestion-control-05",
        needs=("paths",),
    ),
    Algorithm(
        "tp-planet",
        "congestion",
        "reconstruction",
        "after Akan, Fang, Akyildiz, IEEE JSAC 2004; constants are ours, data in the dummy segments' place",
        knows=("line",),
    ),
    Algorithm(
        "remy",
        "congestion",
        "learned",
        "rule table after Winstein, Balakrishnan, SIGCOMM 2013; trained for bdp_packets 10..500, rtt_s 0.1..2400, "
        "loss 1e-05..0.01, queue_bdp 0.5..2, flows 1..2",
        parameters=(Parameter("rules", function="dstcc.remy.table:shipped_numbers"),),
    ),
    Algorithm(
        "minrtt",
        "scheduler",
        "built-in",
        "least SRTT: default of the MPTCP v0.9x kernels; Raiciu et al., NSDI 2012",
        backends=BOTH,
    ),
    Algorithm(
        "round-robin",
        "scheduler",
        "built-in",
        "subflows with window in turn; MPTCP v0.9x mptcp_rr.c",
        backends=BOTH,
    ),
    Algorithm(
        "redundant",
        "scheduler",
        "built-in",
        "all on every subflow; MPTCP v0.9x mptcp_redundant.c",
        copies="all",
    ),
    Algorithm(
        "layer-pinned",
        "scheduler",
        "built-in",
        "a layer on one subflow each, after Ha et al., ICT Express 2023; base layer on the soonest delivery",
        needs=("layers",),
        backends=BOTH,
    ),
    Algorithm(
        "blest",
        "scheduler",
        "built-in",
        "Ferlin et al., IFIP Networking 2016; mptcp_blest.c of MPTCP v0.95",
        needs=("paths", "stream"),
    ),
    Algorithm(
        "ecf",
        "scheduler",
        "built-in",
        "Lim et al., CoNEXT 2017; mptcp_ecf.c of MPTCP v0.95",
        needs=("paths",),
    ),
    Algorithm(
        "daps",
        "scheduler",
        "built-in",
        "Kuhn et al., ICC 2014, delays quantised; mptcp_daps.c of MPTCP v0.89",
        needs=("paths", "stream"),
    ),
    Algorithm(
        "qaware",
        "scheduler",
        "built-in",
        "Shreedhar et al., WiOpt 2018; the device queue is the link's at the sender",
        needs=("paths",),
        knows=("line", "queue"),
    ),
    Algorithm(
        "po-mptcp",
        "scheduler",
        "built-in",
        "Wei et al., Security and Communication Networks 2019; the base layer is the priority data",
        needs=("paths", "layers"),
    ),
    *(
        Algorithm(
            f"probabilistic-{share}",
            "scheduler",
            "built-in",
            f"Lee and Yoo, Sensors 2022: path 1 with probability {share}, waiting for its window",
            needs=("paths",),
        )
        for share in ("0.25", "0.5", "0.75")
    ),
    Algorithm(
        "fast-only",
        "scheduler",
        "built-in",
        "Lee and Yoo, Sensors 2022: the path of least SRTT, waiting for its window",
        needs=("paths",),
    ),
    *(
        Algorithm(
            f"minrtt-then-fast-{part}",
            "scheduler",
            "built-in",
            f"Lee and Yoo, Sensors 2022: minrtt for {part}/50 of a slot ([run] slot_s; theirs: 50 ms), then fast-only",
            needs=("paths",),
        )
        for part in ("15", "30")
    ),
    Algorithm(
        "peekaboo",
        "scheduler",
        "built-in",
        "Wu et al., IEEE JSAC 38(10), 2020; constants of the authors' MPQUIC code",
        needs=("paths",),
    ),
    Algorithm(
        "qle-ds",
        "scheduler",
        "reconstruction",
        "after Zhong et al., IEEE Trans. Broadcasting, 2022; states, constants and energy model are ours",
        needs=("paths",),
        knows=("line",),
    ),
    Algorithm(
        "linux",
        "scheduler",
        "built-in",
        "Linux 6.12, mptcp_subflow_get_send() in net/mptcp/protocol.c: what MPTCP does by default",
        BOTH,
        needs=("paths", "stream"),
        copies="idle",
    ),
    Algorithm(
        "linux-6.1",
        "scheduler",
        "built-in",
        "Linux 6.1, mptcp_subflow_get_send() in net/mptcp/protocol.c: what MPTCP did by default",
        BOTH,
        needs=("paths", "stream"),
        copies="idle",
    ),
)
"""Every algorithm of this version, congestion controls first."""

CONGESTION = tuple(row.name for row in TABLE if row.kind == "congestion" and "coded" not in row.needs)
CODED_ONLY = tuple(row.name for row in TABLE if "coded" in row.needs)
"""Congestion controls of coded packets only: TCP cannot have them."""
TRANSFERS = tuple(row.name for row in TABLE if row.kind == "transfer")
"""Transfers, which are named instead of a congestion control. They choose links themselves and take no scheduler."""
KNOWS_RATES = tuple(row.name for row in TABLE if "rates" in row.knows)
"""Algorithms that are given the links' rates, by the scenario or by a set window or rate."""
COUPLED = tuple(row.name for row in TABLE if row.kind == "congestion" and "paths" in row.needs)
"""Congestion controls whose windows depend on those of the connection's other subflows."""
SCHEDULERS = tuple(row.name for row in TABLE if row.kind == "scheduler")
REDUNDANT = "redundant"
"""The scheduler that sends everything on every subflow of one connection."""
NO_SCHEDULER = "none"
"""The scheduler's name in the trials of a transfer, which has none."""
PINNED = "layer-pinned"
"""The one scheduler that applies to a transfer: with it the operator chooses each layer's link."""
DEFAULT_SCHEDULER = "minrtt"

if len({row.name for row in TABLE}) != len(TABLE):
    raise RuntimeError("dstcc.algorithms.TABLE names an algorithm twice")


def built_in(name: str, kind: str) -> bool:
    """Whether the engine has an algorithm of that kind and name; a transfer counts as a congestion control."""
    return name in _built_in(kind)


def _built_in(kind: str) -> tuple[str, ...]:
    return (*CONGESTION, *CODED_ONLY, *TRANSFERS) if kind == "congestion" else SCHEDULERS


def rule_for(name: str, kind: str) -> str | None:
    """Why ``name`` is not an algorithm of that kind, with the nearest name; ``None`` when it is one.

    A transfer may be named instead of a congestion control. Algorithms of installed packages are included
    (see :mod:`dstcc.extend`).
    """
    if built_in(name, kind):
        return None
    from .extensions import installed

    names = (*_built_in(kind), *(point.name for point in installed(kind)))
    if name in names:
        return None
    if name == OWN:
        return f'is no {kind} but has its own: --controller {OWN}, or controller = "{OWN}"'
    what = "congestion control" if kind == "congestion" else kind
    return f"no such {what} in this version ({', '.join(names)}){did_you_mean(name, names)}"


CODE_RATES = "ltp-rates"
"""What `dstcc train` calls the learner of code rates of `ltp`; it has no row, since `ltp` runs by its tables."""
CONTROLLERS = {
    row.name: row
    for row in (
        Algorithm(
            "dstcc-lanes",
            "controller",
            "learned",
            "this project's own on TCP: paces, layers and copies over lanes",
            knows=("queue", "contacts"),
            backends=BOTH,
        ),
        Algorithm(
            "iodst-dqn", "controller", "learned", "Ha et al., ICT Express 2023, Algorithm 1", backends=BOTH
        ),
        Algorithm(
            "iodst-dqn+",
            "controller",
            "learned",
            "iodst-dqn for delays of minutes: observes pending actions, steps over a round trip",
            knows=("queue", "contacts"),
            backends=BOTH,
        ),
        Algorithm(
            "iodst-q",
            "controller",
            "learned",
            "Q-learning on the discretised state of Ha et al., ICT Express 2023",
            backends=BOTH,
        ),
        # The kernel lacks what the simulator's only controllers steer: BBR's pacing rate, schedulers.
        Algorithm(
            "pbq", "controller", "learned", "Zhang et al., Entropy 2023: PPO for the window, BBR for the pace"
        ),
        Algorithm(
            "drl-cc",
            "controller",
            "learned",
            "Xu et al., JSAC 2019: one LSTM and DDPG for all subflows",
            backends=BOTH,
        ),
        Algorithm(
            "mpquic-rl",
            "controller",
            "learned",
            "Lee and Yoo, Sensors 2022: double DQN over seven scheduling policies",
        ),
        Algorithm(
            "gru-mpc",
            "controller",
            "learned",
            "this project's own, after Yan et al., NSDI 2020 (Fugu): a forecaster of losses under a planner of repair",
            knows=("rates",),
            backends=BOTH,
        ),
    )
}
"""Learned controllers, which ``dstcc train`` makes (:mod:`dstcc.learn.algorithms.recipes`); ``dstcc algorithms`` lists
those whose policy this version ships."""
OWN = "dstcc"
"""This project's transport, named as a controller: coded packets whose pace it finds, over all links, by the contact
plan. It brings mode, congestion control and coding along (:func:`dstcc.scenario.variant.as_own`)."""
OWN_CONGESTION = "paced"
OWN_ROW = Algorithm(
    OWN,
    "controller",
    "built-in",
    "this project's own: coded packets that find their rate and plan over contacts; nothing to choose",
    knows=("queue", "contacts"),
    backends=BOTH,
)
PARTS = ("gru-mpc",)
"""Controllers for studies of repair alone, and no transport by themselves."""
RENAMED = {OWN: "dstcc-lanes"}
"""Learned controllers by their names in older files."""
LADDERS = ("sinking", "tide", "relief", "flares", "onset", "slow-weather", "two-skies")
EVIDENCE, AGAIN, STORAGE, REPAIR = (951, 960), (965, 968), (711, 744), (711, 746)
SEALED = (
    "polar two bands", "solar grazing", "slow spin", "shared gateway", "eclipse orbiter", "main belt", "comet flyby"
)  # fmt: skip
STRANGERS = (
    "dead path", "two paths restart", "reports of 60 bit/s", "two paths through one small store", "steps",
    "a restart of stored video over a relay", "told rates after a restart", "turns",
    "two senders in a queue of two packets", "unannounced store", "outages that nobody announces on two links",
    "shallow queue", "shallow overload", "shallow told", "turns unequal", "unequal lines", "closed line", "mostly down",
    "unannounced two", "stay told", "one way beside", "rare reports", "too far", "fan in turns", "two in turns",
    "bursts", "chain of passes", "others on and off", "shared last line", "overload one layer", "overload lossy",
    "stored turns", "stored contacts", "overload two links", "losses begin", "overload restart", "deaf store",
    "small blocks", "stored overload", "fading moon", "unknown line", "long overload", "large chunks", "stored unlike",
    "unlike overload", "beside cubic", "lossy hop", "nearing", "losses end", "fat base", "small store", "deaf start",
    "lossy sides", "six links", "away lossy", "fat base mild", "gaps before store", "lossy chain", "cold", "drift",
    "stored one layer", "losses move", "deaf half", "dark one", "thin path", "step beside", "room for repair",
    "round trip left", "unlike restart", "steps shallow", "jump", "answers lost", "slow behind", "slower behind",
    "bursts behind", "slower line", "fades behind", "losses fall", "unlike delays",
)  # fmt: skip
"""Of `experiments/open` and `experiments/mended`."""
MISSIONS = (
    "a week of relay passes", "live feed, 34 m", "live feed, 70 m", "conjunction weeks", "three complexes",
    "Jupiter cruise", "an areostationary relay beside direct to Earth", "a rover on the far side of the Moon",
    "lunar gateway", "two rovers, three relays, two stations", "optical downlink, 226 Gm", "optical downlink",
    "four-hour outage", "three relays, one out for four hours", "a lander through two orbiters",
)  # fmt: skip
CHOSEN_ON: dict[str, dict[str, tuple[tuple[int, int], ...]]] = {
    "dstcc-lanes": {
        "Mars, two links": ((1, 6),),
        "near conjunction": ((1, 6),),
        "iodst table 1": ((1, 10),),
    },
    OWN: {
        "further on": ((701, 740), (901, 905), (1101, 1196), EVIDENCE, AGAIN),
        **dict.fromkeys((*MISSIONS, "held-out bursts-50"), (STORAGE, EVIDENCE)),
        **dict.fromkeys(LADDERS, ((501, 520),)),
        **dict.fromkeys(("sinking", "tide", "relief", "flares"), ((501, 520), REPAIR, EVIDENCE)),
        **dict.fromkeys(("Mars, two links", "iodst table 1"), (REPAIR, EVIDENCE, AGAIN)),
        **dict.fromkeys(SEALED, (REPAIR, EVIDENCE, AGAIN)),
        **dict.fromkeys(STRANGERS, ((11, 80),)),
        "dying amplifier": (REPAIR, (961, 964), EVIDENCE, AGAIN),
        "two orbiters": (REPAIR, (961, 964), EVIDENCE, AGAIN),
        "optical and two": (REPAIR, EVIDENCE, AGAIN),
        "far-side rover": (REPAIR, EVIDENCE, AGAIN),
        "Phobos chain": (REPAIR, EVIDENCE, AGAIN),
    },
}
"""Constants and rules of a controller that people chose by what it played: scenario → first and last seeds. Single
seeds were looked at, too, and not written down. What a network was trained on is in the policy's file."""
POLICIES = Path(__file__).parent / "learn" / "policies"
"""The folder of the shipped policies, each in NAME.safetensors."""


EXTENSION_KNOWS = {"congestion": ("line",), "scheduler": ("queue",)}
"""What a user's class can know (:mod:`dstcc.extend` passes it); whether the class uses it is unknown."""


def knowledge(congestion: str, scheduler: str) -> tuple[str, ...]:
    """What a pair knows, keys of :data:`KNOWLEDGE` in their order, without deadlines and mission: the scenario adds
    these."""
    known = {
        key
        for name, kind in ((congestion, "congestion"), (scheduler, "scheduler"))
        for key in _knows(name, kind)
    }
    if "rates" in known:
        known.discard("line")
    return tuple(key for key in KNOWLEDGE if key in known)


PER_LINK_KEYS = tuple(
    dict.fromkeys(
        parameter.key for row in TABLE for parameter in row.parameters if parameter.key and parameter.per_link
    )
)
"""The keys under ``[transport]`` that set a parameter with a value per link, or one for all links."""


def parameters_of(
    names: Iterable[str], given: Callable[[str], Sequence[float]]
) -> dict[str, dict[str, Sequence[float]]]:
    """``Transport.parameters`` for those controls: what ``given`` returns for a key where that is not empty, and what a
    parameter's own function returns."""
    wanted = set(names)
    found: dict[str, dict[str, Sequence[float]]] = {}
    for row in TABLE:
        if row.kind == "scheduler" or row.name not in wanted:
            continue
        for parameter in row.parameters:
            values = given(parameter.key) if parameter.key else _called(parameter.function)
            if values:
                found.setdefault(row.name, {})[parameter.name] = values
    return found


def _called(function: str) -> Sequence[float]:
    module, _, name = function.partition(":")
    values: Sequence[float] = getattr(import_module(module), name)()
    return values


def copies(scheduler: str) -> str:
    """What a scheduler sends twice, a key of :data:`COPIES` or empty."""
    return next((row.copies for row in TABLE if (row.name, row.kind) == (scheduler, "scheduler")), "")


def _knows(name: str, kind: str) -> tuple[str, ...]:
    if name == NO_SCHEDULER or not name:
        return ()
    kinds = ("congestion", "transfer") if kind == "congestion" else (kind,)
    return next((row.knows for row in TABLE if row.name == name and row.kind in kinds), EXTENSION_KNOWS[kind])


def controllers() -> tuple[str, ...]:
    """What ``controller`` may name without a file: our transport, and the shipped policies."""
    return (OWN, *shipped_policies())


def shipped_policies() -> tuple[str, ...]:
    """The names of the policies that come with this version."""
    return tuple(sorted(path.stem for path in POLICIES.glob("*.safetensors")))


def controller_name(given: str) -> str:
    """A controller's name in tables: its name, or its file's without folder and suffix. A file has never the name of
    :data:`OWN`, which is none."""
    name = Path(given).name.removesuffix(".safetensors")
    return f"{OWN}.safetensors" if name == OWN and given != OWN else name


def everything() -> tuple[Algorithm, ...]:
    """The table, our transport, the controllers whose policy is shipped, and the algorithms of installed packages whose
    names are new."""
    from .extensions import GROUPS, installed, origin_of

    brought = [
        Algorithm(
            point.name, kind, "extension", f"{origin_of(point)}: {point.value}", knows=EXTENSION_KNOWS[kind]
        )
        for kind in GROUPS
        for point in installed(kind)
        if not built_in(point.name, kind)
    ]
    learned = [CONTROLLERS[name] for name in shipped_policies()]
    return (*TABLE, OWN_ROW, *learned, *brought)


def unmet(name: str, kind: str, *, paths: int, mode: str, layers: int | None = None) -> str | None:
    """Why a known algorithm cannot work in such a trial; ``None`` when it can.

    ``paths`` counts the connection's subflows, ``layers`` the source's layers (``None`` while it is not read).
    """
    kinds = ("congestion", "transfer") if kind == "congestion" else (kind,)
    needs = next((row.needs for row in TABLE if row.name == name and row.kind in kinds), ())
    met = {
        "paths": paths > 1,
        "stream": mode == "stream",
        "layers": layers is None or layers > 1,
        "coded": mode == "coded",
    }
    return next((NEEDS[need] for need in needs if not met[need]), None)


def window_of(congestion: str, scheduler: str) -> str:
    """Default of ``transport.window``: each lane has a congestion window (``lane``), or a link's lanes share one
    (``link``).

    A stock control has a connection per lane, as a user of real MPTCP would. A control that is given its window or
    rate gains nothing from more windows; coupled controls and ``redundant`` work over the subflows of one connection.
    """
    shared = congestion in (*KNOWS_RATES, *COUPLED) or scheduler == REDUNDANT
    return "link" if shared else "lane"


def schedulers_of(congestion: str, schedulers: tuple[str, ...]) -> tuple[str, ...]:
    """The schedulers that ``congestion`` is run with, of those a scenario names.

    A transfer is run once: with ``layer-pinned`` where that is named, else with none.
    """
    if congestion not in TRANSFERS:
        return schedulers
    return (PINNED,) if PINNED in schedulers else (NO_SCHEDULER,)


def algorithm_name(congestion: str, scheduler: str) -> str:
    """The name of a pair in tables and plots: ``cubic+minrtt``, or ``ltp`` alone without a scheduler."""
    return congestion if scheduler == NO_SCHEDULER else f"{congestion}+{scheduler}"


def documents() -> list[dict[str, object]]:
    """Every algorithm as ``dstcc algorithms --json`` prints it."""
    hidden = {"needs", "knows", "copies", "parameters"}
    return [
        {
            key: list(value) if key == "backends" else value
            for key, value in asdict(row).items()
            if key not in hidden
        }
        for row in everything()
    ]


def mark(congestion: str, scheduler: str) -> str:
    """The suffix of a pair's name in tables and plots: a blank and the mark if one of the two is a reconstruction."""
    return f" {RECONSTRUCTED}" if reconstructed(congestion, scheduler) else ""


def reconstructed(congestion: str, scheduler: str) -> tuple[str, ...]:
    """Which of the two are reconstructions: their publications leave choices to us."""
    used = {("congestion", congestion), ("scheduler", scheduler)}
    return tuple(row.name for row in TABLE if row.state == "reconstruction" and (row.kind, row.name) in used)
