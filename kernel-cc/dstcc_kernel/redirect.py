"""A filter that sends all that arrives on a device through another one, as a clone; the original ends there.

The clone is what makes the packet's sender see it gone: TCP does not repeat a segment whose only copy has yet to leave
the host (``skb_still_in_host_queue``), and without it a packet in flight in netem counts as such for its whole flight.
Hence mirred returns ``pipe`` (so it clones) and a drop follows. Source: net/sched/act_mirred.c, act_gact.c.
"""

from __future__ import annotations

from socket import htons
from typing import Any

from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST
from pyroute2.netlink.rtnl import RTM_NEWTFILTER
from pyroute2.netlink.rtnl.tcmsg import cls_matchall, tcmsg

INGRESS = 0xFFFF0000
ETH_P_ALL = 3
TC_ACT_PIPE = 3


def redirect(ip: Any, arriving: int, through: int) -> None:
    """Send what arrives on one device (with an ingress qdisc) through another, both by index."""
    mirred = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": through}
    options = cls_matchall.get_parameters({"action": [mirred, {"kind": "gact", "action": "drop"}]})
    first = _attribute(_attribute(options, "TCA_MATCHALL_ACT"), "TCA_ACT_PRIO_1")
    _attribute(_attribute(first, "TCA_ACT_OPTIONS"), "TCA_MIRRED_PARMS")["action"] = TC_ACT_PIPE
    made = tcmsg()
    made["index"], made["parent"], made["info"] = arriving, INGRESS, 1 << 16 | htons(ETH_P_ALL)
    made["attrs"] = [("TCA_KIND", "matchall"), ("TCA_OPTIONS", options)]
    made["header"]["type"] = RTM_NEWTFILTER
    made["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    ip.nlm_request_batch([made])


def _attribute(of: dict[str, Any], name: str) -> Any:
    return next(value for key, value in of["attrs"] if key == name)
