"""What a shell offers for a word that has been begun, asked as the shell asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import dstcc
from tests.report.synthetic_run import RunSpec, build_run


def offered(*words: str, folder: Path | None = None) -> list[str]:
    """The completions of the last word in bash."""
    line = " ".join(["dstcc", *words])
    asked = {"_DSTCC_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    done = dstcc(env=asked, folder=folder)
    assert done.stderr == ""
    return [
        row.partition(",")[2] if row.startswith("plain,") else row for row in done.stdout.splitlines() if row
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["emul"], ["emulate"]),
        (["emulate", "x.toml", "--congestion", "bbr"], ["bbr", "bbr-scaled"]),
        (["emulate", "x.toml", "--congestion", "lt"], ["ltp"]),
        (["emulate", "x.toml", "--scheduler", "round"], ["round-robin"]),
        (["emulate", "x.toml", "--controller", "iodst"], ["iodst-dqn", "iodst-dqn+", "iodst-q"]),
        (["train", "x.toml", "--algorithm", "pb"], ["pbq"]),
        (["links", "mro-x-dss3"], ["mro-x-dss35"]),
        (["links", "--code", "ccsds-c"], ["ccsds-c2"]),
    ],
)
def test_names_are_offered(words: list[str], wanted: list[str]) -> None:
    assert offered(*words) == wanted


def test_a_word_that_is_no_name_is_a_file(tmp_path: Path) -> None:
    assert offered("emulate", "x.toml", "--controller", "own/po") == ["file,own/po"]
    assert offered("train", "x.toml", "--algorithm", "own/po") == []


def test_trials_are_those_of_the_run(tmp_path: Path) -> None:
    build_run(tmp_path / "run", RunSpec(congestion=("cubic", "newreno"), chunks=10, seeds=(1, 2)))
    assert offered("play", "run", "--trial", "cub", folder=tmp_path) == ["cubic+minrtt/s1", "cubic+minrtt/s2"]
    assert offered("play", "gone", "--trial", "cub", folder=tmp_path) == []
    assert offered("play", "--trial", "cub", folder=tmp_path) == []
