"""What a run would do, without doing it: links, time scale, trials and a count of packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import reconstructed
from dstcc.clock import Clock
from dstcc.engine import Link
from dstcc.frozen import dataclass
from dstcc.scenario import Scenario, Source, describe, draw_trial, horizon_s, link_notes, rtt_s
from dstcc.scenario.notes import notes_on
from dstcc.scenario.restarts import note_on_restart
from dstcc.scenario.work import Work, about
from dstcc.wire import HEADER_BYTES

from .asked import estimates
from .backends import backend_of
from .footing import Footing, distorted, footings
from .least_delay import documents, least_playout_delays
from .network_plan import PlannedNetwork, planned_network
from .trials import load_controllers, trial_keys

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Policies


@dataclass(frozen=True)
class PlannedLink:
    """A link as the first seed draws it."""

    name: str
    rate_bps: float
    """Where rates change, the highest, like that below."""
    up_rate_bps: float
    least_rate_bps: float
    """The lowest of the data direction, whether it is announced or not; the same where the rate is constant."""
    least_up_rate_bps: float
    rtt_s: float
    delay_s: Any
    """One way: a number, a table, or the least and the greatest of a curve."""
    bdp_packets: float
    """Full wire packets that fill the round trip at the data direction's rate."""
    loss: dict[str, Any]
    queue_bytes: int
    outages: int
    outage_s: float
    """Sum of their lengths within the run."""
    subflows: int
    """Of the connection under test."""
    flows: list[dict[str, Any]]
    """TCP connections of others, those of a ``mix`` included."""
    datagrams_bps: list[float]
    """Rate of each source of others' datagrams while it is on."""


@dataclass(frozen=True)
class Plan:
    """A dry run's findings; ``seconds`` are mission seconds."""

    scenario: str
    backend: str
    seed: int
    """The seed whose draws are shown."""
    links: tuple[PlannedLink, ...]
    scale: float
    distorts: tuple[str, ...]
    """What the scale makes different from an unscaled run."""
    chunks: int
    layers: int
    payload_bytes: int
    playout_delay_s: float
    least_playout_delays: tuple[dict[str, float | None], ...]
    """Of the first seeds, each with ``seed`` and ``delay_s``: with less no sender has everything in time."""
    mission_s: float
    """The length of a run, as a guess."""
    notes: tuple[str, ...]
    """What a reader must know of the links."""
    algorithms: tuple[Footing, ...]
    """What each of them knows and has."""
    trials: tuple[str, ...]
    reconstructions: tuple[str, ...]
    """Those of the trials that rest on a reconstruction."""
    estimated_packets: int
    """Data packets of all trials together, without repeats."""

    work: dict[str, dict[str, float]]
    """``events`` and ``memory`` of the trial that takes most, ``bytes`` on the disk of all: estimate and limit."""
    network: PlannedNetwork | None
    """Of a scenario with nodes, whose ``links`` are its paths by their first links."""

    def document(self) -> dict[str, object]:
        """As ``dstcc emulate --dry-run --json`` prints it; a network only where there is one."""
        document = {"dry_run": True, **asdict(self)}
        return document if self.network is not None else {k: v for k, v in document.items() if k != "network"}


def plan(
    scenario: Scenario,
    source: Source,
    backend: str,
    *,
    policies: Policies | None = None,
    work: Mapping[str, Work] | None = None,
) -> Plan:
    """Work out what running a scenario would mean.

    ``policies`` are the controllers where :func:`load_controllers` has read them already, ``work`` what
    :func:`estimates` has said.
    """
    policies = load_controllers(scenario, source) if policies is None else policies
    setup = draw_trial(scenario, source, scenario.run.seed)
    mss, keys = scenario.transport.mss_bytes, trial_keys(scenario)
    network = planned_network(scenario, source)
    packets = int(setup.objects.packets(mss).sum())
    return Plan(
        scenario=scenario.scenario.name,
        backend=backend,
        seed=setup.seed,
        links=tuple(_planned(link, mss, setup.length_s) for link in setup.links),
        scale=setup.scale,
        distorts=distorted(scenario, setup.links),
        chunks=source.chunks,
        layers=source.layers,
        payload_bytes=int(setup.objects.payload_bytes.sum()),
        playout_delay_s=setup.playout_delay_ns / 1e9,
        least_playout_delays=documents(least_playout_delays(scenario, source, backend_of(backend))),
        mission_s=horizon_s(setup.links, setup.objects, scenario.scenario.duration_s),
        notes=(
            *link_notes(scenario),
            *(network.notes if network is not None else ()),
            *notes_on(scenario, source),
            *note_on_restart(scenario.transport.restart, Clock(scenario.scenario.start)),
        ),
        algorithms=footings(scenario, source, keys, policies, backend_of(backend)),
        trials=tuple(key.id for key in keys),
        reconstructions=tuple(key.id for key in keys if reconstructed(key.congestion, key.scheduler)),
        estimated_packets=packets * len(keys),
        work=about((estimates(scenario, source) if work is None else work).values()),
        network=network,
    )


def _planned(link: Link, mss_bytes: int, end_s: float) -> PlannedLink:
    values: dict[str, Any] = {
        "least_rate_bps": link.rate_bps,
        "least_up_rate_bps": link.up_rate_bps,
        "bdp_packets": link.rate_bps * rtt_s(link) / 8 / (mss_bytes + HEADER_BYTES),
        **describe(link, end_s),
    }
    return PlannedLink(**{one.name: values[one.name] for one in fields(PlannedLink)})
