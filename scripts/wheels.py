"""A wheel of dstcc in build/wheels, and whether it holds what an installed dstcc needs.

    python scripts/wheels.py [-o FOLDER] [--check FILE.whl]

Builds without network and isolation (setuptools, pybind11 and build are in the development environment), compares the
wheel's files with what setup.cfg lists, and runs a trial from the unpacked wheel. Exit status 1: something is missing,
or there is what does not belong there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = {"dstcc/engine/_engine", "dstcc_svc/_openh264", "dstcc_svc/_vpx"}
"""Compiled modules; those of codecs are left out where their library is missing."""
NEEDED = "dstcc/engine/_engine"
TRIAL = """
import sys
sys.path.insert(0, sys.argv[1])
import dstcc
assert dstcc.__file__.startswith(sys.argv[1]), dstcc.__file__
run = dstcc.emulate(sys.argv[2], settings={"video.loop_to_s": 60}, seeds=1)
assert run.trials.num_rows >= 1
"""


def listed() -> set[str]:
    """The modules and data that setup.cfg names, as a wheel calls them."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    options, data = config["options"], config["options.package_data"]
    places = dict(line.split(" = ") for line in options["package_dir"].split("\n") if line)
    files = set()
    for name in options["packages"].split():
        top, *below = name.split(".")
        folder = ROOT / places[name] if name in places else Path(ROOT, places[top], *below)
        patterns = [one.strip() for one in data.get(name, "").replace("\n", ",").split(",") if one.strip()]
        for pattern in ("*.py", *patterns):
            files |= {f"{name.replace('.', '/')}/{path.relative_to(folder)}" for path in folder.glob(pattern)}
    return files


def wrong(names: set[str]) -> list[str]:
    """What a wheel lacks, and what it has beyond."""
    held = {name for name in names if ".dist-info/" not in name}
    compiled = {name for name in held if name.endswith(".so")}
    stems = {name.partition(".")[0] for name in compiled}
    said = [f"lacks {name}" for name in sorted(listed() - held)]
    said += [f"lacks {NEEDED}"] if NEEDED not in stems else []
    said += [f"has {name}" for name in sorted(held - compiled - listed())]
    return said + [f"has {name}" for name in sorted(stems - EXTENSIONS)]


def check(wheel: Path) -> list[str]:
    """What is wrong with a wheel's files; and a trial from it."""
    with TemporaryDirectory() as scratch, ZipFile(wheel) as archive:
        said = wrong({name for name in archive.namelist() if not name.endswith("/")})
        archive.extractall(scratch)
        scenario = ROOT / "examples" / "iodst" / "table-1.toml"
        ran = subprocess.run([sys.executable, "-c", TRIAL, scratch, str(scenario)], cwd=scratch, check=False)
    return said + (["no trial runs from it"] if ran.returncode else [])


def main() -> int:
    """See the top of the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("--check", type=Path, help="only look at this wheel")
    options = parser.parse_args()
    wheels = [options.check]
    if options.check is None:
        for stale in (ROOT / "build").glob(
            "lib.*"
        ):  # what a build in place left there would go into the wheel
            shutil.rmtree(stale)
        build = [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--wheel",
            "-o",
            str(options.output),
            str(ROOT),
        ]
        subprocess.run(build, check=True)
        wheels = sorted(options.output.glob("*.whl"), key=lambda path: path.stat().st_mtime)[-1:]
    said = [f"{wheel.name}: {one}" for wheel in wheels for one in check(wheel)]
    print("\n".join(said) or f"{wheels[0]}: {wheels[0].stat().st_size / 1e6:.1f} MB, whole")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
