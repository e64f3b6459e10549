"""Keys for a guest's shell, where the guest writes to the same folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dstcc_kernel.endhosts.keyboard import END_OF_FILE, Typing
from dstcc_kernel.endhosts.mission import KEYS


def test_a_link_that_the_guest_made_is_not_followed(tmp_path: Path) -> None:
    """Keys are the user's: they reach the guest, and no file of the host that the guest names."""
    (tmp_path / "work").mkdir()
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (tmp_path / "work/part").symlink_to(theirs)
    keys, typist = os.pipe()
    with Typing(tmp_path / "work", keys):
        for number, typed in enumerate((b"ls\r", b"\x03")):
            os.write(typist, typed)
            wait_for(tmp_path / "work" / KEYS.format(number))
            (tmp_path / "work/part").symlink_to(theirs)
        os.close(typist)
        wait_for(tmp_path / "work" / KEYS.format(2))
    os.close(keys)
    read = [(tmp_path / "work" / KEYS.format(number)).read_bytes() for number in range(3)]
    assert read == [b"ls\r", b"\x03", END_OF_FILE]
    assert theirs.read_text() == "theirs"
    assert not any((tmp_path / "work" / KEYS.format(number)).is_symlink() for number in range(3))


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.01)
