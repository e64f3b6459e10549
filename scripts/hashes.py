"""Write requirements/hashes.txt: the pins of requirements/constraints.txt, and the hashes of their files.

    python -m scripts.hashes        `make hashes` installs uv first; both need the network

The build requirements (setuptools, wheel, pybind11) are among them. torch is not: its build for CPUs comes from
another index than the one for graphics cards, under the same version, with other hashes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"
BUILD = ("setuptools==84.2.1", "wheel==0.48.0")
UNHASHED = ("torch", "atheris", "gcovr", "lxml", "ray", "msgpack")
"""Torch; and what targets of their own install."""
PYTHON = "3.11.7"


def pins() -> list[str]:
    """The requirements that get hashes."""
    lines = (REQUIREMENTS / "constraints.txt").read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    return [*(line for line in named if line.partition("==")[0] not in UNHASHED), *BUILD]


def main() -> int:
    """Ask the index."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        print("hashes: needs uv: pip install uv", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "pins.in"), Path(folder, "hashes.txt")
        given.write_text("\n".join(pins()) + "\n")
        words = ["--no-deps", "--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
        command = [uv, "pip", "compile", str(given), *words, "--python-version", PYTHON, "-o", str(made)]
        subprocess.run(command, check=True)
        heading = (
            "# By `make hashes`: constraints.txt but torch, and the build requirements (scripts/hashes.py).\n"
        )
        (REQUIREMENTS / "hashes.txt").write_text(heading + made.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
