"""Who decides in a guest, with a control that a test holds: what is said of a slot, and what is answered."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import host, steer
from dstcc_kernel.job import NEVER_NS, OBJECTS
from dstcc_kernel.netlink import Action
from dstcc_kernel.steer import TcpController, make

from dstcc.learn.policies.policy import save_policy

from .test_agent import SharingControl, policy, subflow
from .test_transfer import job, link, way

MS = 10**6


@pytest.fixture
def control(monkeypatch: pytest.MonkeyPatch) -> SharingControl:
    """Subflows of two links, one of them a backup, and one of somebody else."""
    addresses = ("10.1.0.1", "10.1.1.1", "10.2.0.1", "10.2.2.1", "10.9.0.1")
    held = SharingControl(*(subflow(number, address) for number, address in enumerate(addresses, start=3)))
    monkeypatch.setattr(host, "client", lambda: held)
    return held


def two(**changes: Any) -> Any:
    return job(link("one", subflows=2), link("two"), **{"slot_ns": 20 * MS, **changes})


def test_a_constant_window_is_held_by_each_of_a_links_subflows(
    control: SharingControl, tmp_path: Path
) -> None:
    slot = make(two(steer={"windows": [30, 40]}), tmp_path)
    assert control.parameters == {"slot_us": 20_000, "silence_slots": 1000, "headroom": 0}
    assert slot("1 2 3") == ""
    assert control.asked == [[Action(3, 0, 30), Action(4, 0, 30), Action(5, 0, 40), Action(6, 0, 40)]]
    assert control.told == [], "windows of their own"
    for slot_ns, slot_us in ((1_001_000, 1001), (1_000_000, 1000), (999_000, 1000)):
        make(two(steer={"windows": [30, 40]}, slot_ns=slot_ns), tmp_path)
        assert control.parameters["slot_us"] == slot_us, (
            "a millisecond is the shortest that the module counts"
        )


def test_lanes_that_share_a_window_are_told_so(control: SharingControl, tmp_path: Path) -> None:
    control.now = [subflow(3 + k, f"10.1.1.{k}" if k else "10.1.0.1") for k in range(70)]
    shared = job(link("one", subflows=70), slot_ns=20 * MS, shared=True, steer={"windows": [30]})
    make(shared, tmp_path)("")
    assert [len(message) for message in control.asked] == [64, 6]
    assert [action.subflow for message in control.asked for action in message] == list(range(3, 73))
    assert [(group, len(ids)) for group, ids, _ in control.told] == [(1, 64), (1, 6)]


def test_contacts_are_what_the_plan_says_in_mission_time() -> None:
    """Scale 4: steps at 0, 8 and 20 s of the mission with 2, 4, 6 s of light, outages of 12 to 16 and from 40 s on."""
    down = way((0, 500 * MS, 0.0), (2000 * MS, 1000 * MS, 0.0), (5000 * MS, 1500 * MS, 0.0))
    one = link("one", down=down, planned_ns=((3000 * MS, 4000 * MS), (10_000 * MS, NEVER_NS)))
    contact = steer._contacts(one, 4.0)
    for now_s, delay_s, up, change_s in (
        *((-1.0, 2, True, 13.0), (0.0, 2, True, 12.0), (7.5, 2, True, 4.5), (8.0, 4, True, 4.0)),
        *((12.0, 4, False, 4.0), (15.5, 4, False, 0.5), (16.0, 4, True, 24.0), (20.0, 6, True, 20.0)),
    ):
        found = contact(now_s)
        assert (found.one_way_s, found.up, found.change_s) == pytest.approx((delay_s, up, change_s)), now_s
    assert not contact(40.0).up and contact(40.0).change_s > 1e9
    always = steer._contacts(link("two"), 4.0)(5.0)
    assert (always.up, always.change_s) == (True, inf)


class Deciding:
    """In the agent's place."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"layers": [1, -1], "gap_s": None, "repair": 0.25, "dark": (), **answer}
        self.heard: tuple[Any, ...] = ()
        self.local_ids: dict[int, dict[int, int]] = {}

    def decide(self, *heard: Any) -> Any:
        self.heard = heard
        return SimpleNamespace(**self.answer)


@pytest.fixture
def controller(control: SharingControl, tmp_path: Path) -> TcpController:
    file = tmp_path / "hand.safetensors"
    save_policy(file, policy(layers=2, headroom=0))
    given = {"policy": str(file), "layers": 2, "slot_s": 2.0, "scale": 4.0}
    made = make(two(lanes=True, steer=given), tmp_path)
    assert isinstance(made, TcpController)
    return made


def test_a_line_is_heard_in_mission_time_and_answered_in_emulated(controller: TcpController) -> None:
    """Time, a queue a link, bytes and time to spare a layer; of scale 4 a second is four."""
    agent: Any = Deciding(layers=[1, -1], gap_s=2.0, repair=0.5, dark=(0, 3))
    controller.agent = agent
    assert controller("500000000 7 8 100 250000000 200 -1\n") == "500000000 0.5 9 1 -1"
    assert agent.heard == (2.0, [100.0, 200.0], [1.0, inf], [7.0, 8.0])
    assert controller("0 7 8 100 0 200 1000") == "500000000 0.5 9 1 -1"
    assert agent.heard[2] == [0.0, pytest.approx(4e-6)], (
        "what is due now has no time to spare, and is not without end"
    )
    agent.answer |= {"gap_s": None, "dark": (), "layers": [0, 0]}
    assert controller("0 7 8 0 -1 0 -1") == "-1 0.5 0 0 0"
    agent.answer |= {"gap_s": inf}
    assert controller("0 7 8 0 -1 0 -1") == f"{1 << 62} 0.5 0 0 0", "base layers first"


def test_a_policy_is_of_the_links_addresses_and_contacts(
    controller: TcpController, control: SharingControl
) -> None:
    assert [sorted(route.addresses) for route in controller.agent.routes] == [
        ["10.1.0.1", "10.1.1.1", "10.1.2.1"],
        ["10.2.0.1", "10.2.2.1"],
    ]
    assert control.parameters["slot_us"] == 500_000
    assert controller.backups is None, "lanes have their own"
    controller.agent.totals.clamps, controller.agent.totals.fallbacks = 3, 5
    assert controller.totals == {"guard_clamps": 3, "guard_fallbacks": 5}


@pytest.mark.parametrize(
    ("changes", "has"),
    [
        ({}, True),
        ({"placed": True}, False),
        ({"lanes": True}, False),
        ({"lanes": True, "placed": True}, False),
        ({"links": (link("one", subflows=2),)}, False),
    ],
)
@pytest.mark.usefixtures("control")
def test_a_stream_that_the_kernel_places_by_itself_has_backups(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    has: bool,
) -> None:
    monkeypatch.setattr(steer, "Backups", list)
    file = tmp_path / "hand.safetensors"
    save_policy(file, policy(layers=2, headroom=0))
    given = {"policy": str(file), "layers": 2, "slot_s": 2.0, "scale": 4.0}
    monkeypatch.setattr("dstcc_kernel.agent.Agent", lambda *_, **__: None)
    made = make(replace(two(steer=given), **changes), tmp_path)
    assert isinstance(made, TcpController)
    assert made.backups == ([["10.1.0.1", "10.1.1.1"], ["10.2.0.1"]] if has else None)


def test_tables_and_backups_follow_what_is_decided(
    controller: TcpController, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(steer, "set_table", lambda _client, token, table: told.append((token, table)))
    monkeypatch.setattr(steer, "Client", object)
    agent: Any = Deciding(layers=[1, -1])
    agent.local_ids = {7: {0: 0, 1: 4}, 9: {1: 5}}
    controller.agent, controller.placed = agent, True
    controller("0 7 8 0 -1 0 -1")
    assert told == [(7, {0: 4, 1: None}), (9, {0: 5, 1: None})]

    class Keeping:
        def keep(self, layers: list[int]) -> None:
            told.append(layers)

    controller.placed, controller.backups = False, Keeping()  # type: ignore[assignment]
    controller("0 7 8 0 -1 0 -1")
    assert told[2:] == [[1, -1]]


def test_a_trial_is_known_in_mission_time(tmp_path: Path) -> None:
    rows = [(0, 1, 500, 3 * MS, 7 * MS, -1, 0), (2, 3, 600, 4 * MS, NEVER_NS, -1, 0)]
    np.array(rows, dtype=np.int64).tofile(tmp_path / OBJECTS)
    down, up = way((5, 6 * MS, 0.0), (9, 90, 0.0), rate_bps=4e6, queue=10), way(rate_bps=2e6, queue=20)
    found = steer._trial(job(link("one", down=down, up=up, subflows=3), mss_bytes=1000), tmp_path, 1.5, 2.5)
    assert [getattr(found.objects, name).tolist() for name in ("chunk", "layer", "payload_bytes")] == [
        [0, 2],
        [1, 3],
        [500, 600],
    ]
    assert found.objects.release_ns.tolist() == [7_500_000, 10 * MS]
    assert found.objects.deadline_ns.tolist() == [17_500_000, NEVER_NS]
    (one,) = found.links
    assert (one.name, one.rate_bps, one.up_rate_bps, one.subflows) == ("one", 1.6e6, 0.8e6, 3)
    assert (one.delay_t_ns, one.delay_ns) == ((0,), (15 * MS,))
    assert (one.queue_bytes, one.up_queue_bytes) == (10 * 1040, 20 * 40)
    assert (found.transport.mss_bytes, found.transport.header_bytes, found.slot_ns) == (
        1000,
        40,
        1_500_000_000,
    )
    assert (found.transport.congestion, found.seed) == ("agent", 0)
    assert replace(found.transport, congestion="x").scheduler == "agent"
