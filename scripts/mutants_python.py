"""Mutation check of the Python modules that decide what a figure says: does a test fail when one of them is wrong?

    python scripts/mutants_python.py [--only TEXT] [--all] [--show] [--jobs N] [--record] [--held]

`mutants_python.toml` beside this file names the modules, the test files of each, and the mutants that are equivalent,
each with its reason. A mutant is one small change: an operator, a comparison, a constant, a condition. cosmic-ray makes
them; :data:`OURS` adds what it lacks (min for max, any for all, ``+=``). Of its operators only those count whose
mutants have the type of the original: the others fail at once and would flatter the rate. mutmut 3 was tried too:
it leaves out properties and constants of modules, half of what matters here.

Of a module with more mutants than `sample` so many are drawn by a hash of the changed text, so that a change elsewhere
draws no others. Wrong versions that somebody wrote (`[[module.wrong]]`: `find`, `replace`, `note`) are always tried as
well. A mutant is dead if a test fails or its tests take three times as long as without it. Each one
runs in a process of its own, forked from one that has imported what is not ours; the files stay as they are.

Prints survivors and a rate per module; exit code 1 where one is below the least rate, or the list of equivalents wrong.
With --held only the few changes are made that tests make each time (`make test` two of them); exit code 1 where no test
notices one.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import click
import parso
import pytest
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts.mutation_figures import PYTHON, Figure, record  # noqa: E402

ROOMS = ("channel-models", "svc", "cli", "kernel-cc", ".")
"""Folders from which packages are imported, as `setup.cfg` has them; the root last, as it holds the others."""
SWAPS = (
    *("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "Pow_Mul", "Mod_Mul"),
    *("BitAnd_BitOr", "BitOr_BitAnd", "USub_UAdd", "Delete_Not", "Delete_Invert"),
    *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_Gt", "Gt_Lt", "LtE_GtE", "GtE_LtE"),
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
)
WHOLE = (
    *("AddNot", "NumberReplacer", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr"),
    *("ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
)
"""cosmic-ray's operators that count: those of :data:`SWAPS` by the end of their names, these by the whole of it."""
OURS = {
    "MinMax": {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"},
    "ArgMinMax": {"argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor"},
    "AnyAll": {"any": "all", "all": "any"},
    "Side": {'"left"': '"right"', '"right"': '"left"'},
    "Augmented": {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="},
    "Assigned": {"+=": "=", "-=": "=", "*=": "=", "|=": "="},
}
"""Operators of our own: each replaces one token by another."""
ANY = "*"
GUARDS = ("strict=", "frozen=")
"""Before a True that is left alone: no input shows what it forbids."""
SURVIVED = 0
"""pytest's exit code where every test passes."""
HELD_S = 60
"""Of CPU time, for the tests of a change that is held."""
PATIENCE = 3.0
"""Of the CPU time without a mutant, from which on it counts as hung; and two seconds."""
WALL, WALL_S = 10, 60
"""Times the CPU limit, and seconds: one that takes longer waits for what never comes, and counts as hung too."""


class Tokens(Operator):  # type: ignore[misc]
    """Replace single tokens by a table."""

    def __init__(self, table: dict[str, str]) -> None:
        self.table = table

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Where a token of the table stands."""
        if getattr(node, "value", None) in self.table:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Put the other token there."""
        node.value = self.table[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """None: the table says it."""
        return ()


@dataclass(frozen=True)
class Mutant:
    """One change of a module, not yet made."""

    operator: str
    occurrence: int
    line: int
    was: str
    """The line, stripped."""
    rank: str = ""
    """Its place in the sample: a hash of what it changes."""


@dataclass(frozen=True)
class Made:
    """A mutant with its text."""

    mutant: Mutant
    now: str
    """The changed line, stripped."""
    source: str


@dataclass(frozen=True)
class Equivalent:
    """Changes of a line that no test can see, and why."""

    path: str
    was: str
    now: list[str]
    """The changed lines; :data:`ANY` for all of them that survive."""
    why: str

    def covers(self, one: Made) -> bool:
        """Whether this is one of them."""
        return one.mutant.was == self.was and (one.now in self.now or ANY in self.now)


@dataclass(frozen=True)
class Wrong:
    """A wrong version that somebody wrote, where no operator makes it."""

    find: str
    """Text that stands in the module once."""
    replace: str
    note: str
    """What is wrong."""


@dataclass(frozen=True)
class Module:
    """A file, and the test files that must notice a change of it."""

    path: str
    tests: tuple[str, ...]
    functions: tuple[str, ...] = ()
    """Those that operators change; all of the module where none are named."""
    wrong: tuple[Wrong, ...] = ()
    """Always tried, whatever the sample."""


@dataclass(frozen=True)
class Plan:
    """`mutants_python.toml`."""

    least: float
    sample: int
    modules: tuple[Module, ...]
    equivalents: tuple[Equivalent, ...]
    held: tuple[tuple[str, str, str], ...] = ()
    """A path, a line and what it becomes: what every `make test` has a test notice."""
    guests: tuple[str, ...] = ()
    """The tests marked as the kernel's that judge changes of the kernel side, if `mutants_generated_python` draws
    them; each is a test or a file."""


def load_plan(path: Path) -> Plan:
    """Read a plan. ValueError where an equivalent is of no listed module."""
    table = tomllib.loads(path.read_text())
    modules = tuple(
        Module(
            one["path"],
            tuple(one["tests"]),
            tuple(one.get("functions", ())),
            tuple(Wrong(**wrong) for wrong in one.get("wrong", ())),
        )
        for one in table["module"]
    )
    equivalents = tuple(Equivalent(**one) for one in table.get("equivalent", []))
    for one in equivalents:
        if one.path not in {module.path for module in modules}:
            raise ValueError(f"{path}: equivalent of {one.path}: not a module of this plan")
    held = tuple((one["path"], one["was"], one["now"]) for one in table.get("held", []))
    return Plan(table["least"], table["sample"], modules, equivalents, held, tuple(table.get("guests", ())))


def operators() -> dict[str, Operator]:
    """Every operator that counts, by name."""
    by_name = {name: Tokens(table) for name, table in OURS.items()}
    for name in operator_names():
        short = name.removeprefix("core/")
        if short in WHOLE or (short.startswith("Replace") and short.split("_", 1)[-1] in SWAPS):
            by_name[short] = get_operator(name)()
    return by_name


def mutants(module: Module, source: str, known: dict[str, Operator]) -> list[Mutant]:
    """All mutants of a module, in the order of their ranks; what stands in annotations is none."""
    lines, silent, chosen = source.splitlines(), _silent(source), lines_of(module, source)
    nodes = list(ast_nodes(parso.parse(source)))
    made: list[Mutant] = []
    for name, operator in sorted(known.items()):
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        made += [
            Mutant(name, index, start[0], lines[start[0] - 1].strip())
            for index, (start, _) in enumerate(places)
            if start[0] in chosen and start not in silent and not _guards(lines[start[0] - 1], start[1])
        ]
    seen: Counter[str] = Counter()
    ranked = []
    for one in made:
        text = "\0".join((module.path, one.operator, one.was))
        seen[text] += 1
        ranked.append(replace(one, rank=hashlib.sha256(f"{text}\0{seen[text]}".encode()).hexdigest()))
    return sorted(ranked, key=lambda one: one.rank)


def make(one: Mutant, source: str, known: dict[str, Operator]) -> Made | None:
    """Make the change; None where the text that results is not Python or means the same."""
    text = mutate_code(source, known[one.operator], one.occurrence)
    with contextlib.suppress(SyntaxError):
        if ast.dump(ast.parse(text)) != ast.dump(ast.parse(source)):
            return Made(one, text.splitlines()[one.line - 1].strip(), text)
    return None


def written(module: Module, source: str) -> list[Made]:
    """The wrong versions of a module's list. ValueError where a text does not stand there once."""
    made = []
    for number, one in enumerate(module.wrong):
        if source.count(one.find) != 1 or one.find == one.replace:
            raise ValueError(
                f"{module.path}: {one.note}: stands {source.count(one.find)} times: {one.find!r}"
            )
        line = source[: source.index(one.find)].count("\n") + 1
        mutant = Mutant(one.note, number, line, one.find)
        made.append(Made(mutant, one.replace, source.replace(one.find, one.replace)))
    return made


def _guards(line: str, at: int) -> bool:
    """Whether what stands there only forbids mistakes in code: a ``strict=True``, or the star before keywords."""
    return line[:at].endswith(GUARDS) or line[at:].startswith("*,")


def lines_of(module: Module, source: str) -> set[int]:
    """The lines that may be changed. ValueError for a function that is not there."""
    if not module.functions:
        return set(range(1, source.count("\n") + 2))
    functions = {one.name: one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)}
    if missing := set(module.functions) - functions.keys():
        raise ValueError(f"{module.path}: no function {', '.join(sorted(missing))}")
    spans = (functions[name] for name in module.functions)
    return {line for span in spans for line in range(span.lineno, (span.end_lineno or span.lineno) + 1)}


def _silent(source: str) -> set[tuple[int, int]]:
    """Where tokens of annotations and of ``if TYPE_CHECKING`` begin, (line, column): they mean nothing at run time."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            hints.append(node)
        spans += [hint for hint in hints if isinstance(hint, ast.AST)]
    return {
        (line, column)
        for span in spans
        for line in range(span.lineno, span.end_lineno + 1)  # type: ignore[attr-defined]
        for column in range(span.col_offset if line == span.lineno else 0, _end(span, line))  # type: ignore[attr-defined]
    }


def _end(span: Any, line: int) -> int:
    return int(span.end_col_offset) if line == span.end_lineno else 400


class Loader(SourceFileLoader):
    """Loads one module from a text in the place of its file."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text; nothing is cached."""
        return compile(self.text, self.path, "exec", dont_inherit=True)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """As a finder of :data:`sys.meta_path`."""
        return (
            importlib.util.spec_from_file_location(name, self.path, loader=self)
            if name == self.name
            else None
        )


def module_name(path: str) -> str:
    """The name under which a file of the repository is imported."""
    room = next(room for room in ROOMS if room == "." or path.startswith(f"{room}/"))
    return ".".join(Path(path).relative_to(room).with_suffix("").parts)


def run(path: str, text: str, tests: Sequence[str], limit_s: float, output: Path) -> tuple[int, float]:
    """Run tests with the module's text replaced, in a forked process: pytest's exit code, and CPU seconds.

    The code is negative for a signal's number.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _tested(path, text, tests, limit_s, output)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    ended = os.pidfd_open(child)
    if not select.select([ended], [], [], WALL_S + WALL * limit_s)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def _tested(path: str, text: str, tests: Sequence[str], limit_s: float, output: Path) -> int:
    with output.open("wb") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    most = int(limit_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(output.with_suffix(".hypothesis"))
    import hypothesis  # late: pytest's own hook comes first

    # A failing example is enough; that it be small costs time.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    slow = (hypothesis.HealthCheck.too_slow,)
    hypothesis.settings.register_profile("mutants", deadline=None, suppress_health_check=slow, phases=phases)
    name = module_name(path)
    sys.meta_path.insert(0, Loader(name, str(ROOT / path), text))
    importlib.import_module(name)  # before pytest, which would load it by a hook of its own
    quiet = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
        "--hypothesis-seed=0",
        "--hypothesis-profile=mutants",
    ]
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported already
    return int(pytest.main([*quiet, f"--basetemp={output.with_suffix('.tmp')}", *tests]))


def warm_up(tests: Sequence[str]) -> None:
    """Import what is not ours of what the tests import, so that the forked processes need not."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, "\n".join(_imported_by(tests)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        names = pipe.read().split()
    os.waitpid(child, 0)
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _imported_by(tests: Sequence[str]) -> list[str]:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    pytest.main(
        ["-q", "--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", *tests]
    )
    ours = tuple({name for room in ROOMS for name in _packages(ROOT / room)})
    return [name for name, one in sys.modules.items() if not name.startswith(ours) and _is_installed(one)]


def _packages(room: Path) -> set[str]:
    return {file.parent.name for file in room.glob("*/__init__.py")} | {"tests", "dstcc"}


def _is_installed(module: Any) -> bool:
    return "site-packages" in (getattr(module, "__file__", None) or "")


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    whole: bool
    show: bool
    jobs: int


@dataclass(frozen=True)
class Score:
    """How a module's mutants fared."""

    path: str
    of: int
    """Mutants in all, of which the others are a sample."""
    killed: int
    survived: int
    equivalent: int
    wrong: tuple[str, ...]
    """What is wrong with the list of equivalents."""
    cpu_s: float

    @property
    def rate(self) -> float:
        """Of those that are not equivalent, the share that a test notices."""
        return self.killed / max(1, self.killed + self.survived)


def check(module: Module, plan: Plan, known: dict[str, Operator], options: Options) -> Score:
    """Run a module's sample of mutants and print the survivors. ClickException where its tests fail without one."""
    path, tests = module.path, module.tests
    source = (ROOT / path).read_text()
    everyone, made = mutants(module, source, known), written(module, source)
    sampled = everyone if options.whole else everyone[: plan.sample]
    made += [mutant for one in sampled if (mutant := make(one, source, known)) is not None]
    excuses = [one for one in plan.equivalents if one.path == path]
    with _room() as folder:
        code, alone_s = run(path, source, tests, 600, Path(folder) / "alone")
        if code != SURVIVED:
            said = (Path(folder) / "alone").read_text(errors="replace")[-2000:]
            raise click.ClickException(f"{path}: exit code {code} of its tests without a mutant\n{said}")
        limit_s = 2 + PATIENCE * alone_s
        with ThreadPoolExecutor(options.jobs) as pool:
            codes = pool.map(
                lambda number: run(path, made[number].source, tests, limit_s, Path(folder) / str(number)),
                range(len(made)),
            )
            results = []
            for one, result in zip(made, codes, strict=True):
                results.append(result)
                if (
                    options.show
                    and result[0] == SURVIVED
                    and not any(excuse.covers(one) for excuse in excuses)
                ):
                    click.echo(
                        f"{path}:{one.mutant.line}: {one.mutant.operator}\n  - {one.mutant.was}\n  + {one.now}"
                    )
    alive = [one for one, (code, _) in zip(made, results, strict=True) if code == SURVIVED]
    dead = [one for one, (code, _) in zip(made, results, strict=True) if code != SURVIVED]
    loose = [one for one in alive if not any(excuse.covers(one) for excuse in excuses)]
    killed = {(one.mutant.was, one.now) for one in dead} - {(one.mutant.was, one.now) for one in alive}
    wrong = [f"no such change: {change}" for change in _unknown(excuses, everyone, source, known)]
    wrong += [
        f"a test fails, so not equivalent: {excuse.was} -> {now}"
        for excuse in excuses
        for now in excuse.now
        if (excuse.was, now) in killed
    ]
    cpu_s = alone_s + sum(used for _, used in results)
    counts = len(everyone) + len(module.wrong), len(dead), len(loose), len(alive) - len(loose)
    return Score(path, *counts, tuple(f"{path}: {line}" for line in wrong), cpu_s)


@contextlib.contextmanager
def _room() -> Iterator[str]:
    """A temporary folder, which goes however deep what mutants leave there lies."""
    folder = tempfile.mkdtemp(prefix="mutants-")
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def unnoticed(plan: Plan, known: dict[str, Operator]) -> list[str]:
    """Of the changes that are held those that no test notices. ClickException for one that there is none of."""
    modules = {module.path: module for module in plan.modules}
    found = []
    with _room() as folder:
        for number, (path, was, now) in enumerate(plan.held):
            source = (ROOT / path).read_text()
            changes = [one for one in mutants(modules[path], source, known) if one.was == was]
            made = [one for change in changes if (one := make(change, source, known)) is not None]
            chosen = [one for one in made if one.now == now]
            if not chosen:
                raise click.ClickException(f"{path}: no such change: {was} -> {now}")
            tests, output = modules[path].tests, Path(folder) / str(number)
            if run(path, chosen[0].source, tests, HELD_S, output)[0] == SURVIVED:
                found.append(f"{path}: no test notices {was} -> {now}")
    return found


def _unknown(
    excuses: Sequence[Equivalent], everyone: Sequence[Mutant], source: str, known: dict[str, Operator]
) -> list[str]:
    """Of the excused changes those that no mutant makes."""
    before = {one.was for one in excuses}
    made = (make(one, source, known) for one in everyone if one.was in before)
    there = {
        change
        for one in made
        if one is not None
        for change in ((one.mutant.was, one.now), (one.mutant.was, ANY))
    }
    return [f"{one.was} -> {now}" for one in excuses for now in one.now if (one.was, now) not in there]


@click.command(help=__doc__)
@click.option("--only", default="", help="Modules whose path holds this text.")
@click.option("--all", "whole", is_flag=True, help="Every mutant, not a sample.")
@click.option("--show/--quiet", default=True, help="Print the survivors.")
@click.option("--jobs", default=len(os.sched_getaffinity(0)), help="Processes at once.")
@click.option("--plan", "file", default=Path(__file__).with_suffix(".toml"), type=Path, help="The plan.")
@click.option("--record", "recorded", is_flag=True, help="Put the figures into tests/mutants/figures.json.")
@click.option("--held", is_flag=True, help="The few changes alone that tests make.")
def main(*, only: str, whole: bool, show: bool, jobs: int, file: Path, recorded: bool, held: bool) -> None:
    """See the docstring of the module."""
    os.chdir(ROOT)
    plan, known = load_plan(file), operators()
    if held:
        plan = replace(plan, held=tuple(one for one in plan.held if only in one[0]))
        paths = {path for path, _, _ in plan.held}
        warm_up(sorted({test for one in plan.modules if one.path in paths for test in one.tests}))
        for line in (lines := unnoticed(plan, known)):
            click.echo(line, err=True)
        click.echo(f"{len(plan.held) - len(lines)} of {len(plan.held)} noticed")
        sys.exit(1 if lines else 0)
    chosen = [module for module in plan.modules if only in module.path]
    if not chosen:
        raise click.UsageError(f"--only {only}: no module of {file} has that in its path")
    warm_up(sorted({test for module in chosen for test in module.tests}))
    scores = [check(module, plan, known, Options(whole, show, jobs)) for module in chosen]
    click.echo(
        f"\n{'module':<52}{'mutants':>8}{'run':>6}{'killed':>8}{'lives':>7}{'equiv.':>8}{'rate':>8}{'CPU s':>7}"
    )
    for one in scores:
        tried = one.killed + one.survived + one.equivalent
        click.echo(
            f"{one.path:<52}{one.of:>8}{tried:>6}{one.killed:>8}{one.survived:>7}{one.equivalent:>8}"
            f"{one.rate:>8.1%}{one.cpu_s:>7.0f}"
        )
    if recorded:
        record(
            PYTHON,
            {one.path: Figure(one.of, one.killed, one.survived, one.equivalent) for one in scores},
        )
    killed, survived = sum(one.killed for one in scores), sum(one.survived for one in scores)
    rate = killed / max(1, killed + survived)
    spent = sum(one.cpu_s for one in scores)
    click.echo(
        f"{killed} of {killed + survived} killed: {rate:.1%} ({plan.least:.0%} asked), {spent / 60:.1f} CPU minutes"
    )
    wrong = [line for one in scores for line in one.wrong]
    wrong += [
        f"{one.path}: fewer than {plan.least:.0%} fail a test" for one in scores if one.rate < plan.least
    ]
    for line in wrong:
        click.echo(line, err=True)
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
