"""What end hosts are called: names that resolve, and addresses in the environment.

``earth`` and ``craft`` are the addresses on the first link; ``earth-LINK`` and ``earth-N`` (from 1 on) those on each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..topology import craft_address, earth_address
from .mission import CRAFT, EARTH


def slug(link: str) -> str:
    """A link's name as a part of a host's name: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", link.lower()).strip("-")


def address(host: str, link: int) -> str:
    """The IPv4 address of an end host on a link, counted from 0."""
    return craft_address(link) if host == CRAFT else earth_address(link)


def hosts_file(links: Sequence[str]) -> str:
    """``/etc/hosts`` of both end hosts."""
    lines = ["127.0.0.1 localhost"]
    for index, link in enumerate(links):
        for host in (CRAFT, EARTH):
            names = [host] if index == 0 else []
            names += [f"{host}-{index + 1}", *([f"{host}-{slug(link)}"] if slug(link) else [])]
            lines.append(f"{address(host, index)} {' '.join(dict.fromkeys(names))}")
    return "\n".join(lines) + "\n"


def variables(links: Sequence[str]) -> dict[str, str]:
    """The environment of all programs: addresses and names of the links."""
    found = {"DSTCC_LINKS": str(len(links))}
    for host in (CRAFT, EARTH):
        found[f"DSTCC_{host.upper()}"] = address(host, 0)
        for index in range(len(links)):
            found[f"DSTCC_{host.upper()}_{index + 1}"] = address(host, index)
    for index, link in enumerate(links):
        found[f"DSTCC_LINK_{index + 1}"] = link
    return found
