"""The one table of congestion controls and schedulers: what each is and where it comes from.

Scenarios, the command line and the tests read the names from here; a test holds the table against the names
that the engine was compiled with.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches

SIMULATOR = ("simulator",)
"""The backends of this version."""


@dataclass(frozen=True)
class Algorithm:
    """One row of the table, with the fields of ``dstcc algorithms --json``."""

    name: str
    kind: str
    """``congestion`` or ``scheduler``."""
    state: str
    """``built-in``: written after its source; ``learned``; ``reconstruction``: the source leaves gaps."""
    source: str
    backends: tuple[str, ...] = SIMULATOR


TABLE = (
    Algorithm("fixed", "congestion", "built-in", "a constant window; the link's BDP unless told"),
    Algorithm(
        "open-loop", "congestion", "built-in", "a constant rate without control; the link's unless told"
    ),
    Algorithm("newreno", "congestion", "built-in", "RFC 5681, RFC 6582"),
    Algorithm("cubic", "congestion", "built-in", "RFC 9438; HyStart as in Linux's tcp_cubic.c"),
    Algorithm("westwood", "congestion", "built-in", "Westwood+ as in Linux's tcp_westwood.c"),
    Algorithm("bbr", "congestion", "built-in", "BBRv1: Cardwell et al., ACM Queue 2016; Linux tcp_bbr.c"),
    Algorithm("bbr-scaled", "congestion", "built-in", "BBRv1 with its windows counted in round trips"),
    Algorithm(
        "minrtt",
        "scheduler",
        "built-in",
        "least SRTT: default of the MPTCP v0.9x kernels; Raiciu et al., NSDI 2012",
    ),
    Algorithm("round-robin", "scheduler", "built-in", "subflows with window in turn; MPTCP v0.9x mptcp_rr.c"),
    Algorithm("redundant", "scheduler", "built-in", "all on every subflow; MPTCP v0.9x mptcp_redundant.c"),
    Algorithm(
        "layer-pinned",
        "scheduler",
        "built-in",
        "a layer on one subflow each, after Ha et al., ICT Express 2023; base layer on the soonest delivery",
    ),
)
"""Every algorithm of this version, congestion controls first."""

CONGESTION = tuple(row.name for row in TABLE if row.kind == "congestion")
SCHEDULERS = tuple(row.name for row in TABLE if row.kind == "scheduler")

if len({row.name for row in TABLE}) != len(TABLE):
    raise RuntimeError("dstcc.algorithms.TABLE names an algorithm twice")


def rule_for(name: str, kind: str) -> str | None:
    """Why ``name`` is no algorithm of that kind, with the nearest name; ``None`` when it is one."""
    names = CONGESTION if kind == "congestion" else SCHEDULERS
    if name in names:
        return None
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    what = "congestion control" if kind == "congestion" else kind
    return f"no such {what} in this version ({', '.join(names)}){hint}"


def documents() -> list[dict[str, object]]:
    """The table as ``dstcc algorithms --json`` prints it."""
    return [{**asdict(row), "backends": list(row.backends)} for row in TABLE]
