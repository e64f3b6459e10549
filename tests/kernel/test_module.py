"""The congestion control in a guest; ``inside/module_checks.py`` has the checks, here they are run and compared."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import guest, module, sources

from . import module_tests
from .test_law import digest

INSIDE = Path(__file__).parent / "inside/module_checks.py"
SHORT = (
    "state",
    "actions",
    "window_opens_at_once",
    "first_pace",
    "silence",
    "reports",
    "closing",
    "backup",
    "held",
    "idle_silence",
    "fallback_in_loss",
    "tcp_state",
    "bounded_headroom",
    "refusals",
    "killed_agent",
    "policy",
)
GROUPS = (
    "group_bound",
    "group_window",
    "group_settles",
    "group_wakes",
    "group_pace",
    "group_beside",
    "group_losses",
    "group_silence",
    "group_ends",
    "group_refusals",
    "group_held",
)
QUICK = ("state", "actions", "refusals", "group_refusals")
"""Of both: for `make test`."""
WALL_S = 120.0
"""Far above what the short checks take on a busy machine."""
LONG_WALL_S = 3000.0
COST_LIMIT = 1.3
"""Of CUBIC's cost per ACK."""


def check(
    kernel: Path,
    out: Path,
    *names: str,
    wall_s: float = WALL_S,
    memory_mb: int = 1024,
    folder: Path | None = None,
) -> dict[str, dict[str, Any]]:
    """Run checks in a guest, of the module or of another in ``folder``; what each found. Fails with the guest's words,
    or for a complaint of the kernel's."""
    folder = folder or module_tests.tested_module(kernel)
    words = [sys.executable, str(INSIDE), str(folder), *names]
    where = {"PATH": f"{os.defpath}:/usr/sbin:/sbin"}  # ip and tc
    done = guest.run(kernel, words, out=out, seed=1, memory_mb=memory_mb, wall_s=wall_s, environment=where)
    text = done.console.read_text(errors="replace")
    assert done.exit_code == 0, text[-4000:]
    assert done.reports == (), text
    entries = [json.loads(line) for line in text.splitlines() if line.startswith('{"check"')]
    assert [entry["check"] for entry in entries] == [name.partition("=")[0] for name in names]
    return {entry.pop("check"): entry for entry in entries}


def test_the_law_in_the_kernel_is_the_simulators_and_the_module_does_as_it_says(
    kernel: Path, tmp_path: Path
) -> None:
    """State, actions, refusals, a little of what is random."""
    found = check(kernel, tmp_path, "law", *QUICK, "fuzz=100")
    assert found["law"]["digest"] == digest()


@pytest.mark.kernel
def test_locks_rights_a_killed_agent_silence_a_policy_and_all_rules_of_groups(
    kernel: Path, tmp_path: Path
) -> None:
    check(kernel, tmp_path, *(name for name in (*SHORT, *GROUPS) if name not in QUICK))


NEW_MESSAGE = "struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);\n\tstruct nlattr *more"
NO_MEMORY = "own->slot % 3 == 2 && *id > 1 ? NULL : genlmsg_new"


@pytest.mark.kernel
def test_a_report_without_memory_is_told_as_lost(kernel: Path, tmp_path: Path) -> None:
    """The kernel's small allocations do not fail on demand: a copy of the module has one that does."""
    for name in ("law", "module"):
        shutil.copytree(sources.folder(name), tmp_path / "built" / name)
    source = tmp_path / "built/module/netlink.c"
    text = source.read_text()
    assert text.count(NEW_MESSAGE) == 1
    source.write_text(text.replace(NEW_MESSAGE, NEW_MESSAGE.replace("genlmsg_new", NO_MEMORY)))
    module.make(kernel.parent / "tree", source.parent, "um")
    check(kernel, tmp_path / "out", "lost_report", folder=source.parent)


@pytest.mark.kernel
def test_an_ack_costs_no_more_than_1_3_times_cubics(kernel: Path, tmp_path: Path) -> None:
    results = check(kernel, tmp_path, "ack_cost")["ack_cost"]
    print(f"cycles per ACK: {results['cycles']}, ratio to CUBIC {results['ratio']:.2f}")
    assert results["ratio"] <= COST_LIMIT


@pytest.mark.kernel
def test_sources_are_clean_by_the_kernels_own_checkers(kernel: Path, tmp_path: Path) -> None:
    if shutil.which("sparse") is None:
        pytest.skip("sparse is not installed")
    tree = kernel.parent / "tree"
    module_tests.build(tree, tmp_path / "built", sparse=True)
    sources = [*(tmp_path / "built").glob("module/**/*.[ch]"), *(tmp_path / "built").glob("law/*.h")]
    ours = [path for path in sources if not path.name.endswith(".mod.c")]
    assert len(ours) >= 9
    assert module_tests.checkpatch(tree, ours) == ""


@pytest.mark.kernel
def test_nothing_is_reported_by_kasan_lockdep_ubsan_and_kmemleak(debug_kernel: Path, tmp_path: Path) -> None:
    results = check(debug_kernel, tmp_path, "law", *SHORT, *GROUPS, "leaks", wall_s=LONG_WALL_S)
    assert results["leaks"]["kmemleak"]


@pytest.mark.kernel
def test_1000_loads_and_unloads_under_traffic(debug_kernel: Path, tmp_path: Path) -> None:
    check(debug_kernel, tmp_path, "cycles=1000", "leaks", wall_s=LONG_WALL_S)


@pytest.mark.kernel
def test_100000_malformed_messages(debug_kernel: Path, tmp_path: Path) -> None:
    check(debug_kernel, tmp_path, "fuzz=100000", "leaks", wall_s=LONG_WALL_S)
