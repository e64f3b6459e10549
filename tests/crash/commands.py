"""Commands that write, each with small inputs: what it starts in, what it leaves, and how it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.coded.missions import TEXT
from tests.papers import made
from tests.quick import QUICK

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = f"""{QUICK}[transport]
congestion = ["cubic", "newreno"]
[run]
seeds = 2
"""
CODED = TEXT.replace("loop_to_s = 300", "loop_to_s = 60").replace("seed = 1\nseeds = 3", "seeds = 2")
STUDY = """
[study]
scenario = "s.toml"
congestion = "cubic"
seeds = 1
[vary]
"link.0.loss.packet" = [1e-3, 1e-2]
"""
CLIP = ROOT / "examples/clips/big-buck-bunny.mp4"


@dataclass(frozen=True)
class Command:
    """A command line, and the name under which it writes."""

    words: tuple[str, ...]
    output: str
    again: tuple[str, ...] = ()
    """Words more for going on after a kill."""
    before: tuple[str, ...] = ()
    """The command whose output is there already, under the same name."""
    needs: tuple[str, ...] = ()
    """Inputs of :data:`INPUTS`."""
    grows: bool = False
    """Its folder fills while it runs, and the same command goes on with what is there."""


_ENCODE = (
    *("encode", str(CLIP), "--height", "36", "--layers", "2", "--preset", "ultrafast"),
    *("--chunk-seconds", "3", "--crf", "50", "--no-quality"),
)
_RUN = ("emulate", "s.toml", "--seeds", "1", "--jobs", "1")
INPUTS: dict[str, tuple[str, ...]] = {
    "good": (*_RUN, "-o", "good"),
    "old": (*_RUN, "-o", "old", "--set", "playout.delay_s=2"),
    "steered": (*_RUN, "-o", "steered", "--controller", "iodst-q"),
    "clip": (*_ENCODE, "-o", "clip"),
    "shown": (*_RUN, "-o", "shown", "--set", "video.stream=clip", "--set", "video.loop_to_s=3"),
    "swept": ("sweep", "study.toml", "-o", "swept", "--jobs", "1"),
}
"""What commands read, each by the command that makes it; in this order."""
COMMANDS = {
    "emulate": Command(("emulate", "s.toml", "-o", "run", "--jobs", "1"), "run", ("--resume",)),
    "emulate --force": Command(
        ("emulate", "s.toml", "-o", "run", "--force", "--jobs", "1"),
        "run",
        ("--resume",),
        ("emulate", "s.toml", "-o", "run", "--set", "playout.delay_s=1", "--jobs", "1"),
    ),
    "report": Command(("report", "good", "-o", "page.html"), "page.html", needs=("good",)),
    "report --force": Command(
        ("report", "good", "-o", "page.html", "--force"),
        "page.html",
        (),
        ("report", "old", "-o", "page.html"),
        needs=("good", "old"),
    ),
    "report md": Command(("report", "good", "-o", "page.md"), "page.md", needs=("good",)),
    "report study": Command(("report", "swept", "-o", "page.html"), "page.html", needs=("swept",)),
    "export csv": Command(("export", "good", "--format", "csv", "-o", "tables"), "tables", needs=("good",)),
    "export qlog": Command(("export", "good", "--format", "qlog", "-o", "logs"), "logs", needs=("good",)),
    "export pcapng": Command(
        ("export", "good", "--format", "pcapng", "-o", "packets"), "packets", needs=("good",)
    ),
    "export iperf3": Command(
        ("export", "good", "--format", "iperf3", "-o", "tables"), "tables", needs=("good",)
    ),
    "encode": Command((*_ENCODE, "-o", "stream"), "stream"),
    "play": Command(("play", "shown", "-o", "earth.mp4"), "earth.mp4", needs=("clip", "shown")),
    "explain": Command(
        ("explain", "steered", "--trial", "iodst-q/s1", "-o", "why.html"), "why.html", needs=("steered",)
    ),
    "ladder": Command(("ladder", "coded.toml", "-o", "baselines"), "baselines"),
    "links --plot": Command(
        ("links", "mro-x-dss35", "--date", "2026-11-21", "--plot", "link.svg"), "link.svg"
    ),
    "links --netem": Command(
        ("links", "mro-x-dss35", "--date", "2026-11-21", "--netem", "day.json", "--duration", "3600"),
        "day.json",
    ),
    "reproduce": Command(("reproduce", "paper", "--jobs", "1", "--quick", "-o", "made"), "made", grows=True),
    "sweep": Command(("sweep", "study.toml", "-o", "study", "--jobs", "1"), "study", grows=True),
    "sweep --merge": Command(
        ("sweep", "study.toml", "-o", "study", "--merge", "swept"), "study", needs=("swept",), grows=True
    ),
    "train": Command(
        ("train", "s.toml", "-o", "policy", "--algorithm", "iodst-q", "--steps", "64"),
        "policy",
        ("--resume",),
        grows=True,
    ),
    "train gru-mpc": Command(
        ("train", "coded.toml", "-o", "policy", "--algorithm", "gru-mpc", "--steps", "1"),
        "policy",
        ("--resume",),
        grows=True,
    ),
}


def write_inputs(folder: Path) -> None:
    """The files that nothing makes."""
    for name, text in (("s.toml", SCENARIO), ("coded.toml", CODED), ("study.toml", STUDY)):
        (folder / name).write_text(text)
    made.write_paper(folder / "paper")


def _without(*keys: str) -> Callable[[bytes], bytes]:
    def cut(data: bytes) -> bytes:
        document = json.loads(data)
        for key in keys:
            document.pop(key, None)
        return json.dumps(document, sort_keys=True).encode()

    return cut


WHEN_AND_WHERE: dict[str, Callable[[bytes], bytes]] = {
    "run.json": _without("wall_s", "argv", "machine", "created", "written", "time", "wall"),
    "study.json": _without("argv", "created", "folder"),
    "SHA256SUMS": lambda data: b"\n".join(
        line for line in data.splitlines() if not line.endswith(b" run.json")
    ),
}
"""Files that say when, where and how fast they were made: the rest of them."""
PASSING = ("lock", "events.out.tfevents")
"""Beginnings of the names of files that are of one process, or named by when they are made."""
