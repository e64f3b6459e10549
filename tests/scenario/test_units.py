from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError, ScenarioError
from dstcc.scenario import Override, load_scenario, parse_override
from dstcc.scenario.units import UNITS, _number, duration_s, with_units
from tests.scenario.conftest import MINIMAL, Write


@pytest.mark.parametrize(
    ("key", "text", "number"),
    [
        ("rate_bps", "4 Mbit/s", 4e6),
        ("rate_bps", "115.2 kb/s", 115_200.0),
        ("rate_bps", "115.2kbps", 115_200.0),
        ("rate_bps", "1_000 bit/s", 1000.0),
        ("rate_bps", "1.5e1 Mb/s", 15e6),
        ("rate_bps", "0.5 MB/s", 4e6),
        ("rate_bps", "1 Gbit/s", 1e9),
        ("delay_s", "20 min", 1200.0),
        ("delay_s", "0.1 ms", 1e-4),
        ("delay_s", "100 µs", 1e-4),
        ("delay_s", "1.5 h", 5400.0),
        ("loop_to_s", "2 d", 172_800.0),
        ("queue_bytes", "64 kB", 64_000),
        ("queue_bytes", "64 KiB", 65_536),
        ("queue_bytes", "1.5 MiB", 1_572_864),
        ("queue_bytes", "0.5 B", 0.5),
        ("ebn0_db", "-0.3 dB", -0.3),
    ],
)
def test_a_quantity_is_its_number(key: str, text: str, number: float) -> None:
    converted = with_units({"table": {key: text}}, "f.toml")["table"][key]
    assert converted == number
    assert type(converted) is type(number)


def test_lists_and_tables_below_a_key_have_its_unit() -> None:
    given = {
        "link": [
            {
                "rate_bps": {"uniform": ["1 Mbit/s", 2_000_000]},
                "delay_s": [["0 s", "8 min"], ["1 h", "500 s"]],
                "outages": [["10 min", 700]],
                "loss": {"ebn0_db": "3 dB", "code": "ccsds-c2"},
            }
        ],
        "video": {"synthetic": {"chunk_s": "500 ms", "layer_bps": ["40 kb/s", 30_000]}},
    }
    assert with_units(given, "f.toml") == {
        "link": [
            {
                "rate_bps": {"uniform": [1e6, 2_000_000]},
                "delay_s": [[0.0, 480.0], [3600.0, 500.0]],
                "outages": [[600.0, 700]],
                "loss": {"ebn0_db": 3.0, "code": "ccsds-c2"},
            }
        ],
        "video": {"synthetic": {"chunk_s": 0.5, "layer_bps": [40_000.0, 30_000]}},
    }


def test_other_texts_stay() -> None:
    given = {
        "scenario": {"name": "4 Mbit/s", "description": "20 min"},
        "transport": {"receive_buffer_bytes": "auto", "congestion": "cubic"},
        "link": [{"delay_s": {"bodies": ["mars", "earth"]}, "profile": "8 bit"}],
        "expect": {"startup_s": "< 9000", "cubic.startup_s": "9000", "longest_freeze_s": "5 s"},
    }
    assert with_units(given, "f.toml") == given


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("rate_bps", "4 Mbit", "'Mbit' is no unit of a rate; did you mean '4 Mbit/s'?"),
        ("rate_bps", "4 mbit/s", "did you mean '4 Mbit/s'?"),
        (
            "rate_bps",
            "-4",
            "no unit of a rate; a rate is not negative; write a number without quotes, or with one of bit/s, ",
        ),
        ("rate_bps", "4", "no unit of a rate; write 4 without quotes, or with one of bit/s, "),
        ("delay_s", "20 minutes", "is no unit of a time"),
        ("delay_s", "20 m", "'m' is no unit of a time; did you mean '20 ms'?"),
        ("queue_bytes", "64 kbit", "is no unit of a size"),
        ("delay_s", "4 Mbit/s", "'Mbit/s' is no unit of a time; one of us, µs, ms, s, min, h, d"),
    ],
)
def test_another_unit_is_refused(key: str, text: str, rule: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        with_units({"link": [{"rate_bps": 5}, {key: text}]}, "f.toml")
    assert str(caught.value).startswith(f"f.toml: link.1.{key} = {text!r}: ")
    assert rule in str(caught.value)


@given(st.text(max_size=80), st.sampled_from(["rate_bps", "delay_s", "queue_bytes", "ebn0_db"]))
def test_any_text_is_a_number_or_stays_or_is_refused(text: str, key: str) -> None:
    try:
        value = with_units({key: text}, "f.toml")[key]
    except ScenarioError as error:
        assert str(error).startswith("f.toml: ")
    else:
        assert value == text or isinstance(value, (int, float))


@given(st.decimals(0, 10**9, allow_nan=False, places=3), st.sampled_from(sorted(UNITS["_bps"][1])))
def test_a_plain_number_and_its_quantity_are_one(number, unit: str) -> None:
    converted = with_units({"rate_bps": f"{number} {unit}"}, "f.toml")["rate_bps"]
    assert math.isclose(converted, float(number) * float(UNITS["_bps"][1][unit]), rel_tol=1e-15)


def test_a_scenario_and_an_override_may_have_units(write: Write) -> None:
    plain = load_scenario(write(MINIMAL))
    text = MINIMAL.replace("rate_bps = 115_200", 'rate_bps = "115.2 kb/s"').replace(
        "loop_to_s = 10", 'loop_to_s = "10 s"'
    )
    assert load_scenario(write(text)) == plain
    overrides = [parse_override("link.1.rate_bps=0.24 Mbit/s"), parse_override('link.1.delay_s="8000 ms"')]
    assert (
        load_scenario(write(MINIMAL.replace("240_000", "5").replace("delay_s = 8", "delay_s = 1")), overrides)
        == plain
    )


def test_a_number_out_of_range_is_still_named(write: Write) -> None:
    with pytest.raises(
        ScenarioError, match=r"link\.0\.rate_bps = 4000000000000\.0: must be between 1 and 1e\+12"
    ):
        load_scenario(write(MINIMAL), [parse_override("link.0.rate_bps=4 Tbit/s")])
    with pytest.raises(ScenarioError, match=r"link\.0\.queue_bytes = 1\.5: input should be a valid integer"):
        load_scenario(write(MINIMAL), [parse_override("link.0.queue_bytes=1.5 B")])
    with pytest.raises(ScenarioError, match=r"link\.0\.rate_bps"):
        load_scenario(write(MINIMAL), [Override(("link", "0", "rate_bps"), "1e999 bit/s")])


class TestExtends:
    """A file over another one."""

    def put(self, folder: Path, name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_tables_are_joined_key_by_key_and_lists_replaced(self, tmp_path: Path) -> None:
        self.put(tmp_path, "base.toml", MINIMAL + '[playout]\nmode = "deadline"\ndelay_s = 50\n')
        over = self.put(
            tmp_path,
            "over.toml",
            'extends = "base.toml"\n[scenario]\nname = "one link"\n'
            '[[link]]\nname = "only"\nrate_bps = 5_000\ndelay_s = 1\n[playout]\ndelay_rtts = 3\n',
        )
        base, scenario = load_scenario(tmp_path / "base.toml"), load_scenario(over)
        assert scenario.scenario.name == "one link"
        assert scenario.video == base.video
        assert [link.name for link in scenario.link] == ["only"]
        assert (scenario.playout.delay_s, scenario.playout.delay_rtts) == (None, 3)

    def test_a_mode_leaves_the_keys_of_the_other_behind(self, tmp_path: Path) -> None:
        self.put(tmp_path, "base.toml", MINIMAL + '[transport]\nmode = "lanes"\nlanes_per_link = 4\n')
        over = self.put(tmp_path, "over.toml", 'extends = "base.toml"\n[transport]\nmode = "stream"\n')
        assert load_scenario(over).transport.lanes_per_link == 1

    def test_another_source_of_video_takes_the_place_of_the_first(self, tmp_path: Path) -> None:
        self.put(tmp_path, "base.toml", MINIMAL)
        over = self.put(tmp_path, "over.toml", 'extends = "base.toml"\n[video]\nstream = "bunny"\n')
        assert load_scenario(over).video.synthetic is None

    def test_paths_are_of_the_file_that_names_them(self, tmp_path: Path) -> None:
        self.put(
            tmp_path / "deep",
            "base.toml",
            MINIMAL.replace("[video]\nsynthetic =", "[video]\ninput = 'a.mp4'\n#"),
        )
        over = self.put(tmp_path, "over.toml", 'extends = "deep/base.toml"\n[scenario]\nname = "x"\n')
        assert load_scenario(over).video.input == str(tmp_path / "deep" / "a.mp4")

    def test_files_stand_one_over_the_other(self, tmp_path: Path) -> None:
        self.put(tmp_path, "a.toml", MINIMAL)
        self.put(tmp_path, "b.toml", 'extends = "a.toml"\n[scenario]\nname = "b"\n[run]\nseeds = 3\n')
        top = self.put(tmp_path, "c.toml", 'extends = "b.toml"\n[run]\nseed = 7\n')
        scenario = load_scenario(top, [parse_override("run.seeds=4")])
        assert (scenario.scenario.name, scenario.run.seed, scenario.run.seeds) == ("b", 7, 4)

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ('extends = "over.toml"', "the file extends itself"),
            ('extends = "../{folder}/over.toml"', "the file extends itself"),
            ("extends = 5", "extends = 5: must be the path of a scenario file"),
            ('extends = ""', "must be the path"),
            ('extends = "gone.toml"', "gone.toml: no such scenario file"),
            ('extends = "."', "cannot be read"),
            ('extends = ["a.toml"]', "must be the path"),
        ],
    )
    def test_what_cannot_be_extended(self, tmp_path: Path, text: str, rule: str) -> None:
        over = self.put(tmp_path, "over.toml", text.replace("{folder}", tmp_path.name))
        with pytest.raises(ScenarioError) as caught:
            load_scenario(over)
        assert rule in str(caught.value)

    def test_two_that_extend_each_other(self, tmp_path: Path) -> None:
        self.put(tmp_path, "a.toml", 'extends = "b.toml"')
        over = self.put(tmp_path, "b.toml", 'extends = "a.toml"')
        with pytest.raises(ScenarioError, match="extends itself"):
            load_scenario(over)

    def test_too_many_are_refused(self, tmp_path: Path) -> None:
        self.put(tmp_path, "0.toml", MINIMAL)
        for step in range(1, 12):
            self.put(tmp_path, f"{step}.toml", f'extends = "{step - 1}.toml"')
        assert load_scenario(tmp_path / "8.toml").scenario.name == "two links"
        with pytest.raises(ScenarioError, match="more than 8 files"):
            load_scenario(tmp_path / "9.toml")

    def test_a_mistake_names_both_files(self, tmp_path: Path) -> None:
        self.put(tmp_path, "base.toml", MINIMAL.replace("240_000", "-1"))
        over = self.put(tmp_path, "over.toml", 'extends = "base.toml"')
        with pytest.raises(
            ScenarioError, match=r"over\.toml \(which extends .*base\.toml\): link\.1\.rate_bps = -1"
        ):
            load_scenario(over)

    def test_no_output_takes_the_place_of_a_file_that_is_extended(self, tmp_path: Path) -> None:
        from click.testing import CliRunner
        from dstcc_cli.main import main

        self.put(tmp_path, "runs/base.toml", MINIMAL)
        over = self.put(tmp_path, "over.toml", 'extends = "runs/base.toml"')
        done = CliRunner().invoke(main, ["emulate", str(over), "-o", str(tmp_path / "runs"), "--force"])
        assert done.exit_code == 2
        assert (tmp_path / "runs" / "base.toml").exists()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("1.5 min", 90), ("2h", 7_200), ("10d", 864_000), ("1e3", 1000)],
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert duration_s(text, "--for") == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "1w", "d", "nan", "inf", "1 0", "1e999"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--for .*: a time above 0"):
        duration_s(text, "--for")


@pytest.mark.parametrize(("length", "read"), [(64, True), (65, False)])
def test_a_quantity_has_64_characters_at_most(length: int, read: bool) -> None:
    text = "5 min".rjust(length, "0")
    assert _number(text, "_s", "key") == (300 if read else text)
