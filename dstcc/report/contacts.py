"""What each contact delivered, of one trial per algorithm, all of one seed: a seed draws the contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .model import Section

MB = 1e6


@dataclass(frozen=True)
class ContactRow:
    """One contact."""

    when: str
    """From and to, in UTC or mission time."""
    capacity: str
    """Megabytes that the links could carry on the wire, at their rates of the time; a dash where a run does not say."""
    cells: tuple[str, ...]
    """A cell per algorithm: megabytes in time, and how many of them at full quality."""


@dataclass(frozen=True)
class ContactTable:
    """The contacts of the representative trials; without rows where links have no outages."""

    names: tuple[str, ...]
    seed: int
    clock: str
    """What the contacts' times are of."""
    rows: tuple[ContactRow, ...]


def contact_table(section: Section) -> ContactTable:
    """The contacts of the seed that the figures over time show; trials of other seeds are left out."""
    trials = section.representative
    if not trials:
        return ContactTable((), 0, "", ())
    trials = tuple(trial for trial in trials if trial.seed == trials[0].seed)
    longest: dict[float, Mapping[str, float]] = {}
    for trial in trials:
        for contact in trial.contacts:
            known = longest.get(contact["from_s"])
            if known is None or known["to_s"] < contact["to_s"]:
                longest[contact["from_s"]] = contact
    by_start = [{contact["from_s"]: contact for contact in trial.contacts} for trial in trials]
    shortest_s = min((one["to_s"] - begin for begin, one in longest.items()), default=0.0)
    rows = tuple(
        ContactRow(
            section.clock.between(begin, longest[begin]["to_s"], shortest_s),
            _megabytes(longest[begin].get("capacity_bytes")),
            tuple(_cell(one.get(begin)) for one in by_start),
        )
        for begin in sorted(longest)
    )
    return ContactTable(tuple(trial.algorithm for trial in trials), trials[0].seed, section.clock.name, rows)


def contact_documents(section: Section) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Algorithm → seed → its contacts, where there are any."""
    contacts = {
        a.name: {
            str(trial.seed): [dict(one) for one in trial.contacts] for trial in a.finished if trial.contacts
        }
        for a in section.finished
    }
    return {name: seeds for name, seeds in contacts.items() if seeds}


def _megabytes(size: float | None) -> str:
    return "–" if size is None else f"{size / MB:,.1f}"


def _cell(contact: Any) -> str:
    """``506.1 / 498.0``; a dash where the run had ended."""
    if contact is None:
        return "–"
    return f"{_megabytes(contact['bytes_in_time'])} / {_megabytes(contact['full_quality_bytes'])}"
