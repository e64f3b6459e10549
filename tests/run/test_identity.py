"""Whatever decides a trial's result is in its hash, and nothing else is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dstcc.engine import _engine
from dstcc.run import identity
from dstcc.run.identity import Identity, carrier_of, code_digest, made_by, short_hash
from dstcc.run.trials import TrialKey
from dstcc.scenario import Scenario, load_scenario, parse_override
from dstcc.trust import allowed
from dstcc.version import __version__


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages of little code, in the places of ours."""
    files = {
        "dstcc/__init__.py": "",
        "dstcc/metrics.py": "a = 1",
        "dstcc/tune.py": "a = 1",
        "dstcc/tuned.py": "a = 1",
        "dstcc/report/page.py": "a = 1",
        "dstcc/learn/report.py": "a = 1",
        "dstcc/learn/policy.safetensors": "a",
        "dstcc/remy/trained.json": "{}",
        "dstcc/engine/src/core/base.hpp": "int a;",
        "dstcc/engine/src/core/loop.cpp": "int b;",
        "dstcc/notes.txt": "x",
        "dstcc_channels/tables/fer.csv": "1",
        "dstcc_channels/report.py": "a = 1",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(identity, "_root", lambda package: tmp_path / package)
    return tmp_path


def digest(*packages: str) -> str:
    """Of what is there now: what was read before is not remembered."""
    return str(code_digest.__wrapped__(*(packages or ("dstcc", "dstcc_channels"))))


@pytest.mark.parametrize(
    "name",
    [
        "dstcc/metrics.py",
        "dstcc/tuned.py",
        "dstcc/learn/report.py",
        "dstcc/remy/trained.json",
        "dstcc/engine/src/core/base.hpp",
        "dstcc/engine/src/core/loop.cpp",
        "dstcc_channels/tables/fer.csv",
        "dstcc_channels/report.py",
    ],
)
def test_code_and_tables_count(code: Path, name: str) -> None:
    before = digest()
    file = code / name
    text = file.read_text()
    file.write_text(text + " ")
    assert digest() != before
    file.write_text(text)
    assert digest() == before
    file.rename(file.with_stem("another"))
    assert digest() != before


@pytest.mark.parametrize(
    "name", ["dstcc/tune.py", "dstcc/report/page.py", "dstcc/learn/policy.safetensors", "dstcc/notes.txt"]
)
def test_what_only_looks_at_results_or_counts_elsewhere_does_not(code: Path, name: str) -> None:
    before = digest()
    (code / name).write_text("another")
    assert digest() == before
    (code / name).unlink()
    assert digest() == before


def test_only_the_packages_that_are_asked_for_count_each_by_its_name(code: Path) -> None:
    before = digest("dstcc")
    (code / "dstcc_channels" / "more.py").write_text("")
    assert digest("dstcc") == before != digest("dstcc", "dstcc_channels")
    (code / "third").mkdir()
    (code / "fourth").mkdir()
    for name in ("third", "fourth"):
        (code / name / "a.py").write_text("")
    assert digest("third") != digest("fourth")


def test_what_stands_in_a_file_is_not_taken_for_another_file(code: Path) -> None:
    """Content counts by its hash: the same bytes shared out otherwise among files are other code."""
    (code / "third").mkdir()
    (code / "third" / "a.py").write_text("onetwo")
    (code / "third" / "b.py").write_text("")
    before = digest("third")
    (code / "third" / "a.py").write_text("one")
    (code / "third" / "b.py").write_text("two")
    assert digest("third") != before


def test_without_sources_the_compiled_engine_counts(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "_engine.so"
    compiled.write_bytes(b"one")
    monkeypatch.setattr(_engine, "__file__", str(compiled))
    with_sources = digest()
    compiled.write_bytes(b"two")
    assert digest() == with_sources
    for file in (code / "dstcc/engine/src/core").iterdir():
        file.unlink()
    (code / "dstcc/engine/src/core").rmdir()
    (code / "dstcc/engine/src").rmdir()
    second = digest()
    compiled.write_bytes(b"one")
    assert digest() not in (second, with_sources)


def test_every_room_that_is_left_out_is_there() -> None:
    """A name in the list that no longer is one would let a new room of that name out unseen."""
    root = identity._root("dstcc")
    assert {
        one for one in identity.NOT_DECIDING if not ((root / one).is_dir() or (root / f"{one}.py").is_file())
    } == set()


def test_a_package_that_is_not_there_is_no_empty_one() -> None:
    with pytest.raises(ModuleNotFoundError, match="dstcc_nowhere"):
        code_digest("dstcc_nowhere")


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A digest that is the packages' names; what was made is forgotten before and after."""
    monkeypatch.setattr(identity, "code_digest", lambda *packages: "+".join(packages).ljust(64, "."))
    monkeypatch.setattr(identity, "PACKAGES", ("one", "two"))
    monkeypatch.setattr(identity, "KERNEL", "k")
    made_by.cache_clear()
    yield
    made_by.cache_clear()


@pytest.mark.parametrize(
    ("backend", "version", "words"),
    [
        ("simulator", None, "one+two. simulator"),
        ("kernel", "6.12 aa", "one+two+ kernel 6.12 aa"),
        ("host", "", "one+two+ host"),
        ("training", None, "one+two. training"),
    ],
)
def test_who_made_it_is_version_code_and_backend(
    digests: None, backend: str, version: str | None, words: str
) -> None:
    """Eight characters of the code's hash; on a kernel the code around it counts, too."""
    assert made_by(backend, version) == f"dstcc {__version__} {words}"


class _Backend:
    name = "kernel"

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        return self._facts


@pytest.mark.parametrize(
    ("facts", "end"),
    [
        ({}, "kernel"),
        ({"kernel": {}}, "kernel"),
        (
            {"kernel": {"sha256": "0123456789abcdef", "version": "6.12.117-1"}},
            "kernel 6.12.117-1 0123456789ab",
        ),
        ({"kernel": {"version": "6.1", "other": "x"}}, "kernel 6.1"),
    ],
)
def test_a_kernel_counts_by_version_and_digest(
    digests: None, scenario: Scenario, facts: dict[str, Any], end: str
) -> None:
    carrier = carrier_of(_Backend(facts), scenario)  # type: ignore[arg-type]
    assert carrier == f"dstcc {__version__} one+two+ {end}"


@pytest.fixture
def scenario(scenario_file: Path) -> Scenario:
    return load_scenario(scenario_file)


KEY = TrialKey("cubic", "minrtt", 1)


class _Policy:
    def __init__(self, sha256: str) -> None:
        self._sha256 = sha256

    def about(self) -> dict[str, str]:
        return {"sha256": self._sha256}


def key_of(scenario: Scenario, trial: TrialKey = KEY, **given: Any) -> str:
    whole: dict[str, Any] = {"carrier": "c", "policies": {}, "quality": False, **given}
    return Identity(scenario, **whole).key(trial)


def test_a_hash_is_of_128_bits_and_the_same_every_time(scenario: Scenario) -> None:
    key = key_of(scenario)
    assert len(key) == 32 and set(key) <= set("0123456789abcdef")
    assert key == key_of(scenario)
    text = b'{"a":[1,null],"b":"x"}'
    assert short_hash({"b": "x", "a": [1, None]}) == hashlib.sha256(text).hexdigest()[:32]


@pytest.mark.parametrize(
    "other",
    [{"congestion": "newreno"}, {"scheduler": "round-robin"}, {"seed": 2}],
    ids=lambda one: next(iter(one)),
)
def test_another_trial_has_another_hash(scenario: Scenario, other: dict[str, Any]) -> None:
    assert key_of(scenario, replace(KEY, **other)) != key_of(scenario)


def test_a_variants_name_does_not_count(scenario: Scenario) -> None:
    assert key_of(scenario, replace(KEY, variant="mine")) == key_of(scenario)


@pytest.mark.parametrize("given", [{"carrier": "d"}, {"quality": True}], ids=str)
def test_what_carries_and_judges_it_counts(scenario: Scenario, given: dict[str, Any]) -> None:
    assert key_of(scenario, **given) != key_of(scenario)


def test_what_is_kept_of_a_trial_counts(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(scenario)
    monkeypatch.setattr(identity, "SCHEMA", 2)
    assert key_of(scenario) != before


@pytest.mark.parametrize(
    "text", ["link.0.loss.packet=2e-3", "transport.initial_cwnd=20", "run.scale=3", "playout.delay_s=11"]
)
def test_the_scenario_its_transport_and_its_scale_count(
    scenario: Scenario, scenario_file: Path, text: str
) -> None:
    assert key_of(load_scenario(scenario_file, [parse_override(text)])) != key_of(scenario)


@pytest.mark.parametrize(
    "text",
    [
        'scenario.description="other"',
        "run.seeds=9",
        'transport.congestion=["cubic"]',
        'transport.scheduler=["minrtt", "round-robin"]',
    ],
)
def test_what_else_the_scenario_runs_does_not(scenario: Scenario, scenario_file: Path, text: str) -> None:
    assert key_of(load_scenario(scenario_file, [parse_override(text)])) == key_of(scenario)


def test_a_policy_counts_by_its_bytes_for_its_own_trials(scenario_file: Path) -> None:
    scenario = load_scenario(scenario_file, [parse_override('transport.controller=["dstcc"]')])
    trial = TrialKey("agent", "agent", 1, controller="dstcc")

    def of(sha256: str, key: TrialKey) -> str:
        return key_of(scenario, key, policies={"dstcc": _Policy(sha256)})

    assert of("one", trial) != of("two", trial)
    assert of("one", KEY) == of("two", KEY)


@pytest.mark.parametrize("kind", ["congestion", "scheduler"])
def test_an_extension_counts_by_its_file_for_its_own_trials(scenario_file: Path, kind: str) -> None:
    methods = {
        "congestion": "    def on_ack(self, view):\n        return 10.0\n",
        "scheduler": "    def pick(self, paths, ready, item, busy):\n        return ready[0]\n",
    }
    file = scenario_file.parent / "mine.py"
    override = parse_override(f'transport.{kind}=["{file}:Mine"]')
    names = {"congestion": KEY.congestion, "scheduler": KEY.scheduler, kind: "Mine"}
    mine_key = TrialKey(names["congestion"], names["scheduler"], KEY.seed)

    def keys(source: str) -> tuple[str, str]:
        file.write_text(source)
        scenario = load_scenario(scenario_file, [override])
        return key_of(scenario, mine_key), key_of(scenario)

    with allowed():
        mine, other = keys(f"class Mine:\n{methods[kind]}")
        mine_now, other_now = keys(f"class Mine:\n{methods[kind]}# another\n")
    assert mine != mine_now
    assert other == other_now
