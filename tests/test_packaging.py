"""What an installed dstcc holds; the source tree itself hides what a wheel would lack."""

from __future__ import annotations

import re
import runpy
import sysconfig
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import setuptools
import setuptools.command.build_ext
from dstcc_kernel.native import strictness
from pybind11.setup_helpers import ParallelCompile

from scripts.hashes import UNHASHED
from scripts.wheels import NEEDED, listed, wrong

ROOT = Path(__file__).parents[1]
NOT_PACKAGED = {".py", ".pyc", ".so", ".cpp", ".hpp"}
"""Packaged as modules and extensions, or not needed once these are built."""

NOT_INSTALLED = {ROOT / "dstcc/engine/_testing.pyi"}
"""Beside an extension that is built in place only."""

DATA_ONLY = ("dstcc_kernel.sources.", "dstcc.examples.")
"""Folders without modules of ours that lie beside the package which reads them."""


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
        if path.is_file()
    }
    present = {path for folder in packages.values() for path in folder.rglob("*") if path.is_file()}
    whole = [folder for name, folder in packages.items() if name.startswith(DATA_ONLY)]
    needed = {path for path in present if path.suffix not in NOT_PACKAGED or path.parent in whole}
    assert needed - NOT_INSTALLED == packaged


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch):
    """What each extension is compiled with on a platform."""

    def flags(platform: str) -> list[list[str]]:
        made: list[setuptools.Extension] = []
        with monkeypatch.context() as patched:
            patched.setattr(sysconfig, "get_platform", lambda: platform)
            patched.setattr(setuptools, "setup", lambda *, ext_modules, **_: made.extend(ext_modules))
            patched.setattr(ParallelCompile, "install", lambda _self: None)
            patched.chdir(ROOT)
            runpy.run_path("setup.py")
        assert "dstcc.engine._engine" in [one.name for one in made]
        return [one.extra_compile_args for one in made]

    return flags


def test_a_processor_is_named_on_its_own_kind_of_machine_only(compiled) -> None:
    assert all("-march=x86-64-v2" in flags for flags in compiled("linux-x86_64"))
    assert not any(word.startswith("-m") for flags in compiled("linux-aarch64") for word in flags)
    # a*b+c is one rounding on arm64 unless that is forbidden: another result
    assert all("-ffp-contract=off" in flags for flags in compiled("linux-aarch64"))


def test_warnings_are_errors_in_our_builds_and_not_in_a_users(
    compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DSTCC_WERROR", raising=False)
    assert not any("-Werror" in flags for flags in compiled("linux-x86_64"))
    assert strictness() == ()
    monkeypatch.setenv("DSTCC_WERROR", "1")
    assert all("-Werror" in flags for flags in compiled("linux-x86_64"))
    assert strictness() == ("-Werror",)
    assert re.search(r"^export DSTCC_WERROR := 1$", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_what_only_tests_use_is_built_in_place_and_in_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    built: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(setuptools, "setup", lambda **words: made.update(words))
        patched.setattr(ParallelCompile, "install", lambda _self: None)
        patched.chdir(ROOT)
        runpy.run_path("setup.py")
        build = made["cmdclass"]["build_ext"]
        patched.setattr(
            setuptools.command.build_ext.build_ext,
            "run",
            lambda self: built.extend(one.name for one in self.extensions),
        )
        for in_place in (False, True):
            built.clear()
            command = build(setuptools.Distribution({"ext_modules": made["ext_modules"]}))
            command.inplace, command.extensions = in_place, list(made["ext_modules"])
            command.run()
            assert ("dstcc.engine._testing" in built) == in_place
            assert "dstcc.engine._engine" in built


def test_a_wheel_is_held_to_what_is_listed() -> None:
    engine = f"{NEEDED}.cpython-311-x86_64-linux-gnu.so"
    whole = listed() | {engine, "dstcc-0.1.0.dist-info/RECORD"}
    assert {"dstcc/report/templates/report.css", "dstcc/api.py", "dstcc_svc/play.py"} <= listed()
    assert wrong(whole) == []
    assert wrong(whole - {engine}) == [f"lacks {NEEDED}"]
    assert wrong(whole - {"dstcc/api.py"}) == ["lacks dstcc/api.py"]
    stray = {"tests/test_docs.py", "dstcc/engine/_testing.cpython-311-x86_64-linux-gnu.so"}
    assert wrong(whole | stray) == ["has tests/test_docs.py", "has dstcc/engine/_testing"]


def test_the_release_is_the_same_everywhere() -> None:
    from dstcc.version import __version__

    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.search(r"^date-released: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changes = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert changes[0] == ("Unreleased", "")
    assert cited is not None and released is not None
    assert changes[1] == (__version__, released[1]) and cited[1] == __version__


def pinned(name: str) -> dict[str, str]:
    """Package → version of a file of requirements."""
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    pins = (line.split(" ")[0].split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {package.lower().replace("_", "-").replace(".", "-"): version for package, version in pins}


def test_every_pin_has_its_hashes() -> None:
    """All but torch, whose files differ between indexes, and what `make setup` does not install; `make hashes` writes
    them after a change of a pin."""
    hashed, given = pinned("hashes.txt"), pinned("constraints.txt")
    wanted = {package: version for package, version in given.items() if package not in UNHASHED}
    assert {package: hashed.get(package) for package in wanted} == wanted
    assert set(hashed) - set(given) == {"setuptools", "wheel"}
    blocks = (ROOT / "requirements" / "hashes.txt").read_text().split("==")[1:]
    assert all("--hash=sha256:" in block for block in blocks)
