"""The scripted cases: what a control meets, one thing at a time.

Where not said otherwise the round trip is a second, the link holds 200 segments, and its queue takes all that comes.
Windows in slow start are 10, 20, 40, 80 and 160 segments, a round trip each; so segments 150 to 309 leave in the fifth.
"""

from __future__ import annotations

from .trajectory import Case, Decision

CASES: tuple[Case, ...] = (
    Case("start-80", "A lossless start on a link that holds 80 segments", 16.0, bdp=80),
    Case("start-800", "A lossless start on a link that holds 800 segments", 14.0, bdp=800),
    Case("start-8000", "A lossless start on a link that holds 8,000 segments", 13.0, bdp=8_000),
    Case("one-loss", "One segment is lost in slow start", 26.0, drops=((250, 1),)),
    Case(
        "burst",
        "Twenty segments in a row are lost in slow start",
        26.0,
        drops=tuple((n, 1) for n in range(250, 270)),
    ),
    Case("lost-repeat", "A segment and its repeat are lost", 26.0, drops=((250, 2),)),
    Case(
        "tail",
        "The last segment of a write is lost; nothing follows it for eight seconds",
        26.0,
        drops=((309, 1),),
        writes=((0.0, 310), (15.0, 3_000)),
    ),
    Case(
        "timeout",
        "The last 60 segments of a write and their first repeats are lost",
        26.0,
        drops=tuple((n, 2) for n in range(250, 310)),
        writes=((0.0, 310), (16.0, 3_000)),
    ),
    Case(
        "spurious",
        "Each way takes 6 s longer from one moment on: the timeout comes before the acknowledgements",
        36.0,
        delays_s=((9.0, 6.5),),
    ),
    Case("blink", "The link is away for 2.5 s, both ways", 26.0, outages_s=((6.2, 8.7),)),
    Case("outage", "The link is away for 25 s, both ways", 60.0, outages_s=((6.2, 31.2),)),
    Case("overflow", "Slow start overflows a queue of half of what the link holds", 34.0, queue=100),
    Case(
        "many-losses",
        "One segment in 40 is lost from the 640th to the 3,000th, and of each fifth of those the repeat, too",
        60.0,
        drops=((250, 1), *((n, 1 + (n % 200 == 0)) for n in range(640, 3_000, 40))),
    ),
    Case(
        "idle",
        "1,000 segments, a silence of some ten seconds, and all that goes",
        30.0,
        writes=((0.0, 1_000), (20.0, 1 << 30)),
    ),
    Case(
        "moving",
        "The round trip moves, within 2 s each time: 1 s, 1.4 s, 0.8 s, 1.2 s",
        30.0,
        queue=200,
        delays_s=((10.0, 0.7), (16.0, 0.4), (22.0, 0.6)),
        change_s=2.0,
    ),
)
"""In the order of docs/fidelity.md."""

LAWS: dict[str, str] = {
    "cubic": "cubic",
    "newreno": "reno",
    "bbr": "bbr",
    "westwood": "westwood",
    "vegas": "vegas",
    "bic": "bic",
    "dstcc": "dstcc",
}
"""The simulator's name of a control: the kernel's."""


DECISIONS: tuple[Decision, ...] = (
    Decision(1.25, 0.0, 20),
    Decision(2.25, 2.0, 0),
    Decision(3.25, 2.0, 0),
    Decision(4.5, 1.0, 40),
    Decision(6.25, 1.25, 0),
    Decision(8.25, 0.0, 220),
    Decision(12.25, 0.5, 0),
    Decision(16.25, 1.0, 60),
    Decision(20.25, 0.8, -10),
    Decision(24.25, 0.0, 240),
    Decision(32.25, 0.0, 150),
)
"""What the agent of `dstcc`'s own law asks for, the same in each case: a start that doubles, steps, cuts. Its law keeps
windows below twice what it has measured of the path."""


def case(name: str) -> Case:
    """The case of that name; KeyError."""
    return {one.name: one for one in CASES}[name]
