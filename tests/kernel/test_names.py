"""Bounds of what the kernel can run, exactly at them and one beyond, and others' traffic by its key."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from dstcc_kernel.names import misfit
from dstcc_kernel.nodes import misfit as misfit_of_nodes

from .test_nodes import OPEN_LOOP
from .test_nodes import scenario as over_nodes
from .test_plan import LINK, scenario

CODED = {"mode": "coded", "congestion": "paced"}
MANY = [{**LINK, "name": f"l{number}"} for number in range(20)]
TWO_POINTS_OF_FLOWS = [LINK, {**LINK, "name": "b", "flows": [{"congestion": "cubic"}]}]
KNOB = {"slow_start_after_idle": True}


@pytest.mark.parametrize(
    ("transport", "links", "said"),
    [
        ({"mode": "lanes"}, MANY[:9], None),
        ({"mode": "lanes"}, MANY[:17], "link: 17 links; at most 16 here"),
        ({"mode": "stream", "scheduler": "linux"}, MANY[:9], None),
        (
            {"mode": "stream", "scheduler": "linux"},
            MANY[:10],
            "link: 10 subflows; Linux's MPTCP has at most 9",
        ),
        ({"mode": "lanes"}, [{**LINK, "subflows": 2}], "link.0.subflows: lanes have one subflow a link here"),
        (CODED, MANY[:16], None),
        (CODED, MANY[:17], "link: 17 links; at most 16 here"),
        (CODED, [{**LINK, "subflows": 64}], None),
        ({"congestion": "ltp"}, MANY[:16], None),
        ({"congestion": "ltp"}, MANY[:17], "link: 17 links; at most 16 here"),
        ({"congestion": "fixed", "fixed_cwnd_segments": [2]}, [LINK], None),
    ],
)
def test_there_are_so_many_links_and_subflows_at_most(
    transport: dict[str, Any], links: list[dict[str, Any]], said: str | None
) -> None:
    assert misfit(scenario(links, transport=transport)) == said


def test_windows_are_those_that_our_module_holds() -> None:
    fixed = {"congestion": "fixed", "fixed_cwnd_segments": [1 << 28]}
    assert misfit(scenario(transport=fixed)) is None
    beyond = scenario(transport={**fixed, "fixed_cwnd_segments": [(1 << 28) + 1]})
    assert "fixed_cwnd_segments = 268435457: our module holds windows of 2 to 268,435,456" in (
        misfit(beyond) or ""
    )
    assert misfit(scenario(transport={"congestion": "cubic"})) is None


@pytest.mark.parametrize(
    ("words", "said"), [(255, None), (256, "coding.code_word = 256: Reed-Solomon over GF(2^8)")]
)
def test_code_words_are_of_255_packets(words: int, said: str | None) -> None:
    coding = {"repair": [0.1, 0.1], "block_s": 60, "code_word": words}
    try:
        found = misfit(scenario(transport=CODED, coding=coding))
    except ValueError:
        pytest.skip("the simulator refuses it before")
    assert found is None if said is None else (found or "").startswith(said)


@pytest.mark.parametrize(
    "transport", [CODED, {"congestion": "ltp"}, {"mode": "lanes", "congestion": "cubic"}]
)
def test_others_connections_need_a_control_that_the_kernel_has(transport: dict[str, Any]) -> None:
    assert misfit(scenario(TWO_POINTS_OF_FLOWS, transport=transport)) is None
    wrong = [LINK, {**LINK, "name": "b", "flows": [{"congestion": "cubic"}, {"congestion": "ledbat"}]}]
    said = "link.1.flows: others' 'ledbat' exists in the simulator only, the kernel has bbr, bic, cubic, newreno, "
    assert (misfit(scenario(wrong, transport=transport)) or "").startswith(said)
    fixed = [LINK, {**LINK, "name": "b", "flows": [{"congestion": "fixed"}]}]
    try:
        found = misfit(scenario(fixed, transport=transport))
    except ValueError:
        return
    assert found is not None and "'fixed'" in found


def test_constants_count_where_connections_of_others_are() -> None:
    """One link of two has such; what a program of datagrams does not ask for, others' TCP does."""
    from dstcc.engine import TcpConstants

    unknown = next(
        name for name in vars(TcpConstants())
        if name not in ("hystart", "hystart_ack_delta_s", "compressed_ack_s", "rto_min_s")
    )  # fmt: skip
    value = getattr(TcpConstants(), unknown)
    for transport in (CODED, {"congestion": "ltp"}):
        given = {**transport, "constants": {unknown: value}}
        assert misfit(scenario([LINK, {**LINK, "name": "b"}], transport=given)) is None
        found = misfit(scenario(TWO_POINTS_OF_FLOWS, transport=given)) or ""
        assert found.startswith(
            f"transport.constants.{unknown}: the kernel has no such knob; it has hystart, "
        )


def test_there_are_so_many_nodes_at_most() -> None:
    from dstcc_kernel.nodes import MAX_HOPS, MAX_NODES

    def row(count: int) -> Any:
        names = ["rover", *(f"n{number}" for number in range(count - 2)), "earth"]
        links = tuple((tail, head, {"rate_bps": 1e5, "delay_s": 0.1}) for tail, head in pairwise(names))
        return names, links

    for count, fits in ((8, True), (MAX_NODES + 1, False)):
        names, links = row(count)
        try:
            given = over_nodes(OPEN_LOOP, {name: {} for name in names}, links, (tuple(range(count - 1)),))
        except ValueError:
            pytest.skip("the simulator has no more")
        found = misfit_of_nodes(given)
        assert (found is None) == fits
        assert fits or found in (
            f"node: {count} nodes; at most {MAX_NODES} here",
            f"link: {count - 1} links; at most {MAX_HOPS} here",
        )
