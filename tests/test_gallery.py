"""The gallery of examples: a copy loads as the original does, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.errors import InputError
from dstcc.gallery import Example, copy_out, example, gallery
from dstcc.scenario import load_scenario
from dstcc.trust import allowed

NAMES = [one.name for one in gallery()]


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_loads_as_the_original_does(name: str, tmp_path: Path) -> None:
    one = example(name)
    written = copy_out(one, tmp_path / "folder" / "mine.toml")
    assert {path.parent for path in written} == {tmp_path / "folder"}
    with allowed():
        copied, original = load_scenario(written[0]), load_scenario(one.path)
    assert copied.scenario == original.scenario and len(copied.link) == len(original.link)
    assert copied.run == original.run and copied.playout == original.playout


def test_it_holds_what_users_start_from() -> None:
    assert {"demo/mars-two-links", "missions/handover", "iodst/table-1", "lab/ten-minutes"} <= set(NAMES)
    assert all(one.title for one in gallery())


def test_a_name_is_enough_and_a_wrong_one_gets_a_hint() -> None:
    assert example("handover").name == "missions/handover"
    with pytest.raises(InputError, match="did you mean handover"):
        example("hand-over")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    plan = tmp_path / "handover.txt"
    plan.write_text("mine\n")
    with pytest.raises(InputError, match=r"handover\.txt: already exists and is another"):
        copy_out(example("handover"), tmp_path / "pass.toml")
    assert plan.read_text() == "mine\n" and not (tmp_path / "pass.toml").exists()
    plan.unlink()
    assert {path.name for path in copy_out(example("handover"), tmp_path / "pass.toml")} == {
        "pass.toml",
        "handover.txt",
    }
    with pytest.raises(InputError, match=r"pass\.toml: already exists"):
        copy_out(example("handover"), tmp_path / "pass.toml")
    assert copy_out(example("handover"), tmp_path / "again.toml") == (tmp_path / "again.toml",)


def test_what_a_named_file_names_comes_along(tmp_path: Path) -> None:
    """Texts that name files lie beside the copy, with what they name in turn; other texts stay."""
    (tmp_path / "from" / "sub").mkdir(parents=True)
    names = (
        'extends = "sub/base.toml"\n[scenario]\nname = "some.text"\ncontrol = "own.py:Own"\nlogs = "sub"\n'
    )
    (tmp_path / "from" / "a.toml").write_text(names)
    (tmp_path / "from" / "own.py").write_text("class Own: ...\n")
    (tmp_path / "from" / "sub" / "base.toml").write_text('plan = "plan.txt"\nback = "../a.toml"\n')
    (tmp_path / "from" / "sub" / "plan.txt").write_bytes(b"a plan")
    output = tmp_path / "to" / "mine.toml"
    written = copy_out(Example("x/a", tmp_path / "from" / "a.toml", "t", "d"), output)
    assert written[0] == output
    assert (
        {path.name for path in output.parent.iterdir()}
        == {path.name for path in written}
        == {*("mine.toml", "base.toml", "own.py", "plan.txt", "a.toml")}
    )
    assert output.read_text() == names.replace("sub/base.toml", "base.toml")
    assert (output.parent / "base.toml").read_text() == 'plan = "plan.txt"\nback = "a.toml"\n'
    assert (output.parent / "plan.txt").read_bytes() == b"a plan"


def test_the_command_lists_and_writes(tmp_path: Path) -> None:
    run = CliRunner().invoke
    listed = run(main, ["examples"])
    assert listed.exit_code == 0 and all(name in listed.stdout for name in NAMES)
    done = run(main, ["examples", "outages/relay-pass", "-o", str(tmp_path / "pass.toml")])
    assert done.exit_code == 0 and (tmp_path / "pass.toml").is_file()
    for words, message in ((["nothing"], "not known"), (["-o", str(tmp_path / "x.toml")], "which one?")):
        done = run(main, ["examples", *words])
        assert done.exit_code == 2 and message in done.stderr
