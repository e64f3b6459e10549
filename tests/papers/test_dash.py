"""The DASH client, with the arithmetic of what it asks for, and requests that settle."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.papers.dash import Carried, Client, Supposed, ask, play

S = 1_000_000_000


def spans(*seconds: float) -> np.ndarray:
    return np.array([round(one * S) for one in seconds], dtype=np.int64)


def sizes(client: Client, bitrate_bps: int) -> np.ndarray:
    return np.full(client.chunks, bitrate_bps // 8, dtype=np.int64)


def of_whole(network):
    """A network that is a function of request times and sizes, and does nothing at random."""

    def carry(supposed: Supposed) -> Carried:
        whole = network(supposed.asked_ns, supposed.sizes_bytes)
        return Carried(whole, np.zeros(len(whole), dtype=bool))

    return carry


def test_a_chunk_is_asked_for_when_the_one_before_has_come_and_there_is_room() -> None:
    client = Client((1_000_000,), chunks=6, buffer_ns=3 * S)
    made = ask(client, spans(0.5, 0.5, 0.5, 0.5, 0.5, 0.5), sizes(client, 1_000_000))
    # the first comes at 0.5 and plays until 1.5, so that n chunks play until 0.5 + n; of three seconds of buffer there
    # is room for a chunk of one when two are left: after the third (1.5 s, plays until 3.5) at 1.5, then every second
    assert (made.asked_ns / S).tolist() == [0.0, 0.5, 1.0, 1.5, 2.5, 3.5]
    # and what is left to play then: nothing has begun; until 1.5, 2.5, 3.5, and from then on two seconds each time
    assert (made.store_ns / S).tolist() == [0.0, 1.0, 1.5, 2.0, 2.0, 2.0]
    assert made.stall_ns == 0


def test_the_picture_stands_while_a_chunk_is_late() -> None:
    client = Client((1_000_000,), chunks=3)
    made = ask(client, spans(0.5, 1.7, 0.2), sizes(client, 1_000_000))
    # the first plays from 0.5 to 1.5; the second comes at 2.2 and plays to 3.2, before which the third is there
    assert made.stall_ns == round(0.7 * S)


def test_the_rate_is_the_harmonic_mean_of_the_last_chunks() -> None:
    client = Client((1_000_000, 3_000_000, 6_000_000), chunks=5, history=2)
    made = ask(client, spans(0.25, 0.5, 1.0, 0.1, 0.1), sizes(client, 1_000_000))
    # 1 Mbit in 0.25 s: 4 Mbit/s, so 3. That takes three times 0.5 s: 2 Mbit/s; the harmonic mean of 4 and 2 is 2.67: 1.
    # 1 s: 1 Mbit/s; of 2 and 1 it is 1.33: 1. 0.1 s: 10 Mbit/s; of 1 and 10 it is 1.82: 1.
    assert made.bitrates_bps.tolist() == [1_000_000, 3_000_000, 1_000_000, 1_000_000, 1_000_000]


def test_chunks_sent_with_actions_at_random_may_be_left_out_of_the_rate() -> None:
    rates, random = (1_000_000, 3_000_000, 6_000_000), np.array([False, True, True, False])
    times = spans(0.25, 1.0, 1.0, 0.1)
    counts, leaves = (Client(rates, chunks=4, history=2, counts_random=each) for each in (True, False))
    # 1 Mbit in 0.25 s: 4 Mbit/s, so 3 for the second. That takes three times 1 s: 1 Mbit/s; with 4 the mean is 1.6: 1.
    # 1 s again; with 1 the mean is 1.
    assert ask(counts, times, sizes(counts, 1_000_000), random).bitrates_bps.tolist() == [1e6, 3e6, 1e6, 1e6]
    # Left out, the 4 Mbit/s of the first stay all there is.
    assert ask(leaves, times, sizes(leaves, 1_000_000), random).bitrates_bps.tolist() == [1e6, 3e6, 3e6, 3e6]


def test_a_client_that_has_seen_chunks_at_random_only_stays_where_it_is() -> None:
    client = Client((1_000_000, 3_000_000), chunks=3, counts_random=False)
    made = ask(client, spans(0.1, 0.1, 0.1), sizes(client, 1_000_000), np.array([True, True, False]))
    assert made.bitrates_bps.tolist() == [1e6, 1e6, 1e6]


def line(rate_bps: float, delay_s: float):
    """A network that carries one chunk after the other: when each is whole."""

    def carried(asked: np.ndarray, size: np.ndarray) -> np.ndarray:
        free, done = 0, []
        for begin, bytes_ in zip(asked.tolist(), size.tolist(), strict=True):
            free = max(free, begin + round(delay_s * S)) + round(8 * bytes_ / rate_bps * S)
            done.append(free + round(delay_s * S))
        return np.array(done, dtype=np.int64)

    return carried


def test_requests_settle_on_what_a_client_beside_the_network_would_ask() -> None:
    client, network = Client((1_000_000, 2_000_000, 4_000_000), chunks=40), line(6_000_000, 0.1)
    session = play(client, of_whole(network))
    asked, size = session.requests.asked_ns, session.requests.bitrates_bps // 8
    assert (network(asked, size) - asked == session.download_ns).all()
    # the same client, chunk by chunk
    times, rates = [0], [1_000_000]
    for index in range(1, client.chunks):
        known = network(np.array(times), np.array(rates) // 8) - np.array(times)
        guess = np.concatenate([known, np.full(client.chunks - index, S)])
        supposed = np.concatenate([np.array(rates) // 8, np.full(client.chunks - index, 125_000)])
        wanted = ask(client, guess, supposed)
        times.append(int(wanted.asked_ns[index]))
        rates.append(int(wanted.bitrates_bps[index]))
    assert asked.tolist() == times
    assert session.requests.bitrates_bps.tolist() == rates
    assert set(rates) > {1_000_000}
    assert session.repetitions <= client.chunks


def test_a_network_that_looks_ahead_is_an_error() -> None:
    def fickle(asked: np.ndarray, size: np.ndarray) -> np.ndarray:
        odd = int(asked[-1]) % 2
        return asked + S // 2 + 1 - odd

    with pytest.raises(RuntimeError, match="did not settle"):
        play(Client((1_000_000,), chunks=4, buffer_ns=1 * S), of_whole(fickle))


def test_a_request_that_was_supposed_too_early_holds_up_nothing() -> None:
    """A network in which a chunk that is asked for before the one before is whole takes half of its rate."""

    def shared(asked: np.ndarray, size: np.ndarray) -> np.ndarray:
        done: list[int] = []
        for index, (begin, bytes_) in enumerate(zip(asked.tolist(), size.tolist(), strict=True)):
            span = round(8 * bytes_ / 2_000_000 * S)
            early = index + 1 < len(asked) and int(asked[index + 1]) < begin + span
            done.append(max([*done, begin]) + span * (2 if early else 1))
        return np.array(done, dtype=np.int64)

    session = play(Client((1_000_000,), chunks=30), of_whole(shared))
    assert set(session.download_ns.tolist()) == {S // 2}
    assert (session.requests.asked_ns[1:] >= (session.requests.asked_ns + session.download_ns)[:-1]).all()


def test_of_requests_that_are_not_settled_a_few_are_simulated() -> None:
    """Of 40 chunks eight. These settle the first alone, as nothing is known of the buffer yet, so eight beyond that
    one. All nine settle, eight more than before: twice as many beyond these; then all."""
    asked: list[int] = []
    first: list[Supposed] = []

    def counted(network):
        def carry(supposed: Supposed) -> Carried:
            asked.append(len(supposed.asked_ns))
            first.append(supposed)
            return of_whole(network)(supposed)

        return carry

    play(Client((1_000_000, 2_000_000), chunks=40, buffer_ns=1 * S), counted(lambda times, _: times + S))
    assert asked == [8, 9, 9 + 16, 40]
    # at first one a second is supposed, of the least bit rate, with nothing in the buffer
    assert (first[0].asked_ns / S).tolist() == [*range(8)] and first[0].sizes_bytes.tolist() == [125_000] * 8
    assert first[0].store_ns.tolist() == [0] * 8
    asked.clear()
    play(Client((1_000_000,), chunks=3, buffer_ns=1 * S), counted(lambda times, _: times + S))
    assert asked == [3, 3]
    asked.clear()
    play(Client((1_000_000,), chunks=40), counted(line(2_000_000, 0.1)))
    # a chunk takes 0.7 s; with the eleventh the buffer is full and requests wait: ten are settled, and one gained
    assert asked == [8, 9, 25, 10 + 8, 18 + 16, 40]


def test_the_first_chunk_is_no_stall_and_a_chunk_in_no_time_is_none() -> None:
    client = Client((1_000_000,), chunks=3)
    made = ask(client, spans(2.0, 1.0, 1.5), sizes(client, 1_000_000))
    assert made.stall_ns == round(0.5 * S)  # plays from 2 to 4, and the third comes at 4.5
    assert (made.store_ns / S).tolist() == [0.0, 1.0, 1.0]
