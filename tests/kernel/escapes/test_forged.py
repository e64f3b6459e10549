"""What a guest leaves, forged by a module in its kernel when all has been written, as the machine is switched off: the
host's readers name file and rule, or leave it out, and nothing of this machine gets into the run."""

from __future__ import annotations

import json
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from dstcc_kernel.capture import BLOCK
from dstcc_kernel.endhosts.planning import SAMPLES_MB
from dstcc_kernel.endhosts.sampling import HEAD, TCP

from scripts.fuzzing import guests
from tests.kernel.endhosts.flights import Flight, run

from .undefended import without

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]
HERE = Path(__file__).parent
MAKES_NO_PIPES = ("seccomp", "Landlock")
"""Each of these keeps pipes and links out of the run's folder."""


@dataclass(frozen=True)
class Forgery:
    """What is put where, and what is said of it."""

    place: str
    put: str
    said: str
    content: bytes = b""
    length: int = 0
    options: str = ""


def header(it: Forgery) -> str:
    """``forged.h``."""
    content = ", ".join(map(str, it.content or b"\0"))
    return (
        f'#define PLACE "{it.place}"\n#define PUT put_{it.put}\n#define LENGTH {it.length}\n'
        f"static const unsigned char BYTES[] = {{ {content} }};\n"
    )


def flown(it: Forgery, folder: Path) -> Flight:
    """A run of a program that ends well, with the module."""
    module = folder / "module"
    module.mkdir()
    for name in ("host_calls.h", "dstcc_forge.c"):
        shutil.copy(HERE / name, module)
    (module / "forged.h").write_text(header(it))
    return run(
        folder / "o", f"--module {module} --congestion cubic {it.options}", "sh", "-c", "echo ran; touch mine"
    )


NOTHING = HEAD.pack(10**9, 0, TCP, 0, 16) + bytes(16)
RING = struct.pack("=5I", 1, 0, 1, 1 << 31, 48).ljust(BLOCK, b"\0")
REFUSED = {
    "a message of no bytes": Forgery(
        "out/samples.bin", "file", "samples.bin: a message of 0 bytes where 16 are left", NOTHING
    ),
    "a block of 2^31 packets": Forgery(
        "out/up0.ring", "file", "up0.ring: a block of 2147483648 packets", RING, options="--pcapng"
    ),
    "records without end, of which the disk has nothing": Forgery(
        "out/samples.bin", "hole", "samples.bin: has more than", length=(SAMPLES_MB << 20) + 1
    ),
    "a folder in the place of records": Forgery(
        "out/samples.bin", "folder", "samples.bin: cannot be read: is a folder"
    ),
    "an end that is none": Forgery(
        "said/ended", "file", "ended: must be an exit code and seconds", b"0 1e400"
    ),
    "an outcome with a terminal's commands": Forgery(
        "out/outcome.json",
        "file",
        "outcome.json: congestion: ",
        json.dumps(guests.OUTCOME | {"congestion": "\x1b[2J"}).encode(),
    ),
    "an error with a terminal's commands": Forgery(
        "out/error.txt", "file", "dstcc: \\x1b[2Jall is well\n", b"\x1b[2Jall is well"
    ),
    "what the program printed, without end": Forgery(
        "out/stdout", "hole", "stdout: what CMD prints cannot be read: has more than", length=300 << 20
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_forgery_ends_the_run_with_its_name_and_the_rule(what: str, tmp_path: Path) -> None:
    it = REFUSED[what]
    found = flown(it, tmp_path)
    assert found.code == 1
    assert it.said in found.err and "\x1b" not in found.err and "Traceback" not in found.err
    assert not found.folder.exists()


def test_lines_that_no_program_printed_are_left_out_and_counted(tmp_path: Path) -> None:
    forged = b"1.0 1 out \x1b[2Jforged\n1.0 1 out ran\nforged\n"
    found = flown(Forgery("out/craft.log", "file", "", forged), tmp_path)
    assert (found.code, found.text()) == (0, "ran")
    assert "craft.log: 2 lines are left out, which no program printed" in found.err


@pytest.mark.parametrize("put", ["pipe", "link"])
@pytest.mark.parametrize("place", ["out/samples.bin", "out/craft.log", "out/craft/secret", "out/stdout"])
def test_pipes_and_links_are_made_by_none_and_read_by_none(put: str, place: str, tmp_path: Path) -> None:
    """Where the guest's kernel may make them, after all, they are neither waited for nor followed."""
    for lacking in ((), MAKES_NO_PIPES):
        folder = tmp_path / str(len(lacking))
        folder.mkdir()
        with without(lacking, folder / "build"):
            found = flown(Forgery(place, put, ""), folder)
        if lacking and place == "out/stdout":
            assert found.code == 1 and "stdout: what CMD prints cannot be read: " in found.err
            continue
        assert found.code == 0, found.err
        files = [path for path in found.folder.rglob("*") if not path.is_dir()]
        assert all(path.is_file() and not path.is_symlink() for path in files)
        assert not any(b"root:" in path.read_bytes() for path in files if path.name != "run.json")
        assert (found.folder / "craft/mine").exists()
