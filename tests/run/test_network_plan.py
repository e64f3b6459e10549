"""What a dry run says of a network, and what a run is warned of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_cli.network import bar

from dstcc.run.network_plan import notes_on_network, planned_network
from dstcc.scenario import load_source
from dstcc.scenario.load import parse_scenario

NET: dict[str, Any] = {
    "scenario": {"name": "net", "duration_s": 100},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [11_680]}, "loop_to_s": 10},
    "node": [{"name": "rover"}, {"name": "orbiter", "storage_bytes": 6_000}, {"name": "earth"}],
    "link": [
        {"name": "uhf", "from": "rover", "to": "orbiter", "rate_bps": 24_000, "delay_s": 1},
        {
            "name": "x",
            "from": "orbiter",
            "to": "earth",
            "rate_bps": 12_000,
            "delay_s": 10,
            "outages": [[0, 40], [50, 60]],
        },
    ],
    "path": [{"name": "relayed", "via": ["uhf", "x"]}],
    "transport": {"congestion": "open-loop"},
    "playout": {"delay_s": 60},
}


def plan(**link: Any) -> Any:
    document = {**NET, "link": [NET["link"][0], {**NET["link"][1], **link}]}
    scenario = parse_scenario(document, source="net.toml")
    return planned_network(scenario, load_source(scenario)), scenario


def test_it_shows_nodes_links_and_paths() -> None:
    network, _ = plan()
    assert [node["name"] for node in network.nodes] == ["rover", "orbiter", "earth"]
    uhf, x = network.hops
    assert (uhf["from"], uhf["to"], uhf["contacts"]) == ("rover", "orbiter", [[0.0, 100.0]])
    assert x["contacts"] == [[40.0, 50.0], [60.0, 100.0]]
    (path,) = network.paths
    assert path.nodes == ("rover", "orbiter", "earth") and path.light_s == 11
    assert path.least_s == 11, "ready at 39 s, at the orbiter when its link comes up"
    assert path.longest_s == 50, "ready at the beginning, on Earth at 50 s"


def test_what_can_pass_is_what_storage_and_contacts_leave() -> None:
    """10 layers of a packet of 1,500 bytes: 4 wait in the orbiter; from 40 s on a packet a second goes, and what stays
    on the rover follows."""
    network, _ = plan()
    assert network.most_bytes == pytest.approx(10 * 1460, rel=1e-6)
    network, _ = plan(outages=[[0, 40], [43, 100]])
    assert network.most_bytes == pytest.approx(3 * 1460, rel=1e-6), "three seconds of contact"


def test_what_never_arrives_is_told_with_the_reason() -> None:
    _, scenario = plan(outages=[[0, 1000]])
    said = notes_on_network(scenario, load_source(scenario))
    assert said == (
        "path relayed: nothing arrives within the run: link x is never up",
        "nothing can arrive: no path has contacts one after the other",
    )
    _, scenario = plan(outages=[[0.5, 1000]])
    (why, _) = notes_on_network(scenario, load_source(scenario))
    assert "link x has its last contact until 0.5 s, and what comes to it over uhf comes later" in why


def test_that_no_answer_comes_back_is_told() -> None:
    _, scenario = plan(outages=[], up_outages=[[0, 1000]])
    assert notes_on_network(scenario, load_source(scenario)) == (
        "path relayed: no answer comes back within the run: link x is never up, on the way back",
    )


def test_that_no_layer_fits_is_told() -> None:
    """Fifty seconds of contact at 24 bit/s are 150 bytes."""
    _, scenario = plan(rate_bps=24)
    assert notes_on_network(scenario, load_source(scenario)) == (
        "no layer can arrive whole: all paths carry 150 bytes within the run, the smallest layer has 1,460",
    )


def test_a_link_on_no_path_is_named() -> None:
    spare = {"name": "spare", "from": "rover", "to": "earth", "rate_bps": 1_000, "delay_s": 10}
    scenario = parse_scenario({**NET, "link": [*NET["link"], spare]}, source="net.toml")
    assert notes_on_network(scenario, load_source(scenario)) == (
        "link spare: on no path; nothing goes over it",
    )


def test_bars_are_full_where_a_link_is_up_all_the_time() -> None:
    assert bar([[0, 50]], 100, 4) == "██··"
    assert bar([[10, 60], [70, 100]], 100, 4) == "▄█▄█"
    assert bar([], 100, 3) == "···"


def test_the_command_prints_it(tmp_path: Path) -> None:
    from dstcc.scenario import to_toml

    file = tmp_path / "net.toml"
    file.write_text(to_toml(parse_scenario(NET, source="net.toml")))
    shown = CliRunner().invoke(main, ["emulate", str(file), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    for words in ("orbiter", "6,000 B", "rover > orbiter > earth", "can pass at most: 0.01 MB, 100.0%", "█"):
        assert words in shown.output
    said = json.loads(CliRunner().invoke(main, ["emulate", str(file), "--dry-run", "--json"]).output)
    assert said["network"]["paths"][0]["least_s"] == 11
