"""Profiles: what is shipped loads and names its sources; a slip names file, key and rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dstcc_channels.profiles import FixedUp, Up, load_profile, profile_names

from dstcc.errors import InputError
from dstcc.scenario import parse_scenario


@pytest.fixture
def edited(tmp_path):
    """A function: the shipped mro-x-dss35 with some text replaced, as a file."""
    shipped = load_profile("mro-x-dss35").file

    def edit(old: str, new: str) -> Path:
        text = shipped.read_text(encoding="utf-8")
        assert text.count(old) >= 1
        path = tmp_path / "mine.toml"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return path

    return edit


def test_what_must_be_there_is():
    assert {"iodst-link-1", "iodst-link-2", "lab", "lunar", "mro-x-dss35", "mro-x-dss43"} <= set(
        profile_names()
    )


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_loads_and_states_its_references(name):
    profile = load_profile(name)
    assert profile.name == name
    assert profile.references
    assert profile.summary


@pytest.mark.parametrize("name", [name for name in profile_names() if load_profile(name).kind == "abstract"])
def test_an_abstract_profile_is_a_scenarios_link(name):
    link = {"name": "a", **(load_profile(name).link or {})}
    document = {
        "scenario": {"name": name, "duration_s": 1.0},
        "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [1000]}, "loop_to_s": 1},
        "link": [link],
        "transport": {"congestion": ["cubic"]},
        "playout": {"mode": "deadline", "delay_s": 1},
    }
    assert parse_scenario(document, source=name).link[0].name == "a"


def test_the_papers_links_draw_as_its_table_says():
    # table 1: RTT 8.5 to 20 min and 10 to 40 min; delay is one way
    one, two = (load_profile(f"iodst-link-{number}").link for number in (1, 2))
    assert one is not None
    assert two is not None
    assert [2 * bound / 60 for bound in one["delay_s"]["uniform"]] == [8.5, 20]
    assert [2 * bound / 60 for bound in two["delay_s"]["uniform"]] == [10, 40]
    assert one["loss"] == {"packet": {"log_uniform": [1e-4, 1e-2]}}
    assert two["loss"] == {"packet": {"log_uniform": [1e-5, 1e-3]}}
    assert (one["rate_bps"], two["rate_bps"]) == (115_200, 240_000)


def test_the_way_up_has_a_budget_where_one_is_published():
    assert isinstance(load_profile("mro-x-dss35").up, Up)
    assert isinstance(load_profile("mro-x-dss43").up, FixedUp)


def test_a_file_of_ones_own_is_read_by_its_path(tmp_path):
    shutil.copy(load_profile("mro-x-dss35").file, tmp_path / "mine.toml")
    assert load_profile(tmp_path / "mine.toml").name == "mine"


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"profile = 'mro-x-dss36': not known; did you mean 'mro-x-dss.*lab"):
        load_profile("mro-x-dss36")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("power_w = 100.0\n", "", "down.power_w: missing"),
        ("power_w = 100.0", "power_w = -1.0", "down.power_w = -1.0: input should be greater than 0"),
        ("power_w = 100.0", "power_w = nan", "down.power_w = nan: "),
        ("power_w = 100.0", 'power_w = "100"', "down.power_w = '100': input should be a valid number"),
        ("power_w = 100.0", "power = 100.0", "down: unknown key 'power'; did you mean 'power_w'?"),
        ('station = "dss-35"', 'station = "dss-36"', "station = 'dss-36': not known; did you mean 'dss-"),
        ('band = "x"', 'band = "s"', "path.band: 's' is not known; allowed: x, k, ka"),
        ('band = "x"', 'band = "ka"', "band = 'ka': dss-35 has no such receiver; allowed: x"),
        ('body = "mars"', 'body = "marz"', "path.body: 'marz' is not known; did you mean 'mars'?"),
        ('body = "mars"', 'body = "earth"', "the spacecraft is not at the earth"),
        ("turbo-1/2-8920", "turbo-1/2-9820", "down.code: 'ccsds-turbo-1/2-9820' is not known; did you mean"),
        (
            "max_rate_bps = 6e6",
            "max_rate_bps = 6e6\nrate_bps = 7e6",
            "rate_bps = 7e+06 is above max_rate_bps",
        ),
        ("[up]", "[upp]", "unknown key 'upp'; did you mean 'up'?"),
        ("noise_k = 606.0\n", "", "up.noise_k: missing"),
        ("conjunction_deg = 2.0", "conjunction_deg = 200.0", "path.conjunction_deg = 200.0: "),
        ("summary", "name", "is the file's own"),
        (
            "frame_error_rate = 1e-4",
            "frame_error_rate = 1e-9",
            "down: frame_error_rate = 1e-09: ccsds-turbo-1/2-8920 is known from 1 down to 1e-05",
        ),
        (
            "frequency_hz = 8.439e9",
            "frequency_hz = 32e9",
            "down.frequency_hz = 3.2e+10: band 'x' lies from 7e+09 to 9e+09 Hz",
        ),
        (
            'body = "mars"',
            'body = "saturn"',
            "path: orbit: no rotation is known of 'saturn': allowed: mercury",
        ),
    ],
)
def test_a_slip_names_file_key_and_rule(edited, old, new, message):
    path = edited(old, new)
    with pytest.raises(InputError) as error:
        load_profile(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('rate_bps = "fast"', "link.rate_bps = 'fast': must be a number"),
        (f"rate_bps = 1{'0' * 400}", "0: must be between 1 and 1e+12"),
        ("rate_bps = {uniform = [-inf, 1]}", "link.rate_bps.uniform = -inf: must be a number"),
        ("rate_bps = {uniform = [2, 1]}", "link.rate_bps.uniform = [2, 1]: must rise"),
        ("rate_bps = {log_uniform = [2]}", "link.rate_bps.log_uniform = [2]: must be a pair of bounds"),
        ("loss = 1e-3", "link.loss = 0.001: must be a table"),
        ("loss = {packt = 1e-3}", "link.loss.packt: unknown key; did you mean 'packet'?"),
        ("loss = {packet = 3}", "link.loss.packet = 3: must be between 0 and 1"),
        ("loss = {}", "link.loss: needs exactly one of packet, ber"),
        ("loss = {packet = 0.1, ber = 0.1}", "link.loss: needs exactly one of packet, ber"),
        ("up_loss = {ebn0_db = 1}", "link.up_loss: ebn0_db and code need each other"),
        (
            'loss = {ebn0_db = 1, code = "ccsds-c3"}',
            "link.loss.code = 'ccsds-c3': not known; did you mean 'ccsds-c2'?",
        ),
        ("loss = {gilbert_elliott = {p = 0.1}}", "link.loss.gilbert_elliott.r: missing"),
        ("loss = {gilbert_elliott = {p = 2, r = 1}}", "link.loss.gilbert_elliott.p = 2: must be between"),
        ("loss = {gilbert_elliott = {p = 0, r = 0}}", "a chain that never moves"),
        ("delay_s = [[5, 1], [5, 2]]", "link.delay_s: times must rise"),
        ("delay_s = [[5, 1, 2]]", "link.delay_s: a table has rows [t_s, delay_s]"),
    ],
)
def test_a_slip_in_an_abstract_link_names_its_key(tmp_path, line, message):
    keys = {"rate_bps": "rate_bps = 1e6", "delay_s": "delay_s = 1"}
    keys[line.split(" ")[0]] = line
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(['summary = "m"', 'references = ["m"]', "[link]", *keys.values()]))
    with pytest.raises(InputError) as error:
        load_profile(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_profile_is_abstract_or_physical(tmp_path):
    path = tmp_path / "mine.toml"
    head = 'summary = "mine"\nreferences = ["me"]\n'
    for body, message in (
        ("", "path: missing; a profile has [link], or [path], [down] and [up]"),
        ("[link]\nrate_bps = 1e6\n", "link.delay_s: missing"),
        ("[link]\nrate_bps = 1e6\ndelay_s = -1\n", "link.delay_s = -1: must be between 1e-06 and 1e+06"),
        ("[link]\nrate_bps = 1e6\ndelay_s = {even = [1, 2]}\n", "must be a number, {uniform = [a, b]}"),
        ("[link]\nrate_bps = 1e6\ndelay_s = 1\nlos = 1\n", "link.los: unknown key; did you mean 'loss'?"),
        ("[link]\nrate_bps = 1e6\ndelay_s = 1\n[up]\nrate_bps = 1\n", "cannot have [up] too"),
        ("[link]\nrate_bps = 1e6\ndelay_s = [[0, 1], [5, 2]]\n", ""),
    ):
        path.write_text(head + body, encoding="utf-8")
        if not message:
            assert load_profile(path).kind == "abstract"
            continue
        with pytest.raises(InputError) as error:
            load_profile(path)
        assert message in str(error.value)


def test_files_that_are_no_profiles_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no such profile file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[[[", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.toml: not TOML"):
        load_profile(tmp_path / "bad.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 at byte 0"):
        load_profile(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="cannot be read"):
        load_profile(f"{tmp_path}/")
