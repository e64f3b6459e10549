from __future__ import annotations

import json

from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.algorithms import KNOWLEDGE, PARTS, TABLE, controllers


def test_table_for_people_on_stdout() -> None:
    done = CliRunner().invoke(main, ["algorithms"])
    assert done.exit_code == 0
    assert done.stderr == ""
    assert all(row.name in done.stdout for row in TABLE)
    said = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert [said[name][3] for name in ("open-loop", "ltp", "cubic", "qaware")] == ["r", "rc", "–", "lq"]
    assert said["dstcc"][3].startswith("qc") and said["dstcc-lanes"][3].startswith("qc")
    assert not set(PARTS) & set(said)
    assert f"controllers for studies of repair alone: {', '.join(PARTS)}" in done.stdout
    sentences = " ".join(done.stdout.split())
    letters = [known for known in KNOWLEDGE.values() if known.letter != "d"]
    knows = "; ".join(f"{known.letter} {known.what}" for known in letters)
    assert f" knows: {knows}; all keep deadlines (d) on: " in sentences
    assert sentences.endswith(" on: s simulator, k kernel")


def test_json() -> None:
    done = CliRunner().invoke(main, ["algorithms", "--json"])
    rows = json.loads(done.stdout)
    assert done.stderr == ""
    assert [row["name"] for row in rows] == [*(row.name for row in TABLE), *controllers()]
    assert all(row.keys() == {"name", "kind", "state", "source", "backends"} for row in rows)
    assert {row["name"]: row["backends"] for row in rows}["cubic"] == ["simulator", "kernel"]
