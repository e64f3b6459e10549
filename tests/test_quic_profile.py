"""The ends of examples/quic over experiments' links, without guests; CUBIC's in `make test-slow`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dstcc.run.asked import read
from experiments.quic_profile import Hop, play, run

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server leaves its certificate."""
    monkeypatch.chdir(tmp_path)


def page(*knobs: str, size: int = 4_000_000) -> dict[str, float]:
    """A page at 600 s one way and 10 Mbit/s, as examples/quic/page.toml: what the client says."""
    pytest.importorskip(knobs[knobs.index("--stack") + 1])
    ways = [Hop(1e7, 600.0, 8e6)], [Hop(1e7, 600.0, 8e6)]
    common = ("--initial-rtt", "1200", "--idle-timeout", "144000", "--max-data", "8000000", *knobs)
    said: dict[str, float] = play(["get", "earth", str(size), *common], ["serve", *common], *ways)["client"]
    return said


def test_a_hop_holds_sends_and_waits_for_the_end_of_a_break() -> None:
    hop = Hop(8_000.0, 5.0, 3_000, ((1.5, 10.0),))
    # 1,000 bytes take a second; the second would be in service when the break begins
    assert hop.pass_on(0.0, 1_000) == 6.0
    assert hop.pass_on(0.0, 1_000) == 16.0
    assert hop.pass_on(0.0, 1_000) == 17.0
    assert hop.pass_on(0.0, 1_000) is None
    assert hop.dropped == 1


def test_the_relay_takes_what_a_guest_takes() -> None:
    pytest.importorskip("aioquic")
    found = run(read(ROOT / "examples/quic/relay.toml", []))
    # `dstcc run examples/quic/relay.toml` prints 25800.029 and 35401.280 s, 273 datagrams sent and 270 received
    assert found["client"]["first_byte_s"] == pytest.approx(25_800.029, abs=0.01)
    assert found["client"]["done_s"] == pytest.approx(35_401.280, abs=0.01)
    assert (found["client"]["sent_datagrams"], found["client"]["received_datagrams"]) == (273, 270)


def test_a_first_window_that_allows_it_brings_a_page_in_two_round_trips() -> None:
    said = page("--stack", "aioquic", "--window", "500000000")
    # request in at 1,800 s after a handshake of 1,200; 4 MB take 3.3 s of the link, and aioquic's spacing 10 s
    assert said["first_byte_s"] == pytest.approx(2_400, abs=0.1)
    assert 2_403 < said["done_s"] < 2_412


@pytest.mark.slow
def test_cubic_of_qh3_and_aioquic_begins_anew_after_two_seconds_without_an_ack() -> None:
    idle = page("--stack", "qh3", size=60_000)["done_s"]
    # 13 packets of 1,216 bytes of data a round trip: four round trips for 50 of them
    assert idle > 2_400 + 3 * 1_200
    awake, asleep = (page("--stack", "qh3", "--ping", ping, size=200_000)["done_s"] for ping in ("1.9", "3"))
    assert awake < asleep / 2
