"""100 MB by QUIC over the link of examples/quic/bulk.toml, without guests: 10 Mbit/s, 5 s one way, an unbounded queue.

    python -m experiments.quic_bulk [--size 100000000]

Prints for each stack, congestion control and setting when the last byte came, and how many bytes both ends sent.
"""

from __future__ import annotations

import tempfile

import click

from .quic_profile import Hop, begin, certify, play

RATE_BPS, DELAY_S, LONGEST_S = 10e6, 5.0, 20_000.0
EC = "ec -pkeyopt ec_paramgen_curve:prime256v1"
"""qh3 has no Ed25519."""
KNOBS = "--initial-rtt 10 --idle-timeout 1000 --max-data 400000000"
ROWS = {
    "aioquic, reno": "",
    "aioquic, cubic": "--congestion cubic",
    "aioquic, cubic, a PING each 1.9 s": "--congestion cubic --ping 1.9",
    "aioquic, reno, first window of a round trip": "--window 12500000",
    "qh3, cubic": "--stack qh3",
    "qh3, cubic, a PING each 1.9 s": "--stack qh3 --ping 1.9",
}


@click.command()
@click.option("--size", default=100_000_000, show_default=True)
@click.option("--only", default="", help="Only rows whose names begin so.")
def main(size: int, only: str) -> None:
    """Print the rows."""
    click.echo("stack,last_byte_s,client_bytes,server_bytes")
    for name, knobs in ROWS.items():
        if not name.startswith(only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            certify(folder, EC if "qh3" in knobs else "ed25519")
            begin(folder)
            words = f"{KNOBS} {knobs}".split()
            down, up = ([Hop(RATE_BPS, DELAY_S)] for _ in range(2))
            found = play(["get", "earth", str(size), *words], ["serve", *words], down, up, LONGEST_S)
        client = found["client"]
        done = f"{client['done_s']:.1f}" if client["bytes"] == size else f"{client['bytes']} bytes by then"
        click.echo(f'"{name}",{done},{client["sent_bytes"]},{found["server"]["sent_bytes"]}')


if __name__ == "__main__":
    main()
