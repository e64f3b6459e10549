"""How many instructions does the engine spend on a packet? They do not mind a loaded machine, as times do.

    python scripts/instructions.py [--functions N] [NAME]...

NAME is one of flow, transfer, open-loop, bbr-scaled, lanes-cubic, coded, coded-bbr and coded-cubic.

`flow` is a file over one link by CUBIC, `transfer` the same over two links, the others two and eight hours of
the day that fills two Mars links (`make bench ONLY=mission_day_s`), `coded`, `coded-bbr` and `coded-cubic` two or eight
hours of it with layers coded over packets, `lanes-cubic` the last without (`make bench ONLY=coded_cost`). Counts what
runs in the trial's loop, not its setting up, with valgrind's callgrind, which `make setup` does not install.
--functions names the N functions that spend most themselves, with what the compiler put into them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFIGS = {
    "flow": "Bulk(subflows=1, packets=200_000).config()",
    "transfer": "Bulk(packets=200_000).config()",
    "open-loop": "day_config('open-loop', 7_200)",
    "bbr-scaled": "day_config('bbr-scaled', 28_800)",
    "coded": "coded_config('open-loop', 7_200)",
    "coded-cubic": "coded_config('cubic', 28_800)",
    "lanes-cubic": "day_config('cubic', 28_800)",
    "coded-bbr": "coded_config('bbr-scaled', 7_200)",
}
RUN = """
from bench.coded import coded_config
from bench.missions import day_config
from bench.nets import Bulk
from dstcc.engine import simulate

print(int(simulate({}).totals.data_packets))
"""


def instructions(config: str) -> tuple[int, int, Counter[str]]:
    """Run one trial under callgrind; its instructions, its packets, and what each function spent itself."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            "--toggle-collect=dstcc::Trial<*::run_until*",
            f"--callgrind-out-file={folder}/out",
            sys.executable,
            "-c",
            RUN.format(CONFIGS[config]),
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        listing = subprocess.run(
            ["callgrind_annotate", "--auto=no", f"{folder}/out"], capture_output=True, text=True, check=True
        ).stdout
    functions: Counter[str] = (
        Counter()
    )  # a build with debugging symbols has a row per file that was put into one
    for spent, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  [^:\n]*:(.*?)(?: \[.*)?$", listing, re.M):
        functions[name.replace("(anonymous namespace)::", "").partition("(")[0]] += int(
            spent.replace(",", "")
        )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected is not None
    return int(collected[1]), int(done.stdout), functions


def main() -> int:
    """Print a line for each configuration."""
    parser = argparse.ArgumentParser(description="Count the engine's instructions a packet.")
    parser.add_argument(
        "configs", nargs="*", metavar="NAME", help=f"of {', '.join(CONFIGS)}; all without one"
    )
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="name the N costliest")
    options = parser.parse_args()
    names = options.configs or list(CONFIGS)
    if unknown := [name for name in names if name not in CONFIGS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(CONFIGS)}")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    for name in names:
        spent, packets, functions = instructions(name)
        print(f"{name:<12}{spent / packets:8,.0f} instructions a packet, of {packets:,}", flush=True)
        for function, own in functions.most_common(options.functions):
            print(f"{own / packets:20,.0f} {function}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
