"""Twelve of Debian's programs at the Moon, Mars and Jupiter: as they come, and with what they need.

    python -m experiments.program_table [--only moon] [-o docs/tables/programs.csv]

In one run a distance all clients begin at once on the spacecraft, each as it comes and with its option, and their
servers on Earth; the kernel's time is true (`--scale 1`). A cell says after how many seconds the program had what it
wanted, or how it ended: its exit code and the last line that it printed. A program that is not installed is an error.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from dstcc.atomic import atomic_write
from dstcc.errors import MissingCapabilityError

DISTANCES = {"moon": 1.28, "mars": 182.0, "jupiter": 2_580.0}
"""One way, in seconds: 384,000 km, 0.365 and 5.17 astronomical units."""
ROUNDS = 24
"""Round trips that each program has."""
SCENARIO = """
[scenario]
name = "programs"
[video]
synthetic = {{chunk_s = 10.0, layer_bps = [100_000]}}
loop_to_s = 60
[[link]]
name = "link"
rate_bps = 2_000_000
up_rate_bps = "rate_bps"
delay_s = {delay_s}
queue_bytes = 3_000_000
"""


@dataclass(frozen=True)
class Program:
    """A client, as a shell's line, and its server. ``{patience}`` is the time that all have, ``{16_bits}`` that or the
    most that two bytes hold; a line succeeds when the client has what it wanted."""

    server: str
    as_it_comes: str
    patient: str | None = None
    """With what it needs; ``None`` where nothing helps."""
    needs: str = ""
    """That, in a table."""
    binaries: tuple[str, ...] = ()


PROGRAMS: dict[str, Program] = {
    "wget": Program(
        "cd /run/here/files && exec python3 -m http.server 80",
        "wget -q -O got.wget http://earth/page && cmp -s got.wget /run/here/files/page",
        "wget -q --read-timeout={patience} -O got.wget2 http://earth/page && cmp -s got.wget2 /run/here/files/page",
        "--read-timeout",
        ("wget",),
    ),
    "dig": Program(
        "exec dnsmasq -k -C /dev/null -R -h -u root --pid-file=/run/earth/dns.pid --address=/a.test/192.0.2.1",
        "dig @earth a.test +short | grep -qx 192.0.2.1",
        "dig @earth a.test +short +tries=1 +time={16_bits} | grep -qx 192.0.2.1",
        "+time",
        ("dig", "dnsmasq"),
    ),
    "swaks": Program(
        "exec aiosmtpd -n -l 0.0.0.0:25 -c aiosmtpd.handlers.Debugging stdout",
        "swaks --silent 2 --to a@b.test --from c@d.test --server earth",
        "swaks --silent 2 --timeout {patience} --to a@b.test --from c@d.test --server earth",
        "--timeout",
        ("swaks", "aiosmtpd"),
    ),
    "coap-client": Program(
        "exec coap-server-notls -A 0.0.0.0",
        "coap-client-notls coap://earth/ | grep -q libcoap",
        "coap-client-notls -N -B {patience} coap://earth/ | grep -q libcoap",
        "-N -B",
        ("coap-client-notls", "coap-server-notls"),
    ),
    "mosquitto_pub": Program(
        "printf 'listener 1883\\nallow_anonymous true\\nuser root\\n' > mqtt.conf; exec mosquitto -c mqtt.conf",
        "mosquitto_pub -h earth -q 1 -t rover -m hello",
        "mosquitto_pub -h earth -q 1 -k 65535 -t rover -m hello",
        "-k",
        ("mosquitto_pub", "mosquitto"),
    ),
    "ssh": Program(
        "mkdir -p /run/sshd; cp /run/here/files/host_key /run/earth/; chmod 600 /run/earth/host_key; "
        "exec /usr/sbin/sshd -D -e -f /dev/null -h /run/earth/host_key -o StrictModes=no "
        "-o AuthorizedKeysFile=/run/here/files/authorized_keys",
        "ssh -T {ssh} earth echo there | grep -qx there",
        None,
        "",
        ("ssh", "sshd", "ssh-keygen"),
    ),
    "git": Program(
        "exec git -c safe.directory=* daemon --reuseaddr --export-all --base-path=/run/here/files",
        "git clone -q git://earth/repo got.git && test -f got.git/page",
        None,
        "",
        ("git",),
    ),
    "ntpdig": Program(
        "printf 'local stratum 1\\nallow\\ncmdport 0\\npidfile /run/earth/ntp.pid\\n' > ntp.conf; "
        "exec chronyd -d -x -u root -f ntp.conf",
        "ntpdig earth | grep -q earth",
        "ntpdig -t {patience} earth | grep -q earth",
        "-t",
        ("ntpdig", "chronyd"),
    ),
    "atftp": Program(
        "exec atftpd --daemon --no-fork --user root --group root /run/here/files",
        "atftp -g -r page -l got.tftp earth && cmp -s got.tftp /run/here/files/page",
        "atftp --option 'timeout 255' -g -r page -l got.tftp2 earth && cmp -s got.tftp2 /run/here/files/page",
        "--option 'timeout 255'",
        ("atftp", "atftpd"),
    ),
    "socat": Program(
        "exec socat TCP-LISTEN:7,fork,reuseaddr EXEC:cat",
        "echo hello | socat - TCP:earth:7 | grep -qx hello",
        "echo hello | socat -t {patience} - TCP:earth:7 | grep -qx hello",
        "-t",
        ("socat",),
    ),
    "redis-cli": Program(
        "exec redis-server --hz 1 --bind 0.0.0.0 --protected-mode no --save '' --dir /run/earth",
        "redis-cli -h earth PING | grep -qx PONG",
        None,
        "",
        ("redis-cli", "redis-server"),
    ),
    "gst-launch-1.0": Program(
        "GST_REGISTRY=/run/earth/gst exec gst-launch-1.0 -q udpsrc port=5004 caps=application/x-rtp,media=audio,"
        "clock-rate=8000,encoding-name=PCMU,payload=0 ! rtppcmudepay ! filesink buffer-mode=2 "
        "location=/run/earth/heard",
        "GST_REGISTRY=/run/craft/gst gst-launch-1.0 -q audiotestsrc num-buffers=50 ! audio/x-raw,rate=8000 ! mulawenc "
        "! rtppcmupay ! udpsink host=earth port=5004",
        None,
        "",
        ("gst-launch-1.0",),
    ),
}
DRIVER = """
import json, signal, subprocess, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
lines, limit = json.load(open('/run/here/lines.json')), float(sys.argv[1])
begun, running, said = time.monotonic(), {}, {}
def unblock():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
for name, line in lines.items():
    out = open(f'/run/craft/{name}.out', 'w+')
    program = subprocess.Popen(['sh', '-c', line], stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=unblock)
    running[name] = (program, out)
while running and (left := begun + limit - time.monotonic()) > 0:
    signal.sigtimedwait({signal.SIGCHLD}, left)
    for name, (process, out) in list(running.items()):
        if process.poll() is None:
            continue
        out.seek(0)
        last = (out.read().strip().splitlines() or [''])[-1]
        said[name] = [process.returncode, round(time.monotonic() - begun, 2), last[-120:]]
        del running[name]
for name, (process, _) in running.items():
    said[name] = [None, limit, '']
print(json.dumps(said))
"""
KEY = "files/key"
Ended = tuple[int | None, float, str]
"""Exit code, or ``None`` for one that went on; after how many seconds; its last line."""


def prepare(folder: Path) -> None:
    """Put what servers offer, keys and the driver into a folder."""
    missing = sorted(
        {name for one in PROGRAMS.values() for name in one.binaries if shutil.which(name) is None}
    )
    if missing:
        raise MissingCapabilityError(f"not installed: {', '.join(missing)}; scripts/setup-debian.sh programs")
    files = folder / "files"
    repo = files / "repo"
    repo.mkdir(parents=True)
    (files / "page").write_bytes(b"Ground to craft.\n" * 600)
    (repo / "page").write_text("page\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.test", "-C", str(repo)]
    for words in (["init", "-q"], ["add", "page"], ["commit", "-q", "-m", "page"]):
        subprocess.run([*git, *words], check=True)
    for key in (files / "host_key", folder / KEY):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (files / "authorized_keys").write_text((folder / f"{KEY}.pub").read_text())
    (files / "authorized_keys").chmod(0o600)
    (folder / "driver.py").write_text(DRIVER)


def lines(patience_s: float) -> dict[str, str]:
    """The clients' lines, by the program's name; with what it needs ``+`` behind it."""
    ssh = f"-i /run/here/{KEY} -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/run/craft/known"
    meant = {"{patience}": f"{patience_s:.0f}", "{16_bits}": f"{min(patience_s, 65_535):.0f}", "{ssh}": ssh}
    found = {}
    for name, one in PROGRAMS.items():
        for mark, line in (("", one.as_it_comes), ("+", one.patient)):
            if line is not None:
                found[name + mark] = re.sub(r"\{\w+\}", lambda word: meant[word[0]], line)
    return found


def ended_at(delay_s: float, folder: Path) -> dict[str, Ended]:
    """How each ended at that distance; ``folder`` is prepared."""
    limit_s = ROUNDS * 2 * delay_s + 120
    (folder / "lines.json").write_text(json.dumps(lines(limit_s)))
    (folder / "scenario.toml").write_text(SCENARIO.format(delay_s=delay_s))
    words = [
        sys.executable,
        "-m",
        "dstcc_cli",
        "run",
        "scenario.toml",
        "-o",
        "run",
        "--force",
        "--scale",
        "1",
    ]
    for one in PROGRAMS.values():
        words += ["--earth", f"sh -c {json.dumps(one.server)}"]
    words += ["--", "python3", "-S", "/run/here/driver.py", f"{limit_s:.0f}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    ended: dict[str, Ended] = {
        name: tuple(one) for name, one in json.loads(done.stdout.splitlines()[-1]).items()
    }
    heard = folder / "run/earth/heard"
    if not heard.exists() or heard.stat().st_size == 0:
        ended["gst-launch-1.0"] = (1, ended["gst-launch-1.0"][1], "nothing was heard on Earth")
    return ended


def cell(ended: Ended | None) -> str:
    """As the table has it."""
    if ended is None:
        return ""
    code, after_s, last = ended
    if code == 0:
        return f"{after_s:,.0f} s"
    how = "goes on" if code is None else f"ends after {after_s:,.0f} s"
    return f"{how}: {last}" if last else how


@click.command()
@click.option("--only", multiple=True, type=click.Choice(list(DISTANCES)))
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(only: tuple[str, ...], output: Path | None) -> None:
    """Print the table, and write it."""
    import csv
    import io

    found: dict[str, dict[str, Ended]] = {}
    for name in only or DISTANCES:
        with tempfile.TemporaryDirectory(prefix="dstcc-programs-") as folder:
            prepare(Path(folder))
            found[name] = ended_at(DISTANCES[name], Path(folder))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["program", "needs", *(f"{at}{how}" for at in found for how in ("", ", with what it needs"))]
    )
    for name, one in PROGRAMS.items():
        cells = [cell(found[at].get(name + mark)) for at in found for mark in ("", "+")]
        writer.writerow([name, one.needs, *cells])
    click.echo(text.getvalue(), nl=False)
    if output is not None:
        atomic_write(output, text.getvalue())


if __name__ == "__main__":
    main()
