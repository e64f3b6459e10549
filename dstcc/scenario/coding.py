"""``[coding]``: layers coded over packets, for ``mode = "coded"`` and for ``ltp``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from dstcc.algorithms import CODED_ONLY, DEFAULT_SCHEDULER, OWN, TRANSFERS
from dstcc.arrays import Int64Array
from dstcc.engine.config import NEVER_NS, Objects
from dstcc.engine.config import Coding as EngineCoding
from dstcc.errors import InputError, ScenarioError
from dstcc.ltp_rates.table import load as load_rates
from dstcc.ltp_rates.table import shipped, shipped_names

from .fields import NS_PER_S, ScenarioTable, Seconds, broken, ns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .build import TrialSetup
    from .model import Scenario, Transport


CODED = "coded"
MOST_PACKETS = {"mds": 65_535, "raptorq": 1 << 24}
"""Source and repair packets of a block: Reed–Solomon over GF(2^16), and RaptorQ's encoding symbols."""
MOST_SOURCE = {"mds": 65_535, "raptorq": 56_403}
"""Source packets of a block: likewise, and RFC 6330 section 5.1.2."""
MAX_SHARE = 4.0
BLOCKS_TO_SPARE = 8
BLOCK_PACKETS = 1_024
UNTIMED_RTTS = 2
"""What :func:`block_ns` chooses by."""
LTP_BLOCK_S = 20.0
MOST_WORDS = 256
"""Code words of a block."""
WORD_REPAIR = 0.5
"""Repair packets that a code word has room for at least, for each source packet; twice the share if that is more:
losses may ask for as many again as were planned."""
FEEDBACK = "delayed-feedback"
"""The rule of ``ltp`` that is ION's ECLSA's; the others are learned tables, by their names or files."""


_Shares = tuple[Annotated[float, Field(ge=0, le=MAX_SHARE)], ...]


def _kind(value: Any) -> str:
    return "<rule>" if isinstance(value, str) else "<none>" if value is None else "<shares>"


def _to_shares(value: Any) -> Any:
    if value == "auto":
        return None
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, (int, float)) or (isinstance(value, str) and not _is_rule(value)):
        names = ", ".join(f'"{name}"' for name in (FEEDBACK, *shipped_names()))
        raise broken(f'a list with a share per layer, "auto", or for ltp {names} or a file of code rates')
    return value


def _is_rule(name: str) -> bool:
    """Whether ``name`` is a rule of ``ltp``; raises for a file that cannot be used."""
    if name == FEEDBACK or name in shipped_names():
        return True
    if not is_rates_file(name):
        return False
    try:
        load_rates(Path(name))
    except InputError as error:
        raise broken(str(error)) from None
    return True


def is_rates_file(name: object) -> bool:
    """Whether ``coding.repair`` names a file of code rates."""
    return isinstance(name, str) and name.endswith(".json")


class Coding(ScenarioTable):
    """How the layers are coded. A block is one layer over ``block_s`` seconds of chunks."""

    repair: Annotated[
        Annotated[_Shares, Tag("<shares>")] | Annotated[str, Tag("<rule>")] | Annotated[None, Tag("<none>")],
        Discriminator(_kind),
        BeforeValidator(_to_shares),
    ] = None
    """Repair packets for each source packet, by layer, rounded up; layers beyond the list have none. ``"auto"``: as
    many as gain most, from the losses reported and the rate. For ``ltp`` also
    ``"delayed-feedback"``, ECLSA's rule, and a learned table by its name or file."""
    block_s: Annotated[Seconds | None, BeforeValidator(lambda value: None if value == "auto" else value)] = (
        None
    )
    """``None``, ``"auto"`` in a file: :func:`block_ns` chooses, for each seed."""
    code: Literal["mds", "raptorq"] = "mds"
    """``mds``: any k packets bring a block of k source packets back; ``raptorq``: with its failures (RFC 6330)."""
    code_word: Annotated[int, Field(ge=2, le=MOST_PACKETS["mds"])] | None = None
    """``mds``: the most packets of a code word. A block of more is interleaved of several, each of which needs as many
    packets as it has source packets. ``None``: a block is one word, however long."""
    place: Literal["same", "other", "spread"] = "same"
    """The link of a repair packet: that of most of its block, another, or each in its turn."""

    @model_validator(mode="after")
    def _some(self) -> Coding:
        if self.repair == ():
            raise broken('names no share; [0] codes nothing, "auto" chooses', key="repair")
        if self.block_s is not None and ns(self.block_s) < 1:
            raise broken(f"must be a nanosecond at least, not {self.block_s:g} s", key="block_s")
        if self.code_word is not None and self.code != "mds":
            raise broken(f"{self.code} has no code words; a block is one", key="code_word")
        return self

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The shares, where they are given."""
        return None if isinstance(self.repair, str) else self.repair


def check_transport(transport: Transport) -> None:
    """Raise for keys of ``[transport]`` that do not go with its mode."""
    if transport.mode != CODED:
        if not transport.handshake:
            raise broken('TCP opens each subflow with a handshake; needs mode = "coded"', key="handshake")
        return
    if set(transport.controller) - {OWN} and len(transport.congestion) != 1:
        raise broken(
            "a policy of coded packets steers their repair over one congestion control, named in congestion",
            key="controller",
        )
    transfers = [name for name in transport.congestion if name in TRANSFERS]
    if transfers:
        raise broken(
            f"'{transfers[0]}': has sessions and checkpoints of its own, not coded's", key="congestion"
        )
    others = [name for name in transport.scheduler if name != DEFAULT_SCHEDULER]
    if others:
        raise broken(
            f"'{others[0]}': coded sends packet by packet over the subflow of the least RTT whose window has space, "
            f"which is {DEFAULT_SCHEDULER}",
            key="scheduler",
        )
    if transport.receive_buffer_bytes is not None:
        raise broken(
            "coded keeps no order, so that no data waits in a receive buffer", key="receive_buffer_bytes"
        )


def check_told(algorithms: Iterable[str | None], key: str) -> None:
    """Raise unless one of those can be configured with its links' rates."""
    if not {*algorithms} & {*CODED_ONLY, OWN}:
        raise broken(
            f"no algorithm here can be configured with them; needs {OWN} or {' or '.join(CODED_ONLY)}",
            key=key,
        )


def check_coding(scenario: Scenario) -> None:
    """Raise unless ``[coding]`` stands where something is coded, and what is coded can be."""
    coding, transport = scenario.coding, scenario.transport
    if transport.told_rates:
        variants = (who for one in scenario.variant for who in (one.congestion, one.controller))
        check_told((*transport.congestion, *transport.controller, *variants), "transport.told_rates")
    modes = [transport.mode, *(one.set.get("mode") for one in scenario.variant)]  # which may be of any type
    transfers = {*transport.congestion, *(one.congestion for one in scenario.variant)} & set(TRANSFERS)
    if coding is not None and CODED not in modes and not transfers:
        raise broken(
            f'needs transport.mode = "coded", or ltp: in "{transport.mode}" TCP sends every lost segment again anyway',
            key="coding",
        )
    if coding is not None and transport.mode == CODED and isinstance(coding.repair, str):
        raise broken(
            f'"{coding.repair}" is a rule of ltp; in mode = "coded" shares or "auto" choose',
            key="coding.repair",
        )
    ltp = coding is not None and codes_ltp(scenario)
    if coding is not None and ltp:
        _check_ltp(coding)
    delay_s = scenario.playout.delay_s
    if (ltp or transport.mode == CODED) and delay_s is not None:
        problem = _too_long(scenario, delay_s)
        if problem:
            raise broken(problem, key="coding.block_s")


def codes_ltp(scenario: Scenario) -> bool:
    """Whether the scenario's own trials of ``ltp`` are coded; shares of 0 code nothing."""
    coding = scenario.coding
    return (
        coding is not None
        and scenario.transport.mode != CODED
        and any(name in TRANSFERS for name in scenario.transport.congestion)
        and (coding.shares is None or any(coding.shares))
    )


def _check_ltp(coding: Coding) -> None:
    if coding.place != "same":
        raise broken(
            f'"{coding.place}": ltp codes below LTP, on each link by itself, so that repair stays on the link of its '
            "block",
            key="coding.place",
        )
    if coding.code_word is not None:
        raise broken("a matrix of ltp is one code word", key="coding.code_word")


def _too_long(scenario: Scenario, delay_s: float) -> str | None:
    """What is wrong with blocks that are longer than that playout delay."""
    block_s = None if scenario.coding is None else scenario.coding.block_s
    if scenario.playout.mode != "deadline" or block_s is None or block_s <= delay_s:
        return None
    return (
        f"{block_s:g} s is longer than the playout delay of {delay_s:g} s: a block's repair leaves at its "
        "end, when its first chunks are over"
    )


def misfit(scenario: Scenario, layers: int | None) -> tuple[str, str] | None:
    """More shares than the source has layers: the key and the rule."""
    coding = scenario.coding
    if coding is None or coding.shares is None or layers is None or len(coding.shares) <= layers:
        return None
    return "coding.repair", f"{len(coding.shares)} shares for {layers} layer{'s' if layers > 1 else ''}"


def block_ns(coding: Coding, setup: TrialSetup, congestion: str) -> int:
    """How long a trial's blocks are: as ``block_s`` says, or for ``ltp`` :data:`LTP_BLOCK_S`, or so long that

    * :data:`BLOCKS_TO_SPARE` follow one another in the time that the playout delay leaves, less the longest light time
      that is shorter and the longest time in which the plan has all links away; without deadlines in
      :data:`UNTIMED_RTTS` round trips;
    * the largest has :data:`BLOCK_PACKETS` source packets, after which longer ones save little repair.

    A block has one chunk at least, and whole ones.
    """
    if coding.block_s is not None:
        return ns(coding.block_s)
    if congestion in TRANSFERS:
        return ns(LTP_BLOCK_S)
    chunk_ns, objects = int(setup.chunk_ns.max()), setup.objects
    lights_ns = [max(link.delay_ns) for link in setup.links]
    if objects.last_deadline_ns == NEVER_NS:
        spare_ns = 2 * UNTIMED_RTTS * max(lights_ns)
    else:
        in_time_ns = [light for light in lights_ns if light < setup.playout_delay_ns]
        spare_ns = setup.playout_delay_ns - max(in_time_ns, default=setup.playout_delay_ns)
        spare_ns -= _longest_silence_ns(setup, spare_ns)
    layers = np.bincount(objects.layer, objects.packets(setup.mss_bytes))
    largest_ns = BLOCK_PACKETS * int(setup.chunk_ns.sum()) / max(float(layers.max()), 1.0)
    chunks = int(max(min(spare_ns / BLOCKS_TO_SPARE, largest_ns), 0) // chunk_ns)
    return max(chunks, 1) * chunk_ns


def _longest_silence_ns(setup: TrialSetup, most_ns: int) -> int:
    """The longest time before the last deadline in which the plan has all links away at once, of those that are shorter
    than so long: what is captured in longer ones is lost anyway."""
    last_ns = setup.objects.last_deadline_ns
    away = [(0, last_ns)]
    for link in setup.links:
        both = [(max(a, c), min(b, d)) for a, b in away for c, d in link.outages_ns if max(a, c) < min(b, d)]
        away = both
    return max((stop - start for start, stop in away if stop - start < most_ns), default=0)


def periods(setup: TrialSetup, block_ns: int) -> Int64Array:
    """The period of each object, from 0 on without gaps: chunks whose last frame is captured within ``block_ns``."""
    number = (setup.capture_ns - 1) // block_ns
    rank: Int64Array = np.cumsum(np.diff(number, prepend=number[:1]) > 0, dtype=np.int64)
    return rank[setup.objects.chunk]


def engine_coding(scenario: Scenario, setup: TrialSetup, congestion: str) -> EngineCoding | None:
    """The engine's configuration of a trial's coding; ``None`` where nothing is coded.

    Raises :class:`ScenarioError` for blocks that are longer than the playout delay of this seed, or than their code.
    """
    if congestion in TRANSFERS:
        return _ltp_coding(scenario, setup) if codes_ltp(scenario) else None
    if scenario.transport.mode != CODED:
        return None
    coding, objects = scenario.coding or Coding(), setup.objects
    length_ns = block_ns(coding, setup, congestion)
    where = f"{scenario.scenario.name}: coding.block_s = {length_ns / NS_PER_S:g}"
    if problem := _too_long(scenario, setup.playout_delay_ns / NS_PER_S):
        raise ScenarioError(f"{where}: {problem} (seed {setup.seed})")
    period = periods(setup, length_ns)
    largest = _largest(coding.shares, objects, period, setup.mss_bytes)
    for layer, (most, share) in enumerate(largest):
        repair = int(np.ceil(share * most - 1e-9))
        if most > MOST_SOURCE[coding.code] or most + repair > MOST_PACKETS[coding.code]:
            raise ScenarioError(
                f"{where}: a block of layer {layer} has {most:,} source and {repair:,} repair packets; "
                f"{coding.code} has at most {MOST_SOURCE[coding.code]:,} source packets, "
                f"{MOST_PACKETS[coding.code]:,} in all"
            )
    made = EngineCoding(period, length_ns, coding.shares, coding.code, coding.place)
    if coding.code_word is None:
        return made
    try:
        return with_words(made, objects, setup.mss_bytes, coding.code_word)
    except ValueError as error:
        raise ScenarioError(f"{where}, code_word = {coding.code_word}: {error}") from None


def _ltp_coding(scenario: Scenario, setup: TrialSetup) -> EngineCoding:
    """That of ``ltp``; raises :class:`ScenarioError` as :func:`engine_coding`."""
    coding = scenario.coding or Coding()
    if problem := _too_long(scenario, setup.playout_delay_ns / NS_PER_S):
        raise ScenarioError(
            f"{scenario.scenario.name}: coding.block_s = {coding.block_s:g}: {problem} (seed {setup.seed})"
        )
    largest = int(-(-setup.objects.payload_bytes.max() // setup.mss_bytes))
    if largest > MOST_SOURCE[coding.code]:
        raise ScenarioError(
            f"{scenario.scenario.name}: coding.code: a layer of a chunk has {largest:,} segments; {coding.code} has at "
            f"most {MOST_SOURCE[coding.code]:,}"
        )
    plain = EngineCoding(
        np.zeros(0, dtype=np.int64), block_ns(coding, setup, TRANSFERS[0]), coding.shares, coding.code
    )
    if not isinstance(coding.repair, str):
        return plain
    if coding.repair == FEEDBACK:
        return replace(plain, repair=(), rule=FEEDBACK)
    known = coding.repair in shipped_names()
    table = shipped(coding.repair) if known else load_rates(Path(coding.repair))
    return replace(plain, repair=(), rule="table", table=table.shares)


def with_words(coding: EngineCoding, objects: Objects, mss: int, code_word: int) -> EngineCoding:
    """The same with blocks of code words of at most so many packets.

    A layer's blocks all have as many as its largest needs, with room for the repair packets that losses ask for; a
    sender of live video knows as much from its highest rate. Raises :class:`ValueError` where that is more than a block
    can have.
    """
    words = []
    for layer, (most, share) in enumerate(_largest(coding.repair, objects, coding.period, mss)):
        wanted = max(1, int(np.ceil(most * (1 + max(WORD_REPAIR, 2 * share)) / code_word)))
        if wanted > MOST_WORDS:
            raise ValueError(
                f"a block of layer {layer} has {most:,} source packets, which are {wanted:,} code words; "
                f"it has at most {MOST_WORDS}"
            )
        words.append(wanted)
    return replace(coding, word_packets=code_word, words=tuple(words))


def _largest(
    given: tuple[float, ...] | None, objects: Objects, period: Int64Array, mss: int
) -> list[tuple[int, float]]:
    """Source packets of the largest block of each layer, and its share of repair (``auto``: what the code allows)."""
    layers = objects.layers
    sums = np.bincount(period * layers + objects.layer, weights=objects.packets(mss))
    sums = np.pad(sums, (0, -len(sums) % layers)).reshape(-1, layers)
    shares = given or ()
    return [(int(most), shares[m] if m < len(shares) else 0.0) for m, most in enumerate(sums.max(axis=0))]
