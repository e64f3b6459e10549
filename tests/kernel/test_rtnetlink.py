"""What topologies are laid with says what the kernel refuses, and a host without sockets is not asked for them."""

from __future__ import annotations

import pytest
from dstcc_kernel.endhosts.sampling import NO_SOCKETS
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.rtnetlink import LOOPBACK, Routes


def test_a_device_is_found_by_its_name() -> None:
    with Routes() as ip:
        assert ip.index("lo") == LOOPBACK


def test_what_the_kernel_refuses_is_said_by_its_name() -> None:
    with Routes() as ip, pytest.raises(NetlinkError, match=r"kernel, rtnetlink: .*ENODEV"):
        ip.index("no such device")


@pytest.mark.parametrize(
    ("line", "none"),
    [
        (b"TCP: inuse 0 orphan 0 tw 0 alloc 7 mem 0", True),
        (b"TCP: inuse 1 orphan 0 tw 0 alloc 7 mem 0", False),
        (b"TCP: inuse 0 orphan 0 tw 2 alloc 7 mem 0", False),  # FIN-WAIT-2 is kept so
        (b"TCP6: inuse 0", True),
        (b"TCP6: inuse 12", False),
    ],
)
def test_the_counts_say_whether_a_host_has_a_socket_of_tcp(line: bytes, none: bool) -> None:
    assert bool(NO_SOCKETS.fullmatch(line)) == none
