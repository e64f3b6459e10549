"""``[coding]``: its keys, what it refuses, and the trials that it makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstcc.engine import EngineConfig
from dstcc.errors import ScenarioError
from dstcc.metrics import METRICS
from dstcc.run.tables import CHUNKS, chunk_rows
from dstcc.run.trials import run_trials
from dstcc.scenario import (
    Scenario,
    content_hash,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_override,
    to_toml,
)
from dstcc.scenario.notes import notes_on_coding, notes_on_never, notes_on_slots
from tests.scenario.conftest import MINIMAL, Write

CODED = """
[transport]
mode = "coded"
congestion = "open-loop"
[coding]
repair = [0.2, 0.1]
block_s = 5
"""


def read(write: Write, *overrides: str, text: str = CODED) -> Scenario:
    return load_scenario(write(MINIMAL + text), [parse_override(one) for one in overrides])


def config_of(scenario: Scenario) -> EngineConfig:
    setup = draw_trial(scenario, load_source(scenario), 1)
    return engine_config(scenario, setup, "open-loop", "minrtt")


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        ("coding.repair=[nan]", "coding.repair.0 = nan: input should be a finite number"),
        ("coding.repair=[-0.1]", "coding.repair.0 = -0.1: input should be greater than or equal to 0"),
        ("coding.repair=0.1", 'coding.repair = 0.1: a list with a share per layer, "auto", or for ltp'),
        (
            "coding.repair=delayed-feedback",
            'coding.repair: "delayed-feedback" is a rule of ltp; in mode = "coded"',
        ),
        ("coding.repair=some", "a list with a share per layer"),
        ("coding.repair=[]", "coding.repair: names no share"),
        ("coding.repair=[0.1, 0.1, 0.1, 0.1]", "coding.repair: 4 shares for 3 layers"),
        ("coding.block_s=0", "coding.block_s = 0: input should be greater than 0"),
        ("coding.block_s=1e-10", "coding.block_s: must be a nanosecond at least, not 1e-10 s"),
        ("coding.block_s=nan", "coding.block_s = nan: input should be a finite number"),
        ("coding.code_word=1", "coding.code_word = 1: input should be greater than or equal to 2"),
        ("coding.code_word=65536", "coding.code_word = 65536: input should be less than or equal to 65535"),
        ("coding={code='raptorq',code_word=255}", "coding.code_word: raptorq has no code words"),
        ("coding.code=lt", "coding.code = 'lt': input should be 'mds' or 'raptorq'"),
        ("coding.place=here", "coding.place = 'here': input should be 'same', 'other' or 'spread'"),
        ("coding.shares=[1]", "coding.shares: unknown key"),
        (
            "transport.mode=lanes",
            'coding: needs transport.mode = "coded", or ltp: in "lanes" TCP sends every lost',
        ),
        ("transport.mode=stream", 'coding: needs transport.mode = "coded", or ltp: in "stream"'),
        (
            "transport={mode='coded',controller='dstcc-lanes'}",
            "transport.controller: a policy of coded packets steers their repair over one congestion control",
        ),
        ("transport.congestion=ltp", "transport.congestion: 'ltp': has sessions and checkpoints of its own"),
        ("transport.scheduler=blest", "transport.scheduler: 'blest': coded sends packet by packet"),
        ("transport.lanes_per_link=2", 'transport.lanes_per_link: needs mode = "lanes"'),
        ("transport.receive_buffer_bytes=100000", "transport.receive_buffer_bytes: coded keeps no order"),
        (
            'link.0.flows=[{congestion = "paced"}]',
            "'paced': of coded packets only, and flows are TCP connections; subflows = 2 gives a link or path a",
        ),
        (
            'link.0.flows=[{congestion = "dstcc"}]',
            "'dstcc': of coded packets only, and flows are TCP connections; subflows = 2 gives a link or path a",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_key(write: Write, override: str, rule: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(write, override)
    assert rule in str(error.value)


@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_tcp_cannot_have_the_control_of_coded_packets(write: Write, mode: str) -> None:
    with pytest.raises(ScenarioError, match=r"transport.congestion: 'paced': it depends on reports of coded"):
        read(write, text=f'[transport]\ncongestion = "paced"\nmode = "{mode}"\n')


def test_tcp_has_handshakes(write: Write) -> None:
    with pytest.raises(ScenarioError, match=r"transport.handshake: TCP opens each subflow with a handshake"):
        read(write, text='[transport]\nhandshake = false\nmode = "lanes"\n')
    assert read(write, "transport.handshake=false").transport.handshake is False


def test_a_block_longer_than_the_playout_delay_is_refused(write: Write) -> None:
    with pytest.raises(ScenarioError, match=r"coding.block_s: 31 s is longer than the playout delay of 30 s"):
        read(write, "playout.delay_s=30", "coding.block_s=31")
    # two round trips of 16 s, which a seed might have drawn
    with pytest.raises(
        ScenarioError, match=r"coding.block_s = 33: 33 s is longer than the playout delay of 32 s"
    ):
        config_of(read(write, "coding.block_s=33"))
    assert config_of(read(write, "coding.block_s=32")).coding is not None


def test_a_block_has_no_more_packets_than_its_code(write: Write) -> None:
    # 33.5 Mbit in packets of 64 bytes: 65,430 source packets, and 20 % more
    with pytest.raises(
        ScenarioError, match=r"a block of layer 0 has 65,430 source and 13,086 repair packets; mds has"
    ):
        config_of(
            read(
                write,
                "video.synthetic={chunk_s = 1.0, layer_bps = [33_500_000]}",
                "transport.mss_bytes=64",
                "coding.repair=[0.2]",
                "coding.block_s=1",
            )
        )
    with pytest.raises(ScenarioError, match=r"raptorq has at most 56,403 source packets"):
        config_of(
            read(
                write,
                "video.synthetic={chunk_s = 1.0, layer_bps = [33_500_000]}",
                "transport.mss_bytes=64",
                "coding.repair=[0]",
                "coding.code=raptorq",
                "coding.block_s=1",
            )
        )


@pytest.mark.parametrize(
    ("code", "packets", "repair", "fits"),
    [
        *(("raptorq", 56_403, 0, True), ("raptorq", 56_404, 0, False), ("raptorq", 56_403, 1, True)),
        *(("mds", 65_535, 0, True), ("mds", 65_536, 0, False)),
        *(("mds", 60_000, 0.09225, True), ("mds", 60_000, 0.0923, False)),  # 5,535 and 5,538 of repair
    ],
)
def test_a_code_is_full_with_its_last_packet(
    write: Write, code: str, packets: int, repair: float, fits: bool
) -> None:
    layers = f"video.synthetic={{chunk_s=1.0,layer_bps=[{packets * 64 * 8}]}}"
    keys = ("transport.mss_bytes=64", f"coding={{repair=[{repair}],code='{code}',block_s=1}}")
    scenario = read(write, layers, *keys)
    if fits:
        assert config_of(scenario).coding is not None
        return
    with pytest.raises(ScenarioError, match=f"a block of layer 0 has {packets:,} source"):
        config_of(scenario)


def test_a_block_of_more_packets_than_a_word_has_is_interleaved(write: Write) -> None:
    """A word has room for half a repair packet for each source packet, or for twice the share."""
    plain = config_of(read(write)).coding
    assert plain is not None and (plain.words, plain.word_packets) == ((), 0)
    layers = "video.synthetic={chunk_s=1,layer_bps=[1_168_000,584_000]}"  # 100 and 50 packets a second
    for share, block_s, words in (
        (0.1, 1, (1, 1)),
        (0.1, 2, (2, 1)),
        (0.5, 2, (2, 1)),
        (0.6, 2, (2, 1)),
        (1.0, 2, (3, 1)),
    ):
        given = (layers, f"coding={{repair=[{share}],block_s={block_s},code_word=255}}")
        coding = config_of(read(write, *given)).coding
        assert coding is not None and (coding.words, coding.word_packets) == (words, 255), (share, block_s)
    with pytest.raises(ScenarioError, match=r"which are 300 code words; it has at most 256"):
        config_of(read(write, layers, "coding={repair=[0.1],block_s=4,code_word=2}"))


def test_blocks_are_of_the_chunks_captured_within_them(write: Write) -> None:
    coding = config_of(read(write)).coding
    assert coding is not None
    assert (
        coding.period.tolist() == [0] * 15 + [1] * 15
    )  # five chunks of three layers, the fifth captured at 5 s
    assert (coding.block_ns, coding.repair, coding.code, coding.place) == (
        5 * 10**9,
        (0.2, 0.1),
        "mds",
        "same",
    )
    auto = config_of(read(write, "coding.repair=auto")).coding
    assert auto is not None
    assert auto.repair is None


def test_shares_that_the_links_cannot_carry_are_said_with_their_arithmetic(write: Write) -> None:
    scenario = read(write)
    assert notes_on_coding(scenario, load_source(scenario)) == ()
    heavy = read(write, "coding.repair=[4, 4, 4]")
    (note,) = notes_on_coding(heavy, load_source(heavy))
    # A second has 5,000 + 3,750 + 2,500 bytes in 4 + 3 + 2 packets: 92.9 kbit/s with headers; 36 of 1,500 bytes are
    # repair.
    assert (
        "92.9 kbit/s of source and 432.0 kbit/s of repair packets are 147.8% of the links' 355.2 kbit/s"
        in note
    )
    # The links are down for half of the run, and then carry half as much.
    end_s = draw_trial(heavy, load_source(heavy), 1).length_s
    dark = [f"link.{n}.outages=[[0, {end_s / 2}]]" for n in range(len(heavy.link))]
    half = read(write, "coding.repair=[4, 4, 4]", *dark)
    (note,) = notes_on_coding(half, load_source(half))
    assert "295.5% of the links' 177.6 kbit/s" in note


def test_chunks_that_repair_comes_too_late_for_are_counted(write: Write) -> None:
    late = read(write, "playout.delay_s=8", "coding.block_s=5")
    (note,) = notes_on_coding(late, load_source(late))
    # light takes 5 s at least: 3 s are left for a block of 5 s
    assert note.startswith("coding.block_s: ")
    assert "the first 2.0 s of each block cannot be recovered" in note


def test_repair_that_is_just_in_time_is_not_warned_of(write: Write) -> None:
    """Light takes 5 s at least: of a delay of 10 s a block of 5 s uses all."""
    for keys, said in (
        (("playout.delay_s=10", "coding.block_s=5"), None),
        (("playout.delay_s=10", "coding.block_s=5.5"), "the first 0.5 s of each block cannot be recovered"),
        (("playout.delay_s=5", "coding.block_s=5"), "the first 5.0 s of each block cannot be recovered"),
        (("playout={mode='stall'}", "coding.block_s=5"), None),
    ):
        late = read(write, *keys)
        notes = notes_on_coding(late, load_source(late))
        assert [note.endswith(said or "") for note in notes] == [True] * (said is not None)
    late = read(write, "playout.delay_s=10", "coding.block_s=5.5")
    assert notes_on_coding(late, load_source(late)) == (
        "coding.block_s: repair packets leave 5.5 s after a block's first chunk begins and take 5.0 s at least, the "
        "playout delay is 10.0 s: the first 0.5 s of each block cannot be recovered",
    )


@pytest.mark.parametrize("key", ["delay_s", "delay_rtts"])
def test_a_playout_delay_below_light_time_is_said(write: Write, key: str) -> None:
    late = read(write, f"playout.{key}=0", text='[transport]\ncontroller = "dstcc"\n')
    (note,) = notes_on_coding(late, load_source(late))
    assert note == (
        f"dstcc: playout.{key}: the playout delay is 0.0 s and light takes 5.0 s: what leaves when it is captured "
        "comes too late"
    )


def test_no_key_is_named_that_our_transport_forbids(write: Write) -> None:
    late = read(write, "playout.delay_s=5.5", text='[transport]\ncontroller = "dstcc"\n')
    (note,) = notes_on_coding(late, load_source(late))
    assert note.startswith("dstcc: repair packets leave 1 s after ")


def test_slots_that_are_made_longer_are_said(write: Write) -> None:
    fine = read(write, "run.slot_s=1e-9", "scenario.duration_s=2000")
    assert notes_on_slots(fine, load_source(fine)) == (
        "run.slot_s: 1e-09 s would make more than 1,000,000 slots; they have 0.002 s",
    )
    for enough in ("run.slot_s=0.002", "run.slot_rtts=0.1"):
        kept = read(write, enough, "scenario.duration_s=2000")
        assert notes_on_slots(kept, load_source(kept)) == ()


AUTO = """
[transport]
congestion = "paced"
"""


def length_s(scenario: Scenario) -> float:
    """How long the first seed's blocks are."""
    setup = draw_trial(scenario, load_source(scenario), 1)
    made = engine_config(scenario, setup, "paced", "minrtt").coding
    assert made is not None
    return made.block_ns / 1e9


def test_who_names_paced_chooses_nothing_else(write: Write) -> None:
    scenario = read(write, text=AUTO)
    assert (scenario.transport.mode, scenario.transport.handshake) == ("coded", False)
    (trial,) = run_trials(scenario)
    assert trial.status == "ok"
    slow = read(write, text='[transport]\nhandshake = true\ncongestion = ["paced"]\n')
    assert slow.transport.handshake
    varied = read(
        write, text='[transport]\nmode = "lanes"\n[[variant]]\nlabel = "own"\ncongestion = "paced"\n'
    )
    own = varied.as_variant("own").transport
    assert (own.mode, own.handshake, own.lanes_per_link) == ("coded", False, 1)


def test_blocks_fit_the_time_that_there_is(write: Write) -> None:
    # Light takes `d`; an eighth of what the delay leaves beyond it, in whole chunks of a second.
    near = [f"link.{n}.delay_s=10" for n in range(2)]
    assert length_s(read(write, *near, "playout.delay_s=74", text=AUTO)) == 8
    assert length_s(read(write, *near, "playout.delay_s=73.9", text=AUTO)) == 7
    assert length_s(read(write, *near, "playout.delay_s=10.5", text=AUTO)) == 1  # a chunk at least
    # The longest light counts of those that are shorter than the delay; where none is, nothing is to spare.
    apart = ["link.0.delay_s=10", "link.1.delay_s=34"]
    assert length_s(read(write, *apart, "playout.delay_s=74", text=AUTO)) == 40 // 8
    assert length_s(read(write, *apart, "playout.delay_s=34", text=AUTO)) == 24 // 8
    assert length_s(read(write, *apart, "playout.delay_s=10", text=AUTO)) == 1
    # What the plan has both links away for goes off; one of them may be away for longer.
    away = ['link.0.outages=[["2 s", "40 s"]]', 'link.1.outages=[["20 s", "52 s"]]']
    assert length_s(read(write, *near, *away, "playout.delay_s=74", text=AUTO)) == (64 - 20) // 8
    # The longest counts: 20 s, not the 4 s from 5 to 9 s.
    away[1] = 'link.1.outages=[["5 s", "9 s"], ["20 s", "52 s"]]'
    assert length_s(read(write, *near, *away, "playout.delay_s=74", text=AUTO)) == (64 - 20) // 8


def test_blocks_are_no_longer_than_pays(write: Write) -> None:
    # 1,024 packets of 1,460 bytes are 12 Mbit: of the largest layer at 1 Mbit/s 11 s and some.
    fast = "video.synthetic={chunk_s = 1.0, layer_bps = [200000, 1000000]}"
    near = [f"link.{n}.delay_s=10" for n in range(2)]
    assert length_s(read(write, *near, fast, "playout.delay_s=1000", text=AUTO)) == 11
    assert length_s(read(write, *near, fast, 'playout={mode = "stall"}', text=AUTO)) == 2 * 2 * 10 // 8
    # A chunk of one packet: blocks may have all that are to spare.
    one = "video={synthetic={chunk_s=1.0, layer_bps=[8000]}, loop_to_s=1}"
    assert length_s(read(write, *near, one, "playout.delay_s=8010", text=AUTO)) == 8000 // 8
    assert length_s(read(write, *near, one, "playout.delay_s=9010", text=AUTO)) == 1024
    given = read(write, *near, fast, "playout.delay_s=1000", "coding.block_s=30", text=AUTO)
    assert length_s(given) == 30


def test_it_is_written_and_read_again(write: Write, tmp_path: Path) -> None:
    for scenario in (read(write, "transport.handshake=false"), read(write, "coding.repair=auto")):
        path = tmp_path / "again.toml"
        path.write_text(to_toml(scenario))
        assert load_scenario(path) == scenario


def test_a_scenario_without_it_keeps_its_hash(write: Write) -> None:
    plain = read(write, text='[transport]\nmode = "lanes"\n')
    document = plain.model_dump(mode="json")
    assert document["coding"] is None
    coded, other = read(write), read(write, "coding.block_s=6")
    assert len({content_hash(one) for one in (plain, coded, other)}) == 3


VARIANTS = """
[transport]
mode = "lanes"
lanes_per_link = 4
congestion = "open-loop"
[coding]
repair = [0.1]
[[variant]]
label = "coded"
congestion = "open-loop"
set = {mode = "coded", handshake = false, coding = {block_s = 2}}
[[variant]]
label = "raptorq"
congestion = "cubic"
set = {mode = "coded", coding = {code = "raptorq", repair = "auto"}}
"""


def test_variants_may_be_coded_and_differ_in_it(write: Write) -> None:
    scenario = read(write, text=VARIANTS)
    coded, raptorq = (scenario.as_variant(label) for label in ("coded", "raptorq"))
    assert coded.coding is not None and raptorq.coding is not None
    assert (coded.coding.repair, coded.coding.block_s) == ((0.1,), 2)
    assert (raptorq.coding.repair, raptorq.coding.code) == (None, "raptorq")
    assert coded.transport.lanes_per_link == 1
    trials = run_trials(scenario)
    assert [trial.status for trial in trials] == ["ok"] * 3
    with pytest.raises(ScenarioError, match=r"variant.0.set.coding.code"):
        read(write, text=VARIANTS.replace("block_s = 2", 'code = "lt"'))


def test_the_trial_of_a_coded_scenario_has_its_metrics_and_columns(write: Write) -> None:
    (trial,) = run_trials(read(write, "link.0.loss.packet=0.1", "transport.handshake=false"))
    assert trial.outcome is not None, trial.error
    metrics, outcome = trial.outcome.metrics.values, trial.outcome
    coding = outcome.result.coding
    assert coding is not None
    assert {"repair_ratio", "decoded_ratio", "decode_failures"} <= set(METRICS)
    blocks = 6  # three layers, twice five seconds
    assert len(coding.source_packets) == blocks
    assert metrics["decode_failures"] == blocks - coding.whole.sum()
    assert metrics["decoded_ratio"] == coding.whole.sum() / blocks
    assert metrics["repair_ratio"] == coding.repair_bytes.sum() / outcome.result.totals.sent_payload_bytes
    rows = dict(zip(CHUNKS.names, chunk_rows("t", outcome), strict=True))
    assert np.asarray(rows["repair_bytes"]).sum() == coding.repair_bytes.sum()
    assert np.asarray(rows["block"]).tolist() == [3 * (c // 5) + m for c in range(10) for m in range(3)]


def test_other_trials_have_none_of_it(write: Write) -> None:
    (trial,) = run_trials(read(write, text='[transport]\ncongestion = "open-loop"\n'))
    assert trial.outcome is not None
    assert trial.outcome.metrics.values["repair_ratio"] is None
    rows = dict(zip(CHUNKS.names, chunk_rows("t", trial.outcome), strict=True))
    assert set(np.asarray(rows["block"]).tolist()) == {-1}


def test_links_that_are_never_up_and_restarts_after_the_run_are_said(write: Write) -> None:
    never = read(
        write,
        "scenario.duration_s=100",
        "link.0.outages=[[0, 40], [40, 100]]",
        "link.0.up_outages=[[0, 99.5]]",
        "transport.restart={at_s = [50, 100, 110], boot_s = 1, spool = true}",
    )
    name = never.link[0].name
    assert notes_on_never(never) == (
        f"link {name}: outages cover the whole run of 100 s",
        "transport: restart.at_s: 2 of 3 times come after the run of 100 s",
    )
    for up in ("[[1, 200]]", "[[0, 40], [41, 200]]"):
        some = read(write, "scenario.duration_s=100", f"link.0.outages={up}")
        assert notes_on_never(some) == ()
    assert notes_on_never(read(write, "link.0.outages=[[0, 1e9]]")) == ()
