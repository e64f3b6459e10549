"""One direction of a link, step by step, under a seed: the input of an export or of another emulator.

A physical profile is realised by :mod:`.realise`. The draws of an abstract profile are made here, from random streams
that no scenario uses. Losses of neighbouring packets are correlated where packets share frames or a scintillation's
gain: :func:`.packet_process`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import InputError

from .chance import generator
from .codes import any_lost, code
from .gilbert_elliott import GilbertElliott
from .packets import lost_packets, packet_process
from .profiles.model import Profile
from .realise import LossSchedule, inside, realise
from .spans import ONE_FRAME, check_packet
from .states import parts
from .weather import STATES, state_of

MAX_STEPS = 1_000_000


@dataclass(frozen=True)
class Timeline:
    """One direction of a link over time, by rows; a row holds until the next one."""

    t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    rate_bps: float
    ebn0_db: NDArray[np.float64]
    """Not a number where there is no budget."""
    scintillation_index: NDArray[np.float64]
    frame_error_rate: NDArray[np.float64]
    """Not a number where there are no frames."""
    packet_loss: NDArray[np.float64]
    """1 in an outage."""
    burst_end: NDArray[np.float64]
    """r: the probability that the packet after a lost one gets through."""
    usable: NDArray[np.bool_]
    weather: tuple[str, ...]
    """The state of the station's weather, one of :data:`.weather.STATES`; empty for an abstract profile."""
    bursts: GilbertElliott | None
    """The chain of an abstract profile with bursts; one step per packet."""
    notes: tuple[str, ...]


def timeline(
    profile: Profile,
    start: datetime,
    duration_s: float,
    step_s: float,
    seed: int,
    *,
    packet_bytes: int,
    up: bool = False,
) -> Timeline:
    """The rows of one direction from ``start`` (UTC) on, every ``step_s``, for packets of ``packet_bytes``.

    Raises :class:`InputError` for an impossible step, and as :func:`.realise` does.
    """
    check_packet(packet_bytes)
    if not 0 < duration_s < np.inf:
        raise InputError(f"duration_s = {duration_s:g}: must be above 0 and finite")
    if not 0 < step_s <= duration_s:
        raise InputError(f"step_s = {step_s:g}: must be above 0 and at most duration_s = {duration_s:g}")
    if duration_s / step_s > MAX_STEPS:
        raise InputError(f"step_s = {step_s:g}: makes more than {MAX_STEPS} rows of {duration_s:g} s")
    times: NDArray[np.float64] = step_s * np.arange(int(np.ceil(duration_s / step_s)), dtype=np.float64)
    if profile.link is not None:
        return _drawn(profile.name, profile.link, times, seed=seed, packet_bytes=packet_bytes, up=up)
    run = realise(profile, start, duration_s, seed)
    loss, outages = (run.up, run.up_outages_s) if up else (run.down, run.outages_s)
    name = "" if loss.kind == "none" else parts(profile, up)[1].code
    ebn0_db, index, fer, lost, ends = _rates(
        loss, name, times, packet_bytes, run.up_rate_bps if up else run.rate_bps
    )
    usable = ~inside(times, outages)
    return Timeline(
        t_s=times,
        delay_s=np.interp(times, run.delay_t_s, run.delay_s),
        rate_bps=run.up_rate_bps if up else run.rate_bps,
        ebn0_db=ebn0_db,
        scintillation_index=index,
        frame_error_rate=fer,
        packet_loss=np.where(usable, lost, 1.0),
        burst_end=ends,
        usable=usable,
        weather=tuple(STATES[state] for state in state_of(np.interp(times, run.delay_t_s, run.weather_cd))),
        bursts=None,
        notes=run.notes,
    )


def _rates(
    loss: LossSchedule, name: str, times: NDArray[np.float64], packet_bytes: int, rate_bps: float
) -> Any:
    """Eb/N0, index, frame error rate, packet loss and r at each time."""
    nothing = np.zeros(len(times))
    if loss.kind == "none":
        unknown = np.full(len(times), np.nan)
        return unknown, nothing, unknown, nothing, nothing + 1
    ebn0_db = np.interp(times, loss.t_s, loss.ebn0_db)
    index = np.interp(times, loss.t_s, loss.scintillation_index)
    process = packet_process(name, ebn0_db, index, packet_bytes, gain_bits=loss.coherence_s * rate_bps)
    return ebn0_db, index, lost_packets(name, ebn0_db, index, ONE_FRAME), *process


def _drawn(
    name: str, link: Mapping[str, Any], times: NDArray[np.float64], *, seed: int, packet_bytes: int, up: bool
) -> Timeline:
    """The rows of an abstract profile."""

    def draw(key: str, value: Any) -> float:
        if not isinstance(value, dict):
            return float(value)
        (kind, (low, high)) = next(iter(value.items()))
        share = generator("profile", name, key, seed).random()
        return float(low + (high - low) * share if kind == "uniform" else low * (high / low) ** share)

    delay = link["delay_s"]
    table = (
        np.array(delay, dtype=np.float64)
        if isinstance(delay, list)
        else np.array([[0.0, draw("delay_s", delay)]])
    )
    key = "up_rate_bps" if up and "up_rate_bps" in link else "rate_bps"
    losses = link.get("up_loss" if up and "up_loss" in link else "loss", {})
    bursts = GilbertElliott(**losses["gilbert_elliott"]) if "gilbert_elliott" in losses else None
    lost = _packet_loss(losses, draw, packet_bytes) if bursts is None else bursts.loss
    usable = ~inside(times, link.get("outages", ()))
    unknown = np.full(len(times), np.nan)
    return Timeline(
        t_s=times,
        delay_s=np.interp(times, table[:, 0], table[:, 1]),
        rate_bps=draw(key, link[key]),
        ebn0_db=unknown,
        scintillation_index=np.zeros(len(times)),
        frame_error_rate=unknown,
        packet_loss=np.where(usable, lost, 1.0),
        burst_end=np.full(len(times), 1 - lost),
        usable=usable,
        weather=(),
        bursts=bursts,
        notes=(),
    )


def _packet_loss(losses: Mapping[str, Any], draw: Any, packet_bytes: int) -> float:
    if "packet" in losses:
        return float(draw("loss.packet", losses["packet"]))
    if "ber" in losses:
        return float(any_lost(8 * packet_bytes, np.asarray(draw("loss.ber", losses["ber"]))))
    if "ebn0_db" in losses:
        return float(code(losses["code"]).packet_loss(losses["ebn0_db"], packet_bytes))
    return 0.0
