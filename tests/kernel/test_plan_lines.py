"""The lines of a plan, as programs read them: every place of the simulator's configuration, and no other."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from dstcc_kernel.link_plan import link_lines
from dstcc_kernel.native import program

from dstcc.engine import Coding, Link, Loss
from dstcc.engine.config import named_values
from tests.engine.test_config import EVERYTHING, TRIAL

PLAIN = replace(EVERYTHING, cross_traffic=(), flows=(), loss=Loss(), up_loss=Loss())


def said_of(folder: Path, *more: str, link: Link = EVERYTHING) -> str:
    """By the program for coded packets, of a plan with all that a link and a trial may have, which lacks its hosts."""
    config = replace(TRIAL, coding=Coding(TRIAL.objects.chunk, 10**9), links=())
    lines = link_lines(link, 1.0, queue_packets=0, played=True)
    rest = (
        f"config {place} {words}"
        for place, words in named_values(config, without=("links", "objects", "period", "payloads"))
    )
    plan = folder / "plan.txt"
    plan.write_text("\n".join((*lines, *more, *rest)) + "\n")
    return subprocess.run([program("coded"), plan], capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("link", [EVERYTHING, PLAIN], ids=["everything", "plain"])
def test_every_place_is_read(tmp_path: Path, link: Link) -> None:
    assert said_of(tmp_path, link=link).strip().endswith("not whole")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (".rate_bits 5", "links.0.rate_bits"),
        (".loss.frames.code x", "links.0.loss.frames.code"),
        ("config transport.mss 1460", "transport.mss"),
        ("config slots 3", "slots"),
    ],
)
def test_a_place_that_nobody_has_is_an_error_by_its_name(tmp_path: Path, line: str, place: str) -> None:
    assert f"plan: {place}: there is no such place" in said_of(tmp_path, line)
