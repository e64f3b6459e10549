"""Bundles over a forwarder that keeps them until its contact plan has a contact, and what Wireshark makes of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from .flights import run

ROOT = Path(__file__).parents[3]
STORE = ROOT / "examples/programs/store.toml"
FIELDS = (
    "_ws.malformed",
    "bpv7.primary.src_uri",
    "bpv7.primary.dst_uri",
    "bpv7.canonical.type_code",
    "bpv7.crc_status",
)


@pytest.mark.kernel
def test_bundles_wait_for_a_contact_and_are_decoded(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orbiter's link to Earth is away from 60 to 360 s, light takes 30 s: a bundle of 0, 30, .. 450 s is there 30 s
    later, or at 390 s; Wireshark finds in each the orbiter as its previous node, and its checksums right."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples/programs/bundles.py", tmp_path)
    done = CliRunner().invoke(main, ["export", str(STORE), "--format", "ionrc", "-o", "store.ionrc"])
    assert done.exit_code == 0, done.stderr
    node = f"{sys.executable} /run/here/bundles.py"
    flown = run(
        tmp_path / "o",
        "--scale 1 --pcapng --wall 600",
        *f"{node} send 1 3 16 30 orbiter".split(),
        scenario=STORE,
        on=(("orbiter", f"{node} forward 2 store.ionrc 3=earth"), ("earth", f"{node} receive 3")),
    )
    assert flown.code == 0, flown.err
    came = [(float(row[0]), int(row[3].split()[2])) for row in flown.log("earth") if "bundle" in row[3]]
    assert [number for _, number in came] == list(range(16))
    for at_s, number in came:
        sent_s = 30 * number
        leaves_s = 360 if 60 <= sent_s < 360 else sent_s
        assert at_s == pytest.approx(leaves_s + 30, abs=0.1), number
    tshark = shutil.which("tshark")
    assert tshark is not None, "apt install tshark"
    words = [tshark, "-r", str(flown.folder / "2-x-band.pcapng"), "-Y", "udp.port == 4556"]
    words += ["-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    seen = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in seen.stdout.splitlines()]
    assert len(rows) == 2 * 16, "each is not seen at both ends"
    for malformed, source, destination, blocks, checksums in rows:
        assert (malformed, source, destination) == ("", "ipn:1.1", "ipn:3.1")
        assert {int(one) for one in blocks.split(",")} == {6, 10, 1}  # previous node, hop count, payload
        assert {*checksums.split(",")} == {"1"}
