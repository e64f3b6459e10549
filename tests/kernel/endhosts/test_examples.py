"""The programs of docs/programs.md, unmodified, over the links of ``examples/programs``.

The Debian packages that they are of, aioquic and qh3 are set up with the project: a missing one is a failure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from .flights import SHORT, python, run

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.kernel]
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples/programs"
MARS = EXAMPLES / "mars.toml"
BESIDE = EXAMPLES / "beside-simulator.toml"
RELAY_S, SCALE = 480.0, 72.0
"""Round trip of mars.toml's first link; the least scale with round trips of 10 s on its second, of 720 s."""


def test_ping_at_mars(tmp_path: Path) -> None:
    """The scenario's round trip within a millisecond: 480 s, and 84 bytes at 2 Mbit/s twice."""
    flown = run(tmp_path / "o", "--scale 1", "ping", "-c", "5", "-W", "600", "earth", scenario=MARS)
    assert flown.code == 0
    least, mean, most, _ = map(float, re.search(r"= ([0-9./]+) ms", flown.out)[1].split("/"))
    expected_ms = 1e3 * (RELAY_S + 2 * 84 * 8 / 2e6)
    assert (least, mean, most) == pytest.approx((expected_ms,) * 3, abs=0.1)
    # of [expect], which is about a video, nothing is checked, and that is said
    assert any(note.startswith("expect: ") for note in flown.meta["notes"])
    assert "expect: bounds of trials are not checked" in flown.err


def test_ten_days_of_ping(tmp_path: Path) -> None:
    """Once a minute: 14,400 echoes, all but those of the last round trip answered."""
    flown = run(tmp_path / "o", "--scale 1 --for 10d", "ping", "-q", "-i", "60", "earth", scenario=MARS)
    assert flown.code == 0
    sent, back = map(int, re.search(r"(\d+) packets transmitted, (\d+) received", flown.out).groups())
    assert sent == pytest.approx(14_400, rel=0.01)  # ping's own pauses are a little longer
    assert sent - back <= RELAY_S / 60 + 1
    assert flown.meta["mission_s"] == pytest.approx(864_000, abs=60)


def test_iperf3_carries_what_the_simulator_says(tmp_path: Path) -> None:
    """CUBIC on one link for five minutes, two seeds each: the fidelity goal is 15 %."""
    wanted, got = [], []
    for seed in (1, 2):
        done = CliRunner().invoke(
            main,
            [
                *("emulate", str(BESIDE), "-o", str(tmp_path / f"s{seed}"), "--seed", str(seed), "--json"),
                *("--set", "scenario.duration_s=300"),
            ],
        )
        wanted.append(json.loads(done.stdout)["trials"][0]["metrics"]["throughput_bps"])
        flown = run(
            tmp_path / f"k{seed}",
            f"--seed {seed}",
            *("iperf3", "-J", "-c", "earth", "-t", "300"),
            scenario=BESIDE,
            earth=("iperf3 -s -1",),
        )
        assert flown.code == 0, flown.err
        got.append(json.loads(flown.out)["end"]["sum_received"]["bits_per_second"])
    assert sum(got) / sum(wanted) == pytest.approx(1, abs=0.15)


def test_a_web_page_by_curl(tmp_path: Path) -> None:
    """A round trip for the handshake and one for the page; in the programs' seconds, a 72nd of mission time."""
    page = EXAMPLES / "mars.toml"
    flown = run(
        tmp_path / "o",
        "",
        *("curl", "-sS", "-O", "-w", "%{http_code} %{time_total}", "http://earth/mars.toml"),
        scenario=MARS,
        earth=(f"python3 -m http.server -d {page.parent} 80",),
    )
    assert flown.code == 0, flown.err
    status, total_s = flown.out.split()
    assert status == "200"
    assert float(total_s) == pytest.approx(2 * RELAY_S / SCALE, rel=0.01)
    assert (flown.folder / "craft/mars.toml").read_bytes() == page.read_bytes()


def test_iperf3_passes_at_mars(tmp_path: Path) -> None:
    """Without a word about the scale. Its control connection gives up after two minutes of its clock."""
    flown = run(
        tmp_path / "o", "", "iperf3", "-c", "earth", "-t", "30", scenario=MARS, earth=("iperf3 -s -1",)
    )
    assert flown.code == 0, flown.err
    assert "iperf Done." in flown.out


def test_rsync_brings_a_folder(tmp_path: Path) -> None:
    """A daemon on Earth takes what the spacecraft sends."""
    source = tmp_path / "pictures"
    (source / "sol 1").mkdir(parents=True)
    for number in range(5):
        (source / "sol 1" / f"{number}.raw").write_bytes(bytes([number]) * 20_000)
    daemon = (
        'sh -c \'printf "use chroot = no\\n[store]\\npath = /run/earth/store\\nread only = no\\nuid = 0\\n" > conf; '
        "mkdir store; exec rsync --daemon --no-detach --config=conf'"
    )
    send = f"rsync -rt {source}/ rsync://earth/store && echo sent"
    flown = run(tmp_path / "o", "", "sh", "-c", send, scenario=MARS, earth=(daemon,))
    assert (flown.code, flown.out) == (0, "sent\n"), flown.err + flown.text("earth")
    for path in source.rglob("*.raw"):
        arrived = flown.folder / "earth/store" / path.relative_to(source)
        assert arrived.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("stack", ["aioquic", "qh3"])
def test_http3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str) -> None:
    """QUIC's handshake and the page take a round trip each, and the page's size one or two more of slow start."""
    monkeypatch.chdir(ROOT)
    script = "/run/here/examples/quic/quic.py"
    knobs = f"--stack {stack} --initial-rtt 10 --idle-timeout 3600 --qlog own.qlog"
    flown = run(
        tmp_path / "o",
        "",
        *(sys.executable, script, "get", "earth", "20000", "--datagrams", "3", *knobs.split()),
        scenario=MARS,
        earth=(f"{sys.executable} {script} serve {knobs}",),
    )
    assert flown.code == 0, flown.err + flown.text()
    said, served = (json.loads(flown.text(host).splitlines()[-1]) for host in ("craft", "earth"))
    rtt_s = RELAY_S / SCALE
    assert said["asked_s"] == pytest.approx(rtt_s, rel=0.01)
    assert said["first_byte_s"] == pytest.approx(2 * rtt_s, rel=0.02)
    assert (said["bytes"], served["bytes"], served["quic_datagrams"]) == (20_000, 20_000, 3)
    assert 2 * rtt_s <= said["done_s"] <= 4.1 * rtt_s
    for host, point in (("craft", "client"), ("earth", "server")):
        log = json.loads((flown.folder / host / "own.qlog").read_text())
        assert log["traces"][0]["vantage_point"]["type"] == point


@pytest.mark.slow
def test_debians_http3(tmp_path: Path) -> None:
    """The page is asked for after one round trip, and whole when windows have grown to 4 MB."""
    flown = run(tmp_path / "o", "", scenario=ROOT / "examples/quic/ngtcp2.toml")
    assert flown.code == 0, flown.err + flown.text("earth")
    assert (flown.folder / "craft/page").stat().st_size == 4_000_000
    assert flown.meta["programs"][0]["ended_s"] == pytest.approx(12_223.8, abs=0.1)


def test_a_students_module_is_what_sockets_have(tmp_path: Path) -> None:
    """Its window grows by a quarter a round trip, from where slow start left it at the first loss."""
    code = (
        "import socket\n"
        "s = socket.create_connection(('earth', 9)); s.sendall(bytes(2_000_000)); s.shutdown(1); s.recv(1)"
    )
    server = (
        "python3 -S -c \"import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\n"
        'while c.recv(1 << 16): pass"'
    )
    flown = run(
        tmp_path / "o",
        f"--module {EXAMPLES / 'steady'} --set link.0.queue_bytes=15000",
        *python(code),
        earth=(server,),
    )
    assert flown.code == 0, flown.err
    assert flown.meta["congestion"] == "steady"
    mine = [row for row in flown.table("sockets") if row["host"] == "craft"]
    assert {row["congestion"] for row in mine} == {"steady"}
    assert max(row["retransmitted_segments"] for row in mine) > 0
    after = [row for row in mine if row["ssthresh_segments"] is not None]
    assert min(row["ssthresh_segments"] for row in after) >= 2


def test_a_struct_ops_program_is_what_sockets_have(tmp_path: Path) -> None:
    """Compiled as a module; after a loss at the queue it grows by an eighth a round trip, so its window stays near."""
    code = (
        "import socket\n"
        "s = socket.create_connection(('earth', 9)); s.sendall(bytes(2_000_000)); s.shutdown(1); s.recv(1)"
    )
    server = (
        "python3 -S -c \"import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\n"
        'while c.recv(1 << 16): pass"'
    )
    program = EXAMPLES / "gentle.bpf.c"
    flown = run(tmp_path / "o", f"--bpf {program}", *python(code), earth=(server,))
    assert flown.code == 0, flown.err
    assert flown.meta["congestion"] == "gentle"
    assert {row["congestion"] for row in flown.table("sockets") if row["host"] == "craft"} == {"gentle"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file"),
        (b"\x7fELF\xff", "is not C source"),
        (b'struct { int x; } m SEC(".maps");', "has maps"),
        (b"int x;", 'has 0 SEC(".struct_ops")'),
        (
            b'#include "vmlinux.h"\nint f(void) { return y; }\n#define SEC(x)\n'
            b'SEC(".struct_ops") struct tcp_congestion_ops mine = {};',
            "mine.bpf.c:2:22: error: 'y' undeclared",
        ),
    ],
)
def test_a_struct_ops_program_that_cannot_be_says_why(
    tmp_path: Path, text: bytes | None, message: str
) -> None:
    program = tmp_path / "mine.bpf.c"
    if text is not None:
        program.write_bytes(text)
    flown = run(tmp_path / "o", f"--bpf {program}", "true")
    assert flown.code == 2
    assert f"--bpf {program}" in flown.err
    assert message in flown.err.replace("‘", "'").replace("’", "'")
    assert len(flown.err.strip().splitlines()) == 1
    assert not flown.folder.exists()


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({}, "", "holds one C file, or a Kbuild that says what is built; has none"),
        ({"a.c": "int x;", "b.c": "int y;"}, "", "has a.c, b.c"),
        (
            {"bad.c": "#include <linux/module.h>\nint f(void) { return y; }\n"},
            "",
            "bad.c:2:22: error: 'y' undeclared",
        ),
        # a warning of a file whose name looks like an error's is none
        (
            {
                "error.c": "#include <linux/module.h>\nstatic int f(void) { return 0; }\nint g(void) { return y; }\n"
            },
            "",
            "error.c:3:22: error: 'y' undeclared",
        ),
        (
            {
                "far.c": '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n'
                "int y(void);\nint f(void);\nint f(void) { return y(); }\n"
            },
            "",
            'ERROR: modpost: "y" [',
        ),
    ],
)
def test_a_module_that_cannot_be_built_says_where(
    tmp_path: Path, files: dict[str, str], options: str, message: str
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    flown = run(tmp_path / "o", f"--module {folder} {options}", "true")
    assert flown.code == 2
    assert f"--module {folder}" in flown.err
    assert message in flown.err.replace("‘", "'").replace("’", "'")
    assert len(flown.err.strip().splitlines()) == 1
    assert not flown.folder.exists()
    assert {path.name for path in folder.iterdir()} == set(files)


def test_a_module_without_a_control_says_so(tmp_path: Path) -> None:
    (tmp_path / "idle").mkdir()
    (tmp_path / "idle/idle.c").write_text('#include <linux/module.h>\nMODULE_LICENSE("GPL");\n')
    flown = run(tmp_path / "o", f"--module {tmp_path / 'idle'}", "true")
    assert flown.code == 1
    assert "the module registers no congestion control" in flown.err
    flown = run(tmp_path / "p", f"--module {tmp_path / 'idle'} --congestion newreno", "true")
    assert (flown.code, flown.meta["congestion"]) == (0, "reno")


def test_the_report_draws_a_run(tmp_path: Path) -> None:
    """Sockets, links and logs; the same run gives the same page, and nothing else is taken for one."""
    joins = "import socket; s = socket.create_connection(('earth', 9))"
    code = f"{joins}; s.sendall(bytes(200_000)); s.shutdown(1); s.recv(1)"
    serves = "import socket; s = socket.create_server(('', 9)); c, _ = s.accept()"
    takes_all = f"{serves}; list(iter(lambda: c.recv(9999), b''))"
    server = f'python3 -S -c "{takes_all}"'
    flown = run(tmp_path / "o", "--for 20 --set link.0.loss.packet=0.05", *python(code), earth=(server,))
    pages = []
    for name in ("a.html", "b.html"):
        done = CliRunner().invoke(main, ["report", str(flown.folder), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.stderr
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]
    for title in (
        "Smoothed round-trip time",
        "Congestion window",
        "What the links delivered",
        "Packets lost",
    ):
        assert f">{title}</h2>" in pages[0]
    assert "create_connection" in pages[0] and "http://" not in re.sub(r"xmlns[^ >]*", "", pages[0])
    mine = tmp_path / "mine.html"
    mine.write_text("a page of somebody's")
    for words, message in (
        ([str(flown.folder), str(flown.folder), "-o", str(tmp_path / "c.html")], "give it alone"),
        ([str(flown.folder), "-o", str(tmp_path / "c.csv")], "there is an HTML page"),
        ([str(flown.folder), "-o", str(SHORT)], "no report has the ending .toml"),
        ([str(flown.folder), "-o", str(mine)], "already exists"),
    ):
        done = CliRunner().invoke(main, ["report", *words])
        assert done.exit_code == 2 and message in done.stderr
    (flown.folder / "sockets.parquet").write_bytes(b"junk")
    done = CliRunner().invoke(main, ["report", str(flown.folder), "-o", str(tmp_path / "c.html")])
    assert done.exit_code == 2 and "sockets.parquet" in done.stderr


def test_what_the_examples_need_is_set_up() -> None:
    """Each program of the examples is in scripts/setup-debian.sh."""
    packages = (ROOT / "scripts/setup-debian.sh").read_text()
    for package in ("iperf3", "curl", "rsync", "iputils-ping"):
        assert re.search(rf"^{package} ", packages, re.MULTILINE)
        subprocess.run(["dpkg-query", "-W", package], check=True, capture_output=True)
