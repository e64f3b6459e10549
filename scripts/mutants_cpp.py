"""Do the tests notice a wrong engine? Small wrong changes to the C++ sources, each run against the tests of its file.

    python -m scripts.mutants_cpp [--only PATTERN] [--jobs 2] [--list] [--record] [FILE]

FILE (tests/mutants/engine.toml) lists the changes; its head says how they are written. All are compiled into one
extension, which the environment variable DSTCC_MUTANT tells which of them to make: an expression `right` becomes
`(dstcc_mutant(17) ? (wrong) : (right))`, a statement an if, a constant one that is found at start. So 200 mutants cost
one build. Tests must pass with none active; then each mutant's tests run until the first fails. One that needs more
than three times their usual CPU time and ten seconds is stopped, which counts as noticed.

Printed are what survived, and killed / survived / equivalent by file and by family. Exit status 1: of a family fewer
than 90 % of the mutants that are not listed as equivalent were killed, or one that is was. 2: the list is wrong, or
tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from scripts.engine_build import SOURCES, compile_extensions
from scripts.mutation_figures import CPP, Figure, record

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests/mutants/engine.toml"
BUILD = ROOT / "build/mutants"
TREE = ("dstcc", "tests", "channel-models", "svc", "cli", "kernel-cc", "setup.cfg", "pyproject.toml")
"""What tests need beside the extension."""

FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-w")
LEAST_RATE = 0.9
SLACK = 3.0
SLACK_S = 10.0
MEMORY_BYTES = 8 << 30

SWITCH = """\
/* Which wrong change is made: DSTCC_MUTANT, read once, or who was given to dstcc_choose() \
since. With DSTCC_REACH it is noted
 * which were asked about: the code at their places was run. */
#pragma once
#include <cstdlib>
inline int dstcc_read_mutant() { return std::getenv("DSTCC_MUTANT") ? std::atoi(std::getenv("DSTCC_MUTANT")) : 0; }
inline int dstcc_chosen = dstcc_read_mutant();
#ifdef DSTCC_REACH
inline unsigned char dstcc_noted[1 << 17];
#define DSTCC_NOTE(number) dstcc_noted[number] = 1
extern "C" __attribute__((visibility("default"), weak, used)) void dstcc_choose(int number) { dstcc_chosen = number; }
extern "C" __attribute__((visibility("default"), weak, used)) unsigned char *dstcc_reached() { return dstcc_noted; }
#else
#define DSTCC_NOTE(number)
#endif
inline bool dstcc_mutant(int number) {
    DSTCC_NOTE(number);
    return __builtin_expect(dstcc_chosen == number, 0);
}
"""


class ListError(Exception):
    """The list of mutants is wrong."""


@dataclass(frozen=True)
class Mutant:
    """One wrong change."""

    number: int
    file: str
    family: str
    find: str
    replace: str
    note: str
    within: str
    equivalent: str
    tests: tuple[str, ...]
    span: tuple[int, int] | None = None
    """Where the text stands, of a whole node of the syntax tree; else it is looked for."""

    def __str__(self) -> str:
        return f"{self.number} {Path(self.file).name}: {self.note}"


@dataclass
class Fragment:
    """A stretch of a source, the mutants that replace it, and the stretches inside it."""

    begin: int
    end: int
    mutants: list[Mutant] = field(default_factory=list)
    inner: list[Fragment] = field(default_factory=list)


# ---------------------------------------------------------------------------------------------------- the list


def read_list(path: Path) -> list[Mutant]:
    """Read the mutants; the third of the second file has number 2003."""
    with path.open("rb") as stream:
        document = tomllib.load(stream)
    mutants: list[Mutant] = []
    for place_of_file, entry in enumerate(document.get("file", []), start=1):
        keys = {"path", "family", "tests", "mutant"}
        expect(entry, keys, keys, f"{path.name}: [[file]] {entry.get('path', '')}")
        for place_in_file, fields in enumerate(entry["mutant"], start=1):
            where = f"{path.name}: {entry['path']}, mutant {fields.get('note', fields)!r}"
            expect(
                fields,
                {"find", "replace", "note"},
                {"find", "replace", "note", "within", "equivalent"},
                where,
            )
            mutants.append(
                Mutant(
                    number=1000 * place_of_file + place_in_file,
                    file=entry["path"],
                    family=entry["family"],
                    find=fields["find"],
                    replace=fields["replace"],
                    note=fields["note"],
                    within=fields.get("within", ""),
                    equivalent=fields.get("equivalent", ""),
                    tests=tuple(f"tests/engine/{name}" for name in entry["tests"]),
                )
            )
    return mutants


def expect(table: dict[str, Any], needed: set[str], known: set[str], where: str) -> None:
    """Refuse missing and unknown keys."""
    if missing := needed - table.keys():
        raise ListError(f"{where}: no {', '.join(sorted(missing))}")
    if unknown := table.keys() - known:
        raise ListError(f"{where}: unknown key {', '.join(sorted(unknown))}")


def place(mutant: Mutant, text: str) -> tuple[int, int]:
    """Where in its source a mutant's text stands: exactly once, or once in a longer text that stands there once."""

    def once(part: str, begin: int, end: int, what: str) -> tuple[int, int]:
        found = [match.span() for match in without_layout(part).finditer(text, begin, end)]
        if len(found) != 1:
            raise ListError(
                f"mutant {mutant.number} ({mutant.note}): {what} stands {len(found)} times in {mutant.file}: {part!r}"
            )
        return found[0]

    if mutant.span is not None:
        return mutant.span
    if mutant.find == mutant.replace:
        raise ListError(f"mutant {mutant.number} ({mutant.note}) changes nothing")
    if not mutant.within:
        return once(mutant.find, 0, len(text), "`find`")
    begin, end = once(mutant.within, 0, len(text), "`within`")
    return once(mutant.find, begin, end, "`find` within `within`")


def without_layout(part: str) -> re.Pattern[str]:
    """A pattern for ``part`` that takes white space as nothing: where lines break is the formatter's business."""
    return re.compile(r"\s*".join(re.escape(letter) for letter in part if not letter.isspace()))


# ------------------------------------------------------------------------------------------------- the sources


def fragments(mutants: Iterable[Mutant], text: str) -> list[Fragment]:
    """Put the mutants of one source in order, those within others' text inside them."""
    by_span: dict[tuple[int, int], Fragment] = {}
    for mutant in mutants:
        span = place(mutant, text)
        by_span.setdefault(span, Fragment(*span)).mutants.append(mutant)
    roots: list[Fragment] = []
    stack: list[Fragment] = []
    for fragment in sorted(by_span.values(), key=lambda f: (f.begin, -f.end)):
        while stack and stack[-1].end <= fragment.begin:
            stack.pop()
        if stack and fragment.end > stack[-1].end:
            raise ListError(f"mutants overlap: {stack[-1].mutants[0]} and {fragment.mutants[0]}")
        (stack[-1].inner if stack else roots).append(fragment)
        stack.append(fragment)
    return roots


Choose = Callable[[Fragment, str, str], str]
"""What is written for a fragment, of its text without and with the mutants inside it."""


def rewrite(text: str, begin: int, end: int, inner: Sequence[Fragment], choose: Choose | None = None) -> str:
    """Give ``text[begin:end]`` with every fragment's mutants written in, as :func:`choice` does or another."""
    out, at = [], begin
    for fragment in inner:
        out.append(text[at : fragment.begin])
        right = rewrite(text, fragment.begin, fragment.end, fragment.inner, choose)
        node = fragment.mutants[0].span is not None
        if not (node or is_statement(text[fragment.begin : fragment.end])) and not stands_alone(
            text, fragment.begin, fragment.end
        ):
            raise ListError(f"mutant {fragment.mutants[0]}: its text is not a whole operand where it stands")
        out.append((choose or choice)(fragment, text[fragment.begin : fragment.end], right))
        at = fragment.end
    out.append(text[at:end])
    return "".join(out)


CONSTANT = re.compile(
    r"(static\s+)?constexpr\s+(?P<type>[\w:]+)\s+(?P<name>\w+)\s*=\s*(?P<value>[^;]+);", re.DOTALL
)


def is_statement(text: str) -> bool:
    """Whether a fragment is one or more statements."""
    return text.rstrip().endswith((";", "}"))


def choice(fragment: Fragment, original: str, right: str) -> str:
    """Write the choice between right and wrong; the wrong ones of one fragment in a row."""
    number = [f"dstcc_mutant({mutant.number})" for mutant in fragment.mutants]
    wrong = [mutant.replace for mutant in fragment.mutants]
    if declared := CONSTANT.fullmatch(original):
        values = []
        for mutant in fragment.mutants:
            other = CONSTANT.fullmatch(mutant.replace)
            if other is None or other["name"] != declared["name"]:
                raise ListError(f"mutant {mutant} must declare {declared['name']} as well")
            if not one_expression(declared["value"]) or not one_expression(other["value"]):
                raise ListError(f"mutant {mutant} declares more than {declared['name']}")
            values.append(other["value"])
        chain = "".join(f"{n} ? ({v}) : " for n, v in zip(number, values, strict=True))
        kind = "inline static const" if declared[1] else "const"
        return f"{kind} {declared['type']} {declared['name']} = {chain}({declared['value']});"
    if is_statement(original):
        for text in (original, *wrong):
            if not matched(text):
                raise ListError(f"mutant {fragment.mutants[0]}: brackets do not match: {text!r}")
        chain = "".join(f"if ({n}) {{ {w} }} else " for n, w in zip(number, wrong, strict=True))
        return f"{{ {chain}{{ {right} }} }}"
    for text in (original, *wrong):
        if not one_expression(text):
            raise ListError(f"mutant {fragment.mutants[0]}: not one expression, nor a statement: {text!r}")
    chain = "".join(f"{n} ? ({w}) : " for n, w in zip(number, wrong, strict=True))
    return f"({chain}({right}))"


PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), 7),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("<<", ">>"), 5),
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), 4),
    **dict.fromkeys(("&", "|", "^"), 3),
    "&&": 2,
    "||": 1,
    **dict.fromkeys(("?", ":"), 0),
}
OPERATOR = r"<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^?:]"
TEMPLATE = re.compile(r"(?<=\w)<[\w:<> ]*>(?=[({])")


def matched(text: str) -> bool:
    """Whether each bracket that opens closes, and none closes before."""
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0


def one_expression(text: str) -> bool:
    """Whether brackets match, no comma stands outside of them, no statement begins, and no operand is missing."""
    if re.match(r"\s*(if|for|while|do|return)\b", text) or re.search(rf"({OPERATOR}|=)\s*$", text):
        return False
    depth = 0
    for letter in TEMPLATE.sub("", text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and letter == ","):
            return False
    return depth == 0 and bool(text.strip())


def loosest(text: str) -> int:
    """Precedence of the operator outside all brackets that binds least; 9 without one."""
    flat, depth = [], 0
    for letter in TEMPLATE.sub("", text).replace("::", "__").replace("->", "__"):
        depth -= letter in ")]}"
        flat.append("_" if depth else letter)
        depth += letter in "([{"
    binary = re.findall(rf"(?<=[\w)\]}}])\s*({OPERATOR})", "".join(flat))
    return min((PRECEDENCE[operator] for operator in binary), default=9)


def stands_alone(text: str, begin: int, end: int) -> bool:
    """Whether brackets around ``text[begin:end]`` change nothing: no operator beside it binds closer than those in
    it."""
    before, part, after = text[:begin], text[begin:end], text[end:]
    if (re.search(r"\w$", before) and re.match(r"\w", part)) or (
        re.search(r"\w$", part) and re.match(r"\w", after)
    ):
        return False  # cut within a name
    if re.search(r"(\.|->|::|!|~)$", before) or (loosest(part) < 9 and re.match(r"\s*(\.|->|\(|\[)", after)):
        return False
    left = re.search(rf"(?<=[\w)\]}}])\s*({OPERATOR})\s*$", before.replace("::", "__"))
    right = re.match(rf"\s*({OPERATOR})(?!=)", after)
    within = loosest(part)
    if left and left[1] not in "?:" and PRECEDENCE[left[1]] >= within:
        return False
    return not (right and right[1] not in "?:" and PRECEDENCE[right[1]] > within)


def write_sources(mutants: Sequence[Mutant], root: Path, build: Path) -> Path:
    """Copy the sources with all mutants written in; what has not changed keeps its file, what is
    gone loses it."""
    by_file: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    if lost := [file for file in by_file if not (root / file).is_file()]:
        raise ListError(f"there is no {lost[0]}")
    source = build / "source"
    stale = {path for path in source.rglob("*") if path.is_file()}
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.[ch]*")):
            text = path.read_text()
            name = str(path.relative_to(root))
            if name in by_file:
                text = rewrite(text, 0, len(text), fragments(by_file[name], text))
            target = source / name
            stale.discard(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_text() != text:
                target.write_text(text)
    for path in stale:
        path.unlink()
    (source / "mutants.hpp").write_text(SWITCH)
    return source


# --------------------------------------------------------------------------------------------------- the build


def make_tree(root: Path, build: Path, extensions: Sequence[Path]) -> Path:
    """Copy what the tests run in, with the mutants' extensions in the place of the engine's."""
    tree = build / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    skip = shutil.ignore_patterns("*.so", "__pycache__", "*.cpp", "*.hpp")
    for name in TREE:
        path = root / name
        if path.is_dir():
            shutil.copytree(path, tree / name, ignore=skip)
        else:
            shutil.copy(path, tree / name)
    for extension in extensions:
        shutil.copy(extension, tree / "dstcc/engine" / extension.name)
    return tree


# ----------------------------------------------------------------------------------------------------- the runs


@dataclass(frozen=True)
class Run:
    """How some tests ended."""

    passed: bool
    last_line: str
    output: str
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Job:
    """Tests to run in one process until the first fails, with at most so much CPU time."""

    tests: tuple[str, ...]
    mutant: int = 0
    cpu_s: float = 600.0


def run_all(tree: Path, jobs: Sequence[Job], processes: int, done: Callable[[Job, Run], None]) -> None:
    """Run jobs side by side, each in a fork of this process, so that pytest and NumPy are imported once.

    The extension is not: the fork sets DSTCC_MUTANT first.
    """
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for module in (
        "pytest",
        "numpy",
        "hypothesis",
        "hypothesis.strategies",
        "scipy.stats",
        "scipy.interpolate",
    ):
        importlib.import_module(module)
    if "dstcc.engine" in sys.modules:
        raise ListError("the engine is imported already")
    waiting, running = list(jobs), dict[int, tuple[Job, Path]]()
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.pop(0)
                log = Path(folder) / f"{len(waiting)}.log"
                sys.stdout.flush()
                child = os.fork()
                if child == 0:
                    run_here(tree, job, log)
                running[child] = (job, log)
            child, status, used = os.wait4(-1, 0)
            if child in running:
                job, log = running.pop(child)
                code = os.waitstatus_to_exitcode(status)
                output = log.read_text(errors="replace") if log.is_file() else ""
                done(job, Run(code == 0, last_line(output, code), output, used.ru_utime + used.ru_stime))


def last_line(output: str, code: int) -> str:
    """Which test failed, or what ended the process."""
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (
        failed[0]
        if failed
        else f"stopped by signal {-code}"
        if code < 0
        else f"exit status {code}"
        if code
        else ""
    )


def run_here(tree: Path, job: Job, log: Path) -> NoReturn:
    """Become the process of a job."""
    limit = round(job.cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(30 * limit)  # waits for nothing for ever
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ["DSTCC_MUTANT"] = str(job.mutant)
    os.chdir(tree)
    sys.path[:0] = [str(tree), *(str(tree / name) for name in ("channel-models", "svc", "cli", "kernel-cc"))]
    import pytest

    options = ["-x", "-q", "--tb=line", "--no-header", "-m", "not slow and not kernel", "--hypothesis-seed=1"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of modules imported before the fork
    code = 3
    try:
        code = int(
            pytest.main(
                [*options, "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", *job.tests]
            )
        )
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def usual_times(tree: Path, tests: Iterable[str], processes: int) -> dict[str, float]:
    """CPU seconds that each test file needs without a mutant; all must pass."""
    times: dict[str, float] = {}

    def done(job: Job, run: Run) -> None:
        if not run.passed:
            raise ListError(f"{job.tests[0]} fails without a mutant:\n{run.output}")
        times[job.tests[0]] = run.cpu_s

    run_all(tree, [Job((name,)) for name in sorted(set(tests))], processes, done)
    return times


def loaded_from(tree: Path) -> None:
    """Make sure that tests see the mutants' extension and no other."""
    probe = tree / "tests/engine/test_probe_of_mutants.py"
    probe.write_text(
        "from dstcc.engine import _engine\n\n\ndef test_place():\n"
        f"    assert _engine.__file__.startswith({str(tree)!r})\n"
    )

    def done(_: Job, run: Run) -> None:
        if not run.passed:
            raise ListError(f"tests load another extension than the mutants':\n{run.output}")

    run_all(tree, [Job((str(probe.relative_to(tree)),))], 1, done)
    probe.unlink()


# ---------------------------------------------------------------------------------------------------- the report


def report(mutants: Sequence[Mutant], killed: dict[int, Run]) -> int:
    """Print what survived and the counts by file and by family; return the exit status."""
    files: dict[str, list[int]] = {}
    families: dict[str, list[int]] = {}
    wrong = []
    for mutant in mutants:
        rows = files.setdefault(mutant.file, [0, 0, 0]), families.setdefault(mutant.family, [0, 0, 0])
        dead = not killed[mutant.number].passed
        for row in rows:
            row[2 if mutant.equivalent else 0 if dead else 1] += 1
        if mutant.equivalent and dead:
            wrong.append(f"{mutant} is listed as equivalent, but {killed[mutant.number].last_line}")
        if not mutant.equivalent and not dead:
            print(f"survived: {mutant}\n    - {mutant.find}\n    + {mutant.replace}")
    header = f"{'killed':>8}{'survived':>10}{'equivalent':>12}{'rate':>8}"
    print(f"\n{'file':44}{header}")
    for file, row in files.items():
        print(line(Path(file).name, row))
    print(f"\n{'family':44}{header}")
    for family, row in families.items():
        print(line(family, row))
        if rate(row) < LEAST_RATE:
            wrong.append(f"{family}: fewer than {LEAST_RATE:.0%} fail a test")
    print(line("all", [sum(row[i] for row in files.values()) for i in range(3)]))
    for text in wrong:
        print(text)
    return 1 if wrong else 0


def rate(row: Sequence[int]) -> float:
    """Share of the mutants that are not equivalent which were killed."""
    judged = row[0] + row[1]
    return row[0] / judged if judged else 1.0


def line(name: str, row: Sequence[int]) -> str:
    """One row of the table."""
    return f"{name:44}{row[0]:>8}{row[1]:>10}{row[2]:>12}{rate(row):>8.1%}"


def figures(mutants: Sequence[Mutant], killed: dict[int, Run]) -> dict[str, Figure]:
    """Of each family whose mutants were all run, what became of them."""
    rows: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        rows.setdefault(mutant.family, []).append(mutant)
    found = {}
    for family, members in rows.items():
        if all(one.number in killed for one in members):
            dead = [one for one in members if not one.equivalent and not killed[one.number].passed]
            equivalent = sum(bool(one.equivalent) for one in members)
            live = len(members) - len(dead) - equivalent
            found[family] = Figure(len(members), len(dead), live, equivalent)
    return found


def check(mutants: Sequence[Mutant], tree: Path, jobs: int) -> tuple[int, dict[int, Run]]:
    """Run every mutant's tests and report: the exit status, and how each ended."""
    loaded_from(tree)
    usual = usual_times(tree, (name for mutant in mutants for name in mutant.tests), jobs)
    print(
        f"{len(usual)} test files pass without a mutant, in {sum(usual.values()):.0f} s of CPU time",
        flush=True,
    )
    by_number = {mutant.number: mutant for mutant in mutants}
    runs: dict[int, Run] = {}

    def done(job: Job, run: Run) -> None:
        runs[job.mutant] = run
        mark = "survived" if run.passed else "killed"
        print(f"{mark:9} {by_number[job.mutant]}   {run.last_line[:150]}", flush=True)

    limits = {m.number: SLACK_S + SLACK * sum(usual[name] for name in m.tests) for m in mutants}
    run_all(tree, [Job(m.tests, m.number, limits[m.number]) for m in mutants], jobs, done)
    print(f"{sum(run.cpu_s for run in runs.values()):.0f} s of CPU time")
    return report(mutants, runs), runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help='mutants whose "FAMILY: NUMBER FILE: NOTE" matches this')
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument(
        "--record", action="store_true", help="put the figures of families that ran whole into figures.json"
    )
    parser.add_argument("file", nargs="?", type=Path, default=LIST, help="list of mutants")
    options = parser.parse_args(arguments)
    try:
        mutants = read_list(options.file)
        source = write_sources(mutants, ROOT, BUILD)
        chosen = [mutant for mutant in mutants if re.search(options.only, f"{mutant.family}: {mutant}")]
        if options.list:
            print("\n".join(map(str, chosen)))
            return 0
        tree = make_tree(
            ROOT,
            BUILD,
            compile_extensions(
                source, BUILD, (*FLAGS, "-include", str(source / "mutants.hpp")), options.jobs
            ),
        )
        status, runs = check(chosen, tree, options.jobs)
        if options.record:
            record(CPP, figures(mutants, runs))
        return status
    except ListError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
