"""The netlink family's description by the kernel's own generator: it takes ``dstcc.yaml``, and makes our header."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dstcc_kernel.sources import folder

ARCHIVE = Path("/usr/src/linux-source-6.12.tar.xz")
"""Earlier sources have no generator."""
PARTS = ("tools/net/ynl", "Documentation/netlink/genetlink.yaml")
SPEC = Path("kernel-cc/module/dstcc.yaml")
"""Below a folder with a file MAINTAINERS, as the generator looks for it; its schema lies a folder above."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generator, and the description beside a copy of the kernel's schema."""
    if not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE}: apt install linux-source-6.12")
    tree = tmp_path_factory.mktemp("tree")
    members = [f"{ARCHIVE.name.removesuffix('.tar.xz')}/{part}" for part in PARTS]
    subprocess.run(["tar", "-xf", ARCHIVE, "-C", tree, "--strip-components=1", *members], check=True)
    (tree / SPEC).parent.mkdir(parents=True)
    (tree / SPEC).write_text((folder("module") / SPEC.name).read_text())
    (tree / SPEC.parents[1] / "genetlink.yaml").write_text((tree / PARTS[1]).read_text())
    (tree / "MAINTAINERS").touch()
    if importlib.util.find_spec("jsonschema") is None:  # the schema's check is not the generator's
        (tree / "jsonschema.py").write_text("def validate(document, schema):\n    pass\n")
    return tree


def generate(tree: Path, mode: str, kind: str, name: str) -> Path:
    """One of the generator's files."""
    words = ["--spec", str(SPEC), "--mode", mode, f"--{kind}", "-o", name]
    subprocess.run(
        [sys.executable, str(tree / PARTS[0] / "ynl-gen-c.py"), *words],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        check=True,
        timeout=60,
    )
    return tree / name


@pytest.mark.kernel
def test_the_header_is_what_the_kernels_generator_makes_of_the_description(tree: Path) -> None:
    made = generate(tree, "uapi", "header", "dstcc_netlink.h")
    assert made.read_text() == (folder("module") / "dstcc_netlink.h").read_text()


@pytest.mark.kernel
def test_the_generators_client_and_the_kernels_tables_compile_against_it(tree: Path) -> None:
    header = generate(tree, "uapi", "header", "dstcc_netlink.h")
    generate(tree, "user", "header", "dstcc-user.h")
    client = generate(tree, "user", "source", "dstcc-user.c")
    places = [f"-I{header.parent}", f"-I{tree / PARTS[0] / 'lib'}"]
    subprocess.run(["gcc", "-Wall", "-Werror", "-fsyntax-only", *places, client], check=True)
    for kind, name in (("header", "dstcc_tables.h"), ("source", "dstcc_tables.c")):
        assert "DSTCC_CMD_ACT" in generate(tree, "kernel", kind, name).read_text() or kind == "header"
