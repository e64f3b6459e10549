"""The system calls that are left to a guest's kernel (``lab/filter.c``), asked for by a process that has nothing else.

Each wrong version of the filter lets something through, or forbids what is needed, and is noticed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from errno import EBADF, EINVAL, ENOSYS, ENOTDIR, ENOTTY, EPERM, ESRCH
from pathlib import Path

import pytest
from dstcc_kernel.sources import folder

from tests.kernel import lesser

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
"""One that anybody may run."""
NOBODY = 4_194_302
"""The number of no process."""
HERE, GONE = -100, "b'/dev/null/below'"
THREAD = 0x10000
"""CLONE_THREAD alone, which clone() refuses as invalid once it is asked."""
NAMESPACES = {
    "mounts": 0x20000,
    "cgroups": 0x2000000,
    "names": 0x4000000,
    "IPC": 0x8000000,
    "users": 0x10000000,
    "PIDs": 0x20000000,
    "network": 0x40000000,
}
CALLS: dict[str, tuple[str, int]] = {
    "socket": ("41, 2, 1, 0", EPERM),
    "execve": ("59, 0, 0, 0", EPERM),
    "mount": ("165, 0, 0, 0, 0, 0", EPERM),
    "unshare": ("272, 0x10000000", EPERM),
    "another list of numbers (x32)": ("0x40000000 | 39", EPERM),
    "clone3": ("435, 0, 0", ENOSYS),
    "clone": (f"56, {THREAD}, 0, 0, 0, 0", EINVAL),
    **{f"clone: {name}": (f"56, {THREAD | flag}, 0, 0, 0, 0", EPERM) for name, flag in NAMESPACES.items()},
    "ptrace: go on": (f"101, 7, {NOBODY}, 0, 0", ESRCH),
    "ptrace: attach": (f"101, 16, {NOBODY}, 0, 0", EPERM),
    "ptrace: seize": (f"101, 0x4206, {NOBODY}, 0, 0", EPERM),
    "ioctl: is it a terminal": ("16, 0, 0x5401, 0", ENOTTY),
    "ioctl: type for the user": ("16, 0, 0x5412, 0", EPERM),
    "open": (f"2, {GONE}, 0o6000, 0o755", ENOTDIR),  # O_APPEND | O_NONBLOCK
    "openat": (f"257, {HERE}, {GONE}, 0o6000, 0o755", ENOTDIR),
    "chmod": (f"90, {GONE}, 0o755", ENOTDIR),
    "creat": (f"85, {GONE}, 0o755", ENOTDIR),
    "mkdir": (f"83, {GONE}, 0o755", ENOTDIR),
    "mkdirat": (f"258, {HERE}, {GONE}, 0o755", ENOTDIR),
    "fchmod": ("91, -1, 0o755", EBADF),
    "fchmodat": (f"268, {HERE}, {GONE}, 0o755", ENOTDIR),
    "rename": (f"82, {GONE}, {GONE}", ENOTDIR),
    "unlink": (f"87, {GONE}", ENOTDIR),
    "truncate": (f"76, {GONE}, 0", ENOTDIR),
    "link": (f"86, {GONE}, {GONE}", EPERM),
    "symlink": (f"88, {GONE}, {GONE}", EPERM),
    "mknod": (f"133, {GONE}, 0o10644, 0", EPERM),
    "kill": (f"62, {NOBODY}, 0", ESRCH),
    "its own limits": ("302, 0, 7, 0, 0", 0),
    "another's limits": (f"302, {NOBODY}, 7, 0, 0", EPERM),
    "fcntl: flags": ("72, -1, 3", EBADF),
    "fcntl: a lock": ("72, -1, 6, 0", EPERM),
    "fcntl: a lock of the open file": ("72, -1, 37, 0", EPERM),
    "fcntl: a lease": ("72, -1, 1024, 0", EPERM),
    "fcntl: notices of a folder": ("72, -1, 1026, 0x1F", EPERM),
    "another's memory": (f"310, {NOBODY}, 0, 0, 0, 0, 0", EPERM),
    "raise a right": ("126, 0, 0", EPERM),
    "become another": ("105, 1", EPERM),
}
for number, (name, words) in {
    2: ("open", f"{GONE}, 0, {{}}"),
    257: ("openat", f"{HERE}, {GONE}, 0, {{}}"),
    85: ("creat", f"{GONE}, {{}}"),
    83: ("mkdir", f"{GONE}, {{}}"),
    258: ("mkdirat", f"{HERE}, {GONE}, {{}}"),
    90: ("chmod", f"{GONE}, {{}}"),
    91: ("fchmod", "-1, {}"),
    268: ("fchmodat", f"{HERE}, {GONE}, {{}}"),
}.items():
    for what, mode in (("set-user-id", "0o4755"), ("set-group-id", "0o2755")):
        CALLS[f"{name}: {what}"] = (f"{number}, {words.format(mode)}", EPERM)
ASK = "import ctypes, json\nlibc = ctypes.CDLL(None, use_errno=True)\nsaid = {}\n" + "".join(
    f"ctypes.set_errno(0); libc.syscall({words}); said[{name!r}] = ctypes.get_errno()\n"
    for name, (words, _) in CALLS.items()
)
AS_32_BITS = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""


def built(text: str, at: Path) -> Path:
    """A filter as a library to be loaded first."""
    (at / "filter.c").write_text(text)
    made = at / "filter.so"
    subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "-o", made, at / "filter.c"], check=True)
    return made


def run(code: str, library: Path | None, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """A process under the filter; it says what it has to in the end."""
    preload = () if library is None else ("env", f"LD_PRELOAD={library}")
    words = [*before, *preload, PYTHON, "-I", "-S", "-c", code]
    return subprocess.run(
        words,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def asked(library: Path) -> dict[str, int]:
    """The error of each call."""
    done = run(ASK + "print(json.dumps(said))", library)
    assert done.returncode == 0, done.stderr
    answers: dict[str, int] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module")
def source() -> str:
    return (folder("lab") / "filter.c").read_text()


def test_what_is_not_kept_is_refused_and_what_is_is_asked(source: str, tmp_path: Path) -> None:
    assert asked(built(source, tmp_path)) == {name: answer for name, (_, answer) in CALLS.items()}
    refused = {name: answer for name, (_, answer) in CALLS.items() if name.startswith("fchmod: ")}
    assert set(refused.values()) == {EPERM}, "before it looks at the file, which is none"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_an_ordinary_user_sets_it_too(source: str, tmp_path: Path) -> None:
    """For which new privileges have to be given up first."""
    for parent in [tmp_path, *list(tmp_path.parents)[:-2]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    library = built(source, tmp_path)
    library.chmod(0o755)
    done = run(ASK + "print(json.dumps(said))", library, user)
    assert json.loads(done.stdout) == {name: answer for name, (_, answer) in CALLS.items()}
    lax = built(source.replace("prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || ", ""), tmp_path)
    assert run("", lax, user).returncode == 127


@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        ("seccomp", ("", ""), 0),
        ("seccomp", ("errno == EINVAL || ", ""), 127),
        ("filters", ("", ""), 127),
        ("filters", ("if (errno == EINVAL || errno == ENOSYS)", "if (1)"), 0),
    ],
)
def test_a_host_without_seccomp_goes_on_and_one_that_forbids_it_does_not(
    kind: str, change: tuple[str, str], code: int, source: str, tmp_path: Path
) -> None:
    """`boot --check` says that it is missing; what is forbidden is no kernel of ours."""
    done = run("print('went on')", built(source.replace(*change), tmp_path), lesser.words(kind))
    assert (done.returncode, done.stdout) == (code, "went on\n" * (code == 0)), done.stderr


def test_numbers_of_another_machine_end_the_process(source: str, tmp_path: Path) -> None:
    """They mean other calls there: its 102, which makes sockets, is getuid() here."""
    if run(AS_32_BITS, None).returncode != 0:
        pytest.skip("this machine runs no programs of 32 bits")
    assert run(AS_32_BITS, built(source, tmp_path)).returncode == -signal.SIGSYS
    lax = source.replace("\tanswer(SECCOMP_RET_KILL_PROCESS); /* another", "\t(void)0; /* another")
    assert lax != source
    lax = lax.replace("\tadd(BPF_JMP | BPF_JA, 1, 0, 0);\n", "")
    assert run(AS_32_BITS, built(lax, tmp_path)).returncode == 0


WRONG = {
    "a namespace of users by clone()": (" | CLONE_NEWUSER", ""),
    "a namespace of cgroups by clone()": (" | CLONE_NEWCGROUP", ""),
    "clone3(), whose flags nobody sees": ("SYS_futex,", "SYS_futex, SYS_clone3,"),
    "clone3() refused for good, so that nothing forks": (
        "answer(SECCOMP_RET_ERRNO | ENOSYS);",
        "answer(NO);",
    ),
    "seizing a process": ("PTRACE_ATTACH, PTRACE_SEIZE }", "PTRACE_ATTACH }"),
    "tracing none at all": (
        "others, LENGTH(others), NO, SECCOMP_RET_ALLOW",
        "others, LENGTH(others), SECCOMP_RET_ALLOW, NO",
    ),
    "any request of a terminal": (
        "asks, LENGTH(asks), SECCOMP_RET_ALLOW, NO",
        "asks, LENGTH(asks), SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW",
    ),
    "typing for the user": ("asks[] = { TCGETS }", "asks[] = { TCGETS, TIOCSTI }"),
    "ioctl() by its file, not its request": ("add_requests(SYS_ioctl, 1,", "add_requests(SYS_ioctl, 0,"),
    "set-group-id by chmod()": ("{ SYS_chmod, 1, S_ISUID | S_ISGID }", "{ SYS_chmod, 1, S_ISUID }"),
    "set-user-id by openat(), and no O_NONBLOCK": ("{ SYS_openat, 3,", "{ SYS_openat, 2,"),
    "the upper half of an argument": ("args) + 8 * (n))", "args) + 8 * (n) + 4)"),
    "all bits at once, not any": ("BPF_JMP | BPF_JSET | BPF_K", "BPF_JMP | BPF_JEQ | BPF_K"),
    "a jump past the refusal": ("parts[i].never, 0, 1);", "parts[i].never, 1, 0);"),
    "a part of a list, dropped: mkdir()": ("\t{ SYS_mkdir, 1, S_ISUID | S_ISGID },\n", ""),
    "a part of a list, dropped: fchmodat()": ("\t{ SYS_fchmodat, 2, S_ISUID | S_ISGID },\n", ""),
    "by another argument: creat()": ("{ SYS_creat, 1,", "{ SYS_creat, 0,"),
    "by another argument: mkdirat()": ("{ SYS_mkdirat, 2,", "{ SYS_mkdirat, 1,"),
    "by another argument: clone()": ("{ SYS_clone, 0,", "{ SYS_clone, 1,"),
    "hostfs changes nothing": ("SYS_rename, ", ""),
    "links": ("SYS_rename, ", "SYS_rename, SYS_symlink, "),
    "one instruction too few for a list of requests": (
        "(uint8_t)(2 * count + 2)",
        "(uint8_t)(2 * count + 1)",
    ),
    "one too many for a listed call": (
        "only_for(kept[i], 1);\n\t\tanswer(SECCOMP_RET_ALLOW);",
        "only_for(kept[i], 2);\n\t\tanswer(SECCOMP_RET_ALLOW);",
    ),
    "the number of the call is read after the lists": (
        "\tload(CALL);\n\tadd_requests(SYS_ptrace",
        "\tadd_requests(SYS_ptrace",
    ),
    "another's limits": ("{ SYS_prlimit64, 0, UINT32_MAX }", "{ SYS_prlimit64, 0, 1 }"),
    "locks": ("F_SETOWN, F_SETSIG }", "F_SETOWN, F_SETSIG, F_SETLK }"),
    "fcntl() by its file, not its request": ("add_requests(SYS_fcntl, 1,", "add_requests(SYS_fcntl, 0,"),
    "sockets": ("SYS_futex,", "SYS_futex, SYS_socket,"),
    "all that is not listed": (
        "\tanswer(NO);\n}\n\n__attribute__",
        "\tanswer(SECCOMP_RET_ALLOW);\n}\n\n__attribute__",
    ),
}
"""What is let through, or forbidden, by a text in the place of another."""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_filter_is_noticed(what: str, source: str, tmp_path: Path) -> None:
    text, other = WRONG[what]
    assert source.count(text) == 1
    done = run(ASK + "print(json.dumps(said))", built(source.replace(text, other), tmp_path))
    expected = {name: answer for name, (_, answer) in CALLS.items()}
    assert done.returncode != 0 or json.loads(done.stdout) != expected
