"""A client's session as a cell: the numbers taken from one, by hand, and the network it asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc import learn
from dstcc.engine.config import NEVER_NS
from dstcc.engine.stepper import EPISODE_VALUES, RUNNING
from dstcc.errors import InputError, MissingCapabilityError, RunError
from dstcc.papers import dash_cell
from dstcc.papers.dash import Client, Requests, Session, Supposed
from dstcc.papers.dash_cell import DashCell, Network
from dstcc.papers.explore import ExplorationSlot
from dstcc.papers.model import Exploring
from tests.quick import QUICK

MS, S = 1_000_000, 1_000_000_000
SLOT = 50 * MS
ONE_LAYER = QUICK.replace("[8000, 8000]", "[8000]").replace("chunk_s = 1.0", "chunk_s = 0.5")
HOW = Exploring(of="mpquic-rl", factor=0.9, least=0.1, rich_s=2.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(ONE_LAYER)
    return tmp_path / "small.toml"


def test_a_client_has_the_videos_bit_rate_or_those_of_the_last_setting(path: Path) -> None:
    """8 kbit/s in chunks of half a second: 500 bytes each, ten of them."""
    own = DashCell(path, (), "cubic", 1).client
    assert (own.bitrates_bps, own.chunks, own.chunk_ns) == ((8000,), 10, S // 2)
    assert own.counts_random
    asked = ("bitrates=1", "link.0.delay_s=0.1", "bitrates=1e3,5e6")
    cell = DashCell(path, asked, "cubic", 1, HOW)
    assert cell.client.bitrates_bps == (1000, 5_000_000) and not cell.client.counts_random
    counts = DashCell(path, asked, "cubic", 1, HOW.model_copy(update={"counts_random": True}))
    assert counts.client.counts_random
    assert cell.trial.settings == ("link.0.delay_s=0.1",)
    assert cell.label == "client of small link.0.delay_s=0.1 cubic/s1, exploring"
    assert DashCell(path, (), "cubic", 2).label == "client of small  cubic/s2"
    assert not cell.alone and not DashCell(path, (), "cubic", 1).alone
    assert DashCell(path, (), "cubic", 1, HOW.model_copy(update={"learns": True})).alone


def test_a_clients_video_has_one_layer(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(QUICK)
    with pytest.raises(InputError, match=r"two\.toml: a DASH client's video has one layer"):
        DashCell(tmp_path / "two.toml", (), "cubic", 1).client  # noqa: B018


def session(chunks: int, random: np.ndarray, *, first_ms: float = 10.0) -> Session:
    """Chunk n takes n + 10 ms and has n + 1 bit/s; the picture stood for 2.5 s."""
    downloads = np.round((np.arange(chunks) + first_ms) * MS).astype(np.int64)
    asked = np.arange(chunks, dtype=np.int64) * S
    requests = Requests(asked, np.arange(chunks, dtype=np.int64) + 1, asked, 5 * S // 2)
    return Session(requests, Supposed(asked, np.full(chunks, 1000), asked), downloads, random, 1)


def outcome(monkeypatch: pytest.MonkeyPatch, made: Session, explorer: Any = None, **judged: Any) -> Any:
    """What a cell takes from a session."""
    network = SimpleNamespace(
        carry=None, confirm=lambda _: None, slot_ns=SLOT, explorer=explorer, judged=lambda _: judged
    )
    client = Client((1,), chunks=len(made.download_ns))
    monkeypatch.setattr(DashCell, "_network", lambda _: network)
    monkeypatch.setattr(DashCell, "client", property(lambda _: client))
    monkeypatch.setattr(dash_cell, "play", lambda *_: made)
    return DashCell(Path("none"), (), "cubic", 1).run(Path())


def test_numbers_of_a_whole_session_are_of_its_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 chunks number n takes 10 + n ms: those from n on take (10 + n + 309) / 2 in the mean. Every chunk with an
    even number is disturbed."""
    made = session(300, np.arange(300) % 2 == 0)
    seen = outcome(monkeypatch, made, server_below_ms=7.0)
    values = seen.values
    assert values["stall_s"] == 2.5 and values["mean_bitrate_bps"] == 150.5
    for first in (0, 50, 100, 150, 200, 250):
        assert values[f"download_ms from {first}"] == pytest.approx((first + 319) / 2)
        assert values[f"undisturbed_ms from {first}"] == pytest.approx((first + 1 + 10 + 309) / 2)
        assert values[f"bitrate_bps from {first}"] == pytest.approx((first + 1 + 300) / 2)
    assert values["download_fall_ms"] == pytest.approx(319 / 2 - 469 / 2)
    # slots of 50 ms: 41 chunks of 10 to 50 ms take one, 50 each take 2 to 6, and 9 of 301 to 309 ms take 7
    assert values["decisions_a_chunk"] == pytest.approx((41 + 50 * (2 + 3 + 4 + 5 + 6) + 9 * 7) / 300)
    assert values["download_sd_ms"] == pytest.approx(np.sqrt((300**2 - 1) / 12))  # of 300 whole numbers
    assert values["random_chunks_percent"] == 50.0 and values["server_below_ms"] == 7.0
    assert "epsilon_first" not in values
    assert seen.series == {
        "download_ms": [10.0 + n for n in range(300)],
        "bitrate_bps": [1.0 + n for n in range(300)],
    }


@pytest.mark.parametrize(("chunks", "last"), [(50, 0), (51, 50), (299, 250)])
def test_a_shorter_session_has_the_stretches_that_it_reaches(
    monkeypatch: pytest.MonkeyPatch, chunks: int, last: int
) -> None:
    values = outcome(monkeypatch, session(chunks, np.ones(chunks, dtype=bool))).values
    assert [int(name.rpartition(" ")[2]) for name in values if name.startswith("download_ms from")] == [
        one for one in (0, 50, 100, 150, 200, 250) if one <= last
    ]
    assert not any(name.startswith("bitrate_bps from") for name in values)
    assert values["undisturbed_ms from 0"] is None  # all were disturbed
    assert (values["download_fall_ms"] is None) == (chunks < 150)


def test_decisions_are_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a poor client, the second of a rich one."""
    explorer: Any = SimpleNamespace(
        decisions=[ExplorationSlot(0, 0, 0, 1.0, False, False), ExplorationSlot(SLOT, 0, 1, 0.75, True, True)]
    )
    seen = outcome(monkeypatch, session(2, np.zeros(2, dtype=bool)), explorer)
    assert seen.values["epsilon_first"] == 1.0 and seen.values["epsilon_fall"] == 0.25
    assert seen.values["random_where_rich_percent"] == seen.values["random_rich_above_poor"] == 100.0
    assert (seen.series["epsilon"], seen.series["epsilon_by_buffer"]) == ([1.0, 0.75], [0.0, 0.75])


def test_a_cells_identity_is_the_trials_and_the_client(path: Path) -> None:
    one = DashCell(path, ("bitrates=1000",), "cubic", 1)
    made = one.identity()
    assert made == {
        **one.trial.identity(),
        "kind": "dash",
        "takes": dash_cell.TAKES,
        "client": vars(one.client),
    }
    explores = DashCell(path, ("bitrates=1000",), "cubic", 1, HOW).identity()
    assert explores["exploring"] == HOW.model_dump() and "recipe" not in explores


def network(path: Path, **more: Any) -> Network:
    """Of a link of 50 ms, and of what is given."""
    whole = DashCell(path, (), "cubic", 1)._network()
    return Network(whole.label, whole.config, **more)


ASKED = Supposed(
    np.array([0, 600 * MS, 1200 * MS], dtype=np.int64),
    np.array([500, 400, 300], dtype=np.int64),
    np.array([0, 2 * S, 2 * S - 1], dtype=np.int64),
)


def test_a_request_arrives_after_the_light_and_its_chunk_after_as_much_again(path: Path) -> None:
    """1 Mbit/s and 50 ms either way; 40 bytes of headers. The first waits for the handshake, too."""
    one = network(path)
    objects = one.asked(ASKED).objects
    assert objects.release_ns.tolist() == [50 * MS, 650 * MS, 1250 * MS]
    assert objects.payload_bytes.tolist() == [500, 400, 300] and objects.chunk.tolist() == [0, 1, 2]
    assert objects.layer.tolist() == [0] * 3 and objects.deadline_ns.tolist() == [NEVER_NS] * 3
    carried = one.carry(ASKED)
    spans = (carried.whole_ns - ASKED.asked_ns).tolist()
    assert spans[1:] == [100 * MS + 8 * 440_000, 100 * MS + 8 * 340_000] and 150 * MS < spans[0] < 155 * MS
    assert not carried.random.any()


def test_a_request_takes_the_shortest_way_at_its_shortest(path: Path) -> None:
    """Of two links, whose delays change."""
    one = network(path)
    links = tuple(
        replace(one.config.links[0], delay_t_ns=(0, S), delay_ns=delays)
        for delays in ((60 * MS, 40 * MS), (70 * MS, 90 * MS))
    )
    one.config = replace(one.config, links=links)
    assert one.asked(ASKED).objects.release_ns.tolist() == [40 * MS, 640 * MS, 1240 * MS]
    assert one.slot_ns == one.config.slot_ns


def test_a_chunk_that_never_comes_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = network(path)
    for whole in ([5, -1, 7], [5, 0, 7]):
        monkeypatch.setattr(one, "_whole_ns", lambda *_, whole=whole: np.array(whole))
        if -1 in whole:
            with pytest.raises(RunError, match="a chunk never came"):
                one.carry(ASKED)
        else:
            assert one.carry(ASKED).whole_ns.tolist() == whole


def policy(kind: str = "mlp") -> Any:
    return SimpleNamespace(network={"kind": kind}, name="made", observation=None, action=None)


def test_only_a_policy_acts_at_random_and_none_with_a_memory(path: Path) -> None:
    with pytest.raises(InputError, match=r"cubic/s1: no policy, so it cannot act at random"):
        network(path, exploring=HOW)
    with pytest.raises(InputError, match="made: a DASH client's server needs a policy without a memory"):
        network(path, policy=policy("gru"))


def test_the_server_hears_what_the_client_has_in_its_buffer(path: Path) -> None:
    """Rich is a client with two seconds or more."""
    one = network(path, policy=policy(), exploring=HOW)
    heard: list[Any] = []
    assert one.explorer is not None and one._server is not None
    one.explorer.hear = lambda released, rich: heard.append((released.tolist(), rich.tolist()))  # type: ignore[assignment, method-assign]

    def carry(_config: Any, requests: Any) -> Any:
        heard.append(requests)
        return SimpleNamespace(objects=SimpleNamespace(complete_ns=np.array([1, 2, 3])))

    one._server.carry = carry  # type: ignore[assignment, method-assign]
    assert one.carry(ASKED).whole_ns.tolist() == [1, 2, 3]
    released = [50 * MS, 650 * MS, 1250 * MS]
    assert heard == [
        (released, [False, True, False]),
        tuple(zip(released, [500, 400, 300], [0, 2 * S, 2 * S - 1], strict=True)),
    ]


def test_arithmetic_is_deterministic_where_something_learns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    for how in (None, HOW, HOW.model_copy(update={"learns": True})):
        one = network(path)
        one.exploring = how
        with one._arithmetic():
            assert torch.are_deterministic_algorithms_enabled() == bool(how and how.learns)


def test_what_learns_needs_torch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learns, made = HOW.model_copy(update={"learns": True}), policy()
    monkeypatch.setattr(learn, "find_spec", lambda _: None)
    with pytest.raises(MissingCapabilityError, match="needs torch, gymnasium"):
        network(path, policy=made, exploring=learns)
    with pytest.raises(MissingCapabilityError, match="needs torch, gymnasium"):
        DashCell(path, (), "cubic", 1, learns).identity()
    assert network(path, policy=made, exploring=HOW).explorer is not None


def test_a_session_is_confirmed_by_times_and_by_what_was_random(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = session(3, np.array([False, True, False]))
    one = network(path, policy=policy())
    whole = made.requests.asked_ns + made.download_ns
    for late, odd in ((0, False), (1, False), (0, True)):
        came: Any = SimpleNamespace(
            whole_ns=whole + np.array([0, 0, late]), random=made.random ^ np.array([False, False, odd])
        )
        monkeypatch.setattr(one, "carry", lambda _, came=came: came)
        if late or odd:
            with pytest.raises(RunError, match="the requests found do not lead to themselves"):
                one.confirm(made)
        else:
            one.confirm(made)
    network(path).confirm(made)  # without a policy nothing is asked again


def test_the_servers_rates_are_compared_with_the_clients_times(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of 1000 bytes asked for at 0, 1, 2 and 3 s take 10, 11, 12 and 13 ms. The server is told at the end of
    the first (10 ms), of two at once, then of the last."""
    made, one = session(4, np.zeros(4, dtype=bool)), network(path, policy=policy())
    told = [(10 * MS, 1000 / 0.008), (2500 * MS, 1.0), (2600 * MS, 1.0), (3013 * MS, 1000 / 0.0117)]
    monkeypatch.setattr(dash_cell, "_chunk_rates", lambda *_: iter(told))
    seen = one.judged(made)
    assert seen["server_below_ms"] == pytest.approx((2 + 1.3) / 2)
    assert seen["server_below_percent"] == pytest.approx((20 + 10) / 2)
    nothing = {"server_below_ms": None, "server_below_percent": None}
    assert network(path).judged(made) == nothing
    assert network(path, policy=policy(), exploring=HOW).judged(made) == nothing
    monkeypatch.setattr(dash_cell, "_chunk_rates", lambda *_: iter([(10 * MS - 1, 1.0)]))
    assert one.judged(made) == nothing


def test_rates_are_told_where_a_chunk_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the ends of four slots of half a second."""
    rates = iter([0.0, 0.5, 0.0, 3.0])
    steps: list[Any] = []

    class Runner:
        def __init__(self, episodes: int, *_spaces: Any) -> None:
            assert episodes == 1
            self.stepper = SimpleNamespace(done=[RUNNING], episode_values=np.zeros((1, len(EPISODE_VALUES))))
            self.observations = "seen"

        def begin(self, episode: int, config: Any) -> None:
            assert (episode, config) == (0, "config")

        def step(self, action: Any) -> None:
            steps.append(action)
            self.stepper.episode_values[0, EPISODE_VALUES.index("chunks_bytes_per_s")] = next(rates)
            self.stepper.done[0] = RUNNING if len(steps) < 4 else RUNNING + 1

        def time_s(self, episode: int) -> float:
            return 0.5 * len(steps) + episode

    monkeypatch.setattr(dash_cell, "Runner", Runner)
    monkeypatch.setattr(dash_cell, "steered", lambda config, _action: config)
    monkeypatch.setattr(dash_cell, "replace", lambda one: one)
    made: Any = SimpleNamespace(
        observation=None, action=SimpleNamespace(greedy=lambda values: f"best of {values}"), outputs=str
    )
    config: Any = "config"
    assert list(dash_cell._chunk_rates(made, config)) == [(S, 0.5), (2 * S, 3.0)]
    assert steps == ["best of seen"] * 4
