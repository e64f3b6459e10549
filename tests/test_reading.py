"""What stands between others' files and the parsers."""

from __future__ import annotations

import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.reading import MOST_DEPTH, parse_toml

QUOTED = ("a", "'b c'", '"d.e\\"f"', "'#'")


@pytest.mark.parametrize(
    "form", ["[{}]", "[[{}]]", "{} = 1", "z = {{{} = 1}}", 'z = {{y = """it\'s""", {} = 1}}']
)
@pytest.mark.parametrize("part", QUOTED)
def test_a_key_of_too_many_parts_is_refused_before_it_takes_minutes(form: str, part: str) -> None:
    # Python's parser: 40 s for 60,000 parts, in the square of their number
    text = "# it's\n" + form.format(" . ".join([part] * 60_000)) + "\n"
    begin = time.process_time()
    with pytest.raises(ValueError, match=f"line 2: a key of more than {MOST_DEPTH} parts"):
        parse_toml(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("part", QUOTED)
def test_the_longest_key_is_read(part: str) -> None:
    text = ".".join([part] * MOST_DEPTH) + " = 1\n"
    assert parse_toml(text) == tomllib.loads(text)
    with pytest.raises(ValueError, match="parts"):
        parse_toml(f"{part}.{text}")


@pytest.mark.parametrize(
    "text",
    [
        "# " + "a." * 100 + "a",
        "x = '" + "a." * 100 + "a'",
        'x = """\n' + "a." * 100 + 'a"""',
        "x = '''\n" + "a." * 100 + "a'''",
        "x = [" + "0.25, " * 100 + "]",
    ],
)
def test_dots_that_join_no_key_are_none(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


@given(st.text("a.'\"\\#\n =[]{}", max_size=300))
def test_all_other_text_is_read_as_pythons_parser_reads_it(text: str) -> None:
    dots = "." * (MOST_DEPTH + 1)
    try:
        expected = tomllib.loads(f"{text}\n#{dots}")
    except tomllib.TOMLDecodeError:
        with pytest.raises(ValueError):
            parse_toml(f"{text}\n#{dots}")
    else:
        try:
            assert parse_toml(f"{text}\n#{dots}") == expected
        except ValueError as refused:
            assert "parts" in str(refused) and text.count(".") > MOST_DEPTH


@pytest.mark.parametrize(
    "text", ['"' + '\\"' * 500_000, "'" * 500_001, "a." * 500_000, '"""' + '\\"' * 500_000, "#'\"" * 300_000]
)
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError) if text[0] != "#" else pytest.MonkeyPatch.context():
        parse_toml(text + "." * 100)
    assert time.process_time() - begin < 5
