"""The documentation against the code: links resolve, commands parse, keys, metrics and algorithms are described."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import click
import pytest
from dstcc_cli.main import main
from pydantic import BaseModel

from dstcc.algorithms import KNOWLEDGE, TABLE, letters, shipped_policies
from dstcc.engine.config import TcpConstants
from dstcc.forecast.files import load_controller
from dstcc.metrics import METRICS
from dstcc.scenario import parse_scenario
from dstcc.scenario.model import Scenario

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
COUNTED = [path for path in (*PAGES, ROOT / "experiments/README.md") if path.name != "CHANGELOG.md"]
LINK = re.compile(r"!?\[[^]\n]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?m)^ {4,}(dstcc .+)$|`(dstcc [a-z]+ [^`\n]+)`")
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def code_words(page: str) -> set[str]:
    """What a page sets in backticks, split at what joins keys."""
    return {word for code in re.findall(r"`([^`\n]+)`", text_of(page)) for word in re.split(r"[^\w-]+", code)}


def anchors(text: str) -> set[str]:
    """The headings' anchors as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ +(.+)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands() -> Iterator[tuple[str, str, bool]]:
    """Page and command line of every block and inline mention; only a block must be whole."""
    for page in PAGES:
        for block, mention in COMMAND.findall(page.read_text(encoding="utf-8")):
            yield named(page), block or mention, bool(block)


def test_the_pages_stay_short():
    words = {named(page): len(page.read_text(encoding="utf-8").split()) for page in COUNTED}
    assert words["README.md"] <= 1_200
    assert sum(words.values()) <= 50_000, sorted(words.items(), key=lambda row: -row[1])[:5]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_resolve(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{named(page)}: {target}"
        assert not anchor or anchor in anchors(linked.read_text(encoding="utf-8")), f"{named(page)}: {target}"


def test_command_lines_parse():
    lines = list(commands())
    assert len(lines) > 10, "the pattern finds the pages' command lines"
    for page, line, whole in lines:
        try:
            name, *arguments = shlex.split(line, comments=True)[1:]
            command = main.get_command(click.Context(main), name)
            assert command is not None, f"{page}: {line}"
            command.make_context(name, arguments)
        except click.ClickException as error:
            if isinstance(error, click.MissingParameter) and not whole:
                continue
            pytest.fail(f"{page}: {line}: {error.format_message()}")
        for example in re.findall(r"examples/\S+", line):
            assert (ROOT / example).exists(), f"{page}: {line}"


def test_scenarios_shown_are_valid():
    shown = [(page, block) for page in PAGES for block in TOML.findall(page.read_text(encoding="utf-8"))]
    whole = [(page, block) for page, block in shown if "[scenario]" in block]
    assert whole
    for page, block in whole:
        parse_scenario(tomllib.loads(block), source=named(page))


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model and those that its fields hold, however deep in unions and tuples."""
    yield model
    held: list[object] = [field.annotation for field in model.model_fields.values()]
    while held:
        kind = held.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from models(kind)
        held += get_args(kind)


def test_every_scenario_key_is_described():
    keys = {field.alias or name for model in models(Scenario) for name, field in model.model_fields.items()}
    assert {"lanes_per_link", "gilbert_elliott", "layer_bps", "log_uniform"} <= keys
    assert keys - code_words("docs/scenario.md") == set()


def test_every_metric_is_described():
    assert {"layers_played", *METRICS} - code_words("docs/metrics.md") == set()


def test_every_algorithm_has_its_section():
    sections = anchors(text_of("docs/algorithms.md"))
    assert [row.name for row in TABLE if not anchors(f"# {row.name}") <= sections] == []


def test_every_time_constant_is_named():
    said = code_words("docs/scaling.md") | code_words("docs/scenario.md")
    assert {field.name for field in fields(TcpConstants)} - said == set()


@pytest.mark.parametrize("name", shipped_policies())
def test_every_card_states_side_information_and_resources(name):
    policy, card = load_controller(name), text_of(f"docs/policies/{name}.md")
    (said,) = re.findall(
        r"\*\*Side information and resources\*\* \(\[letters\]\([^)]*\)\) `(\w+)`[:;](.*?)\n\n",
        card,
        re.DOTALL,
    )
    assert said[0] == letters((*policy.knows, "deadlines"))
    if policy.mode == "coded":
        assert "no lanes" in said[1]
    else:
        assert (f"{policy.lanes:,} lanes" if policy.lanes else "the scenario's lanes") in said[1]
    assert ("Copies" if policy.copies else "nothing is sent twice") in said[1]


def test_every_letter_is_explained():
    explained = re.findall(r"(?m)^\| (\w) \| `(\w+)` \|", text_of("docs/algorithms.md"))
    assert explained == [(known.letter, key) for key, known in KNOWLEDGE.items()]
