"""docs/composition.md says what works with what, as the commands do."""

from __future__ import annotations

import pytest

from scripts import composition
from scripts.composition import (
    BEGIN,
    CAPABILITIES,
    EVERY,
    LATER,
    NEVER,
    ON_KERNEL,
    OTHERS,
    PAGE,
    SIMULATOR,
    TRANSPORTS,
    Pair,
    ask_kernel,
    pair,
)


def published(section: str) -> dict[str, dict[str, str]]:
    """A table of the page, and the lines above it: by capability and transport."""
    text = PAGE.read_text().partition(BEGIN)[2].partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    never: dict[str, dict[str, str]] = {}
    everywhere = []
    for line in text.splitlines():
        for start in (EVERY, OTHERS):
            if line.startswith(start):
                everywhere += line.removeprefix(start).removesuffix(".").split("; ")
        if line.startswith(NEVER):
            most, *but = (
                one.rpartition(" ")[::2] for one in line.removeprefix(NEVER).removesuffix(".").split("; ")
            )
            never[most[0]] = {name: dict(but).get(name, most[1]) for name in CAPABILITIES}
    rows = {name: dict(zip(lines[0], cells, strict=True)) for name, *cells in lines[1:]}
    assert not rows.keys() & everywhere
    assert not never.keys() & set(lines[0])
    alike = {name: dict.fromkeys(lines[0], "yes") for name in everywhere}
    return {
        name: row | {one: numbers[name] for one, numbers in never.items()}
        for name, row in (rows | alike).items()
    }


def reasons() -> list[str]:
    lines = PAGE.read_text().partition("## Why not\n")[2].splitlines()
    return [line.partition("`")[2].rpartition("`")[0] for line in lines if line]


def said(one: Pair) -> str:
    return f"({reasons().index(one.refusal) + 1})" if one.refusal else "yes"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_pair_is_what_the_page_says(transport: str) -> None:
    there = published("In the simulator")
    for capability in SIMULATOR:
        assert said(pair(transport, capability)) == there[capability][transport], capability


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_kernel_takes_and_refuses_what_the_page_says(transport: str) -> None:
    there = published("On the kernel")
    for capability in ON_KERNEL:
        assert said(pair(transport, capability, ask_kernel)) == there[capability][transport], capability


def test_the_page_has_all_pairs_and_no_others() -> None:
    for section, capabilities in (("In the simulator", SIMULATOR), ("On the kernel", ON_KERNEL)):
        there = published(section)
        assert set(there) == set(capabilities)
        assert all(set(row) == set(TRANSPORTS) for row in there.values())
    lines = PAGE.read_text().partition("## Why not\n")[2].splitlines()
    marked = [LATER in line for line in lines if line]
    assert marked == [composition.later(text) for text in reasons()]
    assert marked and not any(marked), "what is refused, physics or the protocol forbids"


def test_a_pair_that_fails_or_brings_nothing_is_none_that_works() -> None:
    assert pair(
        "stream", "outages", lambda *_: composition.check([{"status": "failed", "error": "x"}])
    ).refusal
    nothing = [{"status": "ok", "error": None, "weighted_layers": 0.0}]
    assert pair("stream", "outages", lambda *_: composition.check(nothing)).refusal
