"""What finding out a queue further on brings the controller dstcc-lanes: with and without it, on the same seeds.

    python -m experiments.further_on [--seeds 10] [SCENARIO]

Prints interquartile means with 95 % bootstrap intervals over the seeds (SCENARIO's first and up), of a trial with
`dstcc.learn.paths.further_on` and of one whose paths never have such a queue; and the mean difference of their
weighted_layers, paired by seeds. SCENARIO is examples/relays/further-on.toml unless given.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import click

from dstcc.errors import DstccError
from dstcc.learn.paths.measure import Rates
from dstcc.report.printed import heading, interval, line
from dstcc.stats import paired_difference

from .played import mission, plays, values_of

METRICS = {
    "weighted_layers": ("`weighted_layers`", 3),
    "playback_ratio": ("played", 3),
    "retransmitted_ratio": ("sent again", 3),
    "mean_rtt_s": ("mean round trip, s", 0),
}
"""What is printed: a metric's title and its digits."""


@click.command(help=__doc__.split("\n")[0] if __doc__ else None)
@click.argument("scenario", type=click.Path(path_type=Path), default=Path("examples/relays/further-on.toml"))
@click.option("--seeds", type=click.IntRange(2), default=10, show_default=True)
def main(scenario: Path, seeds: int) -> None:
    """Run the trials; see the top of the file."""
    overrides = ('transport.controller="dstcc-lanes"', f"run.seeds={seeds}")
    try:
        loaded = mission(scenario, *overrides)
        found = plays(loaded, jobs=None, steered=True)
        with mock.patch.object(Rates, "LOOKS_FURTHER_ON", False):
            blind = plays(loaded, jobs=None, steered=True)
    except DstccError as error:
        raise click.ClickException(str(error)) from None
    heading(
        f"{loaded.scenario.name}, {seeds} seeds", ("`dstcc-lanes`", *(title for title, _ in METRICS.values()))
    )
    for name, trials in (("finds it out", found), ("by losses only", blind)):
        cells = (interval(values_of(trials, metric), digits) for metric, (_, digits) in METRICS.items())
        line(name, *cells)
    by_seed = [
        {one.key.seed: value for one, value in zip(trials, values_of(trials, "weighted_layers"), strict=True)}
        for trials in (found, blind)
    ]
    gain = paired_difference(*by_seed)
    assert gain is not None
    print(f"\npaired: {gain.mean.value:+.3f} [{gain.mean.low:+.3f}, {gain.mean.high:+.3f}]")


if __name__ == "__main__":
    main()
