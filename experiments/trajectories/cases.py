"""The scripted cases: what a control meets, one thing at a time.

Where not said otherwise the round trip is a second, the link holds 200 segments, and its queue takes all that comes.
Windows in slow start are 10, 20, 40, 80 and 160 segments, a round trip each; so segments 150 to 309 leave in the fifth.
"""

from __future__ import annotations

from dstcc_kernel.plan import MOST_TIMERS

from .states import ENDLESS, SEGMENT, Case, ScriptedAction, ScriptedLink

ALL = ENDLESS // SEGMENT
"""Segments of a write that no case ends."""
AGENT = ("dstcc",)
"""Whose decisions are for one subflow, and begin after a second."""


def live(*segments: int) -> tuple[tuple[float, float], ...]:
    """What a live source writes in 20 s: a layer of so many segments each, four chunks a second."""
    return tuple(
        (round(1.53 + 0.25 * k + 0.07 * layer, 2), count)
        for k in range(80)
        for layer, count in enumerate(segments)
    )


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
    Case(
        "deaf",
        "ACKs are lost for a fifth of a second, fifteen times, and slow start overflows a queue of 60",
        40.0,
        queue=60,
        deaf_s=tuple((round(8.013 + 1.37 * k, 3), round(8.213 + 1.37 * k, 3)) for k in range(15)),
        without=("bbr",),
    ),
    Case(
        "tiny-tail",
        "Writes of a dozen segments, of which the last but one of the first is lost",
        20.0,
        drops=((10, 1),),
        writes=((0.0, 12), (6.13, 12), (9.13, 40), (13.13, 200)),
    ),
    Case(
        "bursts",
        "Writes of 100 to 1,500 segments, and silence between them",
        40.0,
        writes=((0.0, 100), (3.13, 100), (6.13, 300), (9.13, 600), (14.13, 1_500), (24.13, 1_000)),
    ),
    Case(
        "reads",
        "The receiving program reads 20 times a round trip: the ACK of two segments waits for it",
        40.0,
        bdp=100,
        drops=((250, 1), (1_400, 1)),
        reads_s=0.05,
    ),
    Case(
        "layers",
        "A live source of two layers over two lanes that share a queue of a quarter of what the link holds",
        40.0,
        queue=50,
        writes=tuple(
            (round(1.53 + 0.6 * k + 0.1 * layer, 2), min(6 + 2 * k, most) + 0.4)
            for k in range(60)
            for layer, most in enumerate((75, 45))
        ),
        lanes=2,
        without=("bbr", *AGENT),
    ),
    Case(
        "lanes-2",
        "Two lanes share a queue of a quarter of what the link holds, and always have data",
        60.0,
        queue=50,
        writes=((0.0, ALL),) * 2,
        lanes=2,
        without=("bbr", *AGENT),
    ),
    Case(
        "lanes-8",
        "Eight lanes share a queue of a quarter of what a link of 25 s holds, and always have data",
        700.0,
        rtt_s=25.0,
        bdp=400,
        queue=100,
        writes=((0.0, ALL),) * 8,
        lanes=8,
        without=AGENT,
    ),
    Case(
        "mars",
        "True time at Mars: the round trip of 400 s is more than three of the longest timeouts",
        12_000.0,
        rtt_s=400.0,
        queue=40,
        drops=((100, 1), (101, 1)),
        without=AGENT,
    ),
    Case(
        "two-links",
        "A live source of three layers over links of 0.9 s and 0.4 s; a segment of the joined subflow is lost",
        24.0,
        rtt_s=0.9,
        bdp=80,
        writes=live(11, 7, 4),
        paths=(ScriptedLink(0.4, 40, drops=((60, 1),)),),
        layers=3,
        without=("bbr", *AGENT),
    ),
    Case(
        "joins",
        "Two links of 0.9 s and 2.2 s, and always data: the second subflow joins",
        24.0,
        rtt_s=0.9,
        bdp=80,
        paths=(ScriptedLink(2.2, 120),),
        without=("bbr", *AGENT),
    ),
    Case(
        "late-joins",
        "Links of 0.9 s and 8 s: an answer to a join's repeated ACK finds BBR's first round trip older than 10 s",
        24.0,
        rtt_s=0.9,
        bdp=80,
        paths=(ScriptedLink(8.0, 120),),
        without=("cubic", "newreno", "westwood", "vegas", "bic", *AGENT),
    ),
    Case(
        "near-second",
        "Three layers over links of 0.9 s and 1.02 s: the SYN that joins is answered before its timer runs out",
        24.0,
        rtt_s=0.9,
        bdp=80,
        writes=live(11, 7, 4),
        paths=(ScriptedLink(1.02, 60),),
        layers=3,
        without=("bbr", *AGENT),
    ),
    Case(
        "three-links",
        "A live source of three layers over links of 0.9 s, 0.3 s and 1.7 s; a segment of each joined subflow is lost",
        24.0,
        rtt_s=0.9,
        bdp=80,
        writes=live(14, 9, 5),
        paths=(ScriptedLink(0.3, 30, drops=((60, 1),)), ScriptedLink(1.7, 100, drops=((40, 1),))),
        layers=3,
        without=("bbr", *AGENT),
    ),
    Case(
        "placed",
        "Our module's scheduler: the lowest layer has the link of 0.9 s, two that of 0.4 s, where a segment is lost",
        24.0,
        rtt_s=0.9,
        bdp=80,
        writes=live(11, 7, 4),
        paths=(ScriptedLink(0.4, 40, drops=((60, 1),)),),
        layers=3,
        places=(0, 1, 1),
        without=("bbr", *AGENT),
    ),
    Case(
        "placed-full",
        "The same scheduler; the layers on the link of 0.4 s are more than it carries, and overflow its queue",
        24.0,
        rtt_s=0.9,
        bdp=80,
        writes=live(9, 19, 9),
        paths=(ScriptedLink(0.4, 40, queue=10),),
        layers=3,
        places=(0, 1, 1),
        without=("bbr", *AGENT),
    ),
    Case(
        "far-links",
        "True time: a live source over links of 200 s and 450 s, each longer than the longest timeout",
        4_000.0,
        rtt_s=200.0,
        bdp=40,
        writes=tuple((round(1.5 + 37.3 * k, 1), 4) for k in range(100)),
        paths=(ScriptedLink(450.0, 40),),
        layers=2,
        stale_timers=MOST_TIMERS,
        without=("bbr", *AGENT),
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


DECISIONS: tuple[ScriptedAction, ...] = (
    ScriptedAction(1.25, 0.0, 20),
    ScriptedAction(2.25, 2.0, 0),
    ScriptedAction(3.25, 2.0, 0),
    ScriptedAction(4.5, 1.0, 40),
    ScriptedAction(6.25, 1.25, 0),
    ScriptedAction(8.25, 0.0, 220),
    ScriptedAction(12.25, 0.5, 0),
    ScriptedAction(16.25, 1.0, 60),
    ScriptedAction(20.25, 0.8, -10),
    ScriptedAction(24.25, 0.0, 240),
    ScriptedAction(32.25, 0.0, 150),
)
"""What the agent of `dstcc`'s own law asks for, the same in each case: a start that doubles, steps, cuts. Its law keeps
windows below twice what it has measured of the path."""


def laws(one: Case) -> dict[str, str]:
    """Those of :data:`LAWS` that a case is recorded of."""
    return {law: name for law, name in LAWS.items() if law not in one.without}


def case(name: str) -> Case:
    """The case of that name; KeyError."""
    return {one.name: one for one in CASES}[name]
