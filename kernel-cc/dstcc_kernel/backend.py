"""``--backend kernel``: a trial on Linux's own MPTCP and netem, in a guest whose time is virtual.

One guest a trial: booted, laid out, run, powered off. The result is the simulator's kind, so that tables, metrics,
reports and play know no difference; :func:`facts` says in ``run.json`` what a reader must know.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc import version
from dstcc.algorithms import OWN, TRANSFERS, controller_name, schedulers_of
from dstcc.engine.config import AGENT, EngineConfig, EngineResult, Objects
from dstcc.engine.restarts import with_restarts
from dstcc.errors import DstccError, InputError, KernelError, MissingCapabilityError, UnfinishedError
from dstcc.extensions import label
from dstcc.scenario import Scenario, Source, draw_links, draw_trial, engine_config, rtt_s
from dstcc.wire import ENDS, EPOCH_NS, HEADER_BYTES

from . import guest, host, running, source
from .build import Built, find
from .capture import RING_MB
from .captured import write_capture
from .coded_plan import (
    CODED,
    block_memory_mb,
    coded_job,
    coded_notes,
    in_words,
    ltp_job,
    ltp_notes,
    write_plan,
)
from .coded_steer import coded_steer
from .controller_process import ERROR, GUARD
from .job import COUNTS, JOB, NEVER_NS, OBJECTS, PART, RESULT, Job
from .layers import SCHEDULER
from .link_plan import is_played
from .module import guest_module
from .names import misfit
from .native import program
from .outcome import read_result, with_counts
from .plan import (
    MAX_LANES,
    job_of,
    memory_mb,
    objects_of,
    steered_by,
    steered_slot_ns,
    windows_of,
)
from .programs import programs
from .transfer import rings

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Controller
    from dstcc.scenario.model import Transport

PACKETS_PER_S, TICKS_PER_S = 1_000.0, 2_000.0
"""What the slowest machine should manage, for the wall limit."""
LEAST_WALL_S = 300.0
NO_ROOM, SMALL_FILE = os.strerror(errno.ENOSPC), 1 << 16
PREFIX = "dstcc-trial-"
HEADERS_BYTES = 14 + 40 + 20 + 40 + 64
"""Of a packet in a log: Ethernet's, IP's and TCP's headers with their options, or the heads of datagrams."""
LTP = "ltp"
"""The folder of its program."""


def check(scenario: Scenario, source: Source, *, on_host: bool = False) -> None:
    """Refuse what cannot run before anything starts.

    Raises :class:`InputError` for what the kernel has not or cannot hold, and :class:`MissingCapabilityError` where no
    kernel is built, nothing compiles what runs in it, or memory is short.
    """
    if on_host:
        host.require_netem()
        transport = scenario.transport
        if (transport.controller or "fixed" in transport.congestion) and host.loaded() is None:
            raise MissingCapabilityError(
                "the kernel has no congestion control dstcc: `dstcc kernel load` loads it"
            )
    problem = misfit(scenario)
    if problem is not None:
        raise InputError(f"{scenario.scenario.name}: {problem}")
    setup = draw_trial(scenario, source, scenario.run.seed)
    configs = []
    for named in _one_of_each(scenario.transport):
        scheduler = AGENT if named == AGENT else schedulers_of(named, scenario.transport.scheduler)[0]
        configs.append(engine_config(scenario, setup, label(named), label(scheduler)))
    if not configs:  # our own transport alone, which is a scenario of its own
        return
    config = configs[0]
    job_of(config, program=Path())
    if scenario.transport.mode == CODED:
        in_words(config)
    if on_host:
        problem = _hosts_misfit(scenario, config)
        if problem is not None:
            raise InputError(f"{scenario.scenario.name}: {problem}")
        program()
        return
    built()
    programs()
    for each in configs:  # compiles what they need
        _job(replace(each, ledger=each.restarts is not None))
    free_mb = _free_mb()
    needed_mb = memory_mb(config, steered=bool(scenario.transport.controller)) + block_memory_mb(config)
    if needed_mb > free_mb:
        raise MissingCapabilityError(
            f"a trial needs {needed_mb:,} MB of memory for what is in flight; {free_mb:,} MB are free"
        )


def _one_of_each(transport: Transport) -> list[str]:
    """Of the controls that one program has the first, and of each other program's."""
    names = transport.congestion
    of_ltp = [name for name in names if name in TRANSFERS]
    others = [name for name in names if name not in TRANSFERS]
    steered = any(controller_name(given) != OWN for given in transport.controller)
    return [*others[:1], *of_ltp[:1]] or [AGENT] * steered


def _hosts_misfit(scenario: Scenario, config: EngineConfig) -> str | None:
    """The first thing that a guest has and a host has not."""
    transport = scenario.transport
    for has, what in (
        (transport.mode == CODED, "transport.mode 'coded'"),
        (any(name in TRANSFERS for name in transport.congestion), "transport.congestion 'ltp'"),
        (config.restarts is not None, "transport.restart"),
        (any(link.onward for link in config.links), "node"),
    ):
        if has:
            return f"{what}: needs --backend kernel"
    played = next((index for index, link in enumerate(config.links) if is_played(link)), None)
    if played is not None:
        return (
            f"link.{played}: netem has neither rates that change nor others' traffic; needs --backend kernel"
        )
    if transport.constants is not None and any(
        name.startswith("hystart") for name in transport.constants.given
    ):
        return "transport.constants.hystart: the running kernel has it for all its connections; use --backend kernel"
    longest_s = max(map(rtt_s, config.links)) / config.transport.scale
    if longest_s >= host.mptcp_patience_s():
        return (
            f"a round trip of {longest_s:.6g} emulated s; the running kernel falls back to TCP after "
            f"{host.mptcp_patience_s():g} s without an answer; a larger --scale, or --backend kernel"
        )
    return None


def built() -> Built:
    """The built kernel; :class:`MissingCapabilityError` says how to build it."""
    kernel = find()
    if kernel is None:
        named = "" if source.release().name == source.DEFAULT else f" --kernel {source.release().name}"
        raise MissingCapabilityError(
            f"no Linux {source.release().name} is built for this version: dstcc kernel build{named} makes it"
        )
    return kernel


def run(
    config: EngineConfig,
    *,
    policy: Controller | None = None,
    tick_ns: int | None = None,
    on_host: bool = False,
    keep: Path | None = None,
    capture: bool = False,
) -> EngineResult:
    """Carry out one trial in a guest of its own, or ``on_host`` in the running kernel and in real time.

    ``policy`` steers our own congestion control, or the repair of coded packets. ``tick_ns`` is how often the transfer
    program looks, if not as planned. ``keep`` is a folder that gets the trial's files: its result
    (:func:`outcome.missing_packets`), and of coded packets the payloads that were there; with
    ``capture`` every packet, too (:func:`captured.write_capture`). With ``config.trace`` the result has captures of
    the headers.

    A sender that restarts has a guest for each of its connections, and another for what is in flight at its end; the
    files that are kept are the last one's.

    Raises :class:`DstccError` with what went wrong inside, or when the guest exceeds its wall limit.
    """

    def connection(one: EngineConfig) -> EngineResult:
        return _run(one, policy, tick_ns, on_host=on_host, keep=keep, whole=config, capture=capture)

    sweep()
    return with_restarts(config, connection)


def _run(
    config: EngineConfig,
    policy: Controller | None,
    tick_ns: int | None,
    *,
    on_host: bool,
    keep: Path | None,
    whole: EngineConfig,
    capture: bool,
) -> EngineResult:
    config = _as_run(replace(config, trace=False), policy)
    job = replace(_job(config, on_host=on_host), guest=not on_host)
    job = replace(job, tick_ns=job.tick_ns if tick_ns is None else tick_ns, capture=capture or whole.trace)
    if whole.trace:
        job = replace(job, capture_bytes=HEADERS_BYTES)
    with running.room(PREFIX, JOB) as room:
        result = _carried(job, config, policy, room, on_host=on_host, keep=keep, whole=whole)
        return replace(result, capture=_headers(room.folder, config)) if whole.trace else result


def _headers(folder: Path, config: EngineConfig) -> Path:
    """The trial's captures, in a folder of their own that goes with this process's others unless somebody takes it."""
    own = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    (own / JOB).touch()
    for end in ENDS:
        at = own / f"{end}.pcapng"
        write_capture(folder, at, hosts=(end,), scale=config.transport.scale, zero_ns=EPOCH_NS)
    return own


def _carried(
    job: Job,
    config: EngineConfig,
    policy: Controller | None,
    room: running.Room,
    *,
    on_host: bool,
    keep: Path | None,
    whole: EngineConfig,
) -> EngineResult:
    folder = room.folder
    try:
        job = _led(job, config, policy, folder)
        _write(job, config, folder, whole)
        # -P: from the current folder, which is the user's, nothing is imported
        words = [sys.executable, "-P", "-m", "dstcc_kernel.inside", str(folder)]
        paths, wall_s = {"PYTHONPATH": python_path()}, _wall_s(job, config.objects)
        if on_host:
            console = folder / "host.log"
            host.run(words, console, wall_s=wall_s + _length_s(job, config.objects), environment=paths)
        else:
            console = guest.run(
                built().kernel,
                words,
                out=folder,
                seed=config.seed,
                memory_mb=memory_mb(config, steered=policy is not None)
                + block_memory_mb(config)
                + (RING_MB * len(rings(job)) if job.capture else 0),
                wall_s=wall_s,
                environment=paths,
            ).console
        problem = _problem(folder, console)
        if problem is not None:
            raise DstccError(problem)
        if keep is not None:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
        return _result(folder, config)
    except (
        KernelError
    ) as error:  # it hung or died: its words and what it wrote are all there is to learn from
        if shutil.disk_usage(folder).free < SMALL_FILE:
            raise DstccError(_full(folder)) from None
        room.keep, part = True, folder / PART
        raise UnfinishedError(str(error), read_result(part, config) if part.exists() else None) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise DstccError(_full(folder)) from None


def _as_run(config: EngineConfig, policy: Controller | None) -> EngineConfig:
    if config.transport.congestion in TRANSFERS:
        return config
    if config.coding is not None:
        return in_words(config)
    if policy is None:
        return config
    return replace(config, slot_ns=steered_slot_ns(policy.steered(config)))


def _result(folder: Path, config: EngineConfig) -> EngineResult:
    """With what the guard of a policy counted, if there is one, and slots without a decision of it."""
    result = with_counts(folder / COUNTS, read_result(folder / RESULT, config), config)
    guard = folder / GUARD
    if not guard.exists():
        return result
    guarded: dict[str, int] = json.loads(guard.read_text())
    guarded["guard_fallbacks"] += result.totals.unusable_answers or 0
    return replace(result, totals=replace(result.totals, **guarded))


def _job(config: EngineConfig, *, on_host: bool = False) -> Job:
    kernel = source.running(platform.release()) if on_host else None
    if config.transport.congestion in TRANSFERS:
        job = ltp_job(job_of(config, program=program(LTP)), config)
    elif config.coding is None:
        job = job_of(config, program=program(), kernel=kernel)
    else:
        job = coded_job(job_of(config, program=program(CODED)), config)
    return replace(
        job,
        player=str(program("links")) if any(link.played for link in job.links) else None,
        flows_program=str(program("flows")) if job.flows else None,
    )


def _write(job: Job, config: EngineConfig, folder: Path, whole: EngineConfig) -> None:
    if job.coded:
        write_plan(job, config, folder, whole)
    else:
        objects_of(config, whole).tofile(folder / OBJECTS)
    job.write(folder / JOB)


def _led(job: Job, config: EngineConfig, policy: Controller | None, folder: Path) -> Job:
    """The job with who decides once a slot, if anybody does; the policy is put beside it as the trial has it."""
    if policy is not None and policy.mode == "coded":
        return replace(job, steer=coded_steer(config, policy, folder))
    if policy is not None:
        from dstcc.learn.policies.controller import SUFFIX
        from dstcc.learn.policies.policy import Policy

        assert isinstance(policy, Policy)
        path = folder / f"{policy.name}{SUFFIX}"
        policy.save(path)
        slot_s, scale = config.slot_ns / 1e9, config.transport.scale
        steer: dict[str, Any] = {
            "policy": str(path),
            "layers": config.objects.layers,
            "slot_s": slot_s,
            "scale": scale,
        }
        job = steered_by(job, policy, policy.steered(config))
    elif config.transport.congestion == "fixed" and not job.coded:
        steer, job = {"windows": windows_of(config)}, replace(job, rotating=job.lanes_per_link)
    else:
        return job
    placed = policy is not None and not job.lanes and places(on_host=not job.guest)
    module = _module() if job.guest else None
    return replace(job, steer=steer, module=module, shared=job.lanes or placed, placed=placed)


def places(*, on_host: bool) -> bool:
    """Whether the kernel can send each layer of a stream on a subflow of its own."""
    if not on_host:
        return bool(source.release().patch)
    known = Path("/proc/sys/net/mptcp/available_schedulers")
    return host.loaded() == "module" and known.exists() and SCHEDULER in known.read_text().split()


def _problem(folder: Path, console: Path) -> str | None:
    """What a trial that ended says went wrong; on a full disk it cannot say it."""
    error = folder / ERROR
    if (folder / RESULT).exists() and not error.exists():
        return None
    said = error.read_text().strip() if error.exists() else ""
    if said and NO_ROOM not in said:
        return said
    if said or shutil.disk_usage(folder).free < SMALL_FILE:
        return _full(folder)
    words = console.read_text(errors="replace").strip().splitlines()
    return f"the trial left no result; its last words: {' / '.join(words[-3:])}"


def _full(folder: Path) -> str:
    return f"the disk is full: {folder.parent} has no space for a trial's files (TMPDIR names another folder)"


def sweep() -> None:
    """Remove the folders of trials whose runner is gone: what a killed one left, what an ended guest said."""
    running.remove_leftovers(Path(tempfile.gettempdir()), PREFIX, JOB)


def end_all() -> None:
    """End every trial of this process and remove what they have in temporary folders; none starts any more."""
    running.end_all(guest.PATIENCE_S)


def _module() -> str:
    """Our control for the guest to load; a host has it loaded."""
    return str(guest_module(built().kernel))


def facts(scenario: Scenario, *, on_host: bool = False) -> dict[str, Any]:
    """What ``run.json`` says of the kernel."""
    links, restarts = draw_links(scenario, scenario.run.seed), scenario.transport.restart is not None
    over_nodes = any(link.onward for link in links)
    played = [link.name for link in links if restarts or over_nodes or is_played(link)]
    notes = ["oracle_ratio is against a sender that loses nothing but what it sends into an outage"]
    if len(played) < len(links):
        notes.append(
            "netem draws losses before transmission, by packets, from the guest's seed: not the simulator's draws"
        )
    if any(link.outages_ns and link.name not in played for link in links):
        notes.append("packets in a link's queue when an outage begins still get through")
    if played:
        notes.append(
            f"{', '.join(played)}: played by a program that has the simulator's link model and draws, not netem's "
            "(a rate that changes, others' traffic, nodes, or a sender that restarts)"
        )
    if any(link.flows for link in links):
        notes.append("others' TCP connections are real ones, of which nothing is measured")
    if restarts:
        notes.append("each connection of the sender has a kernel of its own")
    if scenario.transport.mode == CODED:
        notes += coded_notes(scenario)
        notes += (
            ["over nodes packets in flight are not counted: a trial runs to its end"] if over_nodes else []
        )
    elif any(name not in TRANSFERS for name in scenario.transport.congestion) or _policies(scenario):
        notes += _mptcp_notes(scenario, on_host=on_host)
    if any(name in TRANSFERS for name in scenario.transport.congestion):
        notes += ltp_notes(scenario)
    if on_host:
        return {"version": platform.release(), "notes": [*notes, "in real time: two runs are not the same"]}
    kernel = built()
    return {"version": kernel.facts["version"], "sha256": kernel.facts["sha256"], "notes": notes}


def _mptcp_notes(scenario: Scenario, *, on_host: bool) -> list[str]:
    transport = scenario.transport
    stock = [name for name in transport.congestion if name != "fixed"]
    notes = [
        "TCP's and MPTCP's options are not charged to the links: "
        f"a full segment weighs MSS + {HEADER_BYTES} bytes, an ACK {HEADER_BYTES}"
    ]
    if transport.receive_buffer_bytes is not None and transport.mode == "lanes":
        notes.append(
            "receive_buffer_bytes is each lane's, which is a connection: not one that all lanes share"
        )
    if any(link.loss is not None or link.profile is not None for link in scenario.link):
        notes.append(
            "a connection whose SYN is lost, and repeated twice or more, begins with a window of one segment"
        )
    if _policies(scenario):
        notes.append(
            f"under a controller a link has at most {MAX_LANES} lanes, each an MPTCP connection; they share their "
            "link's window, which each of them holds and the sender keeps"
        )
    if in_a_stream(scenario) and not places(on_host=on_host):
        notes.append(
            "the kernel's own scheduler decides in a stream: the policy's choice of links is not heeded"
        )
    if transport.mode == "lanes" and stock:
        notes.append(f"under {', '.join(stock)} each lane is an MPTCP connection with a window of its own")
    return notes


def in_a_stream(scenario: Scenario) -> bool:
    """Whether a policy runs in the scenario's stream, with no lanes of its own. Only a kernel with our
    scheduler then heeds what it says of layers."""
    if scenario.transport.mode != "stream" or not _policies(scenario):
        return False
    from dstcc.learn.policies.policy import load_policy

    return not all(load_policy(given).action.lanes for given in _policies(scenario))


def _policies(scenario: Scenario) -> list[str]:
    """Its controllers of MPTCP: our transport is a scenario of its own among those that vary it."""
    return [given for given in scenario.transport.controller if given != OWN]


def python_path() -> str:
    """Where the guest's Python finds what this one has."""
    roots = (__file__, version.__file__)
    return ":".join(dict.fromkeys(str(Path(str(root)).resolve().parents[1]) for root in roots))


def _wall_s(job: Job, objects: Objects) -> float:
    """Long enough for the slowest: what the links can carry, and the looks."""
    end_s = _length_s(job, objects)
    wire = job.mss_bytes + HEADER_BYTES
    offered = float((objects.payload_bytes // job.mss_bytes + 1).sum())
    carried = sum(link.down.rate_bps for link in job.links) * (end_s + 1) / 8 / wire
    packets = min(2 * offered, carried) if job.duration_ns != NEVER_NS else 2 * offered
    return LEAST_WALL_S + packets / PACKETS_PER_S + end_s * 1e9 / job.tick_ns / TICKS_PER_S


def _length_s(job: Job, objects: Objects) -> float:
    """Of the trial at least, where nothing else ends it."""
    if job.duration_ns != NEVER_NS:
        return job.duration_ns / 1e9
    return float(objects.release_ns.max()) / 1e9


def _free_mb() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 1 << 20
