"""What MPTCP 6.12's early binding costs: a copy of the virtual-time kernel that binds late, for the grid's streams.

    python -m experiments.late_binding -o DIR
    DSTCC_CACHE=DIR python -m experiments.fidelity -o build/late --grid saturated --loss 0 --links 2

Linux 6.12 sets a subflow's own `tcp_notsent_lowat` to "none" (`mptcp_sockopt_sync_locked` of net/mptcp/sockopt.c), so
that all that a connection holds goes to subflows at once; 6.1 heeds the sysctl there. The copy differs in the four
bytes of that number: 0, which means the sysctl's. DIR becomes a cache of dstcc's with that kernel alone. Needs objdump.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dstcc_kernel import build, source

from dstcc.errors import DstccError, KernelError

FUNCTION = "mptcp_sockopt_sync_locked"
FACTS = "build.json"
LINE = re.compile(r"^\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)", re.MULTILINE)
"""Of objdump: an address, and the bytes of an instruction or of its rest."""
NONE = re.compile(rb"\xc7[\x80-\xbf](?:.{4})(\xff{4})", re.DOTALL)
"""movl $0xffffffff, displacement(register)."""


def late(kernel: Path) -> bytes:
    """The kernel's program, with that number changed."""
    command = ["objdump", "-d", f"--disassemble={FUNCTION}", str(kernel)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    code = bytes.fromhex("".join(match[1] for match in LINE.finditer(listing)))
    program = kernel.read_bytes()
    found = list(NONE.finditer(code))
    if len(found) != 1 or program.count(code) != 1:
        raise KernelError(f"{kernel}: {FUNCTION} does not set a subflow's tcp_notsent_lowat as in Linux 6.12")
    at = program.index(code) + found[0].start(1)
    return program[:at] + bytes(4) + program[at + 4 :]


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    output: Path = parser.parse_args(argv).output
    try:
        with source.using("6.12"):
            kernel = build.kernel()
        if output.exists():
            raise KernelError(f"{output} is there already")
        program = late(kernel)
        copy = output / "kernel" / kernel.parent.name
        left = shutil.ignore_patterns("module-*", kernel.name, FACTS)
        shutil.copytree(kernel.parent, copy, symlinks=True, ignore=left)
        (copy / kernel.name).write_bytes(program)
        (copy / kernel.name).chmod(0o755)
        facts = json.loads((kernel.parent / FACTS).read_text())
        facts["sha256"] = hashlib.sha256(program).hexdigest()
        (copy / FACTS).write_text(json.dumps(facts, indent=2) + "\n")  # last: without it there is no kernel
    except (DstccError, OSError, subprocess.SubprocessError) as error:
        print(f"late_binding: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
