"""``dstcc links``: documents as the interface has them, exports, and answers to bad input."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_channels.profiles import profile_names
from dstcc_cli.main import main

KEYS = {
    "profile",
    "date",
    "distance_m",
    "one_way_s",
    "ebn0_db",
    "margin_db",
    "frame_error_rate",
    "packet_loss",
    "rate_bps",
    "visible",
    "next_pass",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def links(*args: object) -> Result:
    return CliRunner().invoke(main, ["links", *map(str, args)])


def refused(message: str, *args: object) -> None:
    done = links(*args)
    assert done.exit_code == 2, done.stderr
    assert message in done.stderr
    assert done.stdout == ""
    assert list(Path().iterdir()) == []


def test_the_list() -> None:
    rows = json.loads(links("--json").stdout)
    assert [row["profile"] for row in rows] == list(profile_names())
    assert all(row.keys() == {"profile", "summary"} for row in rows)
    done = links()
    assert done.exit_code == 0
    assert done.stderr == ""
    assert all(name in done.stdout for name in profile_names())


def test_a_links_state_at_a_date() -> None:
    done = links("mro-x-dss35", "--date", "2026-11-21", "--elevation", 20, "--json")
    document = json.loads(done.stdout)
    assert document.keys() == KEYS
    assert document["date"] == "2026-11-21T00:00:00Z"
    assert document["one_way_s"] == pytest.approx(630.943, abs=0.2)
    assert document["rate_bps"] == pytest.approx(3.74e6, rel=1e-3)
    assert document["margin_db"] == pytest.approx(3)
    assert document["visible"] is True
    assert done.stderr == ""  # 3 dB above the table's last row is a margin, no case for a warning


def test_far_above_its_table_a_link_is_warned_of() -> None:
    # The table of ccsds-rs-conv-5 ends at 2.49 dB; the Moon's link has 20 dB more.
    done = links("lunar", "--date", "2026-11-21T12:00", "--elevation", 30, "--json")
    assert "is above the table of ccsds-rs-conv-5 (-0.09 to 2.49 dB): clamped to its last row" in done.stderr
    near = links("mro-x-dss35", "--date", "2026-11-21", "--elevation", 20)
    assert "warning" not in near.stderr
    assert "floor of the code's table" in near.stdout


def test_the_budget_for_people() -> None:
    done = links("mro-x-dss35", "--date", "2026-11-21", "--elevation", 20)
    assert done.exit_code == 0
    assert done.stderr == ""
    for words in (
        "EIRP",
        "1.39 dB",
        "65.31 dBW",
        "left out: the profile gives none",
        "space loss",
        "276.51 dB",
        "noise temperature",
        "threshold",
    ):
        assert words in done.stdout


def test_the_next_pass_and_the_date_are_said() -> None:
    """The day before the conjunction's blackout ends there is none for a while: the next pass is that of the 29th."""
    done = links("mro-x-dss24", "--date", "2026-11-21", "--json")
    found = json.loads(done.stdout)["next_pass"]
    assert found["from"].startswith("2026-11-21T07:59") and found["to"].startswith("2026-11-21T19:39")
    assert 0.62 < found["least_bytes"] / found["most_bytes"] < 0.63  # 37.5 % hidden
    text = " ".join(links("mro-x-dss35", "--date", "2028-03-13").stdout.split())
    assert "date 2028-03-13 00:00:00 UTC" in text
    assert "next pass 2028-03-29 20:59 to 2028-03-30 07:05 UTC, 10.1 h at" in text
    assert "next pass" not in links("mro-x-dss35", "--date", "2026-11-21", "--up").stdout


@pytest.mark.parametrize("date", ["1972-01-01", "2049-12-31", "2050-01-01"])
def test_the_first_and_last_days_of_the_ephemeris(date: str) -> None:
    """The next pass is looked for a day before and 40 days after, which the ephemeris need not cover."""
    done = links("mro-x-dss35", "--date", date)
    assert done.exit_code == 0, done.output
    assert f"date {date} 00:00:00 UTC" in " ".join(done.stdout.split())


def test_the_end_of_the_ephemeris_is_the_end_of_the_search() -> None:
    text = " ".join(links("mro-x-dss35", "--date", "2049-12-31T23:00:00").stdout.split())
    assert "next pass none within 0.0417 days" in text


def test_without_a_date_it_is_said_which_was_used() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    text = " ".join(links("mro-x-dss35").stdout.split())
    used = datetime.fromisoformat(re.search(r"date (\S+ \S+) UTC", text)[1]).replace(tzinfo=UTC)
    assert before <= used <= datetime.now(UTC)


def test_the_way_up() -> None:
    done = links("mro-x-dss35", "--date", "2026-11-21", "--elevation", 20, "--up", "--json")
    assert json.loads(done.stdout)["rate_bps"] == 2e3


def test_an_abstract_profile_says_its_keys() -> None:
    document = json.loads(links("iodst-link-1", "--date", "2026-11-21", "--json").stdout)
    assert document.keys() == KEYS
    assert document["rate_bps"] == 115_200
    assert document["one_way_s"] == {"uniform": [255.0, 600.0]}
    assert document["packet_loss"] == {"log_uniform": [1e-4, 1e-2]}


def test_a_code() -> None:
    done = links("--code", "ccsds-turbo-1/6-8920", "--ebn0", -0.15, "--bytes", 1500, "--json")
    document = json.loads(done.stdout)
    assert document.keys() == {"code", "ebn0_db", "frame_error_rate", "packet_loss"}
    assert document["frame_error_rate"] == pytest.approx(1e-3, rel=0.02)
    assert document["packet_loss"] == pytest.approx(2.345e-3, rel=0.02)  # 1 + 11999/8920 frames
    said = links("--code", "ccsds-turbo-1/6-8920", "--ebn0", -0.15, "--bytes", 1500).stdout
    assert "2.345 on average" in said


def test_far_outside_a_table_the_answer_is_clamped_and_says_so() -> None:
    done = links("--code", "ccsds-c2", "--ebn0", 30, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["frame_error_rate"] == pytest.approx(1e-5)
    assert "warning: Eb/N0 30.00 dB is above the table of ccsds-c2 (2.83 to 3.96 dB): clamped" in done.stderr
    assert "below the table" in links("--code", "ccsds-c2", "--ebn0", -5).stderr


def test_pictures_and_exports() -> None:
    options = ("--date", "2026-11-21", "--duration", 7200, "--step", 600)
    done = links(
        "mro-x-dss35", *options, "--plot", "l.svg", "--netem", "n.json", "--trace", "t.csv", "--json"
    )
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout).keys() == KEYS
    rows = json.loads(Path("n.json").read_text())["rows"]
    assert len(rows) == 12
    assert rows[0]["delay_ms"] == pytest.approx(630_900, abs=300)
    assert Path("l.svg").exists()
    assert Path("t.csv").exists()
    assert links("--code", "ccsds-c2", "--plot", "c.png").exit_code == 0


def test_below_the_horizon_is_said() -> None:
    done = links("mars-ka-dss25", "--date", "2026-11-21", "--json")
    assert json.loads(done.stdout)["visible"] is False
    assert "below its mask of 10" in done.stderr


def test_bad_input_names_key_and_allowed_values() -> None:
    refused("not known; did you mean 'mro-x-dss", "mro-x-dss36")
    refused("mine.toml: no such profile file", "mine.toml")
    refused("not ISO 8601; allowed: 2026-11-21, 2026", "mro-x-dss35", "--date", "yesterday")
    refused("outside what ephemeris = 'kepler' covers", "mro-x-dss35", "--date", "2060-01-01")
    refused("elevation: must be between", "mro-x-dss35", "--date", "2026-11-21", "--elevation", 100)
    refused("an abstract profile has no station", "lab", "--elevation", 20)
    refused("code = 'ccsds-c3': not known; did you mean 'ccsds-c2'?", "--code", "ccsds-c3", "--ebn0", 3)
    refused("ebn0 = nan: must be a finite number", "--code", "ccsds-c2", "--ebn0", "nan")
    for size in (0, 65_536, 10**22):  # the last counted frames for ever
        rule = f"bytes = {size}: a packet has between 1 and 65535 bytes"
        refused(rule, "--code", "ccsds-c2", "--ebn0", 3, "--bytes", size)
    refused("--code needs --ebn0 or --plot", "--code", "ccsds-c2")
    refused("--ebn0 needs --code", "lab", "--ebn0", 3)
    refused("not both", "lab", "--code", "ccsds-c2")
    refused("--plot needs a PROFILE or --code", "--plot", "l.svg")
    refused("cannot draw as '.pdf'", "--code", "ccsds-c2", "--plot", "c.pdf")
    refused("cannot tell the format", "lab", "--netem", "n.txt")
    refused("bytes = 0", "lab", "--netem", "n.csv", "--bytes", 0)
    refused("the folder none does not exist", "lab", "--trace", "none/t.csv")
    refused("step_s = 0", "lab", "--netem", "n.csv", "--step", 0)
    refused("duration_s = -5: must be above 0", "lab", "--netem", "n.csv", "--duration", -5)
    refused("n.txt: cannot tell the format", "lab", "--netem", "n.txt", "--trace", "t.csv")


def test_an_option_that_would_change_nothing_is_refused() -> None:
    refused("--up needs a PROFILE", "--up")
    refused("--date needs a PROFILE, not --code", "--code", "uncoded", "--ebn0", 3, "--date", "2026-11-21")
    refused("--bytes needs a PROFILE or --code", "--bytes", 40)
    refused("--seed needs --netem or --trace", "lab", "--seed", 3)
    refused("--scale needs --netem", "lab", "--trace", "t.csv", "--scale", 3)


def test_tc_takes_no_delay_above_274_seconds() -> None:
    of_mars = ("mars-ka-dss25", "--date", "2026-11-21", "--netem", "n.sh")
    refused("a delay of 630.863 s is more than the 274 s that tc takes; 3 times the scale", *of_mars)
    refused("scale = 0.5: must be between 1 and 1e+06", *of_mars, "--scale", 0.5)
    refused("scale = 1e+308: must be between 1 and 1e+06", *of_mars, "--scale", 1e308)
    assert links(*of_mars, "--scale", 4).exit_code == 0
    text = Path("n.sh").read_text()
    assert "delay 157715." in text  # 630.863 s / 4
    assert "rate 4820501bit" in text  # 4 × 1,205,125
    assert "sleep 150\n" in text  # of 600 s
    assert "# scale: 4.0\n" in text


def test_its_own_files_are_replaced_with_force() -> None:
    exports = ("lab", "--netem", "n.csv", "--trace", "t.csv", "--duration")
    picture = ("--plot", "c.svg", "--code")
    assert links(*exports, 600).exit_code == links(*picture, "ccsds-c2").exit_code == 0
    first = {path.name: path.read_bytes() for path in Path().iterdir()}
    for again in ((*exports, 1200), (*picture, "ccsds-turbo-1/2-8920")):
        assert links(*again).exit_code == 2
        assert links(*again, "--force").exit_code == 0
    second = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert first.keys() == second.keys() == {"n.csv", "t.csv", "c.svg"}
    assert all(first[name] != second[name] for name in first)


def test_force_alone_is_refused() -> None:
    refused("--force needs --plot, --netem or --trace", "lab", "--force")


def test_a_file_is_named_once() -> None:
    refused("named twice", "lab", "--netem", "n.csv", "--trace", "../" + Path.cwd().name + "/n.csv")


def test_a_slip_in_a_file_of_ones_own() -> None:
    Path("mine.toml").write_text('summary = "m"\nreferences = ["m"]\n[link]\nrate_bps = 1e6\n')
    done = links("mine.toml")
    assert done.exit_code == 2
    assert "mine.toml: link.delay_s: missing" in done.stderr


def test_the_exact_ephemeris() -> None:
    # 2027-02-19, when the distance hardly changes: 338.342 s by DE421, whether 00:00 is UTC or TDB.
    done = links("mro-x-dss35", "--date", "2027-02-19", "--ephemeris", "de421", "--json")
    assert json.loads(done.stdout)["one_way_s"] == pytest.approx(338.342, abs=0.001)
    # Where it does change, published light times are those of 00:00 TDB: 69.184 s of 16 km/s are 3.6 ms of light.
    for date, published_s in (("2026-11-21 TDB", 630.943), ("2028-03-21TDB", 1191.467)):
        done = links("mro-x-dss35", "--date", date, "--ephemeris", "de421", "--json")
        assert json.loads(done.stdout)["one_way_s"] == pytest.approx(published_s, abs=0.001)
    refused("ephemeris: 'de422' is none: did you mean 'de421'?", "mro-x-dss35", "--ephemeris", "de422")
    refused("lab: an abstract profile has no bodies", "lab", "--ephemeris", "de421")
    refused("--ephemeris needs a PROFILE", "--ephemeris", "de421")


def test_the_exact_ephemeris_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc_channels.geometry import de421

    monkeypatch.setitem(sys.modules, "skyfield.api", None)
    de421._kernel.cache_clear()
    done = links("mro-x-dss35", "--date", "2027-02-19", "--ephemeris", "de421")
    de421._kernel.cache_clear()
    assert done.exit_code == 1
    assert "pip install 'dstcc[ephemeris]'" in done.stderr
