"""One table of cases for the law wherever it is compiled; ``test_module.py`` has the kernel go through the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dstcc.engine._testing import law

CASES = Path(__file__).parent / "module_tests/dstcc_law_cases.h"
MASK = (1 << 64) - 1
DRAWS = 100_000
U32 = (1 << 32) - 1


def cases() -> list[tuple[str, list[int], int]]:
    """Function, arguments, result, in the table's order."""
    rows = []
    for line in CASES.read_text().splitlines():
        if match := re.match(r"CASE\((\w+)\((.*?)\), (\d+)(?:ull)?\);", line):
            name, words, result = match.groups()
            rows.append(
                (name, [int(word.strip().removesuffix("ull")) for word in words.split(",")], int(result))
            )
    return rows


def test_the_table_is_read_whole() -> None:
    assert len(cases()) == CASES.read_text().count("\nCASE(") > 40


@pytest.mark.parametrize("case", [case for case in cases() if case[0] != "sample"], ids=str)
def test_case(case: tuple[str, list[int], int]) -> None:
    name, arguments, result = case
    assert getattr(law, name)(*arguments) == result


def test_samples_in_their_order() -> None:
    bdp = law.Bdp()
    for name, (*sample, rounds), result in cases():
        if name == "sample":
            bdp.sample(*sample)
            for _ in range(rounds):
                bdp.round()
            assert bdp.segments() == result, (sample, rounds)


def draws() -> Iterator[int]:
    """SplitMix64 as in ``dstcc_law_test.c``; send a number of bits, get a number of at most that many."""
    state, value = 1, 0
    while True:
        bits = yield value
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        value = (z >> 8) & ((1 << (z & 0xFF) % (bits + 1)) - 1)


def digest() -> int:
    """What the simulator's law makes of the kernel test's draws."""
    generator = draws()
    next(generator)
    draw = generator.send  # type: ignore[attr-defined]
    total, bdp = 0xCBF29CE484222325, law.Bdp()
    for _ in range(DRAWS):
        bdp.sample(draw(28), draw(33), draw(33))
        if draw(2) == 1:
            bdp.round()
        estimate = bdp.segments()
        cap = law.cap(estimate, draw(10), draw(10))
        cwnd, wire_or_alpha, beta = draw(28), draw(22), draw(29) - (1 << 28)
        window = law.window(cwnd, wire_or_alpha, beta, cap)
        pace = law.pace(cwnd, draw(16), draw(33))
        for value in (estimate, cap, window, pace):
            total = ((total ^ value) * 0x100000001B3) & MASK
    return total


def test_the_digest_of_drawn_arguments() -> None:
    """``test_module.py`` compares this with what ``dstcc_law_test.ko`` says in the kernel."""
    assert digest() == 10826239725165079616
