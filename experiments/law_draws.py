"""Sealed 03 is one realisation of a law of losses; what transports play over others of it.

    python -m experiments.law_draws [--draws 24] [--first 1024] [--seed 731]

The logarithm of a loss probability is a Gauss-Markov process (of first order, in continuous time): mean, standard
deviation and memory are those of the scenario's own table, at the times of that table; the uplink's stands as far above
as there on average. No probability is above a half. Each draw is that of NumPy's generator of its number, and its
packets are lost by the same seed. On draws 1000 to 1023 rules of `dstcc` were chosen. Printed are means of
`weighted_layers` over draws, and paired differences to `gru-mpc`, with 95 % intervals.
"""

from __future__ import annotations

import click
import numpy as np

from dstcc.errors import DstccError
from dstcc.report.printed import heading, interval, line
from dstcc.stats import paired_difference

from .played import mission
from .rivals import SEALED, Cell, trial

SCENARIO = SEALED / "03-solar-grazing.toml"
TRANSPORTS = ("dstcc", "dstcc, told", "coded, told", "tuned rule, told", "gru-mpc, told")
MOST = 0.5


class Law:
    """Of the logarithm of a table's probabilities."""

    def __init__(self, down: np.ndarray, up: np.ndarray) -> None:
        self.t_s, self.up_t_s = down[:, 0], up[:, 0]
        values = np.log(down[:, 1])
        self.mean, self.deviation = values.mean(), values.std()
        steps = np.diff(self.t_s)
        kept = np.corrcoef(values[:-1], values[1:])[0, 1]
        self.memory_s = -steps.mean() / np.log(kept)
        self.up = (np.log(up[:, 1]) - np.interp(self.up_t_s, self.t_s, values)).mean()

    def draw(self, seed: int) -> tuple[str, str]:
        """The downlink's table and the uplink's, as overrides."""
        random = np.random.default_rng(seed)
        values = [self.mean + self.deviation * random.standard_normal()]
        for step in np.diff(self.t_s):
            kept = np.exp(-step / self.memory_s)
            drawn = self.deviation * np.sqrt(1 - kept**2) * random.standard_normal()
            values.append(self.mean + kept * (values[-1] - self.mean) + drawn)
        up = np.interp(self.up_t_s, self.t_s, values) + self.up
        return _table("loss", self.t_s, np.array(values)), _table("up_loss", self.up_t_s, up)


def _table(key: str, t_s: np.ndarray, values: np.ndarray) -> str:
    rows = zip(t_s, np.minimum(np.exp(values), MOST), strict=True)
    return f"link.0.{key}={{table = [{', '.join(f'[{at:.0f}, {p:.2g}]' for at, p in rows)}]}}"


def law() -> Law:
    """That of the scenario's own tables."""
    link = mission(SCENARIO).link[0].model_dump()
    down, up = (np.array(link[key]["table"]) for key in ("loss", "up_loss"))
    return Law(down, up)


@click.command(help=__doc__.split("\n")[0] if __doc__ else None)
@click.option("--draws", type=click.IntRange(2), default=24, show_default=True)
@click.option("--first", type=click.IntRange(0), default=1024, show_default=True, help="Number of the first.")
@click.option("--seed", type=int, default=731, show_default=True)
def main(draws: int, first: int, seed: int) -> None:
    """Run the trials; see the top of the file."""
    drawn = law()
    weights: dict[str, dict[int, float]] = {transport: {} for transport in TRANSPORTS}
    try:
        for k in range(first, first + draws):
            cell = Cell(f"draw {k}", SCENARIO, drawn.draw(k))
            for transport in TRANSPORTS:
                weights[transport][k] = trial(cell, transport, seed)["weight"]
    except DstccError as error:
        raise click.ClickException(str(error)) from None
    heading(
        f"sealed 03, {draws} draws of its law", ("transport", "`weighted_layers`", "less `gru-mpc`, told")
    )
    for transport, found in weights.items():
        less = paired_difference(found, weights[TRANSPORTS[-1]])
        assert less is not None
        difference = less.mean
        said = f"{difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
        line(transport, interval(list(found.values()), 3), said)


if __name__ == "__main__":
    main()
