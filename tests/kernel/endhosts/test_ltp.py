"""``examples/ltp``: a block by RFC 5326 as programs on both hosts, which Wireshark decodes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

SCENARIO = Path(__file__).parents[3] / "examples/ltp/ltp.toml"
FIELDS = ("_ws.malformed", "frame.interface_name", "ltp.type", "ltp.session.number")
SEGMENTS = -(-1_000_000 // 1400)


@pytest.mark.kernel
def test_a_block_passes_losses_and_is_decoded(kernel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "o"
    done = CliRunner().invoke(main, ["run", str(SCENARIO), "-o", str(folder), "--pcapng"])
    assert done.exit_code == 0, done.stderr
    sender, receiver = (
        json.loads((folder / f"{host}.log").read_text().splitlines()[-1].split(maxsplit=3)[3])
        for host in ("craft", "earth")
    )
    assert receiver["bytes"] == sender["bytes"] == 1_000_000
    again = sender["data_bytes"] - 1_000_000
    assert 0.01 < again / 1_000_000 < 0.04, "2 % are lost"
    tshark = shutil.which("tshark")
    assert tshark is not None, "apt install tshark"
    # Wireshark's dissector takes every block for a bundle, which is turned off
    words = [tshark, "-r", str(folder / "1-link.pcapng"), "-d", "udp.port==1113,ltp"]
    words += ["--disable-protocol", "bundle", "-T", "fields"]
    words += [word for field in FIELDS for word in ("-e", field)]
    seen = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in seen.stdout.splitlines()]
    assert all(malformed == "" and session == "1" for malformed, _, _, session in rows)
    kinds = Counter(int(kind, 0) for _, host, kind, _ in rows if host.endswith("spacecraft"))
    data = sum(kinds[kind] for kind in (0, 1, 3))
    assert data >= SEGMENTS + again // 1400
    assert kinds[3] >= 1 and kinds[8] >= 2 and kinds[9] >= 1, "checkpoints, reports, their acknowledgements"
    assert data + kinds[9] == sender["sent_segments"]
