"""Draw recorded trajectories and the simulator's over one another: ``python -m experiments.trajectories.figures``.

A case is an SVG of a panel per control: the kernel's window a broad pale line, the simulator's a thin dark one, the
kernel's threshold dashed. The same files give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dstcc.atomic import atomic_write

from .cases import CASES, DECISIONS, LAWS
from .states import INFINITE, Case, Recorded, at, by_lane, grid, read_file, share_together

WIDTH, HEIGHT, COLUMNS = 300, 130, 3
LEFT, TOP, RIGHT, BOTTOM = 38, 20, 8, 18
Point = tuple[float, float]


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.trajectories.figures", description="Draw trajectories."
    )
    parser.add_argument("--recorded", type=Path, default=Path("tests/engine/trajectories"), help="folder")
    parser.add_argument("-o", "--out", type=Path, default=Path("docs/trajectories"), help="folder")
    parser.add_argument("--table", action="store_true", help="print the share of steps together instead")
    arguments = parser.parse_args(words)
    if arguments.table:
        print(table(arguments.recorded))
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        recorded = arguments.recorded / f"{case.name}.txt"
        if recorded.exists():
            atomic_write(
                arguments.out / f"{case.name}.svg", drawing(case, read_file(recorded.read_text())).encode()
            )
    return 0


def table(recorded: Path) -> str:
    """The share of steps, in per cent, that simulator and kernel take together, as Markdown: a row a case."""
    lines = [f"| case | {' | '.join(LAWS)} |", f"|---|{'---|' * len(LAWS)}"]
    for case in (case for case in CASES if (recorded / f"{case.name}.txt").exists()):
        kernel = read_file((recorded / f"{case.name}.txt").read_text())
        shares = [
            f"{100 * share_together(kernel[law].rows, kernel[law].simulated(case, law, DECISIONS)):.0f}"
            if law in kernel
            else "–"
            for law in LAWS
        ]
        lines.append(f"| `{case.name}` | {' | '.join(shares)} |")
    return "\n".join(lines)


def drawing(case: Case, recorded: dict[str, Recorded]) -> str:
    """The SVG of a case."""
    rows = -(-len(recorded) // COLUMNS)
    width, height = COLUMNS * WIDTH, rows * HEIGHT
    panels = [
        f'<g transform="translate({k % COLUMNS * WIDTH} {k // COLUMNS * HEIGHT})">{_panel(case, law, kernel)}</g>'
        for k, (law, kernel) in enumerate(recorded.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10">'
        f'<title>{case.what}</title><rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _panel(case: Case, law: str, recorded: Recorded) -> str:
    kernel = by_lane(recorded.rows)[0]  # of several lanes the first
    mine = by_lane(recorded.simulated(case, law, DECISIONS))[0]
    times = [row.t_ns for row in mine]
    theirs = [(row.t_ns / 1e9, row.cwnd) for row in kernel]
    ours = [(t / 1e9, at(mine, times, t).cwnd) for t in grid(case)]
    threshold = [(row.t_ns / 1e9, row.ssthresh) for row in kernel if row.ssthresh < INFINITE]
    top = 1.08 * max(cwnd for _, cwnd in (*theirs, *ours))

    def place(point: Point) -> Point:
        x = LEFT + point[0] / case.end_s * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - min(point[1], top) / top * (HEIGHT - TOP - BOTTOM)

    base = HEIGHT - BOTTOM
    return "".join(
        (
            f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="#999"/>',
            f'<text x="{LEFT}" y="{TOP - 6}" font-weight="bold">{law}</text>',
            f'<text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{top / 1.08:.0f}</text>',
            f'<text x="{LEFT - 4}" y="{base}" text-anchor="end">0</text>',
            f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end">{case.end_s:g} s</text>',
            _line(threshold, place, "#bbb", 1, ' stroke-dasharray="3 2"'),
            _line(theirs, place, "#f2a65a", 4, ""),
            _line(ours, place, "#1b3a5c", 1.2, ""),
        )
    )


def _line(
    points: Sequence[Point], place: Callable[[Point], Point], colour: str, width: float, more: str
) -> str:
    if not points:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, points))
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{more}/>'


if __name__ == "__main__":
    sys.exit(main())
