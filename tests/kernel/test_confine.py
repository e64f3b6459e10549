"""What a guest's process may do on its host (``lab/confine.c``, ``boot.c``), asked of a process in a kernel's place.

Mounts and Landlock each hold without the other, so that each is tried alone. The system calls that are left are
:mod:`.test_filter`'s matter. Each wrong version lets something through that is noticed here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.confinement import lacking
from dstcc_kernel.sources import folder

from tests.kernel import lesser

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
    pytest.mark.skipif(os.geteuid() != 0, reason="looks at a process of another user namespace"),
]
FILE_MB, ADDRESS_MB = 64, 2048
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
"""One that anybody may run."""
ASK = """
import errno, json, os, resource, sys
beside, port, victim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
said = {}
def ask(name, call):
    try: call()
    except OSError as error: said[name] = errno.errorcode[error.errno]
    else: said[name] = "DONE"
def write(path): os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
ask("write here", lambda: write("mine"))
ask("write out", lambda: write("out/mine"))
ask("rename out", lambda: os.rename("mine", "out/renamed"))
ask("write beside", lambda: write(beside + "/new"))
ask("truncate beside", lambda: os.truncate(beside + "/old", 0))
ask("write to null", lambda: os.write(os.open("/dev/null", os.O_WRONLY), b"x"))
ask("read zero", lambda: os.read(os.open("/dev/zero", os.O_RDONLY), 1))
ask("overwrite beside", lambda: os.close(os.open(beside + "/old", os.O_WRONLY)))
ask("pipe here", lambda: os.mkfifo("pipe"))
ask("pipe out", lambda: os.mkfifo("out/pipe"))
ask("link out", lambda: os.symlink("/etc/passwd", "out/link"))
ask("device out", lambda: os.mknod("out/device", 0o20644, os.makedev(1, 3)))
ask("see a process", lambda: os.kill(victim, 0))
ask("see its starter", lambda: os.kill(os.getppid(), 0))
import socket
with socket.socket() as one: ask("call a port", lambda: one.connect(("127.0.0.1", port)))
with socket.socket() as one: ask("take a port", lambda: one.bind(("127.0.0.1", 0)))
ask("set the host's name", lambda: socket.sethostname("x"))
ask("read another's", lambda: os.close(os.open(beside + "/closed", os.O_RDONLY)))
with socket.socket(socket.AF_UNIX) as one: ask("call an abstract name", lambda: one.connect(f"\\0dstcc-{victim}"))
said["devices"] = [name for _, name in socket.if_nameindex()]
said["proc"], said["sys"] = os.listdir("/proc"), os.listdir("/sys")
print(json.dumps(said), flush=True)
sys.stdin.read()
"""
BY_BOTH = {
    **{name: "DONE" for name in ("write here", "write out", "write to null", "see its starter")},
    "rename out": "EXDEV",
    **{name: "EROFS" for name in ("write beside", "truncate beside", "overwrite beside")},
    **{
        name: "EACCES"
        for name in ("read zero", "pipe here", "pipe out", "link out", "call a port", "take a port")
    },
    "device out": "EACCES",
    "see a process": "ESRCH",
    "set the host's name": "EPERM",
    "read another's": "DONE",
    "call an abstract name": "ECONNREFUSED",
    "devices": ["lo"],
    "proc": ["cpuinfo"],
    "sys": [],
}
Change = tuple[str, str]
NO_LANDLOCK: Change = ("if (narrow_by_landlock(here, out))", "if (!narrow_by_landlock)")
NO_SPACES: tuple[Change, ...] = (
    ("if (narrow_mounts(here, out))", "if (!narrow_mounts)"),
    ("CLONE_NEWPID | CLONE_NEWNET | ", ""),
)
BY_MOUNTS = {
    **BY_BOTH,
    **{name: "DONE" for name in ("pipe here", "pipe out", "link out", "take a port")},
    "device out": "EPERM",
    "call a port": "ENETUNREACH",
}
BY_LANDLOCK = {
    **BY_BOTH,
    **{name: "EACCES" for name in ("write beside", "truncate beside", "overwrite beside")},
    **{name: "EPERM" for name in ("see a process", "call an abstract name")},
    **{name: "DONE" for name in ("read zero", "rename out")},
}
for name in ("proc", "sys", "devices"):
    del BY_LANDLOCK[name]
SPACES = ("user", "pid", "net", "ipc", "uts", "mnt")
RIGHTS = f"{1 << 1 | 1 << 2 | 1 << 3:016x}"
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER."""


def built(at: Path, *changes: Change) -> Path:
    """A boot with texts in the place of others."""
    lab = at / "lab"
    shutil.copytree(folder("lab"), lab)
    for old, new in changes:
        (path,) = (lab / name for name in ("boot.c", "confine.c") if old in (lab / name).read_text())
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))
    sources = [str(lab / name) for name in ("boot.c", "confine.c")]
    subprocess.run(["gcc", "-O1", "-w", "-o", str(at / "boot"), *sources], check=True)
    return at / "boot"


def confined(boot: Path, at: Path, before: Sequence[str] = ()) -> dict[str, Any]:
    """What a process says that ``boot`` runs, and what is seen of it from outside; it ends with boot."""
    here, out, beside = at / "here", at / "kept", at / "beside"
    for path in (here, out, beside):
        path.mkdir()
        path.chmod(0o777)
    (here / "out").symlink_to(out)
    (beside / "old").write_text("mine")
    (beside / "closed").touch(mode=0)
    os.chown(beside / "closed", 1234, 1234)
    with (
        subprocess.Popen(["sleep", "600"]) as victim,
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind(f"\0dstcc-{victim.pid}")
        abstract.listen()
        try:
            words = [
                *before,
                str(boot),
                str(FILE_MB),
                str(ADDRESS_MB),
                "",
                PYTHON,
                "-I",
                "-S",
                "-c",
                ASK,
            ]
            return _asked([*words, str(beside), str(port.getsockname()[1]), str(victim.pid)], here)
        finally:
            victim.kill()


def _asked(words: list[str], here: Path) -> dict[str, Any]:
    with subprocess.Popen(
        words, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if not line:
            return {"failed": process.stderr.read()}
        said: dict[str, Any] = {"asked": json.loads(line)}
        (keeper,) = _children(process.pid)
        (asker,) = _children(keeper)
        said["shared"] = [
            name for name in SPACES if Path(f"/proc/{asker}/ns/{name}").samefile(f"/proc/self/ns/{name}")
        ]
        said |= _seen(asker)
        process.kill()  # boot alone: all else goes with it
        process.wait()
        until = time.monotonic() + 5
        while _lives(asker) and time.monotonic() < until:
            time.sleep(0.01)
        said["lives"] = _lives(asker)
        if said["lives"]:
            os.kill(asker, signal.SIGKILL)
    return said


def _seen(asker: int) -> dict[str, Any]:
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{asker}/status").read_text().splitlines()
        if ":\t" in line
    )
    limits = Path(f"/proc/{asker}/limits").read_text().splitlines()
    return {
        "rights": {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd")},
        "effective": {status["CapEff"], status["CapPrm"]},
        "no rights": {status[f"Cap{kind}"] for kind in ("Inh", "Amb")},
        "no new": status["NoNewPrivs"],
        "first to go": Path(f"/proc/{asker}/oom_score_adj").read_text().strip(),
        "users": Path(f"/proc/{asker}/uid_map").read_text().split(),
        "limits": {line[:26].strip(): line[26:].split()[:2] for line in limits[1:]},
        "mounts": {
            tuple(sorted({"rw", "nosuid", "nodev", "noexec"} & {*row[5].split(",")}))
            for row in map(str.split, Path(f"/proc/{asker}/mountinfo").read_text().splitlines())
            if not row[4].endswith(("/here", "/kept", "/dev/null"))
        },
        "own mounts": {
            row[4].rpartition("/")[2]: tuple(sorted({"rw", "nosuid", "nodev"} & {*row[5].split(",")}))
            for row in map(str.split, Path(f"/proc/{asker}/mountinfo").read_text().splitlines())
            if row[4].endswith(("/here", "/kept", "/dev/null"))
        },
    }


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _children(of: int) -> list[int]:
    text = "".join(path.read_text() for path in Path(f"/proc/{of}/task").glob("*/children"))
    return [int(word) for word in text.split()]


def wrong_limits(said: Mapping[str, Any]) -> list[str]:
    """Those that are not there, or are larger."""
    most = {
        "Max core file size": 0,
        "Max file size": FILE_MB << 20,
        "Max address space": ADDRESS_MB << 20,
        "Max processes": 8192,
        "Max open files": 16384,
        "Max msgqueue size": 0,
        "Max realtime priority": 0,
    }
    return [
        name
        for name, value in most.items()
        if "unlimited" in said["limits"][name] or max(map(int, said["limits"][name])) > value
    ]


def holds(said: Mapping[str, Any], asked: Mapping[str, object]) -> list[str]:
    """What of all that is other than it must be."""
    if "failed" in said:
        return ["failed"]
    wrong = [name for name in asked if said["asked"][name] != asked[name]]
    own = Path("/proc/self/uid_map").read_text().split()
    expected = {
        "shared": ["pid", "net"] if asked is BY_LANDLOCK else [],
        "rights": {RIGHTS},
        "no rights": {"0" * 16},
        "no new": "1",
        "first to go": "1000",
        "users": [own[0], own[0], own[2]],
        "lives": False,
    }
    wrong += [name for name, value in expected.items() if said[name] != value]
    if asked is not BY_LANDLOCK:
        if any("rw" in flags or not {"nosuid", "nodev"} <= {*flags} for flags in said["mounts"]):
            wrong.append("mounts")
        meant = {"here": ("nodev", "nosuid", "rw"), "kept": ("nodev", "nosuid", "rw"), "null": ("nosuid",)}
        wrong += ["own mounts"] * (said["own mounts"] != meant)
    return wrong + wrong_limits(said)


@pytest.mark.parametrize(
    ("changes", "asked"),
    [((), BY_BOTH), ((NO_LANDLOCK,), BY_MOUNTS), (NO_SPACES, BY_LANDLOCK)],
    ids=["both", "mounts alone", "Landlock alone"],
)
def test_it_holds(changes: tuple[Change, ...], asked: Mapping[str, object], tmp_path: Path) -> None:
    said = confined(built(tmp_path, *changes), tmp_path)
    assert holds(said, asked) == [], said


BOTH, BY_MOUNTS_ALONE, BY_LANDLOCK_ALONE = (
    ((), BY_BOTH),
    ((NO_LANDLOCK,), BY_MOUNTS),
    (NO_SPACES, BY_LANDLOCK),
)
OF_NOBODY = {"read another's": "EACCES"}
LESSER: dict[tuple[str, ...], tuple[tuple[str, ...], Mapping[str, object]]] = {
    ("landlock",): (("Landlock: Function not implemented",), BY_MOUNTS),
    ("mount_setattr",): (
        ("read-only mounts: Function not implemented",),
        {
            **BY_BOTH,  # by Landlock, in namespaces of its own
            **{
                name: BY_LANDLOCK[name]
                for name in ("write beside", "truncate beside", "overwrite beside", "read zero")
            },
        },
    ),
    ("user-namespaces",): (
        ("namespaces: No space left on device", "read-only mounts: Operation not permitted"),
        {**BY_LANDLOCK, **OF_NOBODY},
    ),
    ("user-namespaces", "landlock"): (
        (
            "namespaces: No space left on device",
            "read-only mounts: Operation not permitted",
            "Landlock: Function not implemented",
        ),
        {"write here": "DONE", "device out": "EPERM", "set the host's name": "EPERM", **OF_NOBODY},
    ),
}
"""What a host has not, what is said of that, and what holds all the same."""


@pytest.mark.parametrize("kinds", LESSER)
def test_what_a_lesser_host_has_holds_and_what_it_has_not_is_said(
    kinds: tuple[str, ...], tmp_path: Path
) -> None:
    for parent in [tmp_path, *list(tmp_path.parents)[:-2]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    lacks, asked = LESSER[kinds]
    boot, before = built(tmp_path), lesser.words(*kinds)
    (tmp_path / "out").mkdir()
    words = [*before, str(boot), "--check"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert tuple(done.stdout.splitlines()) == lacks
    said = confined(boot, tmp_path, before)
    assert "failed" not in said, said
    assert {name: said["asked"][name] for name in asked} == asked
    nobody = "user-namespaces" in kinds
    assert (said["rights"] if not nobody else said["effective"]) == ({RIGHTS} if not nobody else {"0" * 16})
    assert (said["no rights"], said["no new"], said["lives"]) == ({"0" * 16}, "1", False)
    assert wrong_limits(said) == []


WRONG: dict[str, tuple[Change, tuple[tuple[Change, ...], Mapping[str, object]]]] = {
    "one namespace less: users": (("child = fork_into(CLONE_NEWUSER | apart);", "child = -1;"), BOTH),
    "one namespace less: PIDs": (("apart = CLONE_NEWPID | ", "apart = "), BOTH),
    "one namespace less: network": (("CLONE_NEWNET | ", ""), BOTH),
    "one namespace less: IPC": (("CLONE_NEWIPC | ", ""), BOTH),
    "one namespace less: UTS": (("CLONE_NEWUTS | ", ""), BOTH),
    "root is the only user": (("if (geteuid() == 0 && !say_same", "if (geteuid() != 0 && !say_same"), BOTH),
    "the keeper outlives boot": (("\tprctl(PR_SET_PDEATHSIG, SIGKILL);\n\tpoll(", "\tpoll("), BOTH),
    "the kernel outlives the keeper": (
        (
            "static void start_kernel(char **argv, const sigset_t *blocked)\n{\n\tprctl(PR_SET_PDEATHSIG, SIGKILL);\n",
            "static void start_kernel(char **argv, const sigset_t *blocked)\n{\n",
        ),
        BY_LANDLOCK_ALONE,
    ),
    "mounts: none is read-only": (("closed = MOUNT_ATTR_RDONLY | ", "closed = "), BY_MOUNTS_ALONE),
    "mounts: set-user-id programs": (("MOUNT_ATTR_NOSUID | ", ""), BOTH),
    "mounts: devices": ((" | MOUNT_ATTR_NODEV;", ";"), BOTH),
    "mounts: the first alone": (('change_mount("/", 1, closed, 0)', 'change_mount("/", 0, closed, 0)'), BOTH),
    "mounts: /dev/null as the others": (('change_mount("/dev/null", 0, 0, MOUNT_ATTR_NODEV)', "0"), BOTH),
    "mounts: the kept folder as the others": (("change_mount(out, 0, 0, MOUNT_ATTR_RDONLY)", "0"), BOTH),
    "mounts: /proc": (('hide("/proc", "/proc/cpuinfo") || ', ""), BOTH),
    "mounts: /sys": ((' || hide("/sys", NULL)', ""), BOTH),
    "mounts: no cpuinfo": (('hide("/proc", "/proc/cpuinfo")', 'hide("/proc", NULL)'), BOTH),
    "mounts: the old folder": ((" || chdir(here)", ""), BOTH),
    "Landlock: pipes and links in here": (
        ("result = let(rules, here, (KEEPS |", "result = let(rules, here, (MAKES | KEEPS |"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: pipes and links in out": (
        ("let(rules, out, (KEEPS |", "let(rules, out, (MAKES | KEEPS |"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: no writing below out": (("let(rules, out, (KEEPS | ", "let(rules, out, ("), BY_LANDLOCK_ALONE),
    "Landlock: no renaming": (
        ("let(rules, out, (KEEPS | REFER |", "let(rules, out, (KEEPS |"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: all of the machine": (
        (
            'let(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE)',
            'let(rules, "/", LANDLOCK_ACCESS_FS_WRITE_FILE)',
        ),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: truncating is nobody's": (("if (version >= 3)", "if (version >= 30)"), BY_LANDLOCK_ALONE),
    "Landlock: ports are nobody's": (
        ("all.net = BIND_TCP | CONNECT_TCP;", "all.net = 0;"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: taking a port": (
        ("all.net = BIND_TCP | CONNECT_TCP;", "all.net = CONNECT_TCP;"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: signals": (
        (" = ABSTRACT_UNIX_SOCKET | SIGNAL;", " = ABSTRACT_UNIX_SOCKET;"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: abstract names": ((" = ABSTRACT_UNIX_SOCKET | SIGNAL;", " = SIGNAL;"), BY_LANDLOCK_ALONE),
    "Landlock: its first rules only": (
        ("*bytes = version >= 6 ? sizeof(all) : version", "*bytes = version"),
        BY_LANDLOCK_ALONE,
    ),
    "Landlock: rules that nobody is put under": (
        ("syscall(SYS_landlock_restrict_self, rules, 0);", "0;"),
        BY_LANDLOCK_ALONE,
    ),
    "no new privileges": (("if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))", "if (0)"), BOTH),
    "rights: one more": (("1 << CAP_FOWNER;", "1 << CAP_FOWNER | 1 << CAP_SYS_CHROOT;"), BOTH),
    "rights: root's over files go": (
        ("const unsigned int files = ", "const unsigned int files = 0 & "),
        BOTH,
    ),
    "rights: they come back": (
        ("if (prctl(PR_CAPBSET_DROP, right, 0, 0, 0) && errno != EPERM)", "if (0)"),
        BOTH,
    ),
    "rights: only the first 32 end": (
        ("right < 32 && files >> right & 1", "right < 32 || files >> right & 1"),
        BOTH,
    ),
    "limits: files a thousand times as long": (
        (
            "most.file_bytes = strtoull(argv[1], NULL, 10) << MB",
            "most.file_bytes = strtoull(argv[1], NULL, 10) << 30",
        ),
        BOTH,
    ),
    "limits: addresses a thousand times": (
        (
            "most.address_bytes = strtoull(argv[2], NULL, 10) << MB",
            "most.address_bytes = strtoull(argv[2], NULL, 10) << 30",
        ),
        BOTH,
    ),
    "limits: no addresses": (("if (most->address_bytes)", "if (!most->address_bytes)"), BOTH),
    "limits: processes": (("#define PROCESSES 8192 ", "#define PROCESSES 8192000 "), BOTH),
    "limits: open files": (("#define FILES 16384", "#define FILES 16385"), BOTH),
    "limits: cores": (("\tlimit(RLIMIT_CORE, 0);", "\t;"), BOTH),
    "limits: soft ones alone": (
        (
            "\tif (now.rlim_max > most)\n\t\tnow.rlim_max = most;\n\tnow.rlim_cur = now.rlim_max;",
            "\tnow.rlim_cur = most;",
        ),
        BOTH,
    ),
    "limits: message queues": (("\tlimit(RLIMIT_MSGQUEUE, 0);\n", ""), BOTH),
    "memory: it is not the first to go": (('\tsay("/proc/self/oom_score_adj", "1000");\n', ""), BOTH),
}
"""A text in the place of another, and the variant in which it is noticed."""


@pytest.mark.kernel
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_version_is_noticed(what: str, tmp_path: Path) -> None:
    change, (variant, asked) = WRONG[what]
    assert holds(confined(built(tmp_path, change, *variant), tmp_path), asked) != []


FORK = """
import json, os, time
made = 0
try:
    while made < 600:
        if os.fork() == 0: time.sleep(60)
        made += 1
except OSError: pass
print(made, flush=True)
os._exit(0)
"""
FEWER: Change = ("#define OWN_PROCESSES 4096", "#define OWN_PROCESSES 400")
ROOTS_LIMIT = "if (limit_processes() && geteuid() == 0)"
BEFORE_6_14: Change = ("(major == 6 && minor < 14)", "(major >= 6)")


def forked(boot: Path, at: Path) -> int:
    """How many of 600 processes a process in the guest's place makes."""
    here = at / "here"
    here.mkdir()
    (here / "out").mkdir()
    words = [str(boot), str(FILE_MB), "0", "", PYTHON, "-I", "-S", "-c", FORK]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_roots_processes_are_bounded_too(tmp_path: Path) -> None:
    """For root RLIMIT_NPROC is none."""
    if any(part.startswith("limit of processes") for part in lacking()):
        pytest.skip("the host's own number is left as it is")
    own = Path("/proc/sys/kernel/pid_max").read_text()
    assert forked(built(tmp_path, FEWER), tmp_path) < 400
    assert Path("/proc/sys/kernel/pid_max").read_text() == own
    for number, change in enumerate([(ROOTS_LIMIT, "if (!limit_processes)"), BEFORE_6_14]):
        at = tmp_path / str(number)
        at.mkdir()
        assert forked(built(at, FEWER, change), at) == 600


def test_an_older_host_lacks_that(tmp_path: Path) -> None:
    boot = built(tmp_path, BEFORE_6_14)
    (tmp_path / "out").mkdir()
    done = subprocess.run([str(boot), "--check"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "limit of processes: Function not implemented\n"
