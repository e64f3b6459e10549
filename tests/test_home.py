"""What each contact delivered: windows by the spacecraft's clock, layers by when their last byte left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dstcc.engine import Link
from dstcc.home import brought_home, contacts
from dstcc.metrics import play_by_deadline
from tests.engine import net
from tests.made_results import S, objects, result

INF = float("inf")
LIGHT_S = 10.0


def link(*outages_s: tuple[float, float], light_s: float = LIGHT_S) -> Link:
    return net.link(1e6, 2 * light_s, outages_s=outages_s)


def test_a_contact_is_when_some_link_is_up() -> None:
    first, second = link((0, 10), (30, 40)), link((5, 35), (90, 200))
    assert contacts([first], 100 * S) == [(10 * S, 30 * S), (40 * S, 100 * S)]
    # Both are dark from 5 to 10 s and from 30 to 35 s.
    assert contacts([first, second], 100 * S) == [(0, 5 * S), (10 * S, 30 * S), (35 * S, 100 * S)]
    assert contacts([link()], 100 * S) == [(0, 100 * S)]
    assert contacts([link((0, 500))], 100 * S) == []


def test_a_layer_counts_to_the_contact_in_which_its_last_byte_left() -> None:
    # Contacts of 0 to 30 s and 50 to 100 s, so arrivals from 10 to 40 s and from 60 s on. Three chunks of two layers:
    # whole in the first; whole, its EL in the second; its BL alone in time (due at 80 s).
    source = objects(2, [100, 50, 200, 25, 400, 12], [0, 0, 0], [INF, INF, 80])
    made = result(source, [39.9, 20, 35, 60, 61, 81])
    playback = play_by_deadline(source, made)
    assert [contact.document() for contact in brought_home([link((30, 50))], source, made, playback)] == [
        # 1 Mbit/s for 30 s and for 50 s.
        {
            "from_s": 0.0,
            "to_s": 30.0,
            "bytes_in_time": 350,
            "full_quality_bytes": 350,
            "capacity_bytes": 3_750_000,
        },
        {
            "from_s": 50.0,
            "to_s": 100.0,
            "bytes_in_time": 425,
            "full_quality_bytes": 25,
            "capacity_bytes": 6_250_000,
        },
    ]


def test_light_is_that_of_the_link_that_carried_the_layer() -> None:
    # Dark both from 30 to 50 s. At 65 s what took 20 s left in the first contact, what took 10 s in the second.
    source = objects(1, [100, 200], [0, 0], [INF, INF])
    made = result(source, [65, 65])
    made = replace(made, objects=replace(made.objects, subflow=np.array([1, 0])))
    pair = [link((30, 50)), link((30, 50), light_s=20)]
    home = brought_home(pair, source, made, play_by_deadline(source, made))
    assert [contact.bytes_in_time for contact in home] == [100, 200]


def test_a_contact_carries_what_each_link_has_while_it_is_up_at_the_rate_of_then() -> None:
    source = objects(1, [100], [0], [INF])
    made = result(source, [60])
    # Contacts of 0 to 30 s and 50 to 100 s. The first link is up in all of both, at 1 Mbit/s until 20 s and a quarter
    # of it until 80 s, then at a half; the second is up from 10 to 25 s and from 90 s on.
    slows = replace(link((30, 50)), rate_t_ns=(0, 20 * S, 80 * S), rate_share=(1.0, 0.25, 0.5))
    other = link((0, 10), (25, 90))
    home = brought_home([slows, other], source, made, play_by_deadline(source, made))
    assert [(one.from_s, one.to_s) for one in home] == [(0, 30), (50, 100)]
    first = 20 * 1e6 + 10 * 0.25e6 + 15 * 1e6
    second = 30 * 0.25e6 + 20 * 0.5e6 + 10 * 1e6
    assert [one.capacity_bytes for one in home] == [round(first / 8), round(second / 8)]


def test_without_outages_there_is_nothing_to_tell_apart() -> None:
    source = objects(1, [100], [0], [INF])
    made = result(source, [20.0])
    assert brought_home([link()], source, made, play_by_deadline(source, made)) == ()
    assert brought_home([link((200, 300))], source, made, play_by_deadline(source, made)) == ()
