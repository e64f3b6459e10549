"""Fuzz every reader of files that others may have written, and the C++ readers of packets, netlink and superframes.

    python -m scripts.fuzz [TARGET]... [--runs N]        all of them unless named

Python readers run in this process, under changes of bytes and of values in documents (a scenario stays a scenario's
tables, a policy gets its right checksum), and where atheris is installed (`pip install 'dstcc[fuzz]'`) half of the runs
under it: it makes the same changes, and is guided by the coverage of our readers. C++ readers are compiled with
libFuzzer, AddressSanitizer and UBSan (clang and libclang-rt-14-dev of Debian). What an input reaches for the first time
is kept in build/fuzz/corpus; tests/fuzz/corpus has inputs that are replayed in every test: good ones, and those that
once were crashes.

A reader may refuse an input with an error that the command line prints. Anything else, ten seconds of the processor,
a minute of the clock, or the end of the process is a crash: the input is put into build/fuzz/crashes, and the exit
status is 1.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import FunctionType, ModuleType
from typing import NoReturn

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from dstcc.errors import DstccError
from scripts.fuzzing.mutate import changed, mutated
from scripts.fuzzing.targets import MOST, TARGETS, Room, Target, digest

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/fuzz"
KEPT = ROOT / "tests/fuzz/corpus"
SLOW_S = 10
HANG_S = 60
"""Of the clock, for one input: what sleeps takes no time of the processor."""
SLOW_SHARE = 100
"""An input that a reader is slow with is drawn once where another is drawn so often."""
OURS = ("dstcc", "dstcc_channels", "dstcc_svc", "tomllib")
"""Packages whose branches guide atheris."""
FLAGS = ("-std=c++17", "-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=fuzzer,address,undefined")
CODED = tuple(f"kernel-cc/coded/{part}.cpp" for part in ("packet", "store", "code"))
ENGINE = ("-Ikernel-cc/coded/seam", "-Ikernel-cc/coded", "-Idstcc/engine/src", "-Ikernel-cc/dispatch")
NATIVE = {
    "packets": (*ENGINE, *CODED, "dstcc/engine/src/coding/blocks.cpp", "-lisal"),
    "netlink": ("-Ikernel-cc/transfer", "-Ikernel-cc/dispatch", "-Idstcc/engine/src"),
    "superframe": ("-Isvc/dstcc_svc/src", "PYTHON", "-lvpx"),
}
"""What each of tests/fuzz/cpp is compiled with."""


class SlowError(Exception):
    """A reader took too long."""


@contextmanager
def room(within: Path | None = None) -> Iterator[Room]:
    """A folder in that one, or in memory where there is such a place."""
    memory = Path("/dev/shm")
    above = within or (memory if memory.is_dir() else None)
    with tempfile.TemporaryDirectory(prefix="dstcc-fuzz-", dir=above) as folder:
        yield Room(Path(folder))


def crash(name: str, place: Room, data: bytes) -> str | None:
    """What a reader did with an input that it must not; ``None`` if all is well."""
    try:
        TARGETS[name].read(place, data)
    except DstccError:
        return None
    except Exception as error:  # whatever it is, it is found
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if "fuzz" not in frame.filename
        ]
        last = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        return f"{type(error).__name__}: {str(error)[:200]}{last}"
    return None


@contextmanager
def watched() -> Iterator[None]:
    """Let a reader that hangs raise."""

    def late(_number: int, _frame: object) -> NoReturn:
        raise SlowError(f"more than {SLOW_S} s of the processor")

    before = signal.signal(signal.SIGPROF, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def kept(name: str) -> list[bytes]:
    """The inputs that every test replays."""
    return [path.read_bytes() for path in sorted((KEPT / name).glob("*"))]


def corpus(name: str, place: Room) -> list[bytes]:
    """The inputs that are kept for a reader, and its seeds."""
    return [*kept(name), *TARGETS[name].seeds(place)]


def in_process(
    name: str,
    runs: int,
    seed: int = 1,
    most_s: float = 1e9,
    *,
    within: Path | None = None,
    before: Callable[[int, bytes], None] = lambda _number, _data: None,
) -> tuple[int, list[tuple[bytes, str]]]:
    """Changes of values and of bytes, at random; how many ran, and the inputs that crash by what they do.

    Readers have their files in a folder in ``within``. ``before`` is told the number of each input, and the input,
    before it is read.
    """
    rng, target, done = Random(f"{name} {seed}"), TARGETS[name], 0
    found: dict[str, tuple[bytes, str]] = {}
    began = time.monotonic()
    with room(within) as place, watched():
        inputs = corpus(name, place)
        weights = [1 if target.slow(one) else SLOW_SHARE for one in inputs]
        documents = [_document(name, one) for one in inputs]
        first = min(
            len(inputs), max(len(kept(name)), runs // 2)
        )  # as they are: all that is kept, and the seeds
        while done < runs and time.monotonic() - began < most_s:
            if done < first:
                data = inputs[done]
            else:
                chosen = rng.choices(range(len(inputs)), weights)[0]
                data = _altered(rng, target, inputs, inputs[chosen], documents[chosen])
            before(done, data)
            signal.setitimer(signal.ITIMER_PROF, SLOW_S)
            what = crash(name, place, data)
            signal.setitimer(signal.ITIMER_PROF, 0)
            done += 1
            if what is not None:
                found.setdefault(what.rpartition(" (")[2] or what, (data, what))
    return done, list(found.values())


def apart(
    name: str,
    runs: int,
    seed: int = 1,
    most_s: float = 1e9,
    program: Sequence[str] = ("-m", "scripts.fuzz"),
) -> tuple[int, list[tuple[bytes, str]]]:
    """As :func:`in_process`, in a process of its own, which may stand still or be ended by what it reads.

    ``program`` is what Python runs: this module, or one that calls :func:`main` in its place.
    """
    with room() as place:
        said = place.folder / "said.pickle"
        options = [
            "--runs",
            str(runs),
            "--seed",
            str(seed),
            "--seconds",
            str(most_s),
            "--apart",
            str(place.folder),
        ]
        child = subprocess.Popen([sys.executable, *program, name, *options], cwd=ROOT)
        number, since = -1, time.monotonic()
        while True:
            with suppress(subprocess.TimeoutExpired):
                child.wait(min(1.0, HANG_S / 10))
                break
            reached, _ = _reached(place)
            if reached != number:
                number, since = reached, time.monotonic()
            elif reached >= 0 and time.monotonic() - since > HANG_S:
                child.kill()
                child.wait()
                break
        if child.returncode == 0:
            done, found = pickle.loads(said.read_bytes())  # of our own child
            return done, found
        number, data = _reached(place)
        if data is None:
            raise click.ClickException(f"{name}: ended with status {child.returncode} before the first input")
        hangs = child.returncode == -signal.SIGKILL
        what = (
            f"stands still for {HANG_S:g} s" if hangs else f"ends the process with status {child.returncode}"
        )
        return number + 1, [(data, what)]


def _reached(place: Room) -> tuple[int, bytes | None]:
    """The number of the last input that a child began with, and the input; -1 before the first."""
    try:
        text = (place.folder / "input").read_bytes()
    except FileNotFoundError:
        return -1, None
    return (int.from_bytes(text[:8], "big"), text[8:]) if len(text) >= 8 else (-1, None)


def _run_inside(name: str, folder: Path, runs: int, seed: int, most_s: float) -> None:
    """What a child of :func:`apart` does."""
    handle = os.open(folder / "input", os.O_WRONLY | os.O_CREAT)

    def before(number: int, data: bytes) -> None:
        os.pwrite(handle, number.to_bytes(8, "big") + data, 0)
        os.ftruncate(handle, 8 + len(data))

    result = in_process(name, runs, seed, most_s, within=folder, before=before)
    (folder / "said.pickle").write_bytes(pickle.dumps(result))


def _altered(rng: Random, target: Target, inputs: list[bytes], data: bytes, document: object) -> bytes:
    """The input with values of its document changed, where it is one, or with its bytes changed."""
    if document is None or rng.random() < 0.4:
        return mutated(rng, data, inputs, MOST)
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = changed(rng, document)
    return target.written(document)


def _document(name: str, data: bytes) -> object:
    try:
        return TARGETS[name].documents(data)
    except (ValueError, DstccError):
        return None


def under_atheris(name: str, runs: int, most_s: float = 1e9) -> tuple[int, int]:
    """As many runs guided by coverage, in a process of their own; how many ran, and its exit status."""
    reached = BUILD / "corpus" / name
    reached.mkdir(parents=True, exist_ok=True)
    # Made here, as atheris ends its process without unwinding it.
    with room() as place:
        for one in corpus(name, place):
            if not TARGETS[name].slow(one):
                (reached / digest(one)).write_bytes(one)
        crashes = BUILD / "crashes" / name
        crashes.mkdir(parents=True, exist_ok=True)
        options = [
            f"-runs={runs}",
            f"-max_len={MOST}",
            f"-timeout={SLOW_S}",
            f"-max_total_time={min(int(most_s), 10**9)}",
            "-rss_limit_mb=4096",
            "-close_fd_mask=0",
            "-entropic_scale_per_exec_time=1",
            "-print_final_stats=1",
            "-keep_seed=1",
        ]
        command = [
            sys.executable,
            "-m",
            "scripts.fuzz",
            name,
            "--guided",
            str(place.folder),
            f"-artifact_prefix={crashes}/",
            *options,
        ]
        log = BUILD / "logs" / f"{name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as said:
            ended = subprocess.run([*command, str(reached)], cwd=ROOT, check=False, stdout=said, stderr=said)
    text = log.read_text(errors="replace")
    ran = re.search(r"stat::number_of_executed_units: *(\d+)", text)
    if ended.returncode != 0:
        print(text[-2000:], file=sys.stderr)
    return int(ran[1]) if ran else 0, ended.returncode


def guided(name: str, place: Room, words: Sequence[str]) -> NoReturn:
    """Hand this process over to atheris."""
    import atheris

    target = TARGETS[name]
    inputs = corpus(name, place)
    for one in (b"{}", *inputs[:5]):  # import what it reads with
        crash(name, place, one)
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] in OURS]:
        _instrument(module)

    def once(data: bytes) -> None:
        what = crash(name, place, data)
        if what is not None:
            raise RuntimeError(what)

    def alter(data: bytes, most: int, seed: int) -> bytes:
        """A change of values, where the input is a document, or one of libFuzzer's of its bytes."""
        rng, document = Random(seed), _document(name, data)
        if document is None or rng.random() < 0.4:
            return bytes(atheris.Mutate(data, most))
        try:
            return target.written(changed(rng, document))[:most]
        except (ValueError, RecursionError):  # too deep, or an integer too long, to be written
            return bytes(atheris.Mutate(data, most))

    atheris.Setup([sys.argv[0], *words], once, custom_mutator=alter)
    atheris.Fuzz()
    raise SystemExit(0)


def _instrument(module: ModuleType) -> None:
    """Count what is reached in a module's functions and its classes' methods."""
    import atheris

    for holder in [module, *(one for one in vars(module).values() if isinstance(one, type))]:
        for name, value in list(vars(holder).items()):
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                with suppress(Exception):  # a few kinds of functions it cannot
                    setattr(holder, name, atheris.instrument_func(value))


def native(name: str, runs: int) -> int:
    """Compile and run a C++ harness; its exit status."""
    if shutil.which("clang++") is None:
        raise click.ClickException("needs clang++ and libclang-rt-14-dev")
    python = [f"-I{sysconfig.get_path('include')}", f"-lpython{sysconfig.get_config_var('LDVERSION')}"]
    if "PYTHON" in NATIVE[name]:
        import pybind11

        python.append(f"-I{pybind11.get_include()}")
    words = [word for part in NATIVE[name] for word in (python if part == "PYTHON" else [part])]
    BUILD.mkdir(parents=True, exist_ok=True)
    made = BUILD / name
    source = f"tests/fuzz/cpp/{name}.cpp"
    compile_ = ["clang++", *FLAGS, "-fno-sanitize-recover=all", source, *words, "-o", str(made)]
    if subprocess.run(compile_, cwd=ROOT, check=False).returncode != 0:
        raise click.ClickException(f"{source} was not built; libFuzzer is of libclang-rt-14-dev")
    reached, crashes = BUILD / "corpus" / name, BUILD / "crashes" / name
    for folder in (reached, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = [str(KEPT / name)] if (KEPT / name).is_dir() else []
    run = [str(made), f"-runs={runs}", "-max_len=4096", f"-timeout={SLOW_S}", f"-artifact_prefix={crashes}/"]
    done = subprocess.run([*run, str(reached), *seeds], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    print(
        *(line for line in lines if "DONE" in line or "SUMMARY" in line or "ERROR" in line),
        sep="\n",
        flush=True,
    )
    return done.returncode


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("names", nargs=-1, type=click.UNPROCESSED)
@click.option("--runs", type=click.IntRange(1), default=100_000, show_default=True, help="Of each target.")
@click.option("--seconds", type=float, default=1e9, help="After which each half of a target ends.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the changes.")
@click.option("--apart", "folder", type=click.Path(path_type=Path), hidden=True)
@click.option("--guided", "inside", type=click.Path(path_type=Path), hidden=True)
def main(
    *, names: tuple[str, ...], runs: int, seconds: float, seed: int, folder: Path | None, inside: Path | None
) -> None:
    """Fuzz."""
    if folder is not None:
        _run_inside(names[0], folder, runs, seed, seconds)
        return
    if inside is not None:
        guided(names[0], Room(inside), names[1:])
    known = (*TARGETS, *NATIVE)
    if strange := [name for name in names if name not in known]:
        raise click.UsageError(f"{strange[0]}: one of {', '.join(known)}")
    failed, counts = False, {}
    for name in names or known:
        if name in NATIVE:
            failed |= native(name, runs) != 0
            counts[name] = {"libFuzzer": runs}
            continue
        atheris = find_spec("atheris") is not None
        share = runs // 2 if atheris else runs
        done, found = apart(name, runs - share if atheris else runs, seed, seconds)
        counts[name] = {"changes": done}
        for data, what in found:
            place = BUILD / "crashes" / name
            place.mkdir(parents=True, exist_ok=True)
            (place / digest(data)).write_bytes(data)
            print(f"{name}: {what}: {place / digest(data)}", flush=True)
        failed |= bool(found)
        if atheris:
            counts[name]["atheris"], status = under_atheris(name, share, seconds)
            failed |= status != 0
        print(f"{name}: {counts[name]}, {len(found)} kinds of crash", flush=True)
    print(json.dumps(counts))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
