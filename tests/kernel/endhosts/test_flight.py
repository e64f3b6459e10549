"""Programs over links: what they see of the mission, and what a run keeps of them; most in `make test-kernel`."""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .flights import SHORT, python, run

pytestmark = pytest.mark.usefixtures("kernel")
REPOSITORY = Path(__file__).parents[3]
QUARTER_MS = 0.25


def test_ping_takes_the_links_round_trip(tmp_path: Path) -> None:
    """Two delays, and 98 bytes at the rate each way: 84 of IP; within a millisecond of the scenario's."""
    flown = run(tmp_path / "o", "", "ping", "-c", "3", "-i", "5", "earth")
    assert flown.code == 0
    times = [float(ms) for ms in re.findall(r"time=([0-9.]+) ms", flown.out)]
    line_ms = 2 * 84 * 8 / 2e6 * 1e3
    assert times == pytest.approx([1000 + line_ms] * 3, abs=1)  # ping prints four digits
    summary = re.search(r"min/avg/max/mdev = ([0-9.]+)/", flown.out)
    assert summary is not None
    assert float(summary[1]) == pytest.approx(1000 + line_ms, abs=QUARTER_MS)
    # each answer is logged when it is there, not when ping ends
    answers = [float(t) for t, _, _, text in flown.log() if "icmp_seq" in text]
    assert answers == pytest.approx([1.0, 6.0, 11.0], abs=0.2)


@pytest.mark.kernel
def test_each_link_has_its_own_names_and_addresses(tmp_path: Path) -> None:
    code = (
        "import os, socket\n"
        "for name in 'earth earth-1 earth-relay-1 earth-2 earth-direct craft craft-2 localhost'.split():\n"
        "    print(name, socket.gethostbyname(name))\n"
        "for name in sorted(os.environ):\n"
        "    if name.startswith('DSTCC_'): print(name, os.environ[name])\n"
        "print(os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'])"
    )
    flown = run(tmp_path / "o", "--seed 5", *python(code))
    assert flown.code == 0, flown.err
    said = dict(line.split(" ", 1) for line in flown.out.splitlines())
    assert said["earth"] == said["earth-1"] == said["earth-relay-1"] == said["DSTCC_EARTH_1"] == "10.1.0.2"
    assert said["earth-2"] == said["earth-direct"] == said["DSTCC_EARTH_2"] == "10.2.0.2"
    assert said["craft"] == said["DSTCC_CRAFT"] == said["DSTCC_CRAFT_1"] == "10.1.0.1"
    assert said["craft-2"] == said["DSTCC_CRAFT_2"] == "10.2.0.1"
    assert said["localhost"] == "127.0.0.1"
    assert (said["DSTCC_HOST"], said["DSTCC_LINKS"], said["DSTCC_LINK_1"]) == ("craft", "2", "Relay 1")
    assert (said["DSTCC_SCALE"], said["DSTCC_SEED"]) == ("1", "5")
    assert said["/run/craft"] == "/run/craft /run/craft/tmp"


@pytest.mark.kernel
def test_an_unknown_name_is_unknown_at_once(tmp_path: Path) -> None:
    code = "import socket, time\ntry: socket.gethostbyname('example.org')\nexcept OSError: print(time.monotonic())"
    before, after = (f"import time\nprint(time.monotonic())\n{code}", 1.0)
    flown = run(tmp_path / "o", "", *python(before))
    first, second = map(float, flown.out.split())
    assert second - first < after


@pytest.mark.kernel
def test_a_host_keeps_its_files_and_sees_no_other(tmp_path: Path) -> None:
    """The machine's files are read-only, the other host's are not there, neither are its processes."""
    earth = (
        "python3 -S -c \"import os, time; open('kept', 'w').write('by earth'); os.makedirs('a/b'); "
        "open('a/b/c', 'w').write('deep'); time.sleep(30)\""
    )
    code = (
        "import os, time; from pathlib import Path\n"
        "time.sleep(5)\n"
        "Path('own').write_text('by craft')\n"
        "print('hosts', sorted(path.name for path in Path('/run').iterdir() if path.is_dir()))\n"
        "print('processes', sorted(p for p in os.listdir('/proc') if p.isdigit()) )\n"
        "try: Path('/etc/passwd').open('a')\n"
        "except OSError as error: print('machine', error.strerror)\n"
        "try: os.listdir('/run/dstcc/lib')\n"
        "except OSError as error: print('run', error.strerror)"
    )
    flown = run(tmp_path / "o", "--for 20", *python(code), earth=(earth,))
    assert flown.code == 0, flown.err
    assert "hosts ['craft', 'here']" in flown.out
    assert "processes ['1', '3']" in flown.out
    assert "machine Read-only file system" in flown.out
    assert "run No such file or directory" in flown.out
    assert (flown.folder / "craft/own").read_text() == "by craft"
    assert (flown.folder / "earth/kept").read_text() == "by earth"
    assert (flown.folder / "earth/a/b/c").read_text() == "deep"
    assert not (flown.folder / "craft/tmp").exists()


def test_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    flown = run(tmp_path / "a", "", "sh", "-c", "cat /proc/sys/net/ipv4/tcp_ehash_entries; exit 7")
    assert flown.code == 7
    assert int(flown.out) == 1024, "samples go through a table of the size that a host needs"


@pytest.mark.kernel
def test_who_ends_by_a_signal_has_its_exit_code(tmp_path: Path) -> None:
    ended = run(tmp_path / "o", "", *python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))
    assert ended.code == 128 + 15


@pytest.mark.kernel
def test_for_ends_all_as_ctrl_c_does(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--for 1m", "ping", "-i", "10", "earth", earth=("sleep infinity",))
    assert flown.code == 0
    assert "6 packets transmitted, 6 received" in flown.out  # at 0, 10, .. 50 s
    assert flown.meta["ended"] == "for"
    assert flown.meta["mission_s"] == pytest.approx(60, abs=0.1)
    assert flown.meta["programs"][1]["ended_by_dstcc"]


@pytest.mark.kernel
def test_what_listens_to_no_signal_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal, time\n"
        "def heard(number, _): print(number, time.monotonic())\n"
        "for one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, heard)\n"
        "while True: time.sleep(1000)"
    )
    flown = run(tmp_path / "o", "--for 5", *python(code))
    assert flown.code == 128 + 9
    asked = [line.split() for line in flown.out.splitlines()]
    assert [number for number, _ in asked] == ["2", "15"]
    assert float(asked[1][1]) - float(asked[0][1]) == pytest.approx(10, abs=0.01)


@pytest.mark.kernel
def test_a_server_has_a_round_trip_more_and_is_ended_then(tmp_path: Path) -> None:
    """A datagram that is sent last arrives a second later on the second link."""
    server = (
        "python3 -S -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 9)); "
        'print(s.recv(99)); s.recv(99)"'
    )
    code = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'last', ('earth-2', 9))"
    flown = run(tmp_path / "o", "", *python(code), earth=(server,))
    assert flown.code == 0
    assert [(float(t), text) for t, _, _, text in flown.log("earth")][:1] == [
        (pytest.approx(1.0, abs=0.1), "b'last'")
    ]
    assert flown.meta["mission_s"] == pytest.approx(2.0, abs=0.1)
    assert flown.meta["programs"][1]["ended_by_dstcc"]
    # the program's own end, not the server's
    said = re.search(r"python3 ended with 0 at mission time ([0-9.]+) s", flown.err)
    assert said is not None and float(said[1]) == pytest.approx(
        flown.meta["programs"][0]["ended_s"], rel=1e-3
    )
    assert float(said[1]) < 0.5


@pytest.mark.kernel
def test_the_scale_divides_times_and_is_said(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--scale 10", "ping", "-c", "1", "-s", "16", "earth")
    ms = float(re.search(r"min/avg/max/mdev = ([0-9.]+)/", flown.out)[1])
    assert ms == pytest.approx(100, abs=QUARTER_MS)
    assert "a second of theirs is 10 s of mission time" in flown.err
    assert "longest 120 s → 1200 s" in flown.err
    answer = next(float(t) for t, _, _, text in flown.log() if "icmp_seq=1" in text)
    assert answer == pytest.approx(1.0, abs=0.01)


@pytest.mark.kernel
def test_outages_and_losses_are_the_scenarios(tmp_path: Path) -> None:
    """Pings once a second, an outage of ten of them, and none of the other link's."""
    flown = run(
        tmp_path / "o",
        "--set link.0.outages=[[20,30]] --set link.1.loss.packet=0.3",
        "sh",
        "-c",
        "ping -c 40 earth-1 | tail -2; ping -c 200 -i 0.1 earth-2 | tail -2",
    )
    lost = [float(found) for found in re.findall(r"([\d.]+)% packet loss", flown.out)]
    assert 22 <= lost[0] <= 28  # what arrives at either end within the ten seconds: 10 of 40
    # (1 - 0.3)^2 of the echoes come back: 51 % are lost, with 200 of them +- 11 in three standard deviations
    assert 40 <= lost[1] <= 62
    links = {(row["link"], row["way"]): row for row in flown.table("links")}
    relay, direct = links["Relay 1", "down"], links["direct", "down"]
    assert relay["delivered_packets"] + relay["lost_packets"] == 40
    assert direct["delivered_packets"] + direct["lost_packets"] == 200
    assert direct["delivered_bytes"] == 84 * direct["delivered_packets"]


@pytest.mark.kernel
def test_a_delay_moves(tmp_path: Path) -> None:
    """From 1 s to 2 s one way within a hundred seconds; each echo takes what its two ways take when it is on them."""
    flown = run(
        tmp_path / "o",
        '--set "link.0.delay_s=[[0,1.0],[100,2.0]]" --for 100',
        "ping",
        "-i",
        "10",
        "-D",
        "earth",
    )
    got = re.findall(r"\[[0-9.]+\].*icmp_seq=(\d+).*time=([0-9.]+) ms", flown.out)
    assert len(got) >= 9
    for number, ms in got:
        sent = 10 * (int(number) - 1)
        there = 1 + sent / 100
        back = 1 + (sent + there) / 100
        assert float(ms) / 1e3 == pytest.approx(there + back, abs=0.003)


@pytest.mark.kernel
def test_the_clock_shows_the_scenarios_date(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--set scenario.start=2028-03-11T20:30:00Z", "date", "-u", "+%FT%TZ")
    assert flown.out == "2028-03-11T20:30:00Z\n"


@pytest.mark.kernel
def test_sockets_are_seen_over_mission_time(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "s = socket.create_connection(('earth', 9)); s.sendall(bytes(300_000)); s.shutdown(1); s.recv(1)"
    )
    server = (
        "python3 -S -c \"import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\n"
        'while c.recv(1 << 16): pass"'
    )
    flown = run(tmp_path / "o", "--congestion newreno", *python(code), earth=(server,))
    assert flown.code == 0, flown.err
    mine = [row for row in flown.table("sockets") if row["host"] == "craft" and row["state"] != "syn-sent"]
    assert {row["congestion"] for row in mine} == {"reno"}
    assert {row["link"] for row in mine} == {"Relay 1"}
    assert max(row["acked_bytes"] for row in mine) > 200_000
    assert {row["state"] for row in mine} >= {"established", "fin-wait-1"}
    assert mine[-1]["min_rtt_s"] == pytest.approx(1.0, abs=0.02)
    assert mine[0]["cwnd_segments"] == 10
    rising = [row["t_s"] for row in mine]
    assert rising == sorted(rising)


SENDS = (
    "import socket, time\n"
    "s = socket.create_connection(('earth', 9)); time.sleep(8)\n"
    "s.sendall(bytes(3_000_000)); s.shutdown(1); s.recv(1)"
)
TAKES = (
    "python3 -S -c \"import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\n"
    'while c.recv(1 << 16): pass"'
)


def test_mptcp_uses_all_links(tmp_path: Path) -> None:
    """An unmodified program's socket has a subflow on each link."""
    with_it = run(tmp_path / "o", "--mptcp", *python(SENDS), earth=(TAKES,))
    assert with_it.code == 0, with_it.err
    sent = {
        row["link"]: row["acked_bytes"]
        for row in with_it.table("sockets")
        if row["host"] == "craft" and row["state"] != "syn-sent"
    }
    assert sent.keys() == {"Relay 1", "direct"} and min(sent.values()) > 100_000
    assert max(row["further_subflows"] for row in with_it.table("connections")) == 1


@pytest.mark.kernel
def test_without_mptcp_a_socket_is_one_connection(tmp_path: Path) -> None:
    without = run(tmp_path / "o", "", *python(SENDS), earth=(TAKES,))
    assert {row["link"] for row in without.table("sockets")} == {"Relay 1"}
    assert without.table("connections") == []


@pytest.mark.kernel
def test_packets_are_captured_at_both_ends(tmp_path: Path) -> None:
    dpkt = pytest.importorskip("dpkt")
    flown = run(tmp_path / "o", "--pcapng", "ping", "-c", "2", "earth")
    with (flown.folder / "1-relay-1.pcapng").open("rb") as file:
        seen = [(t, dpkt.ip.IP(data)) for t, data in dpkt.pcapng.Reader(file)]
    start = seen[0][0]
    # an echo leaves, arrives half a second later, and so does the answer; the second ping a second after the first
    assert [round(t - start, 1) for t, _ in seen] == [0, 0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 2.0]
    assert all(len(bytes(packet)) == 84 for _, packet in seen)
    with (flown.folder / "2-direct.pcapng").open("rb") as file:
        assert list(dpkt.pcapng.Reader(file)) == []


def test_the_same_seed_is_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another folder, into another: losses, times and random bytes."""
    script = "ping -q -c 20 -i 0.1 earth; head -c 9 /dev/urandom > file"
    made = []
    for name in ("one", "another folder"):
        flown = run(tmp_path / name, "--set link.0.loss.packet=0.2 --seed 3 --pcapng", "sh", "-c", script)
        assert flown.code == 0, flown.err
        made.append(
            {
                one: (flown.folder / one).read_bytes()
                for one in ("craft.log", "craft/file", "1-relay-1.pcapng")
            }
        )
        monkeypatch.chdir(tmp_path)
    assert made[0] == made[1]


@pytest.mark.kernel
def test_the_same_seed_is_the_same_bytes_from_any_folder(tmp_path: Path) -> None:
    """From another folder, into another, and by another checkout: losses, ports and sequence numbers are the same."""
    copy = tmp_path / "a checkout of somebody else's"
    for part in ("dstcc", "kernel-cc", "cli", "channel-models", "svc"):
        shutil.copytree(
            REPOSITORY / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "build", "*.o")
        )
    shutil.copy(SHORT, tmp_path / "scenario.toml")
    code = (
        "import os, socket, random, subprocess\n"
        "s = socket.create_connection(('earth', 9)); s.sendall(os.urandom(400_000)); s.shutdown(1); s.recv(1)\n"
        "print(s.getsockname(), random.random())\n"
        "subprocess.run(['ls', '-la'])\n"
        "open('file', 'wb').write(os.urandom(9))"
    )
    server = (
        "python3 -S -c \"import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\n"
        'while c.recv(1 << 16): pass"'
    )
    words = ["--set", "link.0.loss.packet=0.02", "--seed", "3", "--pcapng", "--earth", server]
    made = []
    for name, checkout, where in (("one", REPOSITORY, tmp_path), ("another folder", copy, copy / "cli")):
        roots = [checkout, *(checkout / part for part in ("kernel-cc", "cli", "channel-models", "svc"))]
        command = [
            sys.executable,
            "-m",
            "dstcc_cli",
            "run",
            f"{tmp_path}/scenario.toml",
            "-o",
            f"{tmp_path}/{name}",
        ]
        subprocess.run(
            [*command, *words, "--", *python(code)],
            cwd=where,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(map(str, roots)), "HOME": str(Path.home())},
            check=True,
        )
        made.append(tmp_path / name)
    names = sorted(str(path.relative_to(made[0])) for path in made[0].rglob("*") if path.is_file())
    for name in ("run.json", "SHA256SUMS"):  # which has the sum of the former
        names.remove(name)
    assert {"craft.log", "sockets.parquet", "1-relay-1.pcapng", "craft/file"} <= set(names)
    _same, different, missing = filecmp.cmpfiles(made[0], made[1], names, shallow=False)
    assert (different, missing) == ([], [])
    other = run(tmp_path / "third", "--set link.0.loss.packet=0.02 --seed 4", *python(code), earth=(server,))
    assert (other.folder / "craft/file").read_bytes() != (made[0] / "craft/file").read_bytes()
