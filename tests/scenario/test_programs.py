"""``[programs]``: words, what is refused by name, and that no trial's hash has anything to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import ScenarioError
from dstcc.reading import parse_toml
from dstcc.scenario import Scenario, content_hash, load_scenario, parse_override, parse_scenario, to_toml
from dstcc.scenario.programs import Value, text_of
from tests.quick import QUICK

GIVEN: dict[str, Any] = {"python": "python3", "rtt_s": 1.0, "scale": 1.0, "seed": 1}


def scenario(programs: str, more: str = "") -> Scenario:
    return parse_scenario(parse_toml(f"{QUICK}\n[programs]\n{programs}\n{more}"), source="quick")


def test_words_get_their_values_and_stay_one_word() -> None:
    """A value is put in after the line is split; ``{{word}}`` and braces around anything else are text."""
    found = scenario(
        'run = "get {size} --name={name} {{size}} {1,2} {} {seed}"\n'
        'on = {earth = ["serve {rtt_s}", "watch"]}\nwords = {size = 20000.0, name = "two words"}'
    )
    assert found.programs is not None
    command, others = found.programs.command_lines({**GIVEN, "rtt_s": 0.25})
    assert command == ("get", "20000", "--name=two words", "{size}", "{1,2}", "{}", "1")
    assert others == (("earth", ("serve", "0.25")), ("earth", ("watch",)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((True, "true"), (False, "false"), (7, "7"), (2.5, "2.5"), (2.0, "2"), (-3.0, "-3"), ("2.0", "2.0")),
        # from there on a float's text has an exponent or as many digits
        *(
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1000000000000000.0"),
            (-1e15, "-1000000000000000.0"),
        ),
        *((1e16, "1e+16"), (float("inf"), "inf")),
    ],
)
def test_a_value_is_written_in_words(value: Value, text: str) -> None:
    assert text_of(value) == text


def test_a_word_with_a_unit_is_a_number(tmp_path: Path) -> None:
    words = 'words = {patience_s = "3 min", size_bytes = "2 kB"}'
    (tmp_path / "it.toml").write_text(
        f'{QUICK}\n[programs]\nrun = "wait {{patience_s}} {{size_bytes}}"\n{words}\n'
    )
    found = load_scenario(tmp_path / "it.toml")
    assert found.programs is not None
    assert found.programs.command_lines(GIVEN)[0] == ("wait", "180", "2000")


def test_settings_with_dots_need_no_quotes() -> None:
    found = scenario('run = "true"\nsysctl.net.ipv4.tcp_sack = 0\nenv.PATIENCE_s = "3 min"')
    assert found.programs is not None
    assert found.programs.sysctl == {"net.ipv4.tcp_sack": 0}
    assert found.programs.env == {"PATIENCE_s": "3 min"}  # texts, not quantities


@pytest.mark.parametrize(
    ("programs", "key", "rule"),
    [
        ('run = "a"\nwords = {size = 1}', "programs.words.size", "no command line has {size}"),
        ('run = "a {size}"', "programs.run", "{size} has no value in programs.words"),
        ('run = "a"\non = {earth = "b {size}"}', "programs.on.earth", "{size} has no value"),
        ('run = "a {seed}"\nwords = {seed = 1}', "programs.words", "every run has it"),
        ('run = "a \'b"', "programs.run", "no closing quotation"),
        ('run = " "', "programs.run", "is empty"),
        ('run = "a"\nenv = {DSTCC_X = "1"}', "programs.env", "DSTCC_X"),
        ('run = "a"\nenv = {LD_PRELOAD = "1"}', "programs.env", "LD_PRELOAD"),
        ('run = "a"\nsysctl.kernel.panic = 1', "programs.sysctl", "kernel.panic"),
        ('run = "a"\nkernel = "5.10"', "programs.kernel", "6.1"),
        ('run = "a"\nwall_s = 0', "programs.wall_s", "greater than 0"),
        ('walk = "a"', "programs", "walk"),
    ],
)
def test_what_cannot_be_is_named(programs: str, key: str, rule: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(programs)
    assert key in str(refused.value) and rule in str(refused.value)


def test_a_bound_on_programs_needs_programs() -> None:
    bound = '[expect]\nprograms.bytes = "== 4"'
    assert scenario('run = "a"', bound).expect == {"programs.bytes": "== 4"}
    with pytest.raises(ScenarioError, match=r"expect\.programs\.bytes"):
        parse_scenario(parse_toml(f"{QUICK}\n{bound}"), source="quick")
    with pytest.raises(ScenarioError, match="a bound is a comparison"):
        scenario('run = "a"', '[expect]\nprograms.bytes = "4"')


def test_trials_do_not_depend_on_programs() -> None:
    plain = parse_scenario(parse_toml(QUICK), source="quick")
    assert content_hash(plain) == content_hash(scenario('run = "a"'))


def test_a_resolved_scenario_reads_back() -> None:
    found = scenario(
        'run = "a {b}"\nwords = {b = 1}\nsysctl.net.ipv4.tcp_sack = 0\non = {earth = ["c", "d"]}'
    )
    assert parse_scenario(parse_toml(to_toml(found)), source="again") == found


def test_the_folder_of_programs_is_the_files(tmp_path: Path) -> None:
    """Also of what extends it, unless that says what runs itself; a word may be overridden."""
    (tmp_path / "below").mkdir()
    base, over = tmp_path / "base.toml", tmp_path / "below/over.toml"
    base.write_text(f'{QUICK}\n[programs]\nrun = "./get {{size}}"\nwords = {{size = 1}}\n')
    over.write_text('extends = "../base.toml"\n[programs]\nwords = {size = 2}\n')
    found = load_scenario(over, [parse_override("programs.words.size=3")]).programs
    assert found is not None and found.folder == str(tmp_path / "below/..")
    assert found.command_lines(GIVEN)[0] == ("./get", "3")
    over.write_text('extends = "../base.toml"\n[programs]\nrun = "./get {size}"\n')
    again = load_scenario(over).programs
    assert again is not None and again.folder == str(tmp_path / "below")
