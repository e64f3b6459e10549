"""A study's grid: every point once, in order, but for what is left out; every mistake named by file and key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError
from dstcc.sweeps.study import Study, load_study, parse_study
from tests.sampling import examples

HEAD = '[study]\nscenario = "toy.toml"\n'


def read(text: str, folder: Path = Path("/where")) -> Study:
    return parse_study(tomllib.loads(text), source="s.toml", folder=folder)


def points(text: str) -> list[tuple[Any, ...]]:
    return [point.values for point in read(HEAD + text).points()]


def test_the_first_axis_varies_slowest() -> None:
    assert points("[vary]\na = [1, 2]\nb = [3, 4]\n") == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_zipped_keys_count_as_one_axis() -> None:
    text = "[vary]\nc = [5, 6]\n[[zip]]\na = [1, 2]\nb = {from = 3, to = 4, steps = 2}\n"
    assert points(text) == [(5, 1, 3), (5, 2, 4), (6, 1, 3), (6, 2, 4)]
    assert read(HEAD + text).columns == ("c", "a", "b")


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("a = 2", [1, 3]),
        ("a = [1, 3]", [2]),
        ('a = ">= 2"', [1]),
        ('a = "> 2"', [1, 2]),
        ('a = "< 2"', [2, 3]),
        ('a = "<= 2"', [3]),
        ('a = "!= 2"', [2]),
        ('a = 2\nb = "y"', [1, 2, 3]),
        ('a = 2\nb = "x"', [1, 3]),
        ('scenario = "toy"\na = 3', [1, 2]),
        ('scenario = "other"', [1, 2, 3]),
    ],
)
def test_exclusions(condition: str, left: list[int]) -> None:
    text = f'[vary]\na = [1, 2, 3]\nb = ["x"]\n[[exclude]]\n{condition}\n'
    assert [values[0] for values in points(text)] == left


def test_exclusions_compare_in_the_keys_unit_and_by_its_column() -> None:
    text = '[vary]\nplayout.delay_s = {values = ["5 min", "15 min"], as = "delay"}\n[[exclude]]\ndelay = "> 10 min"\n'
    assert points(text) == [(300.0,)]
    assert points(text.replace("delay = ", '"playout.delay_s" = ')) == [(300.0,)]


def test_an_exclusion_of_an_algorithm_leaves_the_point() -> None:
    study = read(HEAD + '[vary]\na = [1, 2]\n[[exclude]]\na = 1\ncongestion = "cubic"\n')
    first, second = study.points()
    assert study.excludes({**study.known(first), "congestion": "cubic"})
    assert not study.excludes({**study.known(first), "congestion": "bbr"})
    assert not study.excludes({**study.known(second), "congestion": "cubic"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "study.scenario: missing"),
        ("[study]\nscenario = 3", "study.scenario = 3: must be a string or a list of strings"),
        ("[study]\nscenario = []", "study.scenario = \\[\\]: must be"),
        ('[study]\nscenario = ["a.toml", "b/a.toml"]', "two of one name"),
        (HEAD + "seeds = 0", "seeds = 0: must be at least 1"),
        (HEAD + "seeds = true", "study.seeds = True: must be a whole number"),
        (HEAD + "sedes = 3", "study: unknown key 'sedes'"),
        (HEAD + 'congestion = ["cubic", "cubic"]', "congestion: has one of its entries twice"),
        (HEAD + 'backend = "host"', "backend = 'host': must be 'simulator' or 'kernel'"),
        (HEAD + "trial_limit_s = 0", "trial_limit_s = 0: must be a time"),
        (HEAD + 'trial_limit_s = "3 kg"', "'kg' is no unit of a time"),
        (HEAD + "[varry]", "unknown key 'varry'"),
        (HEAD + "[vary]\na = 3", "vary.a: must be a list"),
        (HEAD + '[vary]\n"a" = [1]\n[[zip]]\na = [1]\nb = [2]', "the key a varies twice"),
        (HEAD + '[vary]\na = {values = [1], as = "b"}\nb = [1]', "the column b varies twice"),
        (HEAD + '[vary]\na = {values = [1], as = "seed"}', "the tables have a column of that name"),
        (HEAD + "[vary]\na = [1]\n[set]\na = 2", "set.a: is set and varied"),
        (HEAD + '[set]\ntransport.congestion = "bbr"', r"cannot be varied here; \[study\] has congestion$"),
        (HEAD + "[[zip]]\na = [1]", "zip.0: needs two keys or more"),
        (HEAD + "zip = 3", "unknown key 'zip'"),
        (HEAD + "[[exclude]]", "exclude.0: is empty"),
        (HEAD + "[[exclude]]\nc = 1", "exclude.0: c does not vary; what does"),
        (HEAD + '[vary]\na = [1]\n[[exclude]]\na = "> b"', "compares with a number"),
        (HEAD + "[exclude]", "exclude: must be tables"),
        (
            HEAD
            + "[vary]\na = {from = 1, to = 1000, steps = 1000}\nb = {from = 1, to = 20000, steps = 20000}",
            "more than 10,000,000",
        ),
        (HEAD + '[train]\nalgorithm = "dcstc"', "train.algorithm = 'dcstc': one of"),
        (HEAD + "seed = -1", "seed = -1: must be at least 0"),
        (HEAD + "seeds = 9007199254740992", "seeds = 9007199254740992: must be at least 1"),
        (HEAD + "retries = -1", "retries = -1: must be at least 0"),
        (HEAD + "[train]\nsteps = 0", "steps = 0: must be at least 1"),
        (HEAD + 'congestion = ["cubic", ""]', r"study.congestion = \['cubic', ''\]: must be"),
        (HEAD + 'congestion = ["a\\u0000"]', "study.congestion = .*: must be"),
        (HEAD + "congestion = [1]", r"study.congestion = \[1\]: must be"),
        (HEAD + 'name = ""', "study.name = '': must be a string"),
        (HEAD + "trial_limit_s = true", "study.trial_limit_s = True: must be a time"),
        (HEAD + "quality = 1", "study.quality = 1: must be true or false"),
        (
            HEAD + 'programs = true\ncongestion = "cubic"',
            "study.congestion: is of trials, not .*; programs.congestion is a",
        ),
        (HEAD + 'programs = true\nbackend = "kernel"', "study.backend: is of trials, not of programs$"),
        (HEAD + "programs = true\n[train]\nsteps = 5", "train: cannot be combined with study.programs"),
        (HEAD + "[[zip]]\na = [1]\nb = [2]\n[[zip]]\nc = [1]", "zip.1: needs two keys or more"),
        (
            HEAD + "[[zip]]\na = [1, 2]\nb = [2]",
            "zip.0: keys that vary together need as many .*: a has 2, b has 1",
        ),
        (
            HEAD + "[vary]\na = [1]\n[[exclude]]\na = 1\n[[exclude]]\nc = 1",
            "exclude.1: c does not vary; what does: a, ",
        ),
        (HEAD + '[vary]\na = {values = [1], as = "made_by"}', "as = 'made_by': the tables have a column"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^s\.toml: .*{said}"):
        read(text)


def test_a_study_at_its_bounds() -> None:
    bare = read(HEAD)
    assert (bare.name, bare.description, bare.backend, bare.programs, bare.quality) == (
        "study",
        "",
        "simulator",
        False,
        False,
    )
    assert (bare.seeds, bare.seed, bare.retries, bare.steps, bare.trial_limit_s) == (None,) * 5
    assert (bare.trained, bare.settings, bare.axes, bare.size) == ((), (), (), 1)
    text = 'seeds = 1\nseed = 0\nretries = 0\ntrial_limit_s = "90 s"\nquality = true\n[train]\nsteps = 1\n'
    one = read(f'[study]\nscenario = ["a.toml", "b.toml"]\nname = "mars"\n{text}algorithm = "iodst-dqn"\n')
    assert (one.name, one.seeds, one.seed, one.retries, one.trial_limit_s) == ("mars", 1, 0, 0, 90.0)
    assert (one.quality, one.steps, one.trained, one.size) == (True, 1, ("iodst-dqn",), 2)
    assert read(HEAD + "seeds = 9007199254740991").seeds == 2**53 - 1
    assert read(HEAD + 'trial_limit_s = 0.5\ncongestion = "cubic"').algorithms["congestion"] == ("cubic",)
    many = "[vary]\na = {from = 1, to = 1000, steps = 1000}\nb = {from = 1, to = 10000, steps = 10000}"
    assert read(HEAD + many).size == 10_000_000
    with pytest.raises(InputError, match="10,001,000 points are more than 10,000,000"):
        read(HEAD + many.replace("10000", "10001"))


def test_settings_are_each_key_of_their_tables() -> None:
    given = read(HEAD + '[set]\na.b = {c = 1, d = {}}\ne = "5 min"\nplayout.delay_s = "5 min"\nf = [1]\n')
    assert given.settings == (
        ("a.b.c", 1),
        ("a.b.d", {}),
        ("e", "5 min"),
        ("playout.delay_s", 300),
        ("f", [1]),
    )


@pytest.mark.parametrize(
    ("values", "condition", "left"),
    [
        # numbers are the same to nine digits, whether whole or not; a truth value is no number
        ("[0.3, 0.30000000001, 0.3000001]", '"> 0.3"', [0.3, 0.30000000001]),
        ("[0.3, 0.30000000001, 0.3000001]", '">= 0.3"', []),
        ("[0.3, 0.2999999]", '"< 0.3"', [0.3]),
        ("[1, 2]", "1.0", [2]),
        ("[1, 2]", "true", [1, 2]),
        ("[true, false]", "true", [False]),
        ("[true, false]", "1", [True, False]),
        ("[true, false]", '"> 0"', [True, False]),
        ('["a", "b"]', '"!= a"', ["a"]),
        ('["a", "b"]', '["a", "b"]', []),
        ('["a", "b"]', '"> 0"', ["a", "b"]),
        ("[1, 2, 3]", '["< 2", "> 2"]', [2]),
    ],
)
def test_what_a_condition_leaves(values: str, condition: str, left: list[Any]) -> None:
    assert [one for (one,) in points(f"[vary]\na = {values}\n[[exclude]]\na = {condition}\n")] == left


def test_no_such_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such study"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[study")
    with pytest.raises(InputError, match=r"bad\.toml: not TOML"):
        load_study(tmp_path / "bad.toml")


def test_paths_are_relative_to_the_study(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        HEAD + 'controller = ["p.safetensors", "dstcc"]\ncongestion = "mine.py:Mine"\n'
    )
    study = load_study(tmp_path / "s.toml")
    assert study.name == "s" and study.scenarios == (tmp_path / "toy.toml",)
    assert study.algorithms["controller"] == (str(tmp_path / "p.safetensors"), "dstcc")
    assert study.algorithms["congestion"] == (f"{tmp_path / 'mine.py'}:Mine",)


KEYS = st.sampled_from(["a", "b", "c", "d"])
AXES = st.dictionaries(KEYS, st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True), max_size=4)
CONDITIONS = st.dictionaries(
    KEYS, st.integers(-9, 9) | st.integers(-9, 9).map(lambda n: f"> {n}"), min_size=1, max_size=2
)


@examples(40)
@given(AXES, st.lists(CONDITIONS, max_size=3))
def test_every_point_is_there_once_or_left_out_for_a_reason(
    axes: dict[str, list[int]], excluded: list[dict[str, Any]]
) -> None:
    """Against a plain loop over all combinations."""
    excluded = [one for one in excluded if one.keys() <= axes.keys()]
    study = parse_study(
        {"study": {"scenario": "x.toml"}, "vary": axes, "exclude": excluded}, source="s.toml", folder=Path()
    )
    wanted: list[tuple[int, ...]] = [()]
    for values in axes.values():
        wanted = [(*point, value) for point in wanted for value in values]

    def out(point: tuple[int, ...]) -> bool:
        known = dict(zip(axes, point, strict=True))
        return any(
            all(known[k] > int(v[2:]) if isinstance(v, str) else known[k] == v for k, v in one.items())
            for one in excluded
        )

    assert study.size == len(wanted)
    assert [point.values for point in study.points()] == [point for point in wanted if not out(point)]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["> 3", "5 min"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "to", "steps", "by", "a", "as", "values", "study", ""]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@examples(24)
@given(
    st.fixed_dictionaries(
        {"study": st.just({"scenario": "x.toml"}) | VALUES},
        optional=dict.fromkeys(["vary", "set", "zip", "exclude", "train", "other"], VALUES),
    )
)
def test_any_document_is_a_study_or_a_named_mistake(document: dict[str, Any]) -> None:
    try:
        study = parse_study(document, source="s.toml", folder=Path("/where"))
    except InputError as error:
        assert str(error).startswith("s.toml: ")
    else:
        assert study.size >= 1
