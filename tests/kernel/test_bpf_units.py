"""The BPF control's maps, with a bpf(2) that a test plays by linux/bpf.h, and how the program is built."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import bpf
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.netlink import Action, Flags, Subflow

from dstcc.errors import KernelError, MissingCapabilityError

BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_GET_NEXT_KEY = 1, 2, 4
BPF_MAP_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID, BPF_OBJ_GET_INFO_BY_FD = 12, 14, 15


class Maps:
    """bpf(2): maps by number, each with a name and values by keys of four bytes."""

    def __init__(self) -> None:
        self.maps: dict[int, tuple[bytes, dict[int, bytes]]] = {}
        self.files: dict[int, int] = {}
        self.gone: set[int] = set()
        self.refused = 0

    def call(self, command: int, attributes: Any, size: int) -> int:
        assert size == len(attributes)
        found = -1 if self.refused else self._answer(command, attributes)
        if found < 0:
            ctypes.set_errno(self.refused or errno.ENOENT)
        return found

    def _answer(self, command: int, attributes: Any) -> int:
        raw = attributes.raw
        (first,) = struct.unpack_from("=I", raw)
        if command == BPF_MAP_GET_NEXT_ID:  # start_id, next_id, open_flags
            later = sorted(number for number in self.maps if number > first)
            if later:
                attributes[4:8] = struct.pack("=I", later[0])
            return 0 if later else -1
        if command == BPF_MAP_GET_FD_BY_ID:
            if first in self.gone:
                return -1
            file = os.open("/dev/null", os.O_RDONLY)
            self.files[file] = first
            return file
        name, values = self.maps[self.files[first]]
        if command == BPF_OBJ_GET_INFO_BY_FD:  # bpf_fd, info_len, info; the name is 24 bytes in, of 16
            _, length, place = struct.unpack("=IIQ", raw)
            assert length >= 40
            ctypes.memmove(place + 24, name.ljust(16, b"\0"), 16)
            return 0
        return self._element(command, values, raw)

    @staticmethod
    def _element(command: int, values: dict[int, bytes], raw: bytes) -> int:
        """map_fd, nothing, key, value or next key, flags."""
        _, rest, key_at, value_at, flags = struct.unpack("=IIQQQ", raw)
        assert (rest, flags) == (0, 0)
        key = ctypes.c_uint32.from_address(key_at).value if key_at else None
        if command == BPF_MAP_GET_NEXT_KEY:
            keys = [*values, None]
            following = keys[0 if key is None else keys.index(key) + 1]
            if following is not None:
                ctypes.c_uint32.from_address(value_at).value = following
            return -1 if following is None else 0
        assert key is not None
        if command == BPF_MAP_UPDATE_ELEM:
            values[key] = ctypes.string_at(value_at, 16)  # as long are actions and parameters
            return 0
        assert command == BPF_MAP_LOOKUP_ELEM
        ctypes.memmove(value_at, values.get(key, b""), len(values.get(key, b"")))
        return 0 if key in values else -1


def is_open(file: int) -> bool:
    return Path(f"/proc/self/fd/{file}").exists()


@pytest.fixture
def maps(monkeypatch: pytest.MonkeyPatch) -> Maps:
    made = Maps()
    monkeypatch.setattr(bpf, "_call", made.call)
    made.maps = {
        3: (b"others", {}),
        5: (b"dstcc_params", {}),
        7: (b"dstcc_actions", {}),
        9: (b"dstcc_states", {}),
    }
    return made


def test_a_state_has_its_fields_where_the_program_writes_them() -> None:
    """dstcc.bpf.c: acked, unsent, delivery and pacing rate; id, token, ids, flags, ca_state, mss, cwnd; ssthresh to
    retransmitted; bdp, actions, clamps, fallbacks, whether it is identified, ...; addresses."""
    numbers = list(range(100, 129))
    numbers[24], numbers[27] = 1, 0
    value = bpf.STATE.pack(*numbers, bytes([10, 0, 1, 1]) + bytes(12), bytes([10, 0, 1, 2]) + bytes(12))
    names = (
        *(
            "acked_bytes",
            "unsent_bytes",
            "delivery_rate",
            "pacing_rate",
            "id",
            "token",
            "local_id",
            "remote_id",
        ),
        *(
            "flags",
            "ca_state",
            "mss",
            "cwnd",
            "ssthresh",
            "in_flight",
            "srtt_us",
            "min_rtt_us",
            "sent",
            "delivered",
        ),
        *("lost", "retransmitted", "bdp", "actions", "clamps", "fallbacks"),
    )
    found = bpf._subflow(value)
    assert {name: getattr(found, name) for name in names} == dict(zip(names, numbers, strict=False))
    assert (found.local_port, found.remote_port, found.tcp_state) == (125, 126, 128)
    assert (found.local_address, found.remote_address) == ("10.0.1.1", "10.0.1.2")
    assert isinstance(found.flags, Flags)
    numbers[24], numbers[27] = 0, 1
    mapped = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 7])
    plain = bpf._subflow(bpf.STATE.pack(*numbers, mapped, bytes(15) + b"\1"))
    assert (plain.token, plain.local_id, plain.remote_id) == (None, None, None)
    assert (plain.local_address, plain.remote_address) == ("192.0.2.7", "::1")


def record(number: int, token: int = 7) -> bytes:
    numbers = [0] * 29
    numbers[4], numbers[5], numbers[24] = number, token, 1
    return bpf.STATE.pack(*numbers, bytes(16), bytes(16))


def ids(subflows: list[Subflow]) -> list[int]:
    return [subflow.id for subflow in subflows]


def test_the_maps_are_found_by_their_names_and_of_several_the_latest(maps: Maps) -> None:
    maps.maps[9][1].update({30: record(30), 20: record(20), 4: record(4)})
    maps.maps |= {
        11: (b"dstcc_states", {5: record(5)}),
        13: (b"dstcc_states", {}),
        15: (b"dstcc_actions2", {}),
    }
    maps.gone = {13}
    client = bpf.Client()
    held = client._maps
    assert {name: maps.files[file] for name, file in held.items()} == {
        "dstcc_params": 5, "dstcc_actions": 7, "dstcc_states": 11,
    }  # fmt: skip
    for file in maps.files:
        open_ = file in held.values()
        assert is_open(file) == open_, "what is not kept is closed"
    assert ids(client.subflows()) == [5]
    files = list(held.values())
    client.close()
    assert not any(is_open(file) for file in files)


def test_subflows_are_the_oldest_first(maps: Maps) -> None:
    maps.maps[9][1].update({30: record(30), 20: record(20), 4: record(4)})
    with bpf.Client() as client:
        assert ids(client.subflows()) == [4, 20, 30]


def test_without_all_maps_it_is_not_loaded(maps: Maps) -> None:
    del maps.maps[7]
    with pytest.raises(
        MissingCapabilityError, match=r"the kernel has no BPF control dstcc: .*kernel load --bpf"
    ):
        bpf.Client()
    assert not any(is_open(file) for file in maps.files)
    maps.refused = errno.EPERM
    with pytest.raises(MissingCapabilityError, match="BPF maps can be seen by root only"):
        bpf.Client()
    maps.refused = errno.EINVAL
    with pytest.raises(MissingCapabilityError, match="no BPF control"):
        bpf.Client()


def test_an_action_has_a_number_of_its_own_each_time(maps: Maps) -> None:
    """A sequence number, alpha, beta and whether Reno takes over, four bytes each."""
    maps.maps[9][1].update({3: record(3), 4: record(4, token=8)})
    actions = maps.maps[7][1]
    with bpf.Client() as client:
        assert client.act([Action(3, 1 << 15, -4), Action(4, None, token=8)]) == 2
        assert actions == {3: struct.pack("=IIiI", 1, 1 << 15, -4, 0), 4: struct.pack("=IIiI", 1, 0, 0, 1)}
        assert client.act(iter([Action(3, 0, 40, token=7)])) == 1
        assert actions[3] == struct.pack("=IIiI", 2, 0, 40, 0)
        actions[3] = struct.pack("=IIiI", (1 << 32) - 1, 0, 0, 0)
        client.act([Action(3, 0, 41)])
        assert actions[3] == struct.pack("=IIiI", 0, 0, 41, 0), "it goes round"
        for wrong in (Action(5, 0, 1), Action(4, 0, 1, token=7)):
            before = dict(actions)
            with pytest.raises(
                NetlinkError, match=f"no subflow {wrong.subflow} of that connection"
            ) as refused:
                client.act([Action(3, 0, 50), wrong])
            assert refused.value.name == "ENOENT" and actions == before, "nothing is left"


def test_parameters_are_a_silence_the_headroom_and_the_largest_window(maps: Maps) -> None:
    def said() -> tuple[int, ...]:
        return struct.unpack("=QII", maps.maps[5][1][0])

    with bpf.Client() as client:
        client.set_parameters(headroom=5)
        assert said() == (4 * 10**6, 5, 1 << 28), "of the module's own: four slots of a second"
        client.set_parameters(slot_us=2000)
        assert said() == (8000, 5, 1 << 28)
        client.set_parameters(silence_slots=9, headroom=0)
        assert said() == (18_000, 0, 1 << 28)
    with bpf.Client() as client:
        client.set_parameters(silence_slots=9)
        assert said() == (9 * 10**6, 2, 1 << 28)
        maps.refused = errno.EPERM
        with pytest.raises(KernelError, match=f"the BPF control's map: {os.strerror(errno.EPERM)}"):
            client.set_parameters(headroom=1)


def test_bpf_is_the_system_call_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """asm/unistd.h: 321 on x86_64, 280 on aarch64."""
    asked: list[Any] = []

    class Libc:
        def syscall(self, *words: Any) -> int:
            asked.append([getattr(word, "value", word) for word in words])
            return 5

    monkeypatch.setattr("dstcc_kernel.bpf.ctypes.CDLL", lambda *_, **__: Libc())
    for machine, number in (("x86_64", 321), ("aarch64", 280)):
        monkeypatch.setattr("dstcc_kernel.bpf.platform.machine", lambda machine=machine: machine)
        assert bpf._bpf(12, b"ab\0") == 5
        assert asked.pop() == [number, 12, b"ab", 3]


# ------------------------------------------------------------------------------------------------------- the build

TOOL = '#!/bin/sh\necho "$(basename $0) $@" >> {asked}\ncat {answer} 2>/dev/null\nexit 0\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tools that note what they are asked, and print the file ``answer``."""
    for name in ("clang", "bpftool"):
        (tmp_path / name).write_text(TOOL.format(asked=tmp_path / "asked", answer=tmp_path / "answer"))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(bpf, "BTF", tmp_path)
    monkeypatch.setattr(bpf, "HEADERS", tmp_path)
    monkeypatch.setattr("dstcc_kernel.bpf.platform.machine", lambda: "x86_64")
    return tmp_path


@pytest.mark.parametrize(
    ("header", "long"), [("int x;", False), ("(*cong_control)(struct sock *, u32, int);", True)]
)
def test_the_program_is_built_for_the_running_kernel(tools: Path, header: str, long: bool) -> None:
    (tools / "answer").write_text(header)
    out = tools / "out"
    out.mkdir()
    assert bpf.build(out) == out / "dstcc.bpf.o"
    assert (out / "vmlinux.h").read_text() == header
    dumped, compiled = (tools / "asked").read_text().splitlines()
    assert dumped == f"bpftool btf dump file {tools} format c"
    words = compiled.split()
    assert words[:6] == ["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3"]
    assert ("-DDSTCC_ACK_LONG" in words) == long and "-D__TARGET_ARCH_x86" in words and f"-I{out}" in words
    assert (
        words[-4] == "-c"
        and words[-3].endswith("bpf/dstcc.bpf.c")
        and words[-2:] == ["-o", str(out / "dstcc.bpf.o")]
    )


def test_what_is_loaded_is_listed_by_its_name(tools: Path) -> None:
    for listed, there in (
        ("5: dstcc tcp_congestion_ops\n", True),
        ("5: dstcc2 tcp\n6: x dstcc\n7\n", False),
        ("1: bpf_cubic tcp\n2: dstcc tcp\n", True),
        ("", False),
    ):
        (tools / "answer").write_text(listed)
        assert bpf.loaded() == there
    bpf.unload()
    assert (tools / "asked").read_text().splitlines()[-1] == "bpftool struct_ops unregister name dstcc"


def test_loading_registers_it_and_sets_the_modules_parameters(tools: Path, maps: Maps) -> None:
    bpf.load()
    assert (tools / "asked").read_text().splitlines()[-1].startswith("bpftool struct_ops register ")
    assert struct.unpack("=QII", maps.maps[5][1][0]) == (4 * 10**6, 2, 1 << 28)


def test_what_a_tool_says_first_is_the_error(tools: Path) -> None:
    (tools / "bpftool").write_text("#!/bin/sh\nprintf '\\n first\\nsecond\\n' >&2\nexit 3\n")
    with pytest.raises(KernelError, match=r"^bpftool:  first$"):
        bpf.unload()
    (tools / "bpftool").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(KernelError, match=r"^bpftool: it failed$"):
        bpf.unload()


def test_what_is_missing_is_named_with_its_package(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bpf.require()
    monkeypatch.setattr(bpf, "which", lambda tool: None if tool == "clang" else "/x")
    with pytest.raises(MissingCapabilityError, match=r"cannot be built: apt install clang$"):
        bpf.require()
    with pytest.raises(MissingCapabilityError, match=r"clang is missing: apt install clang"):
        bpf._run("clang")
    monkeypatch.setattr(bpf, "HEADERS", tools / "none")
    with pytest.raises(MissingCapabilityError, match=r"apt install clang libbpf-dev$"):
        bpf.require()
    monkeypatch.setattr(bpf, "which", lambda tool: None)
    assert not bpf.loaded()
    monkeypatch.setattr(bpf, "which", lambda tool: "/x")
    monkeypatch.setattr(bpf, "HEADERS", tools)
    monkeypatch.setattr("dstcc_kernel.bpf.platform.machine", lambda: "riscv64")
    with pytest.raises(MissingCapabilityError, match="BPF is not known for riscv64: x86_64, aarch64 only"):
        bpf.require()
