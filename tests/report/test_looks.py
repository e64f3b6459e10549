"""The colours of algorithms: fixed, legible, and apart for readers with any kind of colour vision."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dstcc.algorithms import CONTROLLERS, OWN, TABLE
from dstcc.report.figures.looks import ALL, COLOURS, DARK, DASHES, FIXED, looks
from dstcc.report.figures.style import luminance

CSS = Path(__file__).parents[2] / "dstcc/report/templates/report.css"
VISION = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""Linear RGB as each sees it: Machado, Oliveira and Fernandes (2009), severity 1."""
LEAST_APART = 11.0
"""Distance in CIELAB; 2.3 is just noticeable."""


def contrast(one: str, other: str) -> float:
    """By WCAG 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str) -> NDArray[np.float64]:
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISION[vision]) @ linear, 0, 1)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ seen / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(("colours", "paper"), [(COLOURS, "#ffffff"), (DARK, "#12161b")])
def test_colours_stand_out_and_stay_apart(colours: tuple[str, ...], paper: str) -> None:
    assert all(contrast(one, paper) >= 4.5 for one in colours)
    for vision in VISION:
        apart = {
            pair: np.linalg.norm(lab(pair[0], vision) - lab(pair[1], vision))
            for pair in combinations(colours, 2)
        }
        assert min(apart.values()) >= LEAST_APART, (vision, min(apart, key=lambda pair: apart[pair]))


def test_the_page_has_these_colours_light_and_dark() -> None:
    light, dark = CSS.read_text().split("@media (prefers-color-scheme: dark)")
    for part, colours in ((light, COLOURS), (dark, DARK)):
        assert tuple(re.findall(r"--a\d: (#[0-9a-f]{6});", part)) == colours


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_legible(scheme: str) -> None:
    css = CSS.read_text().split("@media (prefers-color-scheme: dark)")[scheme == "dark"]
    colour = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css))
    for ink, paper in [
        ("ink", "paper"), ("ink", "wash"), ("ink", "best"), ("muted", "paper"), ("muted", "best"), ("accent", "paper"),
        ("best-ink", "best"),
    ]:  # fmt: skip
        assert contrast(colour[ink], colour[paper]) >= 4.5, (ink, paper)


def test_every_algorithm_has_a_look_of_its_own() -> None:
    """One that is new needs an entry; nobody else's changes."""
    named = {one.name for one in TABLE if one.kind != "scheduler"} | {OWN, *CONTROLLERS}
    assert named == set(FIXED)
    assert len(set(FIXED.values())) == len(FIXED)
    assert set(FIXED.values()) < set(ALL)


def test_a_look_does_not_depend_on_the_others() -> None:
    alone = looks(["cubic+minrtt"])["cubic+minrtt"]
    many = ["ltp (transfer)", "tuned cubic", "open-loop+minrtt", "dstcc (learned)", "cubic+minrtt"]
    for names in (many, many[::-1], [*many, "cubic+blest", "a", "b", "c"]):
        assert looks(names)["cubic+minrtt"] == alone
    assert looks(many) == looks(many[::-1])
    assert looks(many)["tuned cubic"].colour == alone.colour
    assert looks(many)["ltp (transfer)"] == (COLOURS[FIXED["ltp"][0]], FIXED["ltp"][1])


def test_a_name_that_ends_in_a_plus_is_a_name_of_its_own() -> None:
    shown = looks(["iodst-dqn+", "iodst-dqn", "iodst-dqn+ on 4 lanes"])
    for name in ("iodst-dqn", "iodst-dqn+"):
        assert shown[name] == (COLOURS[FIXED[name][0]], FIXED[name][1])
    assert shown["iodst-dqn+ on 4 lanes"].colour == shown["iodst-dqn+"].colour
    assert len(set(shown.values())) == 3


def test_another_scheduler_keeps_the_colour_and_changes_the_line() -> None:
    both = looks(["cubic+minrtt", "cubic+blest"])
    assert both["cubic+minrtt"].colour == both["cubic+blest"].colour
    assert both["cubic+minrtt"].turn != both["cubic+blest"].turn


def test_names_beyond_all_looks_share_those_they_would_have_had() -> None:
    others = [f"a variant {number}" for number in range(len(ALL))]
    assert len(set(looks(others).values())) == len(ALL)
    shared = looks([*others, "the last one"])
    assert shared["the last one"] == looks(["the last one"])["the last one"]
    assert all(shared[name] == look for name, look in looks(others).items())


def test_looks_differ_as_long_as_there_are_enough() -> None:
    names = [f"variant {number}" for number in range(len(ALL))]
    assert len(set(looks(names).values())) == len(ALL) == len(COLOURS) * len(DASHES)
    assert len(looks([*names, "one more"])) == len(ALL) + 1


def test_names_of_a_users_own_have_a_colour_each_while_there_are_colours() -> None:
    names = ["DST", "DST told", "coded told", "coded untold", "LTP", "CUBIC", "BBRs"]
    shown = looks(names)
    assert len({shown[name].colour for name in names}) == len(names) == len(COLOURS)
    assert {name: shown[name].colour for name in ("CUBIC", "LTP")} == {
        "CUBIC": COLOURS[FIXED["cubic"][0]],  # a word in capitals is the algorithm's, too
        "LTP": COLOURS[FIXED["ltp"][0]],
    }
    # ten: three colours occur twice, with line styles of their own
    assert len(set(looks([*names, "a", "b", "c"]).values())) == 10
