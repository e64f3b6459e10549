"""The table of codecs: what it says of a class is so, and whoever names codecs takes them from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_svc.codecs import get_codec

from dstcc import codecs
from dstcc.codecs import CODECS, DEFAULT_CODEC, TABLE, CodecRow
from dstcc.errors import InputError, ScenarioError
from dstcc.scenario import load_scenario, parse_override


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_says_what_its_class_is(row: CodecRow) -> None:
    codec = get_codec(row.name)
    assert (codec.name, codec.scalability, codec.default_crf) == (row.name, row.scalability, row.default_crf)
    assert int(row.crf.split("..")[1].split()[0]) == codec.max_crf


def test_the_first_codec_of_a_scalability_is_its_default() -> None:
    assert DEFAULT_CODEC == {"temporal": "x264", "quality": "vp9"}


def test_the_help_lists_the_tables_codecs_with_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in TABLE if row.name in ("x264", "x264-program", "openh264", "vp9")]
    monkeypatch.setattr(codecs, "TABLE", rows)
    assert codecs.names_help() == (
        "temporal: x264 (default), x264-program (x264 in the ffmpeg program, not in this process) or openh264; "
        "quality: vp9."
    )
    assert codecs.crf_help() == (
        "x264, x264-program and openh264 0..51, vp9 8..63 less 4 for each layer below it.  "
        "[default: x264 28, x264-program 26, openh264 30, vp9 32]"
    )


def test_a_row_is_all_that_scenarios_and_the_engine_of_streams_ask_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        '[scenario]\nname = "a"\n[video]\ninput = "clip.mp4"\nloop_to_s = 5\nencode = {codec = "mine"}\n'
        '[[link]]\nname = "a"\nrate_bps = 1e6\ndelay_s = 1\n'
    )
    with pytest.raises(ScenarioError, match=re.escape(f"no such codec ({', '.join(CODECS)})")):
        load_scenario(scenario)
    with pytest.raises(InputError, match="codec 'mine': unknown"):
        get_codec("mine")
    monkeypatch.setitem(
        CODECS, "mine", CodecRow("mine", "dstcc_svc.codecs.x264:X264", "temporal", 28, "0..51")
    )
    load_scenario(scenario, [parse_override("run.seed=1")])
    assert get_codec("mine").name == "x264"


def test_the_command_offers_the_tables_codecs() -> None:
    from dstcc_cli.encode import command

    answer = CliRunner().invoke(command, ["clip.mp4", "-o", "x", "--codec", "h265"])
    assert answer.exit_code == 2
    assert all(f"'{name}'" in answer.output for name in CODECS)
