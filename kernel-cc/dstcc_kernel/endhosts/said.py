"""What a guest says of a mission when it is over, held against what it can be before anything is made of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dstcc.errors import KernelError

from ..remains import document_of, message_of
from .mission import DEVICES, OUTCOME, RUNNING, Mission
from .naming import check_hosts

MOST_NS = 366 * 86_400 * 10**9
"""Of a guest's clock: :data:`.planning.LONGEST_S`, and the time that programs are given to end."""
LONGEST = 256
"""Characters of a text that a note repeats."""
Text = Annotated[str, Field(max_length=LONGEST, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
"""Without what a terminal obeys, and without a newline, which would begin another note."""
Time = Annotated[int, Field(ge=0, le=MOST_NS)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Host = Text
RUNNING_WORDS = re.compile(r"\d{1,18}(?: +\d{1,4})*")


class _Said(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Program(_Said):
    exit_code: Annotated[int, Field(ge=-64, le=255)] | None
    ended_ns: Time | None
    asked: bool
    failed: Text | None


class _Left(_Said):
    count: Count
    named: list[Text]


class _Outcome(_Said):
    reason: Literal["ended", "for", "too long"]
    end_ns: Time
    programs: list[_Program]
    full: list[Host]
    cut: list[Host]
    missed_packets: Count
    left_out: dict[Host, dict[Text, _Left]]
    congestion: Annotated[str, Field(pattern=r"^[!-~]{1,15}$")]


class _Devices(_Said):
    down: Annotated[int, Field(ge=0, lt=1 << 31)]
    up: Annotated[int, Field(ge=0, lt=1 << 31)]


def read_outcome(work: Path, mission: Mission) -> dict[str, Any]:
    """How the mission ended; empty where the guest was stopped before it could say."""
    path = work / OUTCOME
    found: _Outcome | None = _said(path, TypeAdapter(_Outcome))
    if found is None:
        return {}
    if len(found.programs) != len(mission.programs):
        raise KernelError(
            f"{path.name}: programs: {len(found.programs)} of them, but {len(mission.programs)} were run"
        )
    check_hosts(path, mission, {*found.full, *found.cut, *found.left_out})
    return found.model_dump()


def read_devices(work: Path, mission: Mission) -> list[dict[str, int]]:
    """Each link's devices, as :meth:`.inside.Flight.fly` numbers them; none where the mission did not begin."""
    path = work / DEVICES
    found: list[_Devices] | None = _said(path, TypeAdapter(list[_Devices]))
    if found is None:
        return []
    if len(found) != len(mission.links):
        raise KernelError(f"{path.name}: {len(found)} links, but {len(mission.links)} were laid")
    return [one.model_dump() for one in found]


def read_running(work: Path, mission: Mission) -> tuple[int, list[int]]:
    """How far a mission came (ns), and the programs that still ran."""
    try:
        text = message_of(work / RUNNING)
    except FileNotFoundError:
        return 0, []
    if text and not RUNNING_WORDS.fullmatch(text):
        raise KernelError(f"{RUNNING}: must be a time and programs' numbers")
    until_ns, *numbers = map(int, text.split() or ("0",))
    if until_ns > MOST_NS or any(number >= len(mission.programs) for number in numbers):
        raise KernelError(f"{RUNNING}: a time or a program that there is not")
    return until_ns, numbers


def _said(path: Path, kind: TypeAdapter[Any]) -> Any:
    """A document of a kind; ``None`` where there is none."""
    try:
        return kind.validate_python(document_of(path))
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]).encode("unicode_escape").decode()
    raise KernelError(f"{path.name}: {place[:LONGEST]}: {first['msg']}")
