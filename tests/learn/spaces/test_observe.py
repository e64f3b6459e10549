"""Observations of values that are given, each place by its name and by hand."""

from __future__ import annotations

from math import exp, log2, log10
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES
from dstcc.learn.spaces import observe_measured
from dstcc.learn.spaces.actions import MAX_LAYERS, MAX_SUBFLOWS
from dstcc.learn.spaces.observe import KINDS, ObservationSpec, Observer, make_observer
from dstcc.learn.spaces.observe_measured import MeasuredObserver

MSS = 1000


def shown(
    subflow: dict[str, Any], layer: dict[str, Any], episode: dict[str, Any], *, subflows: int, layers: int
) -> Any:
    """Two episodes of the same values, and a third of none; what is not named is 0."""
    values = (
        np.zeros((3, subflows, len(SUBFLOW_VALUES))),
        np.zeros((3, layers, len(LAYER_VALUES))),
        np.zeros((3, len(EPISODE_VALUES))),
    )
    for array, names, given in zip(
        values, (SUBFLOW_VALUES, LAYER_VALUES, EPISODE_VALUES), (subflow, layer, episode), strict=True
    ):
        for name, value in given.items():
            array[:2, ..., names.index(name)] = value
    return SimpleNamespace(subflow_values=values[0], layer_values=values[1], episode_values=values[2])


def begun(spec: ObservationSpec, *, subflows: int, layers: int) -> Observer | MeasuredObserver:
    observer = make_observer(spec, 3)
    for episode in range(3):
        observer.begin(episode, subflows=subflows, layers=layers, mss_bytes=MSS)
    return observer


def named(spec: ObservationSpec, seen: np.ndarray, part: str) -> dict[str, float]:
    """Of the first episode: the values of one subflow, layer or the whole, by the rest of their names."""
    of = dict(zip(spec.names, seen[0].tolist(), strict=True))
    return {name.removeprefix(part): value for name, value in of.items() if name.startswith(part)}


FULL = ObservationSpec("full", 3, 2, 2)
VALUES: dict[str, Any] = {
    "cwnd_segments": (15, 1023, 0),
    "srtt_s": (0.999, 9.999, 0),
    "min_rtt_s": (0.5, 5.0, 0),
    "bdp_segments": (30, 0, 0),
    "one_way_s": (0.25, 2.5, 0),
    "established": (1, 1, 1),
    "delivered_bytes": (6250, 0, 9),
    "lost_segments": (6.25, 0, 9),
    "inflight_segments": (5, 2046, 9),
    "queue_bytes": (7500, 0, 9),
    "assigned_bytes": (45_000, 0, 9),
    "link_up": (1, 0, 1),
    "change_s": (0.5, 0, 0),
    "steered": (1, 0, 1),
}
LAYERS = {"backlog_bytes": (3 * 1_039_000.0, 7.0), "slack_s": (10.0, 9.0)}


def full(slot_s: float = 2.0, **more: Any) -> Any:
    """Of slots of 2 s."""
    return shown(VALUES | more, LAYERS, {"slot_s": slot_s}, subflows=3, layers=2)


def test_the_full_observation_place_by_place() -> None:
    """Of two subflows in a space of three, and one layer of two."""
    observer = begun(FULL, subflows=2, layers=1)
    assert isinstance(observer, Observer)
    seen = observer.observe(full())
    assert seen.shape == (3, FULL.size) and seen.dtype == np.float32
    assert named(FULL, seen, "slot") == {"": 4.0}, "2 s of the 0.5 s of the shortest round trip of light"
    assert named(FULL, seen, "copying") == {"": 0.0}
    rate = 8 * 6250 / 2
    assert named(FULL, seen, "subflow0.") == pytest.approx(
        {
            "cwnd": 0.4,  # log2(16) / 10
            "loss": 0.5,  # 6.25 segments are lost and 6.25 came
            "utilisation": 0.5,
            "rtt": 0.5,  # log10(1,000) / 6
            "present": 1,
            "established": 1,
            "min_rtt": log10(501) / 6,
            "rtt_trend": 0,  # nothing was known before
            "queueing": 0.998,  # 0.999 / 0.5 - 1
            "rate": log10(1 + rate) / 10,
            "rate_share": rate * 0.999 / (8 * 15 * MSS),
            "inflight": 1 / 3,
            "queue": 0.5,  # 7,500 bytes of a window of 15,000
            "assigned": 0.5,  # log2(1 + 3) / 4
            "light": 0.1,
            "link_up": 1,
            "change": exp(-1),  # 0.5 s of a round trip of light of 0.5 s
            "steered": 1,
            "change-1": 0,
            "change-2": 0,
        },
        abs=1e-6,
    )
    assert named(FULL, seen, "subflow1.") == pytest.approx(
        {
            "cwnd": 1.0,
            "loss": 0,
            "utilisation": 0,
            "rtt": 4 / 6,
            "present": 1,
            "established": 1,
            "min_rtt": log10(5001) / 6,
            "rtt_trend": 0,
            "queueing": 0.9998,
            "rate": 0,
            "rate_share": 0,
            "inflight": 2.0,
            "queue": 0,
            "assigned": 0,
            "light": 1,
            "link_up": 0,
            "change": 1,
            "steered": 0,
            "change-1": 0,
            "change-2": 0,
        },
        abs=1e-6,
    )
    assert set(named(FULL, seen, "subflow2.").values()) == {0.0}, "it is not there"
    windows = MSS * (15 + 1023 + 1)
    assert named(FULL, seen, "layer0.") == pytest.approx(
        {
            "present": 1,
            "backlog": log2(1 + 3 * 1_039_000 / windows) / 4,
            "slack": 2.0,  # 10 s of 5 s
            **{"on0": 0, "on1": 0, "on2": 0, "automatic": 1, "was-1": 0, "was-2": 0},
        },
        abs=1e-6,
    )
    assert log2(1 + 3 * 1_039_000 / windows) == 2
    assert set(named(FULL, seen, "layer1.").values()) == {0.0}
    assert (seen[0] == seen[1]).all()
    nothing = dict(zip(FULL.names, seen[2].tolist(), strict=True))
    assert {name for name, value in nothing.items() if value} == {
        *("subflow0.present", "subflow1.present", "layer0.present", "layer0.automatic"),
        *("subflow0.change", "subflow1.change"),
        "slot",  # of no length and no light: as long as one another
    }


def test_rates_are_of_the_slots_length() -> None:
    seen = begun(FULL, subflows=2, layers=1).observe(full(slot_s=0.125))
    first = named(FULL, seen, "subflow0.")
    assert first["rate"] == pytest.approx(log10(1 + 8 * 50_000) / 10)
    assert first["rate_share"] == pytest.approx(8 * 50_000 * 0.999 / (8 * 15 * MSS))
    assert named(FULL, seen, "slot") == {"": 0.25}


def test_trends_are_of_the_slot_before_and_changes_are_kept() -> None:
    """The first window doubles and doubles, the second goes from 1023 to 0 and comes back."""
    observer = begun(FULL, subflows=2, layers=1)
    observer.observe(full())
    seen = observer.observe(full(cwnd_segments=(30, 0, 0), srtt_s=(1.249, 7.499, 0)))
    first, second = (named(FULL, seen, f"subflow{s}.") for s in (0, 1))
    assert (first["rtt_trend"], second["rtt_trend"]) == pytest.approx((0.5, -0.5))
    assert (first["change-1"], first["change-2"]) == (0.5, 0) and second["change-1"] == 0
    assert second["inflight"] == 4.0 and second["cwnd"] == 0, "a window of none counts as one segment"
    seen = observer.observe(full(cwnd_segments=(120, 1023, 0), min_rtt_s=(0, 0, 0)))
    first, second = (named(FULL, seen, f"subflow{s}.") for s in (0, 1))
    assert (first["change-1"], first["change-2"]) == (1.0, 0.5) and second["change-1"] == 0
    assert first["queueing"] == first["rate_share"] == 0, "nothing was measured"
    observer.begin(0, subflows=2, layers=1, mss_bytes=MSS)
    seen = observer.observe(full())
    assert named(FULL, seen, "subflow0.")["rtt_trend"] == named(FULL, seen, "subflow0.")["change-1"] == 0
    other = dict(zip(FULL.names, seen[1].tolist(), strict=True))
    assert (other["subflow0.change-1"], other["subflow0.change-2"]) == (-1.0, 1.0)  # down from 120 to 15: -3


def test_a_change_from_one_segment_or_to_it_is_of_that_segment() -> None:
    observer = begun(FULL, subflows=2, layers=1)
    for windows, changes in (((1, 4), (0, 0)), ((4, 1), (1.0, -1.0)), ((2, 0.5), (-0.5, 0.0))):
        seen = observer.observe(full(cwnd_segments=(*windows, 0)))
        found = tuple(named(FULL, seen, f"subflow{s}.")["change-1"] for s in (0, 1))
        assert found == pytest.approx(changes)


def test_layers_remember_where_they_were() -> None:
    """Subflow 2 is not there, so a layer on it is anywhere."""
    observer = begun(FULL, subflows=2, layers=2)
    none, some = np.zeros((3, 2), dtype=np.uint8), np.array([[0, 1], [0, 0], [0, 0]], dtype=np.uint8)
    observer.note(np.array([[1, 0]] * 3, dtype=np.int32), none)
    observer.note(np.array([[0, 2]] * 3, dtype=np.int32), some)
    seen = observer.observe(full())
    places = ("on0", "on1", "on2", "automatic", "was-1", "was-2")
    first, second = (named(FULL, seen, f"layer{m}.") for m in (0, 1))
    assert [first[name] for name in places] == pytest.approx([1, 0, 0, 0, 2 / 3, 0])
    assert [second[name] for name in places] == pytest.approx([0, 0, 0, 1, 1 / 3, 0])
    assert seen[:, FULL.names.index("copying")].tolist() == [1, 0, 0]
    observer.note(np.array([[1, -1]] * 3, dtype=np.int32), none)
    observer.begin(1, subflows=2, layers=2, mss_bytes=MSS)
    seen = observer.observe(full())
    assert [named(FULL, seen, "layer0.")[name] for name in places] == pytest.approx(
        [0, 1, 0, 0, 1 / 3, 2 / 3]
    )
    assert (
        named(FULL, seen[1:], "layer0.")["automatic"] == 1 and named(FULL, seen[1:], "layer0.")["was-1"] == 0
    )


def test_rows_are_observed_by_themselves() -> None:
    whole, parts = (begun(FULL, subflows=2, layers=1) for _ in range(2))
    first, second = full(), full(cwnd_segments=(30, 7, 0))
    for values in (first, second):
        assert (whole.observe(values) == np.concatenate(
            [parts.observe(values, slice(0, 1)), parts.observe(values, slice(1, 3))]
        )).all()  # fmt: skip


def test_without_a_history_nothing_is_remembered_but_the_present() -> None:
    spec = ObservationSpec("full", 3, 2, 0)
    observer = begun(spec, subflows=2, layers=2)
    observer.note(np.array([[1, 0]] * 3, dtype=np.int32), np.zeros((3, 2), dtype=np.uint8))
    observer.observe(full())
    seen = observer.observe(full(srtt_s=(1.249, 7.499, 0)))
    assert named(spec, seen, "subflow0.")["rtt_trend"] == pytest.approx(0.5)
    assert named(spec, seen, "layer0.")["on1"] == 1
    assert not any("-" in name for name in spec.names)


def test_a_space_is_within_bounds() -> None:
    for kind in KINDS:
        assert ObservationSpec(kind, 1, 1, 0).size == len(ObservationSpec(kind, 1, 1, 0).names)
    assert ObservationSpec("full", MAX_SUBFLOWS, MAX_LAYERS, 256).history == 256
    # 2 of the slot; 18 and h of each subflow; 3, N and 1, and h of each layer
    assert ObservationSpec("full", 3, 2, 5).size == 2 + 3 * (18 + 5) + 2 * (3 + 4 + 5)
    assert ObservationSpec("paper", 3, 2).size == 12 and ObservationSpec("full", 3, 2).history == 8
    for subflows, layers, history in (
        *((0, 1, 0), (MAX_SUBFLOWS + 1, 1, 0), (1, 0, 0), (1, MAX_LAYERS + 1, 0), (1, 1, -1), (1, 1, 257)),
    ):
        with pytest.raises(ValueError, match=r"1 to .* subflows|history is 0 to 256"):
            ObservationSpec("full", subflows, layers, history)


MEASURED = ObservationSpec("measured", 3, 2)


def measured(monkeypatch: pytest.MonkeyPatch, **rates: Any) -> tuple[MeasuredObserver, list[Any]]:
    """With what was measured of the paths given, for three episodes alike."""
    known: dict[str, Any] = {
        "rate": np.array([[300.0, 100.0, 0.0]] * 3),
        "known": np.array([[True, False, False]] * 3),
        "used": np.array([[0.5, 0.25, 0.75]] * 3),
        "source_rate": np.full((3, 1), 200.0),
        "packet_bytes": np.full((3, 1), 100.0),
        "delay_s": np.full(3, 20.0),
        **rates,
    }
    updates: list[Any] = []

    class Rates:
        def __init__(self, episodes: int, subflows: int) -> None:
            assert (episodes, subflows) == (3, 3)
            self.__dict__ |= known

        def update(self, _stepper: Any, rows: Any = None) -> None:
            updates.append(rows)

        def loss(self) -> Any:
            return np.array([[1e-3, 0.0, 1.0]] * 3)

    monkeypatch.setattr(observe_measured, "Rates", Rates)
    observer = begun(MEASURED, subflows=2, layers=1)
    assert isinstance(observer, MeasuredObserver)
    return observer, updates


def paths(times: float = 1.0, **more: Any) -> Any:
    """Light takes 2 and 5 s, slots 1 s; a minute has passed; or so many times as long."""
    subflow = {
        "established": (1, 0, 1),
        "link_up": (0, 1, 1),
        "change_s": (10.0 * times, 0, 0),
        "queue_bytes": (900.0, 100.0, 9),
        "one_way_s": (2.0 * times, 5.0 * times, 0),
        "inflight_segments": (6, 0.5, 9),
        "cwnd_segments": (12, 0, 9),
    }
    layer = {"backlog_bytes": (500.0, 1500.0), "slack_s": (5.0 * times, 50.0 * times)}
    episode = {"slot_s": times, "time_s": 60.0 * times}
    return shown(subflow | more, layer, episode, subflows=3, layers=2)


def test_the_measured_observation_place_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    observer, updates = measured(monkeypatch)
    seen = observer.observe(paths())
    assert updates == [slice(None)]
    own = {name: value for name, value in named(MEASURED, seen, "").items() if "." not in name}
    assert own == pytest.approx(
        {
            "delay": 1.0,  # 20 s of 2 round trips of 10 s
            "load": 0.5,  # 200 bytes/s of 400
            "backlog": 2.0,  # 2,000 bytes of a quarter of what 20 s need at 200 bytes/s
            "age": 1.5,  # 60 s of 4 round trips
        }
    )
    assert named(MEASURED, seen, "subflow0.") == pytest.approx(
        {
            "present": 1,
            "established": 1,
            "link_up": 0,
            "change": exp(-1),
            "seen": 1,
            "share": 0.75,
            "queue": 2.0,  # 900 bytes are 3 slots of 300
            "used": 0.5,
            "loss": 0.4,  # 1 - 3/5
            "light": 0.4,
            "margin": 4.0,  # (20 - 2) / 4, of which 4 is the most
            "inflight": 0.5,
        },
        abs=1e-6,
    )
    assert named(MEASURED, seen, "subflow1.") == pytest.approx(
        {
            "present": 1,
            "established": 0,
            "link_up": 1,
            "change": 1,
            "seen": 0,
            "share": 0.25,
            "queue": 1.0,  # 100 bytes are one slot, and one packet
            "used": 0.25,
            "loss": 0,
            "light": 1,
            "margin": 1.5,  # (20 - 5) / 10
            "inflight": 0.5,
        },
        abs=1e-6,
    )
    assert set(named(MEASURED, seen, "subflow2.").values()) == {0.0}
    assert named(MEASURED, seen, "layer0.") == pytest.approx({"present": 1, "backlog": 0.5, "slack": 0.25})
    assert named(MEASURED, seen, "layer1.") == pytest.approx({"present": 0, "backlog": 1.5, "slack": 1.0})
    assert (seen[0] == seen[1]).all()


@pytest.mark.parametrize("times", [1e-3, 1e3])
def test_a_measured_observation_has_no_unit_of_time(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """A mission a thousand times as long, at as much lower rates, is seen alike; and one as much shorter."""
    wanted = measured(monkeypatch)[0].observe(paths())
    scaled, _ = measured(
        monkeypatch,
        rate=np.array([[300.0, 100.0, 0.0]] * 3) / times,
        source_rate=np.full((3, 1), 200.0 / times),
        delay_s=np.full(3, 20.0 * times),
    )
    assert scaled.observe(paths(times))[:2] == pytest.approx(wanted[:2], abs=1e-6)


def test_what_is_not_known_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a source's rate layers are held against all paths'; without deadlines against 1000 light times; a queue
    of a path whose rate is unknown against a packet."""
    observer, _ = measured(
        monkeypatch,
        source_rate=np.zeros((3, 1)),
        delay_s=np.full(3, np.inf),
        rate=np.array([[50.0, 0.0, 0.0]] * 3),
    )
    seen = observer.observe(paths())
    own = named(MEASURED, seen, "")
    assert own["delay"] == 4.0 and own["load"] == 0.0
    assert own["layer1.backlog"] == pytest.approx(4 * 1500 / (50 * 5000))
    assert own["layer1.slack"] == pytest.approx(50 / 5000)
    assert own["subflow0.queue"] == pytest.approx(log2(10)) and own["subflow1.queue"] == 1.0
    assert own["subflow0.share"] == 1.0


def test_rows_of_measured_observations_are_the_same_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    observer, updates = measured(monkeypatch, delay_s=np.array([20.0, 40.0, 60.0]))
    whole = observer.observe(paths())
    part = observer.observe(paths(), slice(1, 3))
    assert (whole[1:] == part).all() and updates[1] == slice(1, 3)
    assert whole[0, 0] == 1.0 and whole[1, 0] == 2.0
    believed = observer.believed(1)
    assert believed["loss"].tolist() == [1e-3, 0.0, 1.0]
    assert believed["rate_bps"].tolist() == [2400.0, 800.0, 0.0]
    assert believed["rate_known"].tolist() == [1.0, 0.0, 0.0]
