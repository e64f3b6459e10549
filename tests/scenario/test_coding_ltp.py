"""``[coding]`` of ``ltp``: which trials it codes, what it refuses, and the metrics of such a trial."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Coding
from dstcc.errors import ScenarioError
from dstcc.run.tables import CHUNKS, chunk_rows
from dstcc.run.trials import run_trials
from dstcc.scenario import (
    Scenario,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_override,
    to_toml,
)
from dstcc.scenario.notes import notes_on_coding
from tests.scenario.conftest import MINIMAL, Write

LTP = """
[transport]
congestion = "ltp"
[coding]
repair = [0.2, 0.1]
block_s = 5
"""


def read(write: Write, *overrides: str, text: str = LTP) -> Scenario:
    return load_scenario(write(MINIMAL + text), [parse_override(one) for one in overrides])


def coding_of(scenario: Scenario, congestion: str = "ltp") -> Coding | None:
    setup = draw_trial(scenario, load_source(scenario), 1)
    return engine_config(scenario, setup, congestion, "none").coding


def test_ltp_is_coded_by_it(write: Write) -> None:
    coding = coding_of(read(write))
    assert coding is not None
    assert (coding.repair, coding.block_ns, coding.code, coding.rule) == ((0.2, 0.1), 5 * 10**9, "mds", "")
    assert len(coding.period) == 0


def test_without_it_ltp_is_not(write: Write) -> None:
    assert coding_of(read(write, text='[transport]\ncongestion = "ltp"\n')) is None


def test_shares_of_nothing_code_nothing(write: Write) -> None:
    assert coding_of(read(write, "coding.repair=[0, 0]")) is None


def test_tcp_beside_it_is_not_coded(write: Write) -> None:
    scenario = read(write, 'transport.congestion=["cubic", "ltp"]')
    assert coding_of(scenario, "cubic") is None
    assert coding_of(scenario, "ltp") is not None


def test_the_rule_and_auto(write: Write) -> None:
    feedback = coding_of(read(write, "coding.repair=delayed-feedback"))
    assert feedback is not None
    assert (feedback.rule, feedback.repair) == ("delayed-feedback", ())
    auto = coding_of(read(write, "coding.repair=auto"))
    assert auto is not None
    assert (auto.rule, auto.repair) == ("", None)


def test_the_rule_is_written_and_read_back(write: Write) -> None:
    scenario = read(write, "coding.repair=delayed-feedback")
    assert load_scenario(write(to_toml(scenario))) == scenario


VARIANTS = """
[[variant]]
label = "as it is"
congestion = "ltp"
[[variant]]
label = "by feedback"
congestion = "ltp"
set = {coding = {repair = "delayed-feedback"}}
[[variant]]
label = "plain"
congestion = "ltp"
set = {coding = {repair = [0]}}
[[variant]]
label = "coded"
congestion = "open-loop"
set = {mode = "coded"}
"""


def test_variants_have_the_scenarios_coding_or_their_own(write: Write) -> None:
    scenario = read(write, text=LTP + VARIANTS)
    made = {label: coding_of(scenario.as_variant(label)) for label in ("as it is", "by feedback", "plain")}
    assert made["plain"] is None
    assert made["as it is"] is not None
    assert made["as it is"].repair == (0.2, 0.1)
    assert made["by feedback"] is not None
    assert made["by feedback"].rule == "delayed-feedback"
    coded = coding_of(scenario.as_variant("coded"), "open-loop")
    assert coded is not None
    assert len(coded.period) > 0


def test_a_variant_of_ltp_makes_no_coding_where_there_is_none(write: Write) -> None:
    text = '[transport]\ncongestion = "cubic"\n[[variant]]\nlabel = "deep space"\ncongestion = "ltp"\n'
    assert coding_of(read(write, text=text).as_variant("deep space")) is None


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        ("coding.place=other", 'coding.place: "other": ltp codes below LTP, on each link by itself'),
        ("coding.place=spread", 'coding.place: "spread": ltp codes below LTP'),
        ("coding.code_word=255", "coding.code_word: a matrix of ltp is one code word"),
        ("coding.repair=ltp-feedback", "coding.repair = 'ltp-feedback': a list with a share per layer"),
        ("coding.repair=[0.1, 0.1, 0.1, 0.1]", "coding.repair: 4 shares for 3 layers"),
        ("coding.repair=[inf]", "coding.repair.0 = inf: input should be a finite number"),
        ("transport.congestion=cubic", 'coding: needs transport.mode = "coded", or ltp: in "stream" TCP'),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_key(write: Write, override: str, rule: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(write, override)
    assert rule in str(error.value)


def test_a_block_longer_than_the_playout_delay_is_refused(write: Write) -> None:
    with pytest.raises(ScenarioError, match=r"coding.block_s: 31 s is longer than the playout delay of 30 s"):
        read(write, "playout.delay_s=30", "coding.block_s=31")
    with pytest.raises(ScenarioError, match=r"33 s is longer than the playout delay of 32 s.* \(seed 1\)"):
        coding_of(read(write, "coding.block_s=33"))


def test_a_layer_has_no_more_segments_than_its_code(write: Write) -> None:
    with pytest.raises(
        ScenarioError, match=r"a layer of a chunk has 65,625 segments; mds has at most 65,535"
    ):
        coding_of(
            read(
                write,
                "video.synthetic={chunk_s = 1.0, layer_bps = [33_600_000]}",
                "transport.mss_bytes=64",
                "coding.repair=[0.2]",
                "coding.block_s=1",
            )
        )


def test_shares_that_the_links_cannot_carry_are_noted(write: Write) -> None:
    scenario = read(write, "coding.repair=[4, 4, 4]")
    assert "of the links'" in notes_on_coding(scenario, load_source(scenario))[0]
    assert notes_on_coding(read(write, "coding.repair=delayed-feedback"), load_source(scenario)) == ()


def test_a_trial_has_the_metrics_and_columns_of_coding(write: Write) -> None:
    scenario = read(write, "link.0.loss.packet=0.05", "video.loop_to_s=40")
    (trial,) = run_trials(scenario, quality=False, jobs=1)
    assert trial.outcome is not None, trial.error
    values, result = trial.outcome.metrics.values, trial.outcome.result
    assert result.coding is not None
    coding = result.coding
    sent, repair = result.totals.sent_payload_bytes, result.totals.repair_payload_bytes
    assert repair > 0
    assert values["repair_ratio"] == repair / sent
    assert values["decode_failures"] == int((coding.source_packets > 0).sum()) - int(coding.whole.sum())
    columns = dict(zip(CHUNKS.names, chunk_rows("t", trial.outcome), strict=True))
    assert np.asarray(columns["block"]).tolist() == coding.block.tolist()
    assert -1 in coding.block  # the third layer has no share
    assert int(np.asarray(columns["repair_bytes"]).sum()) == int(coding.repair_bytes.sum()) == repair
    assert not np.asarray(columns["block_whole"])[coding.block < 0].any()
