"""Which stock programs get through ``dstcc run``, by how long a round trip takes by their own clocks.

    python -m experiments.program_timeouts 40 20 10 5

The scenario has one link with a round trip of 480 s at 2 Mbit/s, without losses and with 1e-3; the scale gives the
round trips that are asked for, in emulated seconds. Printed is each program's exit code, and the mission time at which
it ended. A program that is not installed is left out; ``--nginx FILE`` is one that was unpacked somewhere.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RTT_S = 480.0
LOSSES = (0.0, 1e-3)
SCENARIO = """
[scenario]
name = "one link"
[video]
synthetic = {chunk_s = 10.0, layer_bps = [100_000]}
loop_to_s = 60
[[link]]
name = "relay"
rate_bps = 2_000_000
delay_s = 240
queue_bytes = 3_000_000
"""
RSYNCD = "use chroot = no\nuid = root\ngid = root\n[doc]\npath = /usr/share/doc/bash\nread only = yes\n"
NGINX = """
daemon off; master_process off; pid /run/earth/pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path /run/earth/body; proxy_temp_path /run/earth/proxy; fastcgi_temp_path /run/earth/fastcgi;
  uwsgi_temp_path /run/earth/uwsgi; scgi_temp_path /run/earth/scgi;
  server { listen 80; root /usr/share/doc/bash; }
}
"""


def programs(folder: Path, nginx: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name → what runs on Earth and on the spacecraft, of those that are installed."""
    (folder / "rsyncd.conf").write_text(RSYNCD)
    (folder / "nginx.conf").write_text(NGINX)
    known = {
        "iperf3": ("iperf3 -s -1", ("iperf3", "-c", "earth", "-t", "50")),
        "rsync": (
            f"rsync --daemon --no-detach --config={folder}/rsyncd.conf",
            ("rsync", "-a", "rsync://earth/doc/", "got"),
        ),
        nginx: (
            f"{nginx} -c {folder}/nginx.conf -p /run/earth",
            ("curl", "-sSO", "http://earth/CHANGES.gz"),
        ),
    }
    return {name: one for name, one in known.items() if shutil.which(name)}


def main() -> int:
    """Print a row for each loss and round trip."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rtts", nargs="+", type=float, metavar="S", help="round trips in emulated seconds")
    parser.add_argument("--nginx", default="nginx", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one.toml").write_text(SCENARIO)
        found = programs(folder, arguments.nginx)
        for loss in LOSSES:
            for rtt_s in arguments.rtts:
                cells = [_ended(folder, *one, rtt_s=rtt_s, loss=loss) for one in found.values()]
                words = zip(map(Path, found), cells, strict=True)
                said = "; ".join(f"{path.name} {cell}" for path, cell in words)
                print(f"loss {loss:g}, round trip {rtt_s:g} s: {said}", flush=True)
    return 0


def _ended(folder: Path, earth: str, craft: tuple[str, ...], *, rtt_s: float, loss: float) -> str:
    options = ["--scale", f"{RTT_S / rtt_s:g}", "--set", f"link.0.loss.packet={loss:g}", "--wall", "1800"]
    command = [sys.executable, "-m", "dstcc_cli", "run", str(folder / "one.toml"), "-o", str(folder / "run")]
    words = [*command, "--force", "--json", *options, "--earth", earth, "--", *craft]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    ended = json.loads(done.stdout)
    return f"exit code {ended['exit_code']} at {ended['ended_s']:,.0f} s"


if __name__ == "__main__":
    sys.exit(main())
