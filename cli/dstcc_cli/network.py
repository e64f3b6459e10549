"""How a dry run shows a network: its nodes, links with their contacts as bars, and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .output import number_table, say, show_figures, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstcc.run.network_plan import PlannedNetwork

BARS = 48
"""Characters of a bar over the whole run."""
FULL, PART, DARK = "█", "▄", "·"
TEXTS = ("node", "link", "from", "to", "when full", "restarts s", "loss", "path", "over", "longest s")
"""Columns that begin at the left."""


def show_network(
    network: PlannedNetwork,
    title: str,
    length_s: float,
    payload_bytes: int,
    loss: Callable[[dict[str, Any]], str],
) -> None:
    """Print the tables of a network; ``loss`` says a loss process in a few words."""
    table = number_table("node", "storage", "when full", "restarts s", texts=TEXTS, title=title)
    for node in network.nodes:
        restart = node["restart"]
        table.add_row(
            node["name"],
            f"{node['storage_bytes']:,} B" if node["storage_bytes"] else "–",
            node["when_full"] if node["storage_bytes"] else "–",
            ", ".join(f"{at:,.6g}" for at in restart["at_s"]) if restart else "–",
        )
    show_figures(table)
    table = number_table("link", "from", "to", "bit/s", "up bit/s", "light s", "loss", "up", texts=TEXTS)
    table.add_column(_scale(length_s), no_wrap=True)
    for hop in network.hops:
        lit_s = sum(end - begin for begin, end in hop["contacts"])
        table.add_row(
            hop["name"],
            hop["from"],
            hop["to"],
            f"{hop['rate_bps']:,.0f}",
            f"{hop['up_rate_bps']:,.0f}",
            f"{hop['rtt_s'] / 2:,.6g}",
            loss(hop["loss"]),
            f"{lit_s / length_s:.0%}",
            bar(hop["contacts"], length_s),
        )
    show_figures(table)
    table = number_table("path", "over", "light s", "least s", "longest s", texts=TEXTS)
    for path in network.paths:
        table.add_row(
            path.name,
            " > ".join(path.nodes),
            f"{path.light_s:,.6g}",
            "never" if path.least_s is None else f"{path.least_s:,.6g}",
            "–" if path.longest_s is None else f"{path.longest_s:,.6g}",
        )
    show_figures(table)
    say(
        "light: one-way light time of the path; least and longest: delay of a packet that waits at each node for its "
        "link, of those that arrive within the run"
    )
    share = network.most_bytes / payload_bytes
    tell(
        f"can pass at most: {network.most_bytes / 1e6:,.2f} MB, {min(share, 1):.1%} of the video (maximum flow over "
        "time, no losses)"
    )


def bar(contacts: list[list[float]], length_s: float, width: int = BARS) -> str:
    """Contacts over time: a character is full where the link is up all of its time, lower where it is up for some."""
    signs = []
    for number in range(width):
        begin, end = length_s * number / width, length_s * (number + 1) / width
        lit = sum(max(0.0, min(end, to) - max(begin, at)) for at, to in contacts)
        signs.append(DARK if lit <= 0 else FULL if lit >= (end - begin) * (1 - 1e-9) else PART)
    return "".join(signs)


def _scale(length_s: float) -> str:
    last = f"{length_s:,.6g} s"
    return f"up from 0 to{last:>{BARS - 12}}"
