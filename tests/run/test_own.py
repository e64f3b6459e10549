"""``dstcc`` by name: coded packets with nothing to choose, in whatever scenario names it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.algorithms import OWN, controller_name
from dstcc.errors import RunError, ScenarioError
from dstcc.explain.explanation import explain
from dstcc.forecast.files import load_controller
from dstcc.forecast.own import Own
from dstcc.report.load import load_report
from dstcc.run import load_run, run_trials, scenarios_of, trial_keys, write_run
from dstcc.run.trials import Trial
from dstcc.scenario import load_source, parse_scenario, to_toml
from dstcc.scenario.load import load_scenario

POLICIES = Path(load_controller.__code__.co_filename).parents[1] / "learn" / "policies"


def mission(**tables: Any) -> dict[str, Any]:
    return {
        "scenario": {"name": "own"},
        "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [40_000, 20_000]}, "loop_to_s": 240},
        "link": [
            {"name": f"link {k}", "rate_bps": 60_000, "delay_s": 10, "loss": {"packet": 0.02}} for k in (0, 1)
        ],
        "playout": {"delay_s": 30},
    } | tables


def trials(**transport: Any) -> dict[str, Trial]:
    scenario = parse_scenario(mission(transport=transport), source="here")
    return {trial.key.name: trial for trial in run_trials(scenario, quality=False, jobs=1)}


def weights(trial: Trial) -> dict[str, Any]:
    assert trial.metrics is not None, trial.error
    return trial.metrics.flat()


@pytest.mark.parametrize(
    "transport",
    [
        {"controller": OWN},
        {"mode": "lanes", "lanes_per_link": 4, "congestion": ["cubic"], "controller": OWN},
        {"mode": "stream", "congestion": ["cubic"], "scheduler": "ecf", "controller": [OWN]},
        {"mode": "coded", "congestion": ["bbr-scaled"], "controller": [OWN]},
        {"mode": "stream", "congestion": [], "controller": OWN},
        {"congestion": "ltp", "controller": [OWN, "iodst-q"], "controller_lanes": 2, "mode": "lanes"},
    ],
    ids=["alone", "lanes", "stream", "coded", "a stream of nobody", "a policy beside it"],
)
def test_beside_whatever_it_is_the_transport_that_paced_is_with_nothing_chosen(
    transport: dict[str, Any],
) -> None:
    found = trials(**transport)
    assert found[OWN].key.controller == OWN
    assert (found[OWN].key.congestion, found[OWN].key.scheduler) == ("paced", "minrtt")
    (plain,) = trials(congestion="paced").values()
    assert weights(found[OWN]) == weights(plain) | {"guard_actions": 0}
    assert all(trial.error is None for trial in found.values())


def test_told_the_rates_it_searches_for_none() -> None:
    found = trials(congestion=["open-loop"], mode="coded", handshake=False, controller=OWN, told_rates=True)
    (untold,) = trials(controller=OWN).values()
    assert weights(found[OWN]) != weights(untold)
    sent = [trial.outcome.result.samples for trial in (found[OWN], untold) if trial.outcome is not None]
    first = [samples.pacing_bps[samples.t_ns < 10**10] for samples in sent]
    assert set(first[0]) == {60_000.0} and set(first[1]) != {60_000.0}


def test_others_keep_what_they_had_without_it() -> None:
    with_it = trials(mode="lanes", lanes_per_link=4, congestion=["cubic"], controller=OWN)
    (alone,) = trials(mode="lanes", lanes_per_link=4, congestion=["cubic"]).values()
    assert weights(with_it["cubic+minrtt"]) == weights(alone)


def test_blocks_and_repair_of_others_are_not_its_own() -> None:
    coded = {"mode": "coded", "congestion": "bbr-scaled", "controller": OWN}
    with_coding = parse_scenario(
        mission(transport=coded, coding={"repair": [1.0, 1.0], "block_s": 2}), source="here"
    )
    found = {trial.key.name: trial for trial in run_trials(with_coding, quality=False, jobs=1)}
    (plain,) = trials(congestion="paced").values()
    assert weights(found[OWN]) == weights(plain) | {"guard_actions": 0}


def test_a_variant_has_its_packets_and_restarts() -> None:
    varied = {
        "label": "ours",
        "controller": OWN,
        "set": {"mss_bytes": 500, "restart": {"at_s": [90], "boot_s": 5, "spool": True}},
    }
    scenario = parse_scenario(mission(transport={"congestion": "cubic"}, variant=[varied]), source="here")
    (key,) = (key for key in trial_keys(scenario) if key.variant)
    assert (key.id, key.controller, key.congestion) == ("ours/s1", OWN, "paced")
    transport = scenarios_of(scenario)["ours"].transport
    assert (transport.mss_bytes, transport.mode, transport.handshake) == (500, "coded", False)
    done = {trial.key.name: trial for trial in run_trials(scenario, quality=False, jobs=1)}
    assert weights(done["ours"])["weighted_layers"] > 0.9


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"transport": {"controller": OWN, "mode": "stream"}},
            "transport.mode: 'stream': dstcc sends coded packets",
        ),
        (
            {"variant": [{"label": "it", "controller": OWN, "set": {"mode": "stream"}}]},
            "variant.0.set.mode: dstcc chooses it itself; with dstcc only mss_bytes, restart, told_rates, scale can "
            "be set",
        ),
        (
            {"variant": [{"label": "it", "controller": OWN, "set": {"coding": {"block_s": 3}}}]},
            "variant.0.set.coding: dstcc chooses it",
        ),
        (
            {"variant": [{"label": "it", "controller": OWN, "congestion": "cubic"}]},
            "variant.0.congestion: dstcc chooses it",
        ),
        (
            {"transport": {"congestion": OWN}},
            "'dstcc': is no congestion but has its own: --controller dstcc",
        ),
        (
            {
                "transport": {"congestion": "cubic", "controller": OWN},
                "variant": [{"label": OWN, "congestion": "bbr"}],
            },
            "'dstcc' is another's name",
        ),
    ],
    ids=["a stream", "a variant's stream", "blocks", "a control", "as a control", "a label"],
)
def test_what_contradicts_it_is_refused_by_name(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_scenario(mission(**tables), source="here")
    assert message in str(error.value)


def test_it_is_explained_and_the_explained_trial_is_the_same(tmp_path: Path) -> None:
    restart = {"at_s": [90], "boot_s": 5, "spool": True}
    scenario = parse_scenario(mission(transport={"controller": OWN, "restart": restart}), source="here")
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    told = explain(
        load_run(tmp_path / "run"), f"{OWN}/s1"
    )  # raises where a watched trial comes out otherwise
    assert told.policy == OWN
    assert len(told.decisions) > 10
    assert [len(link.sent) for link in told.links] == [len(told.decisions)] * 2
    lost = sum(int(link.lost.sum()) for link in told.links) / sum(int(link.sent.sum()) for link in told.links)
    assert lost == pytest.approx(0.02, abs=0.01)
    last = told.decisions[-1].chose
    assert set(last) == {"repair of layer 0", "repair of layer 1", "decided by"}
    assert {one.chose["decided by"] for one in told.decisions} == {"the engine's rule"}
    assert {one.chose["repair of layer 0"] for one in told.decisions} >= {"above 40 %", "20 to 40 %"}
    seen = told.decisions[-1].saw
    assert np.all(seen["pacing_bps"] > 0)


def test_a_runs_scenario_can_be_run_again_and_a_report_calls_it_by_its_name(tmp_path: Path) -> None:
    transport = {"mode": "lanes", "congestion": "cubic", "controller": [OWN]}
    scenario = parse_scenario(
        mission(transport=transport, expect={f"{OWN}.weighted_layers": ">= 0.9"}), source="here"
    )
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    (tmp_path / "again.toml").write_text(to_toml(scenario))
    assert trial_keys(load_scenario(tmp_path / "again.toml")) == trial_keys(scenario)
    names = [one.name for one in load_report([tmp_path / "run"]).sections[0].algorithms]
    assert names == ["cubic+minrtt", OWN]  # nobody trained it here


def test_a_policy_file_of_the_old_name_is_read_and_says_so(tmp_path: Path) -> None:
    lanes = load_controller("dstcc-lanes")
    path = tmp_path / "dstcc.safetensors"
    header = lanes.header() | {"algorithm": OWN}
    from dstcc.learn.policies.controller import digest, write_policy

    body = {key: value for key, value in header.items() if key != "sha256"}
    write_policy(path, body | {"sha256": digest(body, lanes.tensors)}, lanes.tensors)
    policy = load_controller(path)
    assert (policy.algorithm, policy.name, policy.once) == ("dstcc-lanes", "dstcc.safetensors", OWN)
    transport = {"controller": [OWN, str(path)]}
    scenario = parse_scenario(mission(transport=transport), source="here")
    done = write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    assert [trial.id for trial in done.trials] == ["dstcc/s1", "dstcc.safetensors/s1"]
    assert "dstcc.safetensors: its algorithm, dstcc, is called dstcc-lanes now" in done.meta["warnings"]


def test_a_run_of_the_old_name_is_read_says_so_and_is_not_repeated(tmp_path: Path) -> None:
    scenario = parse_scenario(mission(transport={"controller": "dstcc-lanes"}), source="here")
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    shutil.copytree(tmp_path / "run", tmp_path / "old", ignore=shutil.ignore_patterns("SHA256SUMS"))
    for name in ("run.json", "scenario.toml"):
        text = (tmp_path / "old" / name).read_text().replace("dstcc-lanes", OWN)
        (tmp_path / "old" / name).write_text(text)
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("trials", "chunks", "samples"):
        path = tmp_path / "old" / f"{name}.parquet"
        table = pq.read_table(path)
        for place, column in enumerate(table.column_names):
            if pa.types.is_string(table.schema.field(column).type):
                texts = [text and text.replace("dstcc-lanes", OWN) for text in table[column].to_pylist()]
                table = table.set_column(place, table.schema.field(column), pa.array(texts, pa.string()))
        pq.write_table(table, path)
    old = load_run(tmp_path / "old")
    assert "dstcc is what is called dstcc-lanes now" in old.meta["warnings"]
    assert [one["algorithm"] for one in old.meta["controllers"]] == ["dstcc-lanes"]
    with pytest.raises(RunError, match="its controller is what is called dstcc-lanes now"):
        explain(old, "dstcc/s1")


def test_there_is_nothing_to_tune_and_train_trains_what_had_the_name(tmp_path: Path) -> None:
    video = {"synthetic": {"chunk_s": 1.0, "layer_bps": [40_000, 20_000]}, "loop_to_s": 20}
    (tmp_path / "mission.toml").write_text(to_toml(parse_scenario(mission(video=video), source="here")))
    tuned = CliRunner().invoke(main, ["tune", str(tmp_path / "mission.toml"), "--congestion", OWN])
    assert tuned.exit_code == 2
    assert "--congestion dstcc: nothing to tune" in tuned.output
    words = [
        "train",
        str(tmp_path / "mission.toml"),
        "-o",
        str(tmp_path / "run"),
        "--algorithm",
        OWN,
        "--steps",
        "64",
    ]
    trained = CliRunner().invoke(main, [*words, "--json"])
    assert trained.exit_code == 0, trained.output
    assert json.loads(trained.stdout)["algorithm"] == "dstcc-lanes"
    assert "--algorithm dstcc: its learned part is gru-mpc; trained is dstcc-lanes" in trained.stderr


def test_it_is_no_file() -> None:
    policy = load_controller(OWN)
    assert isinstance(policy, Own)
    assert (policy.name, policy.mode, policy.lanes) == (OWN, "coded", 0)
    assert not (POLICIES / f"{OWN}.safetensors").exists()
    assert [
        controller_name(given) for given in (OWN, f"a/{OWN}", f"{OWN}.safetensors", "a/b.safetensors")
    ] == [
        OWN,
        f"{OWN}.safetensors",
        f"{OWN}.safetensors",
        "b",
    ]


def test_bytes_of_layers_are_read_by_their_old_keys_with_a_warning(tmp_path: Path) -> None:
    scenario = parse_scenario(mission(transport={"controller": "dstcc-lanes"}), source="here")
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    (tmp_path / "run" / "SHA256SUMS").unlink()
    file = tmp_path / "run" / "run.json"
    old = {"layer": 0, "link": 1, "told_bytes": 3, "left_bytes": 4, "carried_bytes": 5, "late_bytes": 6}
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "layers": {"dstcc-lanes/s1": [old]}}))
    read = load_run(tmp_path / "run").meta
    assert read["layers"]["dstcc-lanes/s1"] == [
        {"layer": 0, "link": 1, "late_bytes": 6, "assigned_bytes": 3, "sent_bytes": 4, "first_bytes": 5}
    ]
    said = (
        "layers: told_bytes, left_bytes, carried_bytes are called assigned_bytes, sent_bytes, first_bytes now"
    )
    assert read["warnings"] == [*document["warnings"], said]


def test_a_run_without_a_variant_is_read_again_though_something_was_expected_of_it(tmp_path: Path) -> None:
    variants = [{"label": name, "congestion": "cubic"} for name in ("left out", "kept")]
    document = mission(variant=variants, transport={"controller": OWN}) | {
        "expect": {f"{one}.weighted_layers": ">= 0" for one in ("left out", "kept", OWN)},
        "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [40_000]}, "loop_to_s": 20},
    }
    path = tmp_path / "expects.toml"
    path.write_text(to_toml(parse_scenario(document, source="here")))
    for number, more in enumerate((["--variant", "kept"], ["--congestion", "none", "--controller", OWN])):
        run = tmp_path / f"run-{number}"
        done = CliRunner().invoke(main, ["emulate", str(path), *more, "-o", str(run)])
        assert done.exit_code == 0, done.output
        assert explain(load_run(run), f"{OWN}/s1").trial == f"{OWN}/s1"
