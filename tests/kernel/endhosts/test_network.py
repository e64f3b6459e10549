"""Programs on the nodes of a network: what waits for its link, over IPv4 and IPv6, and what a run says of it.

`make test` has names and a spoilt link; `make test-kernel` has all.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import dpkt
import pytest

from .flights import Flight, python, run

pytestmark = pytest.mark.usefixtures("kernel")
STORE = Path(__file__).parents[3] / "examples/programs/store.toml"
PINGS = 400
LIGHT_S, UHF_S, UHF_BPS, X_BPS = 60.0, 0.01, 2e6, 1e6
BEGIN_S = 1_767_225_600
"""The guest's clock at mission time 0."""
AWAY_S = (60.0, 360.0)
"""Of store.toml."""


def sent_s(capture: Path) -> list[float]:
    """When each ping left the rover, in mission time."""
    found: dict[int, float] = {}
    with capture.open("rb") as file:
        for t_s, packet in dpkt.pcapng.Reader(file):
            at, request = (40, 128) if packet[0] >> 4 == 6 else (20, 8)
            if packet[at] == request:
                found.setdefault(int.from_bytes(packet[at + 6 : at + 8], "big"), t_s - BEGIN_S)
    return [t_s for _, t_s in sorted(found.items())]


def expected_s(ip_bytes: int, sent: list[float]) -> list[float]:
    """Round trips, by hand: a ping comes to the orbiter after its time on the first link, waits there while the second
    is away, and behind those that wait with it; nothing meets its answer."""
    uhf_s, x_s = 8 * ip_bytes / UHF_BPS, 8 * ip_bytes / X_BPS
    free_s, found = 0.0, []
    for at_s in sent:
        comes_s = at_s + uhf_s + UHF_S
        starts_s = max(comes_s, free_s)
        if AWAY_S[0] - x_s < starts_s < AWAY_S[1]:
            starts_s = AWAY_S[1]
        free_s = starts_s + x_s
        found.append(free_s - at_s + (LIGHT_S - UHF_S) + x_s + uhf_s)
    return found


@pytest.mark.kernel
@pytest.mark.parametrize(("option", "ip_bytes"), [("-4", 84), ("-6", 104)])
def test_a_forwarder_stores_what_its_link_cannot_take(option: str, ip_bytes: int, tmp_path: Path) -> None:
    """The published test (deepspaceip, IP storage and link interruption): 400 pings a second apart, 60 s of round trip,
    the forwarder's link away for 5 minutes. There 0 were lost, round trips took 60.004 to 360.184 s, 170.727 s on
    average, and the pings 407.896 s, so one each 1.0223 s.

    The average there: of pings 1.0223 s apart 294 meet the outage, and wait 300.18 - 1.0223 k seconds, 44,222 s in
    all, so that 400 take 60.0 + 44,222 / 400 = 170.56 s.
    """
    flown = run(
        tmp_path / "o",
        "--scale 1 --pcapng",
        "ping",
        option,
        "-q",
        "-c",
        str(PINGS),
        "-W",
        "1000",
        "earth",
        scenario=STORE,
    )
    assert flown.code == 0, flown.err
    counts = re.search(r"(\d+) packets transmitted, (\d+) received.* time (\d+)ms", flown.out)
    times = re.search(r"min/avg/max/mdev = ([0-9.]+)/([0-9.]+)/([0-9.]+)/", flown.out)
    assert counts is not None
    assert times is not None
    assert (counts[1], counts[2]) == (str(PINGS), str(PINGS))
    # ping's pause is a second and what its poll adds: the capture tells
    meant = expected_s(ip_bytes, sent_s(flown.folder / "1-uhf.pcapng"))
    assert len(meant) == PINGS
    least, mean, greatest = (float(ms) / 1e3 for ms in times.groups())
    assert least == pytest.approx(min(meant), abs=0.01)
    assert greatest == pytest.approx(max(meant), abs=0.01)
    assert mean == pytest.approx(sum(meant) / PINGS, abs=1)
    assert mean == pytest.approx(170.727, abs=2)
    _check_tables(flown, ip_bytes)


def _check_tables(flown: Flight, ip_bytes: int) -> None:
    """Of the orbiter's store and the links: 300 s of pings waited, all went on, none was dropped."""
    held = [row for row in flown.table("nodes") if row["node"] == "orbiter"]
    most = max(row["held_packets"] for row in held)
    assert 280 <= most <= 300
    assert max(row["held_bytes"] for row in held) == most * ip_bytes
    assert held[-1] == {**held[-1], "held_packets": 0, "dropped_packets": 0, "lost_in_restarts_packets": 0}
    last = {(row["link"], row["way"]): row for row in flown.table("links")}
    for key in (("uhf", "down"), ("uhf", "up"), ("x-band", "down"), ("x-band", "up")):
        assert (last[key]["delivered_packets"], last[key]["lost_packets"]) == (PINGS, 0)
        assert last[key]["delivered_bytes"] == PINGS * ip_bytes


def test_each_node_has_its_names_terminals_and_files(tmp_path: Path) -> None:
    code = (
        "import os, socket\n"
        "for name in 'rover orbiter earth earth-1 earth-uhf-x-band rover-1 localhost'.split():\n"
        "    print(name, *sorted({a[4][0] for a in socket.getaddrinfo(name, 1)}))\n"
        "print('first', socket.getaddrinfo('earth', 1)[0][4][0])\n"
        "for name in sorted(os.environ):\n"
        "    if name.startswith('DSTCC_'): print(name, os.environ[name])\n"
        "open('mine', 'w').write(socket.gethostname())\n"
    )
    flown = run(
        tmp_path / "o",
        "--on orbiter 'script -qc tty /dev/null' --on earth hostname",
        *python(code),
        scenario=STORE,
    )
    assert flown.code == 0, flown.err
    said = dict(line.split(" ", 1) for line in flown.out.splitlines())
    assert said["rover"] == "10.0.0.1 fd00::1"
    assert said["orbiter"] == "10.0.0.2 fd00::2"
    assert said["earth"] == "10.0.0.3 fd00::3"
    assert said["earth-1"] == said["earth-uhf-x-band"] == "10.1.0.2 fd00:0:0:1::2"
    assert said["rover-1"] == "10.1.0.1 fd00:0:0:1::1"
    assert said["localhost"] == "127.0.0.1 ::1"
    assert said["first"] == said["DSTCC_EARTH"] == "10.0.0.3"
    assert (said["DSTCC_HOST"], said["DSTCC_NODES"], said["DSTCC_NODE_2"]) == ("rover", "3", "orbiter")
    assert flown.text("orbiter") == "/dev/pts/0"
    assert flown.text("earth") == "earth"
    assert (flown.folder / "rover/mine").read_text() == "rover"
    assert [program["host"] for program in flown.meta["programs"]] == ["rover", "orbiter", "earth"]
    assert flown.meta["paths"][0]["via"] == ["uhf", "x-band"]


@pytest.mark.kernel
@pytest.mark.parametrize("rule", ["drop-tail", "drop-head"])
def test_a_full_store_drops_by_its_rule(rule: str, tmp_path: Path) -> None:
    """300 datagrams of 1,028 bytes come while the link is away to a store for 100,000 bytes: 97 stay, the first or
    the last ones; the rest is dropped at the node. The uplink's queue has room for all."""
    listen = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 9))\n"
        "while True: print(int(s.recv(2000)[:4]))"
    )
    code = (
        "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in range(300):\n    s.sendto(b'%04d' % n + bytes(996), ('earth', 9))\n    time.sleep(0.01)\n"
        "time.sleep(200)"
    )
    sets = (
        f"--scale 1 --set node.1.storage_bytes=100000 --set node.1.when_full={rule} "
        "--set link.1.outages=[[0,100]]"
    )
    flown = run(
        tmp_path / "o",
        sets,
        *python(code),
        scenario=STORE,
        on=(("earth", shlex.join(python(listen))),),
    )
    assert flown.code == 0, flown.err
    came = [int(row[3]) for row in flown.log("earth")]
    assert came == list(range(97)) if rule == "drop-tail" else came == list(range(203, 300))
    held = [row for row in flown.table("nodes") if row["node"] == "orbiter"]
    assert max(row["held_bytes"] for row in held) == 97 * 1028
    assert held[-1]["dropped_packets"] == 203


HOSTILE = """
import socket, subprocess, sys, time
def ip(*words): subprocess.run(["ip", "link", *words], check=True)
time.sleep(3)
what = sys.argv[1]
if what == "down":
    ip("set", "link2", "down"); time.sleep(5); ip("set", "link2", "up")
elif what == "del":
    ip("del", "link2")
else:
    ip("set", "link2", "mtu", "9000")
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind(("link2", 0x0800))
    frame = bytes(12) + bytes([8, 0, 0x45, 0, 0, 1]) + bytes(5) + bytes([17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 3])
    for size in range(1400, 1560) if what == "long" else [1014] * 500:
        try: raw.send(frame + bytes(size - len(frame)))
        except OSError: pass
time.sleep(30)
"""  # fmt: skip
"""What a program may do to its own end of a link, whose root it is: to take it down or away, and to send frames longer
than the links take, or such as say that they have one byte."""


@pytest.mark.parametrize(
    ("what", "options"),
    [
        pytest.param(
            what, options, marks=() if (what, options) == ("del", "--pcapng") else pytest.mark.kernel
        )
        for what in ("down", "del", "long", "lies")
        for options in ("", "--pcapng")
    ],
)
def test_who_spoils_its_own_links_ends_nobody_elses_run(what: str, options: str, tmp_path: Path) -> None:
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE)
    on = f"--on orbiter 'python3 {script} {what}'"
    flown = run(
        tmp_path / "o", f"--scale 1 {options} {on}", "ping", "-q", "-c", "20", "-W", "100", "earth", scenario=STORE
    )  # fmt: skip
    assert flown.code in (0, 1)
    received = re.search(r"20 packets transmitted, (\d+) received", flown.out)
    assert received is not None, flown.err
    assert int(received[1]) < 20 if what in ("down", "del") else int(received[1]) == 20
    assert flown.meta["problem"] is None
    if what == "lies":  # a second of line each 125 of 1,000 bytes, whatever they say
        last = [row for row in flown.table("links") if (row["link"], row["way"]) == ("x-band", "down")][-1]
        assert last["delivered_bytes"] >= 500 * 1000
    if what == "long":
        last = [row for row in flown.table("links") if (row["link"], row["way"]) == ("x-band", "down")][-1]
        assert last["lost_packets"] > 0


@pytest.mark.parametrize("name", ["Lib", "links", "stdout", "keys-7", "part", "waits", "running", "here"])
def test_a_node_is_not_called_as_a_file_of_the_run(name: str, tmp_path: Path) -> None:
    """A host's folder has its name: where something else lies already nothing would be kept."""
    sets = f"--set node.1.name={name} --set link.0.to={name} --set link.1.from={name}"
    flown = run(tmp_path / "o", sets, "true", scenario=STORE)
    assert flown.code == 2
    assert "no host can be called" in flown.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--on mars true", "the hosts are rover, orbiter, earth"),
        ("--set node.1.when_full=lowest-layer", "node.1.when_full 'lowest-layer'"),
        ("--set path.0.flows=[{count=1}]", "path.0.flows: others' traffic"),
        (
            "--set node.1.name=localhost --set link.0.to=localhost --set link.1.from=localhost",
            "no host can be called",
        ),
    ],
)
def test_what_cannot_be_is_refused(options: str, said: str, tmp_path: Path) -> None:
    flown = run(tmp_path / "o", options, "true", scenario=STORE)
    assert flown.code == 2
    assert said in flown.err
    assert not flown.folder.exists()
