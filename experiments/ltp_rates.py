"""Which code rate of ltp loses fewest matrices: the table of docs/algorithms.md.

    python -m experiments.ltp_rates [--seeds 10] [--first 301] [--only TEXT]

Earth to Moon and Earth to Mars (`examples/ltp/earth-moon.toml`, `earth-mars.toml`) under static shares, ECLSA's delayed
feedback, `auto`, and the learned table that was trained on the scenario's other seeds. Matrices that were not decoded,
repair segments' share of all bytes sent, weighted layers: interquartile means with 95 % bootstrap intervals over seeds.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.report.printed import heading, interval, line

from .played import by_metric, mission, plays

EXAMPLES = Path(__file__).parent.parent / "examples/ltp"
RULES = (
    ("uncoded", "[0]"),
    ("static, 1 in 8", "[0.125, 0.125, 0.125]"),
    ("static, 1 in 4", "[0.25, 0.25, 0.25]"),
    ("static, 1 in 2", "[0.5, 0.5, 0.5]"),
    ("delayed feedback", "delayed-feedback"),
    ("auto", "auto"),
    ("learned", "q-{name}"),
)


def found_of(name: str, repair: str, seeds: tuple[int, int]) -> dict[str, list[float]]:
    """Metrics by name, a value a seed."""
    given = [
        f"run.seed={seeds[0]}",
        f"run.seeds={seeds[1]}",
        f"coding.repair={repair}",
        "variant=[]",
        "expect={}",
    ]
    return by_metric(plays(mission(EXAMPLES / f"{name}.toml", *given)))


@click.command()
@click.option("--seeds", default=10, show_default=True, help="Number of seeds.")
@click.option("--first", default=301, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Rules that have this text.")
def main(seeds: int, first: int, only: str) -> None:
    """Print the tables."""
    for name in ("earth-moon", "earth-mars"):
        heading(name, ("rule", "matrices lost", "decoded", "repair", "sent again", "weighted layers"))
        for rule, repair in RULES:
            if only not in rule:
                continue
            found = found_of(name, repair.format(name=name), (first, seeds))
            coded = "decode_failures" in found
            line(
                rule,
                interval(found["decode_failures"], 1) if coded else "–",
                interval(found["decoded_ratio"], 4) if coded else "–",
                interval(found["repair_ratio"]) if coded else "–",
                interval(found["retransmitted_ratio"], 4),
                interval(found["weighted_layers"], 4),
            )


if __name__ == "__main__":
    main()
