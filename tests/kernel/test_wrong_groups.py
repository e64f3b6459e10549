"""Wrong versions of the module's groups: a check notices each, and passes the right one (``test_module.py``)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from dstcc_kernel import module, sources

from dstcc.errors import KernelError

from . import module_tests
from .test_module import check

pytestmark = pytest.mark.kernel


class Wrong(NamedTuple):
    """A text of the source, and what stands in its place."""

    check: str
    right: str
    wrong: str = ""
    file: str = "group.c"


WRONG = {
    "grants are not counted": Wrong("group_bound", "\t\t\tgroup->counted += grant;\n"),
    "who leaves keeps its room": Wrong("group_bound", "\tgroup->counted -= member->counted;\n"),
    "who leaves counts in the mean": Wrong(
        "group_bound",
        "\tif (member->steered) {\n\t\tgroup->steered--;\n"
        "\t\tgroup->steered_windows -= member->window;\n\t}\n\tlast",
        "\tlast",
    ),
    "those of Reno count beside the agent's": Wrong(
        "group_window", "group->steered ? group->steered_windows : group->windows", "group->windows"
    ),
    "the window of one stands for all": Wrong(
        "group_window",
        "group->windows = group->windows - member->window + dstcc->own;",
        "group->windows = (u64)dstcc->own * group->size;",
    ),
    "a member's own window does not bound it": Wrong(
        "group_window",
        "dstcc->own > in_flight ? min(dstcc_wanted(sk), dstcc->own - in_flight) : 0;",
        "dstcc_wanted(sk);",
    ),
    "who has no room may send a segment": Wrong(
        "group_window", "snd_cwnd, dstcc->lent);", "snd_cwnd, max(dstcc->lent, 1U));"
    ),
    "grants that were not used stay": Wrong(
        "group_settles", "\t\tdstcc_settle_other(sk, group);\n\t\tsock_put(sk);", "\t\tsock_put(sk);"
    ),
    "a holder is not asked to settle": Wrong(
        "group_settles",
        "\tif (sock_owned_by_user(sk)) {\n\t\tdstcc_push(sk);\n",
        "\tif (sock_owned_by_user(sk)) {\n",
    ),
    "nobody is woken": Wrong("group_wakes", "\t\tsent |= dstcc_serve(sk, group);\n"),
    "an ACK wakes nobody": Wrong(
        "group_wakes",
        "\tif (!list_empty(&group->waiting) && dstcc_group_room(group))\n\t\tdstcc_group_kick(group);\n"
        "\tspin_unlock_bh(&group->lock);\n}\n\n/* The member of",
        "\tspin_unlock_bh(&group->lock);\n}\n\n/* The member of",
    ),
    "who hears ACKs goes first": Wrong(
        "group_wakes", "return group->served == member->sk ||", "return true ||"
    ),
    "who comes before the pace loses its place": Wrong(
        "group_wakes",
        "\t\tif (!of_all)\n\t\t\tlist_del_init(&member->waiting);\n",
        "\t\tlist_del_init(&member->waiting);\n\t\tif (true) {}\n",
    ),
    "each sends a pace of its own": Wrong(
        "group_pace", "\ttp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, group->next_ns);\n"
    ),
    "TCP's first ten segments are free": Wrong(
        "group_pace",
        "\tdstcc_charge(group, member);\n\tlist_del",
        "\tgroup->next_ns = max(group->next_ns, tp->tcp_wstamp_ns);\n\tlist_del",
    ),
    "what others have just sent is free": Wrong(
        "group_pace",
        "\tlist_for_each_entry(other, &group->granted, granted)\n\t\tdstcc_charge(group, other);\n",
        "\t(void)other;\n",
    ),
    "segments are charged anew with each look": Wrong("group_pace", "\tmember->bytes_sent = sent;\n"),
    "nothing goes beside the window": Wrong(
        "group_beside", "dstcc_group_window(group) + group->beside;", "dstcc_group_window(group);"
    ),
    "repeats need no room": Wrong("group_losses", "tp->lost_out - tp->retrans_out : 0;", "0 : 0;"),
    "Reno halves what was lent": Wrong(
        "group_silence",
        "\tdstcc_restore(sk);\n\tif (dstcc->member)\n\t\ttcp_sk(sk)->prior_cwnd = dstcc->own;\n",
        "",
        "control.c",
    ),
    "Reno grows what was lent": Wrong(
        "group_silence", "\tdstcc_restore(sk);\n\tdstcc_measure", "\tdstcc_measure", "control.c"
    ),
    "who leaves has what was lent": Wrong(
        "group_ends", "\tdstcc_restore(sk);\n\tgroup = member->group;", "\tgroup = member->group;"
    ),
    "who leaves sends with the next ACK": Wrong(
        "group_ends",
        "\t\t\tif (left) /* it may have waited for room, and hear no ACK */\n\t\t\t\tdstcc_push(sk);\n",
        "\t\t\t(void)left;\n",
        "groups_netlink.c",
    ),
    "a group outlives its members": Wrong(
        "group_ends", "\t\t__xa_erase(&own->groups, group->id);\n", "\t\t;\n"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_group_is_noticed(kernel: Path, tmp_path: Path, name: str) -> None:
    wrong = WRONG[name]
    for part in ("law", "module"):
        shutil.copytree(sources.folder(part), tmp_path / "built" / part)
    source = tmp_path / "built/module" / wrong.file
    text = source.read_text()
    assert text.count(wrong.right) == 1
    source.write_text(text.replace(wrong.right, wrong.wrong))
    module.make(kernel.parent / "tree", source.parent, "um")
    right = module_tests.tested_module(kernel) / "test"
    shutil.copytree(right, source.parent / "test", dirs_exist_ok=True)  # checks load what it has, too
    with pytest.raises((AssertionError, KernelError)):  # or it never ends
        check(kernel, tmp_path / "out", wrong.check, folder=source.parent)
