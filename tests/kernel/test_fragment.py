from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel.fragment import Choice, as_config, merge, read_fragment, refused
from dstcc_kernel.sources import folder
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError

SYMBOLS = st.from_regex(r"CONFIG_[A-Z0-9_]{1,12}", fullmatch=True)
VALUES = st.one_of(st.just("y"), st.integers(-9, 99999).map(str))
REASONS = st.from_regex(r"[a-z][a-z ,:=#]{0,30}[a-z]", fullmatch=True)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.config"
    path.write_text(text)
    return path


@given(st.dictionaries(SYMBOLS, st.tuples(VALUES, REASONS)))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, choices: dict[str, tuple[str, str]]
) -> None:
    lines = [f"{symbol}={value}   # {reason}" for symbol, (value, reason) in choices.items()]
    path = written(tmp_path_factory.mktemp("fragment"), "# a comment\n\n" + "\n".join(lines) + "\n")
    assert read_fragment(path) == tuple(Choice(symbol, *rest) for symbol, rest in choices.items())


@pytest.mark.parametrize(
    "line",
    [
        "CONFIG_NET=y",  # no reason
        "CONFIG_NET=m  # a module",
        "# CONFIG_NET is not set\nNET=y # sockets",
        "CONFIG_NET = y # sockets",
    ],
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"some.config:[12]: .* is not CONFIG_NAME=y"):
        read_fragment(written(tmp_path, line))


def test_a_symbol_named_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"some\.config:2: CONFIG_NET is named twice"):
        read_fragment(written(tmp_path, "CONFIG_NET=y # sockets\nCONFIG_NET=y # again\n"))


def test_a_later_fragment_overrides() -> None:
    low, high = Choice("CONFIG_A", "1", "few"), Choice("CONFIG_A", "2", "more")
    assert merge((low,), (high,)) == {"CONFIG_A": "2"}


def test_symbols_that_the_source_refused() -> None:
    finished = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=10\nCONFIG_D=y\n"
    wanted = {"CONFIG_A": "y", "CONFIG_B": "y", "CONFIG_C": "1", "CONFIG_D": "y", "CONFIG_E": "y"}
    assert refused(wanted, finished) == ["CONFIG_B", "CONFIG_C", "CONFIG_E"]
    assert refused({}, "") == []


@pytest.mark.parametrize("name", ["virtual-time.config", "debug.config"])
def test_ours_are_fragments(name: str) -> None:
    choices = read_fragment(folder("lab") / name)
    assert len(choices) > 10
    assert as_config(merge(choices)).count("\n") == len(choices)


def test_every_kernel_congestion_control_is_built_in() -> None:
    values = merge(read_fragment(folder("lab") / "virtual-time.config"))
    for name in ("CUBIC", "BIC", "WESTWOOD", "VEGAS", "BBR"):
        assert values[f"CONFIG_TCP_CONG_{name}"] == "y"
