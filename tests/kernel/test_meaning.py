"""What each key of a scenario means on both backends: the table in docs/kernel.md has a row for every one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from dstcc_kernel.backend import facts
from pydantic import BaseModel

from dstcc.scenario import Scenario
from dstcc.scenario.fields import Draw

PAGE = Path(__file__).parents[2] / "docs/kernel.md"
HEAD = "| key | in the simulator | on the kernel |\n|---|---|---|\n"


def tables(kind: object) -> list[type[BaseModel]]:
    """The models in an annotation, however deep; what draws a value is none of its own."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [] if kind is Draw else [kind]
    return [model for part in get_args(kind) for model in tables(part)]


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key of a model and of the tables in it, dotted: ``link.loss.packet``."""
    for python_name, field in model.model_fields.items():
        name = field.alias or python_name
        yield prefix + name
        for table in tables(field.annotation):
            yield from keys(table, f"{prefix}{name}.")


def rows() -> dict[str, str]:
    """What the kernel makes of each key of the table."""
    text = PAGE.read_text()
    assert text.count(HEAD) == 1
    body = text.partition(HEAD)[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in body.splitlines():
        named, *_, kernel = line.strip("| ").split(" | ")
        for key in re.findall(r"`([\w.]+)`", named):
            assert key not in found, f"{key} has two rows"
            found[key] = kernel
    return found


def row_of(key: str, table: dict[str, str]) -> str | None:
    """Its own row, or the one of the table that it is in, where no other key of that has one."""
    if key in table or "." not in key:
        return table.get(key)
    parent = key.rpartition(".")[0]
    return None if any(one.startswith(f"{parent}.") for one in table) else row_of(parent, table)


def test_every_key_of_a_scenario_has_a_row() -> None:
    table, all_keys = rows(), list(keys(Scenario))
    assert {"link.loss.packet", "transport.constants.rto_min_s", "variant.set"} <= set(all_keys)
    sections = {
        "scenario",
        "video",
        "link",
        "transport",
        "coding",
        "playout",
        "run",
    }  # their keys have rows, they have none
    assert [key for key in all_keys if key not in sections and row_of(key, table) is None] == []
    assert not sections & set(table)


def test_what_a_table_splits_has_a_row_for_each_part() -> None:
    assert row_of("link.loss.jam", rows()) is None and row_of("video.encode.crf", rows()) is not None


def test_what_is_noted_is_in_the_runs_notes() -> None:
    link = {"name": "a", "rate_bps": 1e6, "delay_s": 100, "loss": {"packet": 0.01}, "outages": [[100, 200]]}
    lanes = {"mode": "lanes", "lanes_per_link": 2, "receive_buffer_bytes": 10**6, "controller": "iodst-q"}
    notes = " / ".join(noted(link, {**lanes, "congestion": "cubic"}) + noted(link, {"congestion": "cubic"}))
    notes += " / ".join(noted(link, {"mode": "stream", "controller": "iodst-q"}))
    for words in (
        *(
            "options are not charged",
            "losses before transmission, by packets",
            "begins with a window of one segment",
        ),
        *("still get through", "at most 256 lanes", "each lane's", "oracle_ratio"),
        "the policy's choice of links",
    ):
        assert words in notes, words
    bare = " / ".join(
        noted({key: link[key] for key in ("name", "rate_bps", "delay_s")}, {"congestion": "bbr"})
    )
    for words in ("one segment", "still get through", "each lane's", "at most 256 lanes", "choice of links"):
        assert words not in bare, words
    assert "choice of links" not in " / ".join(noted(link, {"controller": "dstcc-lanes"})), "it has lanes"


def test_our_transport_alone_has_no_words_on_tcp() -> None:
    link = {"name": "a", "rate_bps": 1e5, "delay_s": 5.0, "loss": {"packet": 0.1}}
    own = " / ".join(noted(link, {"controller": "dstcc"}))
    assert "MPTCP" not in own and "SYN" not in own
    assert "MPTCP" in " / ".join(noted(link, {"controller": "dstcc", "congestion": "cubic"}))


def test_a_link_that_netem_has_not_is_noted_and_netems_words_are_not() -> None:
    steps = {"name": "a", "rate_bps": [[0, 1e6], [5, 2e6]], "delay_s": 100, "outages": [[100, 200]]}
    notes = " / ".join(noted(steps, {"congestion": "cubic"}))
    assert "a: played by a program" in notes
    assert "by packets" not in notes and "still get through" not in notes


def noted(link: dict[str, object], transport: dict[str, object]) -> list[str]:
    """What ``run.json`` says of such a scenario on Linux 6.1."""
    document = {
        "scenario": {"name": "noted"},
        "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [1000]}, "loop_to_s": 10},
        "link": [link],
        "transport": transport,
    }
    notes: list[str] = facts(Scenario.model_validate(document), on_host=True)["notes"]
    return notes


def test_no_row_is_of_a_key_that_is_gone() -> None:
    assert set(rows()) - set(keys(Scenario)) == set()
