"""What docs/geometry.md shows is what comes out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from dstcc_channels.contacts import parse_plan

PAGE = (Path(__file__).parents[3] / "docs/geometry.md").read_text(encoding="utf-8")


def test_the_example_says_what_it_returns():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    scope: dict[str, object] = {}
    for line in code.splitlines():
        call, _, shown = line.partition("  #")
        if not shown:
            exec(line, scope)
            continue
        expected = np.ravel(eval(f"[{shown.strip()}]"))
        assert np.ravel(eval(call, scope)) == pytest.approx(expected, rel=1e-6)


def test_the_plan_reads():
    block = PAGE.split("Contact plans")[1].split("\n\n")[2]
    plan = parse_plan(block, datetime(2026, 11, 21, tzinfo=UTC))
    assert (len(plan.contacts), len(plan.ranges)) == (2, 1)
