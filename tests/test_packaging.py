"""What an installed dstcc holds; the source tree itself hides what a wheel would lack."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_PACKAGED = {".py", ".pyc", ".so", ".cpp", ".hpp"}
"""Packaged as modules and extensions, or not needed once these are built."""

DATA_ONLY = "dstcc_kernel.sources."
"""Folders of C files that lie beside the package which reads them."""


def table(section: str) -> dict[str, str]:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    return dict(config[section])


def folders() -> dict[str, Path]:
    """Every listed package and its folder."""
    options = table("options")
    places = dict(line.split(" = ") for line in options["package_dir"].split("\n") if line)
    packages = {}
    for name in options["packages"].split():
        top, *below = name.split(".")
        packages[name] = ROOT / places[name] if name in places else Path(ROOT, places[top], *below)
    return packages


def test_every_folder_of_modules_is_a_listed_package() -> None:
    packages = folders()
    tops = [folder for name, folder in packages.items() if "." not in name]
    with_modules = {folder for name, folder in packages.items() if not name.startswith(DATA_ONLY)}
    assert with_modules == {module.parent for top in tops for module in top.rglob("*.py")}


def test_every_file_beside_the_modules_is_package_data() -> None:
    packages, data = folders(), table("options.package_data")
    packaged = {
        path
        for name, patterns in data.items()
        for pattern in patterns.split(",")
        for path in packages[name].glob(pattern.strip())
    }
    present = {path for folder in packages.values() for path in folder.rglob("*") if path.is_file()}
    whole = [folder for name, folder in packages.items() if name.startswith(DATA_ONLY)]
    needed = {path for path in present if path.suffix not in NOT_PACKAGED or path.parent in whole}
    assert needed == packaged
