"""``import dstcc``: the same runs as the command line's, and what can be made of them."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from nbclient import NotebookClient

import dstcc
import dstcc.api
from dstcc.errors import InputError, RunError, ScenarioError
from tests.quick import QUICK

ROOT = Path(__file__).parents[1]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    second = '[[link]]\nname = "b"\nrate_bps = 500_000\ndelay_s = 0.1\n'
    path.write_text(f'{QUICK}loss = {{packet = 0.1}}\n{second}[transport]\ncongestion = ["cubic"]\n')
    return path


def test_the_same_run_as_the_commands(scenario: Path, tmp_path: Path) -> None:
    algorithms = "--congestion newreno --congestion bbr --scheduler round-robin"
    words = f"{algorithms} --seeds 2 --seed 4 --set link.0.loss.packet=0.2"
    args = [
        "emulate",
        str(scenario),
        "-o",
        str(tmp_path / "told"),
        *words.split(),
        "--set",
        "playout.delay_s=20 s",
    ]
    assert CliRunner().invoke(main, args).exit_code == 0
    asked = dstcc.emulate(
        scenario,
        tmp_path / "asked",
        congestion=["newreno", "bbr"],
        scheduler="round-robin",
        seeds=2,
        seed=4,
        settings={"link.0.loss.packet": 0.2, "playout.delay_s": "20 s"},
    )
    for name in ("trials", "chunks", "samples"):
        told = pq.read_table(tmp_path / "told" / f"{name}.parquet")
        assert pq.read_table(asked.path / f"{name}.parquet").equals(told)
    assert asked.meta["scenario_sha256"] == dstcc.load(tmp_path / "told").meta["scenario_sha256"]


def test_a_run_as_tables(scenario: Path, tmp_path: Path) -> None:
    run = dstcc.emulate(scenario, congestion=["cubic", "fixed"], seeds=3)
    frame = run.trials.to_pandas()
    assert (
        list(frame.id)
        == run.ids
        == [f"{name}+minrtt/s{seed}" for name in ("cubic", "fixed") for seed in (1, 2, 3)]
    )
    means = run.means("weighted_layers", "psnr_db")
    mine = frame[frame.congestion == "cubic"].weighted_layers
    assert means["cubic+minrtt"] == {"weighted_layers": pytest.approx(mine.mean()), "psnr_db": None}
    assert len(run.levels(run.ids[0])) == 5
    assert run.chunks.num_rows == 6 * 5 * 2
    assert set(run.samples.column("trial").to_pylist()) == set(run.ids)
    assert run.scenario["scenario"]["name"] == "quick"
    assert repr(run).startswith(f"quick: 6 trials in {run.path}\n  cubic+minrtt  weighted_layers ")
    assert run._repr_html_().count("<tr>") == 3


def test_a_run_without_a_place_goes_with_its_object(scenario: Path) -> None:
    run = dstcc.emulate(scenario)
    path = run.path
    assert path.is_dir()
    del run
    gc.collect()
    assert not path.exists()
    assert not path.parent.exists()


def test_a_place_that_is_taken(scenario: Path, tmp_path: Path) -> None:
    first = dstcc.emulate(scenario, tmp_path / "run")
    with pytest.raises(InputError, match="already exists"):
        dstcc.emulate(scenario, tmp_path / "run", seeds=2)
    assert dstcc.load(tmp_path / "run").ids == first.ids
    assert len(dstcc.emulate(scenario, tmp_path / "run", seeds=2, force=True).ids) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"congestion": "cubik"}, "cubik"),
        ({"settings": {"link.0.rate_bps": -1}}, r"link\.0\.rate_bps = -1: must be"),
        ({"settings": {"link..x": 1}}, "'link..x' is no key"),
        ({"settings": {"video.synthetic": None}}, "video"),
        ({"logs": "pcap"}, "logs 'pcap': one of qlog, pcapng"),
        ({"variant": "wide"}, "variant 'wide': the scenario has none"),
        ({"backend": "ns3"}, "ns3"),
    ],
)
def test_wrong_words(scenario: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises((InputError, ScenarioError), match=said):
        dstcc.emulate(scenario, **options)


def made(*rows: dict[str, Any]) -> Any:
    """A run of these trials, for its short table."""
    meta = {"scenario_name": "a <b>", "warnings": ["one", "two"]}
    run: Any = SimpleNamespace(meta=meta, trials=list(rows), path=Path("/runs/x"), scenario={})
    return dstcc.api.Emulation(run)


def test_the_short_table_has_means_over_seeds() -> None:
    """Of 1 and 3 the mean is 2; of those that have a value alone; of none nothing. Large numbers have no fraction."""
    run = made(
        {"id": "cubic+minrtt/s1", "weighted_layers": 0.123456, "goodput_bps": 9999.4, "completion_s": 1.0},
        {"id": "cubic+minrtt/s2", "weighted_layers": 0.323456, "goodput_bps": None, "completion_s": 3.0},
        {"id": "a/b/s1", "weighted_layers": 1.0, "goodput_bps": 12345.6, "completion_s": None},
    )
    assert run.means() == {
        "cubic+minrtt": {
            "weighted_layers": pytest.approx(0.223456),
            **{"playback_ratio": None, "goodput_bps": 9999.4, "completion_s": 2.0},
        },
        "a/b": {"weighted_layers": 1.0, "playback_ratio": None, "goodput_bps": 12345.6, "completion_s": None},
    }
    assert run.means("completion_s") == {"cubic+minrtt": {"completion_s": 2.0}, "a/b": {"completion_s": None}}
    assert repr(run).splitlines() == [
        "a <b>: 3 trials in /runs/x",
        "  cubic+minrtt  weighted_layers 0.2235, playback_ratio –, goodput_bps 9,999, completion_s 2",
        "  a/b           weighted_layers 1, playback_ratio –, goodput_bps 12,346, completion_s –",
    ]
    assert run._repr_html_() == (
        "<table><caption>a &lt;b&gt;: 3 trials</caption><tr><th>mean over seeds</th><th>weighted_layers</th>"
        "<th>playback_ratio</th><th>goodput_bps</th><th>completion_s</th></tr>"
        "<tr><td>cubic+minrtt</td><td>0.2235</td><td>–</td><td>9,999</td><td>2</td></tr>"
        "<tr><td>a/b</td><td>1</td><td>–</td><td>12,346</td><td>–</td></tr></table>"
    )
    assert repr(made()) == "a <b>: 0 trials in /runs/x"
    assert run.warnings == ["one", "two"] and run.ids == ["cubic+minrtt/s1", "cubic+minrtt/s2", "a/b/s1"]


def test_each_engine_gets_its_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    for name in ("local", "slurm", "ray"):
        monkeypatch.setattr(dstcc.api, name, lambda *options, name=name: (name, *options))

    class Planned:
        def __init__(self, *places: Path, **options: Any) -> None:
            asked.append((places, options["train"]))

        def run(self, executor: Any, **options: Any) -> None:
            asked.append((executor, options["retries"], options["limit_s"]))

    monkeypatch.setattr(dstcc.api, "Sweep", Planned)
    monkeypatch.setattr(dstcc.api, "SweepResult", lambda *given: given)
    dstcc.sweep("s.toml", tmp_path, jobs=3, retries=5, trial_limit_s=7.0)
    assert asked == [((Path("s.toml"), tmp_path), False), (("local", 3), 5, 7.0)]
    dstcc.sweep("s.toml", tmp_path, engine="slurm", tasks=9, slurm_options="--x", train=True)
    dstcc.sweep("s.toml", tmp_path, engine="slurm", tasks=9, jobs=2, slurm_options=["--x", "--y"])
    dstcc.sweep("s.toml", tmp_path, engine="ray", address="here", jobs=4)
    assert [one[0] for one in asked[3::2]] == [
        *(("slurm", 9, 1, ("--x",)), ("slurm", 9, 2, ("--x", "--y")), ("ray", "here", 4)),
    ]
    assert asked[2] == ((Path("s.toml"), tmp_path), True)
    with pytest.raises(InputError, match="engine 'cloud': one of local, slurm, ray"):
        dstcc.sweep("s.toml", tmp_path, engine="cloud")


@pytest.mark.usefixtures("undrawn")
def test_a_report_by_its_ending(scenario: Path, tmp_path: Path) -> None:
    run = dstcc.emulate(scenario, congestion=["cubic", "bbr"])
    assert run.report(tmp_path / "r.html") == tmp_path / "r.html"
    assert "<html" in (tmp_path / "r.html").read_text()
    assert run.report(tmp_path / "r.md", against="bbr+minrtt").read_text().startswith("#")
    with pytest.raises(InputError, match=r"no report has the ending \.docx"):
        run.report(tmp_path / "r.docx")
    with pytest.raises(InputError, match="already exists"):
        run.report(tmp_path / "r.md")
    with pytest.raises(RunError, match="video is synthetic"):
        run.play(tmp_path / "v.mp4")
    with pytest.raises(RunError, match="no trial 'cubic'"):
        run.levels("cubic")


def test_importing_is_free() -> None:
    code = (
        "import dstcc, sys; dir(dstcc); print(sorted({'numpy', 'pyarrow', 'dstcc.api'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
    assert set(dstcc.__all__) <= set(dir(dstcc))
    with pytest.raises(AttributeError, match="no attribute 'emulat'"):
        dstcc.emulat  # noqa: B018


NOTEBOOK = ROOT / "examples" / "notebook" / "first-look.ipynb"


def test_the_notebooks_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed of it, in this process; `make test-slow` runs it in a kernel of Jupyter's."""
    import matplotlib.pyplot as plt

    emulate, names = dstcc.emulate, dict[str, Any]()
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setattr(dstcc, "emulate", lambda *words, **options: emulate(*words, **options | {"seeds": 1}))
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, NOTEBOOK.name, "exec"), names)
    assert [line.get_label() for line in names["axes"].lines] == ["cubic", "bbr", "bbr-scaled"]
    plt.close(names["figure"])
    assert {*names["trials"].congestion} == {"cubic", "bbr", "bbr-scaled", "open-loop"}


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    path = NOTEBOOK
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without outputs: they are made anew"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": path.parent}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("weighted_layers" in output.get("data", {}).get("text/html", "") for output in shown)
