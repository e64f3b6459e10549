from __future__ import annotations

import string
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstcc.errors import ScenarioError
from dstcc.scenario import Override, Scenario, load_scenario, parse_override, parse_scenario, to_toml
from dstcc.scenario.fields import _kind_of_delay
from dstcc.scenario.load import _merge
from dstcc.scenario.losses import LOSSES

BAD = [
    ("link.0.rate_bps=-5", "link.0.rate_bps = -5: must be between 1 and 1e+12, not -5"),
    ("link.0.rate_bps=0", "link.0.rate_bps = 0: must be between"),
    ("link.0.rate_bps=nan", "link.0.rate_bps = nan: input should be a finite number"),
    ("link.0.rate_bps=inf", "link.0.rate_bps = inf: input should be a finite number"),
    (
        "link.0.rate_bps=1 Mbit",
        "link.0.rate_bps = '1 Mbit': 'Mbit' is no unit of a rate; did you mean '1 Mbit/s'?",
    ),
    ("link.0.rate_bps='fast'", "link.0.rate_bps = 'fast': input should be a valid number"),
    ("link.0.loss.packet=1.5 %", "link.0.loss.packet = '1.5 %': is a fraction, without %; write 1.5e-2"),
    ("link.0.outages=5", "link.0.outages = 5: must be a list"),
    ("link.0.outages=[5]", "link.0.outages.0 = 5: must be a list"),
    ("link.0.outages=[[1,2,3]]", "link.0.outages.0 = [1, 2, 3]: must have at most 2 values, has 3"),
    ("link.0.loss=5", "link.0.loss = 5: must be a table"),
    ("link.0.loss=[1979-05-27]", "link.0.loss = [1979-05-27]: must be a table"),
    ("video.synthetic=5", "video.synthetic = 5: must be a table"),
    ("transport.congestion=5", "transport.congestion = 5: must be a list"),
    ("run.seeds=1979-05-27", "run.seeds = 1979-05-27: input should be a valid integer"),
    (
        "scenario.start=1979-05-27",
        "scenario.start = 1979-05-27: must be a date with a time, like 2026-11-21T06:00:00Z",
    ),
    ("scenario.start=07:30:00", "scenario.start = 07:30:00: must be a date with a time"),
    ("link.0.rate_bps=true", "link.0.rate_bps = True: input should be a valid number"),
    ("link.0.rate_bps={uniform=[5, 2]}", "link.0.rate_bps: the range [5.0, 2.0] is out of order"),
    ("link.0.rate_bps={log_uniform=[0, 2]}", "log_uniform needs bounds above 0"),
    ("link.0.rate_bps={uniform=[1, 2], log_uniform=[1, 2]}", "exactly one of uniform and log_uniform"),
    ("link.0.rate_bps={unifrm=[1, 2]}", "link.0.rate_bps.unifrm: unknown key; did you mean 'uniform'?"),
    ("link.0.rate_bps=[1]", "link.0.rate_bps: must be a number, {uniform = [a, b]} or"),
    ("link.0.rate_bsp=5", "link.0.rate_bsp: unknown key; did you mean 'rate_bps'?"),
    ("link.0.rate_kbps=5", "link.0.rate_kbps: unknown key; did you mean"),
    ("link.0.delay_ms=5", "link.0.delay_ms: unknown key; did you mean 'delay_s'?"),
    ("link.0.delay_s=-1", "link.0.delay_s = -1: must be between"),
    ("link.0.delay_s=[[0, 5], [10, 6], [10, 7]]", "times must rise, but row 2 is at 10 s after 10 s"),
    ("link.0.delay_s=[[0, 5], [10, nan]]", "link.0.delay_s.1.1 = nan: input should be a finite number"),
    ("link.0.delay_s=[[0, 5], [10, -1]]", "link.0.delay_s: must be between"),
    ("link.0.delay_s=[]", "link.0.delay_s"),
    ('link.0.delay_s={from = "mars", to = "earth"}', "delay_s.from: unknown key; known: bodies, ephemeris"),
    ('link.0.delay_s={bodies = ["mars", "erth"]}', "bodies: no body 'erth'; did you mean 'earth'?"),
    ('link.0.delay_s={bodies = ["mars", "mars"]}', "delay_s.bodies: needs two different bodies"),
    (
        'link.0.delay_s={bodies = ["mars", "earth"], ephemeris = "de999"}',
        "delay_s.ephemeris: no 'de999'; known: kepler, de421",
    ),
    ('link.0.delay_s={bodies = ["mars", "earth"]}', "link.0.delay_s: needs start in [scenario]"),
    ("link.0.loss.packet=1.5", "link.0.loss.packet = 1.5: must be between 0 and 1, not 1.5"),
    ("link.0.loss.packet=-0.1", "link.0.loss.packet = -0.1: must be between 0 and 1"),
    (
        "link.0.loss={packet = 0.1, ber = 1e-6}",
        f"link.0.loss: needs exactly one of {', '.join(LOSSES)}, not packet and ber",
    ),
    ("link.0.loss={}", "link.0.loss: needs exactly one"),
    ("link.0.loss={gilbert_elliott = {p = 2, r = 0.1}}", "link.0.loss.gilbert_elliott.p = 2"),
    ("link.0.loss={ebn0_db = 1}", "link.0.loss.code: ebn0_db and code need each other"),
    ('link.0.loss={packet = 0.1, code = "ccsds-c2"}', "loss.ebn0_db: ebn0_db and code need each other"),
    ('link.0.loss={ebn0_db = 1, code = "ccsds-c3"}', "link.0.loss.code = 'ccsds-c3': no such code; "),
    ('link.0.loss={ebn0_db = 1e3, code = "ccsds-c2"}', "link.0.loss.ebn0_db = 1000.0: must be between"),
    ("link.0.outages=[[5, 3]]", "an outage ends after it starts, unlike [5, 3]"),
    ("link.0.outages=[[1, 5], [4, 6]]", "outages rise and do not overlap, unlike [1, 5] and [4, 6]"),
    ("link.0.outages=[[7, 8], [4, 6]]", "outages rise and do not overlap"),
    ("link.0.queue_bytes=0", "link.0.queue_bytes = 0"),
    ("link.0.queue_bytes=1.5", "link.0.queue_bytes = 1.5: input should be a valid integer"),
    (
        "link.0.cross_traffic=[{rate_bps = 1, start_s = 5, stop_s = 4}]",
        "link.0.cross_traffic.0.stop_s: must be",
    ),
    ("link.0.cross_traffic=[{rate_bps = 1, off_s = 5}]", "link.0.cross_traffic.0.off_s: needs on_s"),
    ("link.0.cross_traffic=[{rate_bps = 1, periods = 'pareto'}]", "cross_traffic.0.periods: needs on_s"),
    (
        "link.0.cross_traffic=[{rate_bps = 1, on_s = 1, pareto_shape = 1.5}]",
        'cross_traffic.0.pareto_shape: needs periods = "pareto"',
    ),
    ("link.0.cross_traffic=[{rate_bps = 1, on_s = 1, periods = 'weibull'}]", "periods = 'weibull'"),
    ("link.0.flows=[{congestion = 'cubik'}]", "link.0.flows.0.congestion = 'cubik': no such congestion"),
    ("link.0.flows=[{congestion = 'sane'}]", 'or "same"'),
    ("link.0.flows=[{count = 0}]", "link.0.flows.0.count = 0"),
    ("link.0.flows=[{bytes = 0}]", "link.0.flows.0.bytes = 0"),
    ("link.0.flows=[{start_s = 5, stop_s = 5}]", "link.0.flows.0.stop_s: must be after start_s = 5, not 5"),
    ("link.0.flows=[{start_s = {uniform = [1, 9]}, stop_s = 8}]", "stop_s: must be after start_s = 9, not 8"),
    ("link.0.flows=[{on_s = 1, off_s = 1}]", "link.0.flows.0.on_s: needs rate_bps too"),
    ("link.0.flows=[{rate_bps = 1, off_s = 1}]", "link.0.flows.0.off_s: needs on_s"),
    ("link.0.flows=[{rate_bsp = 1}]", "link.0.flows.0.rate_bsp: unknown key; did you mean 'rate_bps'?"),
    ("link.0.mix={tcp_share = 0.8}", "link.0.mix.rate_bps: missing"),
    ("link.0.mix={rate_bps = 1e6, tcp_share = 80}", "link.0.mix.tcp_share = 80"),
    ("link.0.mix={rate_bps = 1e6, congestion = 'tahoe'}", "link.0.mix.congestion = 'tahoe': no such"),
    ("link.0.subflows=0", "link.0.subflows = 0"),
    ("link.0.subflows=64", "link: 65 subflows; at most 64 over all links"),
    ('link.0.profile="mars-dte"', "link.0.profile: profile = 'mars-dte': not known"),
    ('link.0.profile="none.toml"', "none.toml: no such profile file"),
    ("link.0.profile=3", "link.0.profile = 3: input should be a valid string"),
    ('link.0.profile="mro-x-dss35"', "link.0.profile: needs start in [scenario]"),
    ('link.0.contacts="plan.txt"', "link.0.source: a contact plan needs source and destination"),
    ("link.0.source=3", "link.0.source: a contact plan needs source and destination"),
    ("link.1.name=relay", "link: two links are named 'relay'"),
    ("link=[]", "link = []"),
    ("link.2.rate_bps=1", "no entry '2'; there are 2, counted from 0"),
    ("link.-1.rate_bps=1", "no entry '-1'"),
    ("transport.congestion=cubik", "did you mean 'cubic'?"),
    ("transport.congestion=[]", "transport.congestion"),
    ('transport.congestion=["cubic", "cubic"]', "names one twice"),
    ("transport.scheduler=minrt", "did you mean 'minrtt'?"),
    (
        'transport={congestion = "ltp", scheduler = "redundant"}',
        "transport.scheduler: 'redundant': ltp takes no scheduler",
    ),
    ("transport={congestion = 'ltp', ltp_green_from_layer = -1}", "transport.ltp_green_from_layer = -1"),
    ("transport={congestion = 'ltp', ltp_retry_limit = -1}", "transport.ltp_retry_limit = -1"),
    ("link.0.flows=[{congestion = 'ltp'}]", "link.0.flows.0.congestion: 'ltp': a transfer without TCP"),
    ('expect.cubic+none.ssim=">= 1"', "'none': no such scheduler"),
    ('transport.controller=["a.safetensors", "b/a"]', "transport.controller: two policies of one name"),
    ("transport.congestion=[]", "transport.congestion: names nothing"),
    ("transport={congestion = [], scheduler = []}", "names nothing"),
    ("transport.mode=lane", "transport.mode = 'lane': input should be 'stream', 'lanes' or 'coded'"),
    ("transport.lanes_per_link=4", 'transport.lanes_per_link: needs mode = "lanes"'),
    ("transport.lanes_per_link=4097", "transport.lanes_per_link = 4097"),
    (
        "transport.constants.rto_mx_s=1",
        "transport.constants.rto_mx_s: unknown key; did you mean 'rto_max_s'?",
    ),
    ("transport.constants.rto_max_s=0", "transport.constants.rto_max_s = 0"),
    ("transport.constants.hystart=1", "transport.constants.hystart = 1: input should be a valid boolean"),
    ("transport.constants.quick_acks=1.5", "transport.constants.quick_acks = 1.5"),
    ("transport.window=link", 'transport.window: needs mode = "lanes"'),
    ('transport={mode = "lanes", window = "path"}', "transport.window = 'path'"),
    (
        'transport={mode = "lanes", lanes_per_link = 17}',
        "transport.lanes_per_link: 17 lanes with a window each under 'cubic'; at most 16 a subflow",
    ),
    (
        'transport={mode = "lanes", lanes_per_link = 17, window = "lane", congestion = "fixed"}',
        "transport.lanes_per_link: 17 lanes with a window each under 'fixed'; at most 16 a subflow",
    ),
    (
        'transport={mode = "lanes", window = "lane", congestion = ["cubic", "lia"]}',
        "transport.window: 'lane': 'lia' couples the subflows of one connection",
    ),
    (
        'transport={mode = "lanes", window = "lane", scheduler = "redundant"}',
        "transport.window: 'lane': 'redundant' copies to the subflows of one connection",
    ),
    ("transport.initial_cwnd=0", "transport.initial_cwnd = 0"),
    ("transport.receive_buffer_bytes=big", "transport.receive_buffer_bytes = 'big'"),
    (
        "transport.receive_buffer_bytes=1459",
        "transport.receive_buffer_bytes: must hold a segment of 1460 bytes",
    ),
    ("transport.fixed_cwnd_segments=[1, 2, 3]", "transport.fixed_cwnd_segments: 3 values for 2 links"),
    ("transport.open_loop_bps=-1", "transport.open_loop_bps"),
    ('transport.layer_links=["relay"]', 'transport.layer_links: needs scheduler = "layer-pinned"'),
    ("playout.mode=wait", "playout.mode = 'wait'"),
    ("playout.delay_s=-1", "playout.delay_s = -1"),
    ("playout={delay_s = 1, delay_rtts = 2}", "playout.delay_rtts: cannot be combined with delay_s"),
    ("run.seeds=0", "run.seeds = 0"),
    ("run.seed=1.5", "run.seed = 1.5: input should be a valid integer"),
    ("run.scale=0.5", "run.scale = 0.5"),
    ("run.scale=fast", "run.scale = 'fast'"),
    ("run={slot_s = 1, slot_rtts = 2}", "run.slot_rtts: cannot be combined with slot_s"),
    ("scenario.duration_s=0", "scenario.duration_s = 0"),
    ("scenario.name=", "scenario.name"),
    ("scenario=3", "scenario = 3"),
    (
        "video={stream = 'x', input = 'y'}",
        "video: needs exactly one of stream, input and synthetic, not stream and",
    ),
    ("video={}", "video: needs exactly one of stream, input and synthetic, not none"),
    ("video.encode={crf = 20}", "video.encode: only an input is encoded"),
    ("video.loop_to_s=-1", "video.loop_to_s = -1"),
    ("video={synthetic = {chunk_s = 1, layer_bps = [1]}}", "needs video.loop_to_s or scenario.duration_s"),
    ("video.synthetic.layer_bps=[]", "video.synthetic.layer_bps"),
    ("video.synthetic.layer_bps=[1,1,1,1,1,1,1,1,1]", "video.synthetic.layer_bps"),
    ('expect.playbak=">= 1"', "expect.playbak: no metric 'playbak'; did you mean 'playback_ratio'?"),
    ("expect.playback_ratio=0.9", "expect.playback_ratio = 0.9: input should be a valid string"),
    ('expect.playback_ratio="about 1"', "a bound is a comparison and a number"),
    ('expect.playback_ratio=">= nan"', "a bound is a comparison and a number"),
    ('expect.playback_ratio=">= 0.2, about 1"', 'or several with commas, not ">= 0.2, about 1"'),
    ('expect.playback_ratio=">= 0.2,"', "a bound is a comparison and a number"),
    ('expect.cubik.ssim=">= 1"', "did you mean 'cubic'?"),
    ("typo={}", "typo: unknown key"),
]


@pytest.mark.parametrize(("override", "message"), BAD, ids=[text for text, _ in BAD])
def test_bad_values_are_named(minimal: Path, override: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(minimal, [parse_override(override)])
    assert str(caught.value).startswith(f"{minimal}: ")
    assert message in str(caught.value)


def test_every_problem_is_listed(minimal: Path) -> None:
    overrides = [parse_override("link.0.rate_bps=-1"), parse_override("run.seeds=-1")]
    with pytest.raises(ScenarioError) as caught:
        load_scenario(minimal, overrides)
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("text", ["=1", "a", "a..b=1", ".=2", ""])
def test_overrides_need_a_key_and_a_value(text: str) -> None:
    with pytest.raises(ScenarioError, match="must be KEY=VALUE"):
        parse_override(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1e-3", 1e-3),
        ("a=cubic", "cubic"),
        ('a="1"', "1"),
        ("a=[1, 2]", [1, 2]),
        ("a=b=c", "b=c"),
        ("a=1\nb=2", "1\nb=2"),
    ],
)
def test_override_values_are_typed_as_in_toml(text: str, value: object) -> None:
    assert parse_override(text) == Override(("a",), value)


def test_overrides_reach_into_tables_and_lists(minimal: Path) -> None:
    overrides = [
        "link.0.loss.packet=0.5",
        "link.1.up_loss.ber=1e-6",
        "run.seeds=3",
        "transport.congestion=bbr",
    ]
    scenario = load_scenario(minimal, [parse_override(text) for text in overrides])
    assert scenario.link[0].loss is not None
    assert scenario.link[0].loss.packet == 0.5
    assert scenario.link[1].up_loss is not None
    assert scenario.link[1].up_loss.ber == 1e-6
    assert scenario.seeds == (1, 2, 3)
    assert scenario.transport.congestion == ("bbr",)


def test_an_empty_override_deletes_a_key_and_what_is_in_it(minimal: Path) -> None:
    # In their order: what an earlier one has set can be deleted, and what was deleted be set anew.
    overrides = ["link.0.loss=", "run.seeds=3", "run.seeds=", "link.0.delay_s= ", "link.0.delay_s=7"]
    scenario = load_scenario(minimal, [parse_override(text) for text in overrides])
    assert (scenario.link[0].loss, scenario.link[0].delay_s, scenario.seeds) == (None, 7, (1,))
    before = len(load_scenario(minimal).link)
    fewer = load_scenario(minimal, [parse_override("link.0=")])
    assert (len(fewer.link), fewer.link[0].name) == (before - 1, scenario.link[1].name)
    assert load_scenario(minimal, [parse_override("scenario.description=''")]).scenario.description == ""


@pytest.mark.parametrize(
    ("override", "missing"),
    [
        ("link.0.outages=", "there is no link.0.outages to delete"),
        ("runn.seed=", "there is no runn to delete"),
        ("link.0.rate_bps.mean=", "there is no link.0.rate_bps.mean to delete"),
        ("link.7=", "no entry '7'"),
        ("link.0.rate_bps=", "link.0.rate_bps: missing"),
    ],
)
def test_what_is_not_there_cannot_be_deleted_nor_what_must_be(
    minimal: Path, override: str, missing: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(minimal, [parse_override(override)])
    assert str(minimal) in str(caught.value)
    assert missing in str(caught.value)


def test_an_override_takes_the_place_of_what_cannot_stand_beside_it(minimal: Path) -> None:
    overrides = ["link.0.loss.ber=1e-6", "playout.delay_s=5", "playout.delay_rtts=2", "video.stream=/s"]
    scenario = load_scenario(minimal, [parse_override(text) for text in overrides])
    assert scenario.link[0].loss is not None
    assert (scenario.link[0].loss.packet, scenario.link[0].loss.ber) == (None, 1e-6)
    assert (scenario.playout.delay_s, scenario.playout.delay_rtts) == (None, 2)
    assert (scenario.video.synthetic, scenario.video.stream) == (None, "/s")


def test_a_stream_in_the_place_of_lanes_goes_without_what_only_lanes_have(minimal: Path) -> None:
    lanes = ["transport.mode=lanes", "transport.lanes_per_link=4", "transport.window=lane"]
    stream = [*lanes, "transport.mode=stream"]
    transport = load_scenario(minimal, [parse_override(text) for text in stream]).transport
    assert (transport.mode, transport.lanes_per_link, transport.window) == ("stream", 1, None)
    with pytest.raises(ScenarioError, match="lanes_per_link: needs mode"):
        load_scenario(minimal, [parse_override(text) for text in (*stream, "transport.lanes_per_link=4")])


def test_a_stream_in_the_place_of_an_input_needs_no_encoding(minimal: Path) -> None:
    overrides = ["video.input=clip.mp4", "video.encode.crf=30", "video.stream=/s"]
    video = load_scenario(minimal, [parse_override(text) for text in overrides]).video
    assert (video.input, video.encode, video.stream) == (None, None, "/s")


def test_paths_of_the_file_are_relative_to_it_and_those_of_overrides_to_the_working_directory(
    tmp_path: Path, minimal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    file = folder / "s.toml"
    synthetic = "synthetic = {chunk_s = 1.0, layer_bps = [40_000, 30_000, 20_000]}"
    file.write_text(minimal.read_text().replace(synthetic, 'stream = "../stream"'))
    monkeypatch.chdir(tmp_path)
    assert load_scenario(Path("deep/s.toml")).video.stream == str(folder / "../stream")
    override = parse_override("video.stream=other")
    assert load_scenario(file, [override]).video.stream == str(tmp_path / "other")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[scenario", "not TOML"),
        (b"\xff", "not UTF-8"),
        (b"a = " + b"[" * 5000, "not TOML"),
        (b"", "scenario: missing"),
    ],
)
def test_files_that_are_no_scenario(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=message):
        load_scenario(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"transport": {"congestion": ["a\ud800"]}},
            r"mine: transport\.congestion\.0: 'a\\ud800' is not Unicode",
        ),
        ({"sce\udfff": {}}, r"mine: 'sce\\udfff' is not Unicode"),
        ({"link": [{"\udcff": 1}]}, r"mine: link\.0: '\\udcff' is not Unicode"),
    ],
)
def test_a_text_that_is_not_unicode_is_named_with_its_key(change: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        parse_scenario(change, source="mine")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such scenario file"):
        load_scenario(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path)


def test_expect_keys_with_and_without_quotes(minimal: Path) -> None:
    text = minimal.read_text() + '[expect]\nplayback_ratio = ">= 0.98"\ncubic.startup_s = "< 9e3"\n'
    minimal.write_text(text + '"cubic+minrtt.layers_played.none" = "== 0"\n')
    assert load_scenario(minimal).expect == {
        "playback_ratio": ">= 0.98",
        "cubic.startup_s": "< 9e3",
        "cubic+minrtt.layers_played.none": "== 0",
    }


def test_expect_takes_shipped_controllers_and_those_that_the_scenario_names(minimal: Path) -> None:
    bounds = (
        'expect={"dstcc.ssim" = "> 0", "mine.v2.ssim" = "> 0", dstcc = {layers_played = {none = "< 1"}}, '
        '"iodst-dqn+.ssim" = "> 0"}'
    )
    named = parse_override("transport.controller=['policies/mine.v2.safetensors']")
    load_scenario(minimal, [parse_override(bounds), named])
    with pytest.raises(
        ScenarioError, match=r"expect\.mine\.v2\.ssim: 'mine\.v2': no such congestion control"
    ):
        load_scenario(minimal, [parse_override(bounds)])
    with pytest.raises(ScenarioError, match=r"controllers and variants here: drl-cc, dstcc, .*, your"):
        yours = parse_override("transport.controller=['your']")
        load_scenario(minimal, [parse_override('expect={"dstc.ssim" = "> 0"}'), yours])


def test_resolved_text_reads_back_to_the_same_scenario(minimal: Path) -> None:
    overrides = [
        "link.0.outages=[[1, 2], [3, 4.5]]",
        "link.0.delay_s=[[0, 5], [10, 6]]",
        "link.1.delay_s={uniform = [1, 2]}",
        "link.1.loss={gilbert_elliott = {p = 0.1, r = 0.5}}",
        "link.1.cross_traffic=[{rate_bps = 1000, on_s = 5, off_s = 2}]",
        'transport={mode = "lanes", lanes_per_link = 4, congestion = ["cubic", "bbr"]}',
        "transport.open_loop_bps=[1, 2]",
        "scenario.start=2026-11-21T00:00:00Z",
        'scenario.description="tab\\t, quote \\", del \\u007f, ümlaut"',
        'expect={"cubic.startup_s" = "< 9"}',
    ]
    scenario = load_scenario(minimal, [parse_override(text) for text in overrides])
    assert parse_scenario(tomllib.loads(to_toml(scenario)), source="again") == scenario


# Any TOML document is a scenario or a ScenarioError.

KEYS = [
    *Scenario.model_fields,
    "name",
    "rate_bps",
    "delay_s",
    "loss",
    "packet",
    "uniform",
    "synthetic",
    "layer_bps",
]
LEAVES = st.one_of(
    st.none().map(lambda _: ""),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.sampled_from(["cubic", "auto", "lanes", ">= 1", 10**400]),
)
KEY = st.one_of(st.sampled_from(KEYS), st.text(string.ascii_lowercase + "._", max_size=8))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEY, inner, max_size=4)),
    max_leaves=8,
)


@given(st.dictionaries(KEY, VALUES, max_size=6))
def test_any_document_is_a_scenario_or_a_scenario_error(document: dict[str, object]) -> None:
    try:
        parse_scenario(document, source="any.toml")
    except ScenarioError as error:
        assert str(error).startswith("any.toml: ")


PLACES = [
    "scenario.name", "scenario.start", "scenario.duration_s", "video", "video.loop_to_s",
    "video.synthetic", "video.synthetic.layer_bps", "video.stream", "video.quality", "link", "link.0",
    "link.0.name", "link.0.rate_bps", "link.0.delay_s", "link.0.loss", "link.0.loss.packet",
    "link.0.outages", "link.0.queue_bytes", "link.0.cross_traffic", "transport.congestion",
    "transport.fixed_cwnd_segments", "transport.open_loop_bps", "transport.receive_buffer_bytes",
    "transport.layer_links", "playout", "playout.delay_s", "run.seed", "run.scale", "run.slot_s",
    "expect", "expect.playback_ratio",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sampled_from(PLACES), VALUES)
def test_any_value_in_any_place_loads_and_round_trips_or_is_a_scenario_error(
    minimal: Path, place: str, value: object
) -> None:
    try:
        scenario = load_scenario(minimal, [Override(tuple(place.split(".")), value)])
    except ScenarioError as error:
        assert str(error).startswith(f"{minimal}: ")
        return
    assert parse_scenario(tomllib.loads(to_toml(scenario)), source="again") == scenario


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=60))
def test_any_file_is_a_scenario_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError):
        load_scenario(path)


@given(st.text(max_size=30))
def test_any_override_text_is_an_override_or_a_scenario_error(text: str) -> None:
    try:
        parse_override(text)
    except ScenarioError:
        assert "=" not in text or not all(part.strip() for part in text.partition("=")[0].split("."))


MISFITS = [
    ("blest", ["link=[{name = 'one', rate_bps = 1e6, delay_s = 1}]"], "the connection has one"),
    ("ecf", ["link=[{name = 'one', rate_bps = 1e6, delay_s = 1}]"], "the connection has one"),
    ("blest", ["transport.mode=lanes"], 'mode = "lanes" has an order per lane'),
    ("layer-pinned", ["video.synthetic.layer_bps=[40_000]"], "the source has one"),
    ("po-mptcp", ["video.synthetic.layer_bps=[40_000]"], "the source has one"),
]


@pytest.mark.parametrize(("scheduler", "overrides", "rule"), MISFITS, ids=[f"{m[0]} {m[2]}" for m in MISFITS])
def test_what_cannot_do_its_work_is_refused(
    minimal: Path, scheduler: str, overrides: list[str], rule: str
) -> None:
    settings = [
        parse_override(text) for text in [f'transport.scheduler=["minrtt", "{scheduler}"]', *overrides]
    ]
    with pytest.raises(ScenarioError) as caught:
        load_scenario(minimal, settings)
    assert str(caught.value).startswith(f"{minimal}: transport.scheduler: '{scheduler}': ")
    assert rule in str(caught.value)


def test_a_flow_beside_a_transfer_names_its_own_control(minimal: Path) -> None:
    settings = [
        parse_override(text) for text in ("link.0.flows=[{}]", 'transport.congestion=["cubic", "ltp"]')
    ]
    with pytest.raises(ScenarioError, match=r"link\.0\.flows\.0\.congestion: \"same\" is 'ltp' here"):
        load_scenario(minimal, settings)
    for others in ('link.0.flows=[{congestion = "cubic"}]', "link.0.mix={rate_bps = 1e4}"):
        load_scenario(minimal, [parse_override(others), settings[1]])


def test_a_transfer_may_stand_beside_controls_with_schedulers_and_be_pinned(minimal: Path) -> None:
    for text in (
        'transport={congestion = ["cubic", "ltp"], scheduler = ["minrtt", "redundant"]}',
        'transport={congestion = "ltp", scheduler = "layer-pinned", layer_links = ["direct", "relay"]}',
        'expect={"ltp+none.playback_ratio" = ">= 0"}',
    ):
        load_scenario(minimal, [parse_override(text)])


def test_one_link_is_enough_for_what_weighs_nothing(minimal: Path) -> None:
    one = parse_override("link=[{name = 'one', rate_bps = 1e6, delay_s = 1}]")
    for scheduler in ("minrtt", "round-robin", "redundant", "layer-pinned"):
        load_scenario(minimal, [one, parse_override(f"transport.scheduler={scheduler}")])


def test_a_coupled_control_needs_a_second_subflow(minimal: Path) -> None:
    one = "link=[{name = 'one', rate_bps = 1e6, delay_s = 1}]"
    coupled = [parse_override("transport.congestion=lia"), parse_override(one)]
    with pytest.raises(ScenarioError, match="'lia': it weighs one path against another"):
        load_scenario(minimal, coupled)
    load_scenario(minimal, [*coupled, parse_override("link.0.subflows=2")])


@pytest.mark.parametrize(
    ("under", "own", "merged"),
    [
        ({"x": 1, "y": 2}, {"y": 3}, {"x": 1, "y": 3}),
        ({"x": 1}, 5, 5),
        (5, {"x": 1}, {"x": 1}),
        ([1, 2], [3], [3]),
    ],
)
def test_only_tables_are_merged_key_by_key(under: object, own: object, merged: object) -> None:
    assert _merge({"key": under}, {"key": own}) == {"key": merged}


@pytest.mark.parametrize(
    ("delay", "kind"),
    [
        ({"uniform": [1, 2]}, "<draw>"),
        ({"uniformly": [1, 2], "seed": 3}, "<draw>"),  # what is wrong with it is said of a draw
        ({"from": "earth", "to": "mars"}, "<bodies>"),
        ({}, "<draw>"),
        ([[0, 1]], "<table>"),
        (7.5, "<number>"),
    ],
)
def test_a_delay_is_told_by_its_keys(delay: object, kind: str) -> None:
    assert _kind_of_delay(delay) == kind
