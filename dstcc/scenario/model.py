"""The scenario's tables and what their keys mean; every time in mission seconds, every rate in bits per
second."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dstcc.algorithms import (
    CODED_ONLY,
    CONGESTION,
    DEFAULT_SCHEDULER,
    OWN,
    PER_LINK_KEYS,
    PINNED,
    TRANSFERS,
    algorithm_name,
    built_in,
    controller_name,
    rule_for,
    schedulers_of,
    unmet,
)
from dstcc.codecs import CODECS
from dstcc.errors import InputError
from dstcc.extensions import is_file, label, load_named, look
from dstcc.trust import may_run

from .bounds import OF_PROGRAMS, Bounds, parse_bound
from .changing import RateRows, check_changing
from .coding import CODED, Coding, check_coding, check_transport
from .coding import misfit as coding_misfit
from .constants import Constants
from .fields import (
    AS_DOWN,
    AsTexts,
    AsTuple,
    Bytes,
    Delay,
    DrawableRate,
    Instant,
    Rate,
    ScenarioTable,
    Seconds,
    broken,
    ns,
)
from .lanes import check_window, check_windows
from .losses import LossModel
from .network import MAX_NODES, MAX_PATHS, Node, Path, Way, check_network, ways_of, with_numbers
from .physics import abstract_keys
from .physics import check as check_physics
from .places import End, with_places
from .programs import Programs
from .restarts import Restart, check_restart
from .traffic import CrossTraffic, Flow, Mix, check_same
from .variant import Variant, as_own, as_variant, place_of

RELAY_AS_NODES = """\
a relay is a node. With delay_s split by `at`, the rest as it was, and duration_s in [scenario]:

[[node]]
name = "sender"
[[node]]
name = "relay"
[[node]]
name = "receiver"
[[link]]  # with all that this one has
name = "own"
from = "sender"
to = "relay"
[[link]]  # with the relay's rate_bps, queue_bytes and cross_traffic
name = "onward"
from = "relay"
to = "receiver"
[[path]]
via = ["own", "onward"]"""
MAX_LAYERS = 8
MAX_LINKS = MAX_SUBFLOWS = 64
MAX_VARIANTS = 64
MAX_OBJECTS = 10_000_000
"""Chunks × layers of a mission; a day of seconds with 4 layers has 345,600."""


class About(ScenarioTable):
    """``[scenario]``."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    duration_s: Seconds | None = None
    """Ends the run, delivered or not; without it the run ends when every layer is delivered or given up."""
    start: datetime | None = None
    """Date of mission time 0 (UTC unless it has a zone); links with physics need it."""


class Synthetic(ScenarioTable):
    """A source without pictures: every chunk has the same layers."""

    chunk_s: Seconds
    layer_bps: Annotated[tuple[Rate, ...], AsTuple, Field(min_length=1, max_length=MAX_LAYERS)]
    """Payload rate of each layer, base layer first."""


def _known_codec(name: str) -> str:
    if name not in CODECS:
        raise broken(f"no such codec ({', '.join(CODECS)})")
    return name


class Encode(ScenarioTable):
    """How ``[video] input`` is encoded: the options of ``dstcc encode``, with its defaults."""

    scalability: Literal["temporal", "quality"] = "temporal"
    codec: Annotated[str, AfterValidator(_known_codec)] | None = None
    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS)] | None = None
    """Unless given, ``spatial_layers`` where that is more than 1, else 4 or the codec's most if fewer."""
    spatial_layers: Annotated[int, Field(ge=1, le=3)] = 1
    """The number of layers that grow in size by 2:1 up to the full size; vp9 only."""
    chunk_s: Seconds = 1.0
    crf: Annotated[int, Field(ge=0, le=63)] | None = None
    """Constant quality, lower is better; the codec's default unless given."""
    height: Annotated[int, Field(ge=16, le=4320)] | None = None
    """Rows that the video is scaled to; the input's unless given."""
    preset: Literal[
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"
    ] = "medium"


class Video(ScenarioTable):
    """``[video]``: the data that is sent. Exactly one of ``stream``, ``input`` and ``synthetic``."""

    stream: str | None = None
    """An encoded stream directory."""
    input: str | None = None
    """A video file, which is encoded for the run and kept in a cache."""
    encode: Encode | None = None
    """How ``input`` is encoded."""
    synthetic: Synthetic | None = None
    loop_to_s: Seconds | None = None
    """The mission's length: the video is repeated (or cut) to the chunks that start before this time."""
    source: Literal["live", "stored"] = "live"
    """``live``: a chunk may be sent when its last frame is captured; ``stored``: all chunks from time 0 on."""
    quality: bool = True
    """Compute PSNR, SSIM and VMAF of the played video; needs real pictures, so ``synthetic`` ignores it."""

    @model_validator(mode="after")
    def _one_source(self) -> Video:
        given = [name for name in ("stream", "input", "synthetic") if getattr(self, name) is not None]
        if len(given) != 1:
            raise broken(
                f"needs exactly one of stream, input and synthetic, not {' and '.join(given) or 'none'}"
            )
        if self.encode is not None and self.input is None:
            raise broken("only an input is encoded", key="encode")
        return self


def _disjoint(rows: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    for start, end in rows:
        if end <= start:
            raise broken(f"an outage ends after it starts, unlike [{start:g}, {end:g}]")
        if ns(end) == ns(start):
            raise broken(f"an outage lasts a nanosecond at least, unlike [{start!r}, {end!r}]")
    for (start, end), (later, until) in pairwise(rows):
        if later < end:
            raise broken(
                f"outages rise and do not overlap, unlike [{start:g}, {end:g}] and [{later:g}, {until:g}]"
            )
    return rows


Outages = Annotated[
    tuple[Annotated[tuple[Instant, Instant], AsTuple], ...], AsTuple, AfterValidator(_disjoint)
]


def _kind_of_rate(value: Any) -> str:
    rows = isinstance(value, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in value)
    return "<table>" if rows else "<one>"


RateOverTime = Annotated[
    Annotated[DrawableRate, Tag("<one>")] | Annotated[RateRows, Tag("<table>")],
    Discriminator(_kind_of_rate),
]
"""Bits per second: constant, drawn per seed, or a table over mission time whose rows hold until the next."""


def _kind_of_up_rate(value: Any) -> str:
    return "<as down>" if value == AS_DOWN else "<one>"


UpRate = Annotated[
    Annotated[DrawableRate, Tag("<one>")] | Annotated[Literal["rate_bps"], Tag("<as down>")],
    Discriminator(_kind_of_up_rate),
]
"""Bits per second, constant or drawn per seed; or that of the way down, whatever that is."""


class Link(ScenarioTable):
    """``[[link]]``: one physical path; *down* carries the data, *up* the acknowledgements."""

    name: Annotated[str, Field(min_length=1)]
    from_: Annotated[str, Field(min_length=1)] | None = Field(default=None, alias="from")
    """The node at which the data enters, in a scenario with ``[[node]]``."""
    to: Annotated[str, Field(min_length=1)] | None = None
    profile: str | None = None
    """A shipped profile's name, or a file, with defaults for the keys below."""
    contacts: str | None = None
    """A contact plan: its gaps are outages, and it gives rate and delay unless these are given. Beside a profile the
    link is up when both say so, at the lesser rate."""
    contacts_override: Annotated[tuple[Literal["geometry", "rate"], ...], AsTuple] = ()
    """What of a plan replaces the profile's instead of limiting it: ``geometry``, its contacts, whatever is in view;
    ``rate``, its rates."""
    ends: Annotated[tuple[End, End], AsTuple] | None = None
    """Where its nodes are, from whom it is up when they see each other, and its light time; theirs unless given, for a
    link without profile and contacts."""
    mask_deg: Annotated[float, Field(ge=0, lt=90)] | None = None
    """The least elevation at sites and stations; 10 unless given."""
    source: Annotated[int, Field(ge=1)] | None = None
    """The plan's node that sends the data."""
    destination: Annotated[int, Field(ge=1)] | None = None
    rate_bps: RateOverTime | None = None
    up_rate_bps: UpRate | None = None
    """``rate_bps``, of a table its highest, where so said or where nothing gives it."""
    delay_s: Delay | None = None
    """One-way delay, the same in both directions."""
    loss: LossModel | None = None
    """Loss of the data direction; none unless given."""
    up_loss: LossModel | None = None
    """Loss of the acknowledgements; unless given the process of ``loss`` with independent draws."""
    queue_bytes: Bytes | None = None
    """Drop-tail limit; the larger of 64 kB and one bandwidth-delay product unless given."""
    up_queue_bytes: Bytes | None = None
    outages: Outages | None = None
    """``[from_s, to_s)``: packets sent in that time are lost, in both directions; none unless given."""
    up_outages: Outages | None = None
    """Of the acknowledgements' direction, by their sender's clock; those of ``outages`` unless given."""
    unannounced_outages: Outages | None = None
    """As ``outages``, but no contact plan has them: no sender knows; none unless given."""
    cross_traffic: Annotated[tuple[CrossTraffic, ...], AsTuple] = ()
    """Background datagrams in the data direction's queue."""
    flows: Annotated[tuple[Flow, ...], AsTuple] = ()
    """Background TCP connections."""
    mix: Mix | None = None
    """Background TCP and UDP traffic in given shares."""
    subflows: Annotated[int, Field(ge=1, le=MAX_SUBFLOWS)] = 1
    """Subflows of the connection under test over this link."""

    gone: ClassVar[dict[str, str]] = {"relay": RELAY_AS_NODES}

    @model_validator(mode="before")
    @classmethod
    def _abstract_profile(cls, data: Any) -> Any:
        return {**abstract_keys(data.get("profile")), **data} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _complete(self) -> Link:
        for key in ("source", "destination"):
            if (getattr(self, key) is None) != (self.contacts is None):
                raise broken(
                    "a contact plan needs source and destination (or the numbers of its nodes), and they a plan",
                    key=key,
                )
        for key in ("rate_bps", "delay_s"):
            if key == "delay_s" and self.ends is not None:
                continue
            if getattr(self, key) is None and self.profile is None and self.contacts is None:
                raise broken("missing; give it, a profile, or contacts", key=key)
        if self.ends is not None and (self.profile is not None or self.contacts is not None):
            raise broken("cannot be combined with a profile or contacts", key="ends")
        if self.mask_deg is not None and self.ends is None:
            raise broken("needs nodes with places (orbit, site, stations)", key="mask_deg")
        return self

    def given(self, key: str) -> bool:
        """Whether the scenario itself gives a key, which then holds whatever a profile or a plan says.

        What an abstract profile gives does not count: a plan limits that, as it does a physical profile's.
        """
        value = getattr(self, key)
        if value is None or key not in abstract_keys(self.profile):
            return value is not None
        return bool(value != getattr(_abstract(str(self.profile)), key))


@lru_cache(maxsize=64)
def _abstract(profile: str) -> Link:
    """A link that is nothing but its abstract profile."""
    return Link(name=profile, profile=profile)


def _loadable(name: str, kind: str) -> None:
    try:
        if not is_file(name) or may_run(name):
            load_named(name, kind)
        else:
            look(name, kind)
    except InputError as error:
        raise broken(str(error)) from None
    if is_file(name) and built_in(label(name), kind):
        raise broken(f"'{name}': {label(name)} is a built-in's name; give the class another")


def _known(kind: str) -> AfterValidator:
    def check(names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            rule = None if is_file(name) else rule_for(name, kind)
            if rule is not None:
                raise broken(f"'{name}': {rule}; or FILE.py:ClassName")
            if not built_in(name, kind):
                _loadable(name, kind)
        if len({label(name) for name in names}) != len(names):
            raise broken("names one twice")
        return names

    return AfterValidator(check)


def _to_each(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _auto(value: Any) -> Any:
    return None if value == "auto" else value


class Transport(ScenarioTable):
    """``[transport]``: the MPTCP connection."""

    mode: Literal["stream", "lanes", "coded"] = "stream"
    """``stream``: one ordering domain, as stock MPTCP; ``lanes``: ``lanes_per_link`` per subflow, a layer whole on
    one lane; ``coded``: no order, layers coded over packets (``[coding]``)."""
    handshake: bool = True
    """``coded``: whether a subflow begins with a handshake; without one it sends from time 0, by the contact plan."""
    lanes_per_link: Annotated[int, Field(ge=1, le=4096)] = 1
    """Of each of a link's subflows: a link of two subflows has twice so many."""
    window: Literal["lane", "link"] | None = None
    """``lanes``: ``lane``: each lane has a congestion window, as a connection; ``link``: the lanes of a link share one.
    Unless given ``lane`` for stock controls, ``link`` for ``fixed``, ``open-loop``, coupled controls and ``redundant``.
    Lanes always share a window under a controller."""
    mss_bytes: Annotated[int, Field(ge=64, le=65_000)] = 1460
    """Payload of a full segment; 40 bytes of headers come on top."""
    initial_cwnd: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    """Segments."""
    constants: Constants | None = None
    """TCP's constants in mission seconds; Linux's times the scale unless given."""
    restart: Restart | None = None
    """Restarts of the sender's machine; none unless given."""
    receive_buffer_bytes: Annotated[Bytes | None, BeforeValidator(_auto)] = None
    """Shared by all subflows; ``"auto"`` grows with need and is never the limit."""
    congestion: Annotated[tuple[str, ...], AsTexts, _known("congestion")] = ("cubic",)
    """A name, or ``FILE.py:ClassName``, or a list of them; one trial each."""
    scheduler: Annotated[tuple[str, ...], AsTexts, _known("scheduler")] = (DEFAULT_SCHEDULER,)
    controller: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AsTexts] = ()
    """Policies, each a shipped one's name or a file; one trial each, in addition to those of ``congestion`` and
    ``scheduler`` if these are given, else instead of them."""
    controller_lanes: Annotated[int, Field(ge=1, le=4096)] | None = None
    """The most lanes per link for a policy that sets its number of lanes; as many as the policy sets unless given."""
    fixed_cwnd_segments: (
        Annotated[
            tuple[Annotated[int, Field(ge=1, le=1_000_000_000)], ...],
            BeforeValidator(_to_each),
            Field(min_length=1),
        ]
        | None
    ) = None
    """``fixed``: the window, one for all links or a list with one per link; the bandwidth-delay product unless
    given."""
    open_loop_bps: Annotated[tuple[Rate, ...], BeforeValidator(_to_each), Field(min_length=1)] | None = None
    """``open-loop`` and ``ltp``: the wire rate, one for all links or a list with one per link; the link's rate unless
    given."""
    told_rates: bool = False
    """``paced`` and ``dstcc``: whether it is configured with the rate of each link, as ``open-loop`` is."""
    layer_links: Annotated[tuple[str, ...], AsTuple, Field(min_length=1, max_length=MAX_LAYERS)] | None = None
    """``layer-pinned``: each layer's link by name; unless given the link with the earliest expected delivery."""
    ltp_green_from_layer: Annotated[int, Field(ge=0, le=MAX_LAYERS)] | None = None
    """``ltp``: this layer and those above are green: sent once, never retransmitted; all are red unless given."""
    ltp_retry_limit: Annotated[int, Field(ge=0, le=1_000)] = 20
    """``ltp``: how often an unanswered checkpoint, report or cancellation is sent again before the layer is
    cancelled."""

    @model_validator(mode="before")
    @classmethod
    def _controllers_alone(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("congestion") in ([], ()):
            return {**data, "scheduler": []}
        if data.get("controller") and not {"congestion", "scheduler"} & set(data):
            if data.get("mode") == "stream" and data["controller"] in (OWN, [OWN], (OWN,)):
                raise broken(
                    f"'stream': {OWN} sends coded packets, which have no order; leave mode out", key="mode"
                )
            return {**data, "congestion": [], "scheduler": []}
        return data

    @model_validator(mode="before")
    @classmethod
    def _coded_by_its_control(cls, data: Any) -> Any:
        """A control of coded packets only brings the mode along, and begins at once."""
        names = data.get("congestion") if isinstance(data, dict) else None
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, (list, tuple)) or not names or any(name not in CODED_ONLY for name in names):
            return data
        return {"mode": CODED, **({"handshake": False} if data.get("mode", CODED) == CODED else {}), **data}

    @model_validator(mode="after")
    def _something(self) -> Transport:
        names = [controller_name(given) for given in self.controller]
        if len(set(names)) != len(names):
            raise broken("two policies of one name", key="controller")
        if self.congestion and not self.scheduler:
            raise broken("names nothing", key="scheduler")
        return self

    @model_validator(mode="after")
    def _lanes(self) -> Transport:
        if self.lanes_per_link > 1 and self.mode != "lanes":
            raise broken('needs mode = "lanes"', key="lanes_per_link")
        check_window(self)
        check_transport(self)
        if self.layer_links is not None and "layer-pinned" not in self.scheduler:
            raise broken('needs scheduler = "layer-pinned"', key="layer_links")
        return self

    @model_validator(mode="after")
    def _transfers(self) -> Transport:
        only = all(name in TRANSFERS for name in self.congestion)
        idle = [name for name in self.scheduler if name not in (DEFAULT_SCHEDULER, PINNED)]
        if only and idle:
            raise broken(
                f"'{idle[0]}': {self.congestion[0]} takes no scheduler; it sends a layer where its delivery is "
                f"expected first. Leave scheduler out, or use {PINNED}",
                key="scheduler",
            )
        return self


class Playout(ScenarioTable):
    """``[playout]``: when a chunk is shown."""

    mode: Literal["deadline", "stall"] = "deadline"
    """``deadline``: ``delay`` after its capture, complete or not; ``stall``: playout waits for each base layer."""
    delay_s: Annotated[float, Field(ge=0, le=1e9)] | None = None
    delay_rtts: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Playout delay in round trips of the longest link; 2 (``deadline``) or 0 (``stall``) unless ``delay_s`` or this
    is given."""

    @model_validator(mode="after")
    def _one_delay(self) -> Playout:
        if self.delay_s is not None and self.delay_rtts is not None:
            raise broken("cannot be combined with delay_s", key="delay_rtts")
        return self


class Run(ScenarioTable):
    """``[run]``."""

    seed: Annotated[int, Field(ge=0, lt=1 << 62)] = 1
    """The first seed."""
    seeds: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Number of consecutive seeds."""
    slot_s: Seconds | None = None
    """Length of a slot, the interval of the samples."""
    slot_rtts: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """Length of a slot in round trips of the shortest link; default a quarter, or longer so that a run has at most
    2,000 slots."""
    scale: Annotated[Annotated[float, Field(ge=1, le=1e6)] | None, BeforeValidator(_auto)] = None
    """Mission seconds per emulated second. ``"auto"`` (the default): the least whole number that
    keeps the longest RTT within 40 emulated seconds, as Linux clips its first timeout of 3 RTTs at 120 s."""

    @model_validator(mode="after")
    def _one_slot(self) -> Run:
        if self.slot_s is not None and self.slot_rtts is not None:
            raise broken("cannot be combined with slot_s", key="slot_rtts")
        return self


class Scenario(ScenarioTable):
    """A whole scenario, checked."""

    scenario: About
    video: Video
    node: Annotated[tuple[Node, ...], AsTuple, Field(max_length=MAX_NODES)] = ()
    link: Annotated[tuple[Link, ...], AsTuple, Field(min_length=1, max_length=MAX_LINKS)]
    path: Annotated[tuple[Path, ...], AsTuple, Field(max_length=MAX_PATHS)] = ()
    transport: Transport = Transport()
    coding: Coding | None = None
    playout: Playout = Playout()
    run: Run = Run()
    programs: Programs | None = None
    variant: Annotated[tuple[Variant, ...], AsTuple, Field(max_length=MAX_VARIANTS)] = ()
    expect: Bounds = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _nodes_of_plans(cls, data: Any) -> Any:
        return with_places(with_numbers(data)) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _whole(self) -> Scenario:
        self.check()
        labels = [variant.label for variant in self.variant]
        for number, variant in enumerate(self.variant):
            if variant.label in self._taken() or labels.index(variant.label) < number:
                raise broken(
                    f"'{variant.label}' is another's name: an algorithm's or a variant's",
                    key=f"variant.{number}.label",
                )
            try:
                as_variant(self, variant).check()
            except (ValidationError, PydanticCustomError) as error:
                raise _of_one(self, error, f"variant '{variant.label}'", number) from None
        if OWN in self.transport.controller:
            try:
                as_own(self).check()
            except (ValidationError, PydanticCustomError) as error:
                raise _of_one(self, error, f"'{OWN}'") from None
        for key, text in self.expect.items():
            if key.startswith(OF_PROGRAMS) and self.programs is None:
                raise broken("there are no [programs]", key=f"expect.{key}")
            try:
                parse_bound(key, text, [*labels, *map(controller_name, self.transport.controller)])
            except PydanticCustomError as error:
                raise broken((error.context or {})["rule"], key=f"expect.{key}") from None
        return self

    def varied(self) -> dict[str, Scenario]:
        """Its trials' scenarios that are not itself, by name: of our transport, which sets more than itself, and of
        each variant."""
        own = {OWN: as_own(self)} if OWN in self.transport.controller else {}
        return own | {one.label: as_variant(self, one) for one in self.variant}

    def as_variant(self, label: str) -> Scenario:
        """The scenario of the variant of that label."""
        return as_variant(self, next(variant for variant in self.variant if variant.label == label))

    def _taken(self) -> set[str]:
        """The names of the other trials in tables."""
        transport = self.transport
        pairs = {
            algorithm_name(label(c), label(s))
            for c in transport.congestion
            for s in schedulers_of(c, transport.scheduler)
        }
        return (
            pairs
            | set(CONGESTION)
            | set(CODED_ONLY)
            | set(TRANSFERS)
            | {controller_name(given) for given in transport.controller}
        )

    def check(self) -> None:
        """Raise :class:`PydanticCustomError` unless the scenario's tables are consistent."""
        if not (self.transport.congestion or self.transport.controller or self.variant):
            raise broken("names nothing", key="transport.congestion")
        links = [link.name for link in self.link]
        twice = sorted({name for name in links if links.count(name) > 1})
        if twice:
            raise broken(f"two links are named '{twice[0]}'", key="link")
        check_network(self)
        ways = self.ways
        names, what = [way.name for way in ways], "path" if self.node else "link"
        subflows = self.subflows
        if subflows > MAX_SUBFLOWS:
            raise broken(f"{subflows} subflows; at most {MAX_SUBFLOWS} over all {what}s", key=what)
        check_windows(self)
        check_coding(self)
        check_restart(self.transport, ways)
        if self.transport.layer_links is not None and subflows > len(names):
            raise broken(f"needs one subflow a {what}", key="transport.layer_links")
        check_same(self.transport.congestion, ways)
        for key in PER_LINK_KEYS:
            values = getattr(self.transport, key)
            if values is not None and len(values) not in (1, len(names)):
                raise broken(f"{len(values)} values for {len(names)} {what}s", key=f"transport.{key}")
        for name in self.transport.layer_links or ():
            if name not in names:
                raise broken(f"no {what} is named '{name}' ({', '.join(names)})", key="transport.layer_links")
        if self.video.synthetic and not (self.video.loop_to_s or self.scenario.duration_s):
            raise broken("a synthetic source needs video.loop_to_s or scenario.duration_s", key="video")
        segment = self.transport.mss_bytes
        if (self.transport.receive_buffer_bytes or segment) < segment:
            raise broken(f"must hold a segment of {segment} bytes", key="transport.receive_buffer_bytes")
        check_physics(self)
        check_changing(self)
        made = self.video.synthetic
        problem = self.misfit(layers=len(made.layer_bps) if made else None)
        if problem is not None:
            raise broken(problem[1], key=problem[0])

    def misfit(self, *, layers: int | None = None) -> tuple[str, str] | None:
        """An algorithm that cannot work in this scenario: its key and the rule; ``None`` when all can.

        ``layers`` is the number of layers of the source, ``None`` while it is not read.
        """
        paths = self.subflows
        for kind, names in (
            ("congestion", self.transport.congestion),
            ("scheduler", self.transport.scheduler),
        ):
            for name in names:
                rule = unmet(name, kind, paths=paths, mode=self.transport.mode, layers=layers)
                if rule is not None:
                    return f"transport.{kind}", f"'{name}': {rule}"
        return coding_misfit(self, layers)

    @property
    def ways(self) -> tuple[Way, ...]:
        """What its subflows go over: the paths between nodes, or the links where there are none."""
        return ways_of(self)

    @property
    def subflows(self) -> int:
        """Number of subflows of the connection, over all links."""
        return sum(way.subflows for way in self.ways)

    def with_run(self, **changes: Any) -> Scenario:
        """The same with other values of ``[run]``, which are not checked."""
        return self.model_copy(update={"run": self.run.model_copy(update=changes)})

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its trials."""
        return tuple(range(self.run.seed, self.run.seed + self.run.seeds))


def _of_one(
    scenario: Scenario, error: ValidationError | PydanticCustomError, name: str, variant: int | None = None
) -> PydanticCustomError:
    """The error of one algorithm's scenario by the user's keys: the link's or path's that it cannot have, else those of
    the variant of that number and what it has of the scenario's, or of our transport, which has none."""
    key = str((error.context or {}).get("key", "")) if isinstance(error, PydanticCustomError) else ""
    place, rule = place_of(error)
    if key.partition(".")[0] in ("link", "path"):
        return broken(f"{name}: {rule}", key=key)
    if variant is None:
        return broken(f"{name}: {rule}", key="transport.controller")
    inherited = scenario.variant[variant].inherits(place, scenario)
    if inherited is not None:
        return broken(f"{name}: {rule}", key=inherited)
    return broken(rule, key=f"variant.{variant}.{place}")
