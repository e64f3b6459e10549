"""What a page says of a link beside its rate, delay and losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dstcc.report.mission import LinkFacts, _link, _load, _more, _trials, describe_loss
from dstcc.report.model import TrialLink
from dstcc.report.numbers import SPACE


def load(links: list[TrialLink], contacts: list[dict[str, Any]]) -> str:
    """Of a video of 1,000 s at 100 kbit/s."""
    trial: Any = SimpleNamespace(links=links, contacts=contacts)
    return _load(trial, 1e5, 12.5e6).replace("\u202f", " ").replace("\u00a0", " ")


def test_the_load_counts_contacts() -> None:
    """Two links of 1 Mbit/s, up for 50 s each, can carry 12.5 MB: the video takes all of that, not 5 %."""
    up = TrialLink("a", 1e6, 2.0)
    assert load([up, up], []) == "5 % of the links' 2 Mb/s together"
    dark = TrialLink("a", 1e6, 2.0, 1)
    assert load([dark, up], []) == "5 % of the links' 2 Mb/s together while all are up"
    contacts = [{"capacity_bytes": 6.25e6}, {"capacity_bytes": 6.25e6}]
    assert load([dark, dark], contacts).endswith(
        " while all are up; 100 % of the 12.5 MB that fit into the contacts until the run's end"
    )
    assert load([dark], [{"from_s": 0.0}]).endswith("while all are up")
    assert load([TrialLink("a", None, None)], []) == ""


def test_a_links_row_is_of_what_its_trials_drew() -> None:
    """1 and 3 Mbit/s over round trips of 2 and 4 s: 250 kB and 1.5 MB, of segments of 1,000 bytes."""

    def row(links: list[TrialLink], **link: Any) -> LinkFacts:
        trials = [SimpleNamespace(links=[one]) for one in links]
        return _link(SimpleNamespace(trials=trials, segment_bytes=1000, meta={}), {"name": "a", **link})  # type: ignore[arg-type]

    drawn = row(
        [
            TrialLink("a", 1e6, 2.0),
            TrialLink("a", None, None),
            TrialLink("a", 3e6, 4.0),
            TrialLink("b", 9e9, 9.0),
        ],
        loss={"packet": 0.01},
    )
    assert drawn.rate.replace(SPACE, " ") == "1–3 Mb/s" and drawn.rtt.replace(SPACE, " ") == "2–4 s"
    assert drawn.bdp.replace("\u202f", " ") == "250 kB – 1.5 MB (250–1 500 segments)"
    assert drawn.loss == describe_loss({"packet": 0.01}) != row([]).loss


def test_trials_are_counted() -> None:
    trials = [SimpleNamespace(ok=number > 0) for number in range(6)]
    section: Any = SimpleNamespace(algorithms=("a", "b"), seeds=(1, 2, 3), trials=trials)
    assert _trials(section) == "2 algorithms × 3 seeds, 6 trials, 1 failed"
    section.trials = trials[1:2]
    assert _trials(section) == "2 algorithms × 3 seeds, 1 trial"


def test_who_else_is_on_a_link() -> None:
    link = {
        "flows": [{"count": 3, "congestion": "cubic"}, {}],
        "mix": {"rate_bps": 11e6},
        "cross_traffic": [{"rate_bps": 2e6}],
    }
    said = _more(link, {}).replace("\u202f", " ").replace("\u00a0", " ")
    assert said == (
        "3 TCP flows of others (cubic); 1 TCP flow of others (same); mix of 11 Mb/s, 80% TCP; cross traffic 2 Mb/s"
    )


def test_outages_are_a_profiles_or_a_plans_where_none_are_given() -> None:
    assert _more({"profile": "mro-x-dss35"}, {"outages": 5, "outage_s": 600.0}).startswith(
        "profile mro-x-dss35; 5 outages, 10"
    )
    assert _more({"contacts": "/home/me/plan.txt"}, {"outages": 0, "outage_s": 0.0}) == "contacts plan.txt"
    assert _more({"outages": [[0, 60]]}, {"outages": 5, "outage_s": 600.0}).startswith("1 outage, ")
    assert _more({}, {}) == "–"
    # a profile's uplink, as the run has drawn it; one as fast as the way down is none to speak of
    given = _more({"profile": "mro-x-dss35"}, {"rate_bps": 6e6, "up_rate_bps": 2e3})
    assert given.replace("\u202f", " ").replace("\u00a0", " ").endswith("up 2 kb/s")
    assert _more({"rate_bps": 2e3}, {"rate_bps": 2e3, "up_rate_bps": 2e3}) == "–"
