"""The BPF control on this machine's own kernel: two subflows over veth, state and actions, then taken out again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dstcc_kernel import bpf
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.netlink import ONE_Q16, Action, Flags

from dstcc.errors import MissingCapabilityError

sys.path.insert(0, str(Path(__file__).parent / "inside"))
from network import transfer, two_paths


@pytest.fixture(scope="module")
def control() -> Iterator[bpf.Client]:
    if os.geteuid() != 0:
        pytest.skip("loading BPF needs root")
    try:
        bpf.require()
    except MissingCapabilityError as lacking:
        pytest.skip(str(lacking))
    if bpf.loaded():
        pytest.skip("somebody's dstcc is loaded on this machine")
    bpf.load()
    try:
        assert bpf.loaded()
        with bpf.Client() as client:
            yield client
    finally:
        bpf.unload()
    assert not bpf.loaded()


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_two_subflows_tell_their_state_and_take_actions(control: bpf.Client) -> None:
    control.set_parameters(headroom=0, slot_us=250_000, silence_slots=4)
    with two_paths(netem=False) as net, transfer(net):
        wait_for(lambda: len(control.subflows()) == 2)
        wait_for(lambda: all(s.delivered > 100 for s in control.subflows()))
        first, second = control.subflows()
        assert [s.local_address for s in (first, second)] == ["10.0.1.1", "10.0.2.1"]
        assert {s.remote_address for s in (first, second)} == {"10.0.1.2"} and first.remote_port == 5001
        assert first.token == second.token not in (None, 0)
        assert (first.local_id, second.local_id) == (0, 1)
        assert 0 < first.min_rtt_us <= first.srtt_us and first.mss > 500
        assert not first.steered
        assert control.act([Action(first.id, 0, 33), Action(second.id, 0, 44, token=second.token)]) == 2
        wait_for(lambda: [s.cwnd for s in control.subflows() if s.steered] == [33, 44])
        control.act([Action(first.id, 2 * ONE_Q16, 1)])
        wait_for(lambda: control.subflows()[0].cwnd == 67)
        wait_for(lambda: [s.fallbacks for s in control.subflows()] == [1, 1])
        control.act([Action(first.id, 0, 20)])
        wait_for(lambda: control.subflows()[0].steered)
        control.act([Action(first.id, None)])
        wait_for(lambda: not control.subflows()[0].steered)
        with pytest.raises(NetlinkError, match="ENOENT"):
            control.act([Action(first.id, 0, 20), Action(10**6, 0, 20)])
        with pytest.raises(NetlinkError, match="ENOENT"):
            control.act([Action(first.id, 0, 20, token=(first.token or 0) ^ 1)])
    wait_for(lambda: control.subflows() == [])


def test_a_backup_is_told_by_the_word_of_either_end(control: bpf.Client) -> None:
    """BPF sees a subflow with its ACKs, which a backup hears once the other path is cut."""
    ours, theirs = "10.0.2.1", "10.0.1.2"  # the second path's ends: who said so, and who was told
    with two_paths(netem=False, backup=True) as net, transfer(net) as running:
        try:
            running.receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dstcc")
            wait_for(lambda: len(control.subflows()) == 4)
            running.receiver.send(bytes(1000))
            wait_for(lambda: sum(s.delivered > 100 for s in control.subflows()) == 1)
            subprocess.run(["ip", "-n", net.sender, "link", "set", "a0", "down"], check=True)
            running.receiver.send(bytes(1000))
            wait_for(lambda: backups(control) == {(ours, theirs), (theirs, ours)})
        finally:  # the cut path's ends would keep the control for minutes
            running.receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def backups(control: bpf.Client) -> set[tuple[str, str]]:
    return {(s.local_address, s.remote_address) for s in control.subflows() if Flags.BACKUP in s.flags}


def test_the_state_record_is_as_long_as_the_programs() -> None:
    """4 of 8 bytes, 23 of 4, two of 2, two addresses: the C structure has no padding."""
    assert bpf.STATE.size == 4 * 8 + 23 * 4 + 2 * 2 + 2 * 16
