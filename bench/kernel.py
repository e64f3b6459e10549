"""The virtual-time kernel: the cost of building it, of an empty guest, and of the demo's mission."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from dstcc_kernel import build, guest, module

from dstcc.engine import EngineConfig, EngineResult
from tests.kernel.module_tests import tested_module

from .figure import Measured, child_cpu_s
from .missions import DEMO
from .nets import MSS

REPEATS = 5
MEMORY_MB = 512
LOADS = 3
PAIRS = 3
"""Of trials, after a first one that warms up."""
ACKS = 1000
"""ACKs whose cycles the bench module counts."""
LOAD = """
import sys
from pathlib import Path
from dstcc_kernel import module
folder = Path(sys.argv[1])
module.load(folder / "dstcc_cc.ko")
for _ in range(int(sys.argv[2])):
    module.load(folder / "test/dstcc_ack_bench.ko")
    found = Path("/sys/module/dstcc_ack_bench/parameters")
    print("cycles", *(int((found / name).read_text()) for name in ("ours", "cubic", "cubic_alone", "loop")))
    module.unload("dstcc_ack_bench")
"""


def build_cpu_s() -> Measured:
    """Processor seconds that the build of the cached kernel took, from its record; builds the kernel if missing."""
    build.kernel()
    builds = {"plain": build.find(), "debug": build.find(debug=True)}
    seconds = {name: built.facts["cpu_s"] for name, built in builds.items() if built}
    notes = (f"debug {seconds['debug']:.0f} s",) if "debug" in seconds else ()
    return Measured(seconds["plain"], "s CPU", "", details=seconds, notes=notes)


def guest_s() -> Measured:
    """Processor seconds of a guest from boot to power-off."""
    kernel = build.kernel()
    job = [sys.executable, "-S", "-c", "pass"]
    walls = []

    def boot() -> None:
        with tempfile.TemporaryDirectory() as out:
            begin = time.monotonic()
            guest.run(kernel, job, out=Path(out), seed=1, memory_mb=MEMORY_MB, wall_s=60)
            walls.append(time.monotonic() - begin)

    boot()  # the kernel and Python's files come into the page cache
    walls.clear()
    repeats = tuple(child_cpu_s(boot) for _ in range(REPEATS))
    notes = (f"wall, median: {statistics.median(walls):.2f} s",)
    return Measured(statistics.median(repeats), "s CPU", "", repeats=repeats, notes=notes)


def setup_s() -> Measured:
    """Processor seconds of a guest that sets up the demo's links, loads our control and starts an empty program instead
    of the transfer."""
    from dstcc_kernel.backend import python_path
    from dstcc_kernel.controller_process import ERROR
    from dstcc_kernel.job import JOB, OBJECTS
    from dstcc_kernel.plan import job_of, objects_of

    from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source, parse_override

    video = "video={synthetic={chunk_s=8, layer_bps=[100000]}, loop_to_s=43200}"
    scenario = load_scenario(DEMO, [parse_override(video)])
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "fixed", "minrtt")
    kernel = build.kernel()
    job = job_of(config, program=Path("/bin/true"))
    job = replace(job, module=str(module.guest_module(kernel)), steer={"windows": [10, 10]}, shared=True)
    where = {"PYTHONPATH": python_path()}

    def lay() -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            objects_of(config).tofile(folder / OBJECTS)
            job.write(folder / JOB)
            words = [sys.executable, "-m", "dstcc_kernel.inside", name]
            done = guest.run(
                kernel, words, out=folder, seed=1, memory_mb=MEMORY_MB, wall_s=60, environment=where
            )
            if done.exit_code != 0:
                raise RuntimeError((folder / ERROR).read_text())

    lay()
    repeats = tuple(child_cpu_s(lay) for _ in range(REPEATS))
    bare = guest_s().value
    notes = (f"a guest that does nothing: {bare:.2f} s",)
    return Measured(statistics.median(repeats), "s CPU", "", repeats=repeats, notes=notes)


def played_cost() -> Measured:
    """Processor time of a trial whose link a program plays, relative to one whose link is netem's: 25 MB over a round
    trip of 2 s. The played link's rate falls by a thousandth, once."""
    from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

    def config_of(rate_bps: object) -> EngineConfig:
        link = {
            "name": "one",
            "rate_bps": rate_bps,
            "up_rate_bps": 2e6,
            "delay_s": 1.0,
            "queue_bytes": 4_000_000,
        }
        video = {"synthetic": {"chunk_s": 1.0, "layer_bps": [1_500_000]}, "loop_to_s": 100.0}
        scenario = Scenario.model_validate(
            {"scenario": {"name": "played"}, "video": video, "link": [link], "playout": {"delay_s": 60.0}}
        )
        return engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")

    netems, played = config_of(2e6), config_of([[0, 2e6], [60, 1.998e6]])
    seconds: dict[str, list[float]] = {"netem": [], "played": []}
    carried: list[EngineResult] = []
    for _ in range(PAIRS + 1):
        for name, config in (("netem", netems), ("played", played)):
            seconds[name].append(child_cpu_s(partial(_carry, config, carried)))
    packets = carried[0].totals.data_packets
    ratios = tuple(b / a for a, b in zip(seconds["netem"][1:], seconds["played"][1:], strict=True))
    each = {name: 1e6 * statistics.median(taken[1:]) / packets for name, taken in seconds.items()}
    notes = (
        f"a data packet and its ACKs: {each['netem']:.0f} us with netem, {each['played']:.0f} us played",
    )
    return Measured(statistics.median(ratios), "", "", repeats=ratios, details=each, notes=notes)


def _carry(config: EngineConfig, carried: list[EngineResult]) -> None:
    from dstcc_kernel import backend

    carried.append(backend.run(config))


def demo_s() -> Measured:
    """``dstcc emulate --backend kernel`` on the demo's scenario under CUBIC, boot to metrics."""
    said: list[str] = []

    def emulate() -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = ["emulate", str(DEMO), "--backend", "kernel", "--congestion", "cubic", "--json"]
            command = [sys.executable, "-m", "dstcc_cli", *words, "--output", f"{folder}/run"]
            said.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)

    begin = time.monotonic()
    emulate()  # encodes the clip and measures its quality, if no run did before
    first = time.monotonic() - begin
    begin = time.monotonic()
    cpu = child_cpu_s(emulate)
    wall = time.monotonic() - begin
    packets = json.loads(said[-1])["trials"][0]["metrics"]["sent_bytes"] / MSS
    notes = (
        f"{wall:.0f} s of wall clock ({first:.0f} s the first time), {packets:,.0f} data packets,"
        f" {packets / cpu:,.0f} a CPU second",
    )
    return Measured(cpu, "s CPU", "", details={"wall_s": wall, "data_packets": packets}, notes=notes)


def ack_cost() -> Measured:
    """Cycles of an ACK under our module relative to those under CUBIC, in a guest; the loop around both is subtracted.

    CUBIC's share of the kernel's pacing, which our control does itself, is included; a note gives the ratio without.
    """
    kernel = build.kernel()
    folder = tested_module(kernel)
    job = [sys.executable, "-c", LOAD, str(folder), str(LOADS)]
    with tempfile.TemporaryDirectory() as out:
        done = guest.run(kernel, job, out=Path(out), seed=1, memory_mb=MEMORY_MB, wall_s=120)
        text = done.console.read_text()
    rows = [
        [int(word) for word in line.split()[1:]] for line in text.splitlines() if line.startswith("cycles ")
    ]
    if len(rows) != LOADS:
        raise RuntimeError(f"the guest did not count: {text[-500:]}")
    *counted, loop = (min(column) for column in zip(*rows, strict=True))
    ours, cubic, alone = ((cycles - loop) / ACKS for cycles in counted)
    details = {"cycles": ours, "cubic_cycles": cubic, "cubic_alone_cycles": alone}
    notes = (f"cycles per ACK: {ours:.1f}; CUBIC {cubic:.1f}, {alone:.1f} without pacing",)
    return Measured(
        ours, "cycles/ACK", "CUBIC in the same kernel", ratio=ours / cubic, details=details, notes=notes
    )
