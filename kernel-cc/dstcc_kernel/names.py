"""What a scenario's algorithms are called in the kernel, and why others cannot run there."""

from __future__ import annotations

from dstcc.algorithms import KNOWS_RATES, TRANSFERS
from dstcc.engine.config import AGENT, SAME
from dstcc.errors import did_you_mean
from dstcc.scenario import Scenario
from dstcc.scenario.contacts import planned_rate
from dstcc.scenario.network import Way

from .nodes import misfit as misfit_of_nodes
from .nodes import misfit_of_transport
from .source import release

CONGESTION = {
    "bbr": "bbr",
    "bic": "bic",
    "cubic": "cubic",
    "fixed": "dstcc",
    "newreno": "reno",
    "vegas": "vegas",
    "westwood": "westwood",
}
"""``fixed`` is a window that our module holds. Scenario's name → ``net.ipv4.tcp_available_congestion_control``'s."""
LANE_SCHEDULERS = ("minrtt", "round-robin", "layer-pinned")
"""Lanes are given their layers by our sender; a stream over several subflows has the kernel's own scheduler."""
CODED_CONGESTION = {
    "open-loop": "open_loop",
    **{law: law for law in ("fixed", "newreno", "cubic", "bic", "westwood", "vegas", "bbr")},
    "bbr-scaled": "bbr",
    "paced": "paced",
}
"""The simulator's own congestion controls, which the program for coded packets runs: each one's file in
``engine/src/congestion``."""
WORD_PACKETS = 255
"""Of a code word, Cauchy Reed-Solomon over GF(2^8)."""
CONSTANTS = ("hystart", "hystart_ack_delta_s", "compressed_ack_s", "rto_min_s")
"""Of ``[transport] constants`` those that the kernel has a knob for: two module parameters of tcp_cubic, the sysctl
``tcp_comp_sack_delay_ns``, and a route's ``rto_min``."""
MAX_LINKS = 16
MAX_CWND = 1 << 28
"""The module's (``dstcc_law.h``)."""
MAX_STREAM_SUBFLOWS = 9
"""The kernel's path manager knows eight endpoints beside the first subflow's."""


def misfit(scenario: Scenario) -> str | None:
    """The first thing of a scenario that the kernel has not, with its key; ``None`` when it can run."""
    transport = scenario.transport
    problem = misfit_of_nodes(scenario) or misfit_of_transport(scenario) if scenario.node else None
    if problem is not None or transport.mode == "coded":
        return problem or _coded(scenario)
    if any(name in TRANSFERS for name in transport.congestion):
        problem = _in_datagrams(scenario)
        if problem is not None or (len(transport.congestion) == 1 and not transport.controller):
            return problem
    return _of_tcp(scenario)


def _of_tcp(scenario: Scenario) -> str | None:
    transport = scenario.transport
    for key, names, known in (
        ("congestion", transport.congestion, (*CONGESTION, *TRANSFERS)),
        ("scheduler", transport.scheduler if transport.congestion else (), _schedulers(scenario)),
    ):
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            return _refused(f"transport.{key}", unknown, known)
    problem = _others_traffic(scenario)
    if problem is not None:
        return problem
    if "layer-pinned" in transport.scheduler and transport.layer_links is None:
        return (
            "transport.scheduler 'layer-pinned': needs layer_links here, as our sender does not estimate "
            "deliveries"
        )
    problem = _windows(scenario) or _fixed(scenario) or _constants(scenario)
    if problem is not None:
        return problem
    return _too_many(scenario, lanes=transport.mode == "lanes")


def _schedulers(scenario: Scenario) -> tuple[str, ...]:
    """One subflow leaves nothing to schedule: ``minrtt``, the default, is what any scheduler is there."""
    if scenario.transport.mode == "lanes":
        return LANE_SCHEDULERS
    return (release().scheduler,) if scenario.subflows > 1 else ("minrtt",)


def changing_rate(scenario: Scenario) -> str | None:
    """A link whose rate changes over time, with its key, which programs of a user's own do not have: netem gives a
    packet its time on the line as it joins the queue, so that a change of its rate would miss what waits, and their
    links are netem's. A trial's such links are played (:mod:`dstcc_kernel.link_plan`)."""
    for index, link in enumerate(scenario.link):
        if isinstance(link.rate_bps, tuple):
            return f"link.{index}.rate_bps: a rate over time is for trials only"
        if link.loss is not None and any(state.rate != 1 for state in link.loss.states or ()):
            return f"link.{index}.loss.states: a state that changes the rate is for trials only"
        if link.contacts is None:
            continue
        for way, key in (("down", "rate_bps"), ("up", "up_rate_bps")):
            if not link.given(key) and len(planned_rate(link, scenario.scenario, way)[0]) > 1:
                return (
                    f"link.{index}.contacts: contacts of different rates ({way}) are for trials only: netem "
                    f"decides a packet's time on the line when it joins the queue; give the link its {key}"
                )
    return None


def _coded(scenario: Scenario) -> str | None:
    """Coded packets run under the simulator's own congestion controls."""
    unknown = next((name for name in scenario.transport.congestion if name not in CODED_CONGESTION), None)
    if unknown is not None:
        return _refused("transport.congestion", unknown, tuple(CODED_CONGESTION))
    return _in_datagrams(scenario, words=True)


def _in_datagrams(scenario: Scenario, *, words: bool = False) -> str | None:
    """``ltp`` and coded packets (in ``words`` of a code) run by the simulator's own ends, in our program; the kernel
    carries datagrams."""
    coding = scenario.coding
    if coding is not None and coding.code != "mds":
        return f"coding.code '{coding.code}': exists in the simulator only; here it is Reed-Solomon, 'mds'"
    if words and coding is not None and (coding.code_word or 0) > WORD_PACKETS:
        return f"coding.code_word = {coding.code_word}: Reed-Solomon over GF(2^8) has words of {WORD_PACKETS} packets"
    beside = _others_traffic(scenario)
    if beside is None and any(_has_flows(way) for way in scenario.ways):
        beside = _constants(scenario)
    return beside or _too_many(scenario, lanes=None)


def _has_flows(way: Way) -> bool:
    """Whether others' TCP connections are on it."""
    return bool(way.flows) or (way.mix is not None and way.mix.tcp_share > 0)


def _others_traffic(scenario: Scenario) -> str | None:
    for way in scenario.ways:
        named = [("flows", flow.congestion) for flow in way.flows or ()]
        if way.mix is not None and way.mix.tcp_share > 0:
            named.append(("mix", way.mix.congestion))
        stock = tuple(name for name in CONGESTION if name != "fixed")
        steered = bool(scenario.transport.controller) and scenario.transport.mode != "coded"
        own = (AGENT,) if steered else scenario.transport.congestion
        for key, name in named:
            unknown = next((each for each in (own if name == SAME else (name,)) if each not in stock), None)
            if unknown is not None:
                whose = " (the trial's own)" if name == SAME else ""
                return (
                    f"{way.key}.{key}: others' '{unknown}'{whose} exists in the simulator only, the kernel has "
                    + (", ".join(stock))
                )
    return None


def _windows(scenario: Scenario) -> str | None:
    """Lanes are connections: stock controls have a window in each, our module holds a link's in all of them."""
    transport = scenario.transport
    if transport.lanes_per_link == 1 or transport.window is None:
        return None
    stock = next((name for name in transport.congestion if name not in KNOWS_RATES), None)
    if transport.window == "link" and stock is not None:
        return (
            f"transport.window = 'link': under '{stock}' each lane is a connection with a window of its own here; "
            'window = "lane", or the simulator'
        )
    given = next((name for name in transport.congestion if name in KNOWS_RATES), None)
    if transport.window == "lane" and given is not None:
        return f"transport.window = 'lane': the lanes of a link share the window of '{given}' here; window = \"link\""
    return None


def _fixed(scenario: Scenario) -> str | None:
    """Windows that our module cannot hold."""
    wrong = [window for window in scenario.transport.fixed_cwnd_segments or () if not 2 <= window <= MAX_CWND]
    if "fixed" not in scenario.transport.congestion or not wrong:
        return None
    return (
        f"transport.fixed_cwnd_segments = {wrong[0]}: our module holds windows of 2 to {MAX_CWND:,} segments"
    )


def _constants(scenario: Scenario) -> str | None:
    constants = scenario.transport.constants
    unknown = next((name for name in constants.given if name not in CONSTANTS), None) if constants else None
    if unknown is None:
        return None
    return f"transport.constants.{unknown}: the kernel has no such knob; it has {', '.join(CONSTANTS)}"


def _too_many(scenario: Scenario, *, lanes: bool | None) -> str | None:
    """Ways, or subflows of them; ``lanes`` is None where any number of these is right."""
    ways, subflows = len(scenario.ways), scenario.subflows
    what = "path" if scenario.node else "link"
    if ways > MAX_LINKS:
        return f"{what}: {ways} {what}s; at most {MAX_LINKS} here"
    if lanes and subflows > ways:
        return f"{what}.0.subflows: lanes have one subflow a {what} here"
    if lanes is not None and subflows > MAX_STREAM_SUBFLOWS:
        return f"{what}: {subflows} subflows; Linux's MPTCP has at most {MAX_STREAM_SUBFLOWS}"
    return None


def _refused(key: str, name: str, known: tuple[str, ...]) -> str:
    hint = did_you_mean(known[0] if len(known) == 1 else name, known)
    return f"{key}: '{name}' exists in the simulator only, the kernel has {', '.join(known)}{hint}"
