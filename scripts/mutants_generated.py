"""How many wrong engines that nobody thought of do the tests notice? Changes drawn from the sources' syntax trees.

    python -m scripts.mutants_generated [--count 400] [--seed 1] [--room NAME].. [--files 24] [--near] [--list]

A change is one of: a comparison's other bound or its opposite, and for or, plus for minus, times for divided by, min
for max, a negation left out, true for false, a whole number one higher, a call or an assignment left out. Changes are
drawn in the order of a hash of (seed, file, text), so that an edit elsewhere draws no others. All are compiled into one
extension, as by `scripts.mutants_cpp`; what the compiler refuses is left out.

The engine notes which changes it is asked about, so of each test it is known which places it reaches
(`scripts.forked_tests`). A change is judged by those that reach it, of all of tests/engine and of what
`tests/mutants/engine.toml` names for its file. One that no test notices and that alters no byte of --trials random
trials (`scripts.equal_trials`; half of them over nodes) is *unseen*: it is counted apart, as most of those mean the
same as the right engine. Printed are the survivors, and for each room (a folder of the engine's sources) and kind
killed, survived, unseen, and the share of the first of the first two, with its 95 % interval (Wilson). Exit status 1:
fewer than nine tenths were killed. 2: nothing could be judged.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import inf, sqrt
from pathlib import Path
from typing import Any

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from scripts.engine_build import ENGINE, CompilerError, compile_extensions
from scripts.forked_tests import Bench, used, within
from scripts.mutants_cpp import (
    CONSTANT,
    FLAGS,
    LIST,
    ROOT,
    ListError,
    Mutant,
    loaded_from,
    make_tree,
    read_list,
    write_sources,
)

BUILD = ROOT / "build/mutants-generated"
SUITES = ("tests/engine",)
"""Tests that judge every change that they reach."""
TRIAL = "random trial "
GUESTS_S = 20.0
"""CPU seconds of tests at most that judge a change of what guests run, where tests in guests are among them."""
LEFT_OUT = ("python",)
"""Rooms without rules of their own."""
OTHER = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
OTHER |= {"&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",)}
CALLS = {"std::min": "std::max", "std::max": "std::min"}
CHANGED = {
    *("binary_expression", "call_expression", "true", "false", "number_literal", "unary_expression"),
    *("expression_statement", "declaration"),
}
FIXED = {
    *("array_declarator", "case_statement", "enumerator", "initializer_list", "static_assert_declaration"),
    *("template_argument_list", "optional_parameter_declaration", "field_declaration", "preproc_def"),
    *("bitfield_clause", "attribute_declaration", "type_descriptor", "template_parameter_list"),
}
"""Within these a value must be known when the engine is compiled, or a change is of no rule."""


@dataclass(frozen=True)
class Change:
    """One wrong text in the place of another."""

    file: str
    begin: int
    end: int
    kind: str
    find: str
    replace: str
    line: int

    @property
    def room(self) -> str:
        """The folder of the engine's sources."""
        return Path(self.file).parent.name


def operands(node: Node) -> tuple[str, str, str]:
    """Left, operator and right of a binary expression."""
    left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    assert left is not None and operator is not None and right is not None
    return text_of(left), operator.type, text_of(right)


def text_of(node: Node) -> str:
    """Its source."""
    assert node.text is not None
    return node.text.decode()


def wrong_texts(node: Node) -> Iterator[tuple[str, str]]:
    """(kind, text) of the changes of one node."""
    if node.type not in CHANGED:
        return
    text = text_of(node)
    if node.type == "binary_expression":
        left, operator, right = operands(node)
        joins = operator == "+" and '"' in text  # texts have no minus
        for other in () if joins else OTHER.get(operator, ()):
            yield f"{operator} {other}", f"{left} {other} {right}"
    elif node.type == "call_expression":
        called = node.child_by_field_name("function")
        name = re.sub(r"<.*", "", text_of(called)) if called is not None else ""
        if name in CALLS:
            yield f"{name} {CALLS[name]}", CALLS[name] + text[len(name) :]
    elif node.type in ("true", "false"):
        yield "true false", "false" if text == "true" else "true"
    elif node.type == "number_literal" and re.fullmatch(r"\d+", text):
        yield "n n+1", str(int(text) + 1)
    elif node.type == "unary_expression" and text.startswith("!"):
        yield "! ", f"bool({text[1:]})"
    elif node.type == "expression_statement" and node.named_child_count == 1:
        inner = node.named_children[0].type
        if inner in ("call_expression", "assignment_expression", "update_expression"):
            yield "statement left out", ";"
    elif node.type == "declaration" and (declared := CONSTANT.fullmatch(text)):
        begin, end = declared.span("value")
        if declared["value"].isdecimal():
            yield "constant n+1", f"{text[:begin]}{int(declared['value']) + 1}{text[end:]}"


def is_fixed(node: Node) -> bool:
    """Whether it must be known when the engine is compiled, asserts something, or stands in no function."""
    in_function = False
    at: Node | None = node
    while at is not None:
        head = at.text[:200].decode(errors="replace") if at.text is not None else ""
        if at.type in FIXED or head.startswith("DSTCC_CHECK"):
            return True
        if at.type == "declaration" and at != node and "constexpr" in head.split("=")[0]:
            return True
        if at.type == "function_definition" and "constexpr" in head.split("{")[0]:
            return True
        if (
            at.type == "condition_clause"
            and at.parent is not None
            and text_of(at.parent).startswith("if constexpr")
        ):
            return True
        in_function = in_function or at.type in ("compound_statement", "field_initializer_list")
        at = at.parent
    return not in_function


def changes(file: str, source: bytes, parser: Parser) -> list[Change]:
    """All changes of one source, in the order of its text."""
    found, plain = [], source.isascii()
    waiting = [parser.parse(source).root_node]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        wrong = list(wrong_texts(node))
        if not wrong or node.has_error or is_fixed(node):
            continue
        begin = node.start_byte if plain else len(source[: node.start_byte].decode())
        right = text_of(node)
        for kind, text in wrong:
            found.append(Change(file, begin, begin + len(right), kind, right, text, node.start_point.row + 1))
    return found


def all_changes(root: Path, seed: int) -> list[Change]:
    """Of every source, in the order in which they are drawn."""
    parser = Parser(Language(tree_sitter_cpp.language()))
    found: list[Change] = []
    for path in sorted((root / ENGINE).rglob("*.[ch]pp")):
        if path.parent.name not in LEFT_OUT:
            found += changes(str(path.relative_to(root)), path.read_bytes(), parser)
    return ordered(found, seed)


def ordered(found: Sequence[Change], seed: int) -> list[Change]:
    """By the hash of a seed and what each changes."""
    times: Counter[str] = Counter()
    ranks = {}
    for one in found:
        text = "\0".join((one.file, one.find, one.replace))
        times[text] += 1
        ranks[one] = hashlib.sha256(f"{seed}\0{text}\0{times[text]}".encode()).hexdigest()
    return sorted(found, key=ranks.__getitem__)


def of_some_sources(ranked: Sequence[Change], seed: int, count: int) -> list[Change]:
    """Those of so many files that are no headers, drawn by a hash of (seed, file)."""
    files = {one.file for one in ranked if not one.file.endswith(".hpp")}
    by_hash = sorted(files, key=lambda file: hashlib.sha256(f"{seed}\0{file}".encode()).hexdigest())
    chosen = set(by_hash[:count])
    return [one for one in ranked if one.file in chosen]


def judges(file: str, listed: Sequence[Mutant]) -> tuple[str, ...]:
    """Test files for a source: those listed for it, or else for the sources of its room, the most frequent first."""
    folder = file.rpartition("/")[0]
    own = [name for one in listed if one.file == file for name in one.tests]
    room = [name for one in listed if one.file.rpartition("/")[0] == folder for name in one.tests]
    ordered = [name for name, _ in Counter(own or room).most_common(8)]
    return tuple(ordered) or ("tests/engine/test_invariants.py", "tests/engine/test_connection.py")


def chosen(ranked: Sequence[Change], options: argparse.Namespace) -> list[Change]:
    """Those of the files that the options name, in their order."""
    if options.files:
        ranked = of_some_sources(ranked, options.seed, options.files)
    return [
        one
        for one in ranked
        if (not options.room or one.room in options.room)
        and (not options.only or any(text in one.file for text in options.only))
    ]


def draw(wanted: Sequence[Change], tests_of: TestsOf | None = None) -> list[Mutant]:
    """Changes as mutants, with the tests of their files."""
    if tests_of is None:
        tests_of = partial(judges, listed=read_list(LIST))
    tests = {file: tests_of(file) for file in {one.file for one in wanted}}
    return [
        Mutant(
            number=number,
            file=one.file,
            family=one.room,
            find=one.find,
            replace=one.replace,
            note=f"line {one.line}, {one.kind}",
            within="",
            equivalent="",
            tests=tests[one.file],
            span=(one.begin, one.end),
        )
        for number, one in enumerate(wanted, start=1)
    ]


TestsOf = Callable[[str], tuple[str, ...]]
"""The test files near a source."""


# ------------------------------------------------------------------------------------------ what does not compile


def refused(source: Path, said: str) -> set[int]:
    """The numbers of the mutants at, or else next to, the places at which the compiler found an error."""
    numbers: set[int] = set()
    for path, line in set(re.findall(r"^([^\s:]+):(\d+):\d+: error:", said, re.MULTILINE)):
        if not Path(path).resolve().is_relative_to(source.resolve()):
            continue
        texts = Path(path).read_text().split("\n")
        for beside in range(4):
            near = "\n".join(texts[max(0, int(line) - 1 - beside) : int(line) + beside])
            if here := re.findall(r"dstcc_mutant\((\d+)\)", near):
                numbers |= set(map(int, here))
                break
    if not numbers:
        raise ListError(said)
    return numbers


def compiled(mutants: list[Mutant], jobs: int) -> tuple[list[Mutant], list[Path]]:
    """Those that compile, and the extensions that hold them."""
    left = mutants
    while True:
        source = write_sources(left, ROOT, BUILD)
        flags = (*FLAGS, "-O1", "-DDSTCC_REACH", "-include", str(source / "mutants.hpp"))
        try:
            return left, compile_extensions(source, BUILD, flags, jobs)
        except CompilerError as error:
            wrong = refused(source, str(error))
        print(f"the compiler refuses {len(wrong)}", flush=True)
        left = [one for one in left if one.number not in wrong]


# ------------------------------------------------------------------------------------------------ what notices it


@dataclass(frozen=True)
class Switch:
    """How a process that holds all changes forgets and says where it was, and is told which of them to make."""

    clear: Callable[[], None]
    reached: Callable[[], frozenset[int]]
    choose: Callable[[int], None]


def switch_of(paths: Sequence[Path], size: int) -> Switch:
    """That of these extensions, whose changes have numbers below ``size``."""
    libraries = [ctypes.CDLL(str(path)) for path in paths]
    for library in libraries:
        library.dstcc_reached.restype = ctypes.c_void_p
    places = [library.dstcc_reached() for library in libraries]

    def clear() -> None:
        for place in places:
            ctypes.memset(place, 0, size)

    def reached() -> frozenset[int]:
        found = [ctypes.string_at(place, size) for place in places]
        return frozenset(number for one in found for number, there in enumerate(one) if there)

    def choose(number: int) -> None:
        for library in libraries:
            library.dstcc_choose(number)

    return Switch(clear, reached, choose)


def judged(
    tree: Path,
    mutants: Sequence[Mutant],
    options: argparse.Namespace,
    suites: Sequence[str],
    started: Callable[[], tuple[Switch, Sequence[Any]]],
    *,
    guests: Sequence[str] = (),
) -> Path:
    """Let tests and random trials judge each change; the file with a line for each: number, end, by which test.

    ``started`` gives the switch and the trials, in the process that runs the tests. ``guests`` are the kernel's tests
    that judge, too.
    """
    ends = tree / "ends"
    tests = sorted({os.path.normpath(name) for one in mutants for name in one.tests})
    if not options.near:
        others = [name for name in tests if not name.startswith(tuple(f"{one}/" for one in suites))]
        tests = [*suites, *others]

    def call(items: Sequence[Any]) -> int:
        switch, trials = started()

        def choose(number: int) -> None:
            os.environ["DSTCC_MUTANT"] = str(number)  # for processes that tests start
            switch.choose(number)

        bench = Bench([*trials, *items], switch.clear, switch.reached)
        if failed := bench.measure(options.longest):
            print(f"{len(failed)} fail without a change: {', '.join(failed[:9])}", flush=True)
        if len(failed) > len(items) / 20:
            return 2
        cpu_s = sum(one.cpu_s for one in bench.tests)
        print(
            f"{len(bench.tests)} tests and trials of {len(bench.items)} judge, {cpu_s:.0f} s of CPU time",
            flush=True,
        )
        begun = used()
        with ends.open("w") as file:
            for one in mutants:
                if used() - begun > 60 * options.minutes:
                    break
                in_guests = bool(guests) and one.file.startswith("kernel-cc/")
                effort_s = min(options.effort, GUESTS_S) if in_guests else options.effort
                end, name = end_of(bench, one.number, effort_s, lambda: choose(one.number))  # noqa: B023
                file.write(f"{one.number}\t{end}\t{name}\n")
                file.flush()
                print(f"{end:9} {one.file} {one.note}   {name}", flush=True)
        return 0

    if within(tree, tests, call, guests) != 0:
        raise ListError("the tests could not be run")
    return ends


def end_of(bench: Bench, number: int, effort_s: float, change: Callable[[], None]) -> tuple[str, str]:
    """What becomes of a change: killed by a test; seen by a random trial, but by no test; or unseen by both.

    Tests are run as long as they need less than ``effort_s`` of CPU time together; all of them where a trial sees it.
    """
    order = bench.of(number)
    trials = [one for one in order if bench.tests[one].item.nodeid.startswith(TRIAL)]
    tests = [one for one in order if one not in set(trials)]
    times = accumulate(bench.tests[one].cpu_s for one in tests)
    first = sum(time_s <= effort_s for time_s in times)
    if tests[:first] and (name := bench.judge(tests[:first], change)) is not None:
        return "killed", name
    if not trials or (seen := bench.judge(trials, change)) is None:
        return "unseen", f"{first} of {len(tests)} tests"
    if tests[first:] and (name := bench.judge(tests[first:], change)) is not None:
        return "killed", name
    return "survived", f"{len(tests)} tests, but {seen}"


def random_trials(seed: int, count: int) -> list[Any]:
    """Random trials (`scripts.equal_trials`; every second over nodes) as tests that notice a changed byte."""
    from scripts.random_trials.draw import draw_trial
    from scripts.random_trials.nodes import over_nodes
    from scripts.random_trials.run import run_trial

    @dataclass
    class Random:
        """One of them: it passes the first time, and then as long as its result is the same."""

        nodeid: str
        number: int
        result: str = ""

        def passes(self) -> bool:
            """Run it."""
            trial = draw_trial(seed, self.number)
            result = json.dumps(
                run_trial(seed, over_nodes(seed, trial) if self.number % 2 else trial), sort_keys=True
            )
            self.result = self.result or result
            return self.result == result

    return [Random(f"{TRIAL}{number}", number) for number in range(count)]


def interval(killed: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.959964, killed / of
    middle, half = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


def table(
    title: str,
    mutants: Sequence[Mutant],
    ends: dict[int, str],
    key: Callable[[Mutant], str],
    apart: str = "unseen",
) -> None:
    """Counts by a key, and of all."""
    print(f"\n{title:28}{'killed':>8}{'survived':>10}{apart:>12}{'rate':>8}  95 %")
    keys = sorted({key(one) for one in mutants})
    for name, members in [
        *((each, [one for one in mutants if key(one) == each]) for each in keys),
        ("all", mutants),
    ]:
        counts = Counter(ends[one.number] for one in members)
        killed, judged = counts["killed"], counts["killed"] + counts["survived"]
        said = (
            "".join(f"{share:7.1%}" for share in (killed / judged, *interval(killed, judged)))
            if judged
            else ""
        )
        print(f"{name:28}{killed:>8}{counts['survived']:>10}{counts[apart]:>12} {said}")


def options_of(doc: str | None, count: int) -> argparse.ArgumentParser:
    """The command line, as far as it says what to draw and how long to judge."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--count", type=int, default=count, help=f"changes to draw ({count})")
    add("--seed", type=int, default=1, help="of the draw and of random trials (1)")
    add("--room", action="append", default=[], help="a folder of sources (all)")
    add("--only", action="append", default=[], help="files whose path holds this text (all)")
    add(
        "--files",
        type=int,
        default=0,
        help="draw first so many files, by the seed, then changes of these alone (all files, headers as well): "
        "what need not change is prepared once, not for each draw",
    )
    add("--longest", type=float, default=20, help="CPU seconds of a test at most (20)")
    add("--effort", type=float, default=60, help="CPU seconds of tests before trials are asked (60)")
    add("--minutes", type=float, default=inf, help="CPU minutes after which nothing more is judged (no end)")
    add("--near", action="store_true", help="judge by the tests of the changed files, not by the whole suite")
    add("--list", action="store_true", help="print the changes and stop")
    return parser


def run(
    ranked: Sequence[Change],
    options: argparse.Namespace,
    judge: Callable[[list[Mutant], argparse.Namespace], int],
    tests_of: TestsOf | None = None,
) -> int:
    """Draw, and print or judge; the exit status."""
    ranked = chosen(ranked, options)
    mutants = draw(ranked[: options.count], tests_of)
    print(f"{len(mutants)} of {len(ranked)} changes", flush=True)
    if options.list:
        for one in mutants:
            print(f"{one}\n    - {one.find}\n    + {one.replace}")
        return 0
    try:
        return judge(mutants, options)
    except ListError as error:
        print(error, file=sys.stderr)
        return 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = options_of(__doc__, 400)
    parser.add_argument("--trials", type=int, default=300, help="random trials that show a change (300)")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compile (2)")
    options = parser.parse_args(arguments)
    return run(all_changes(ROOT, options.seed), options, judge)


def judge(mutants: list[Mutant], options: argparse.Namespace) -> int:
    """Compile, run the tests, print; the exit status."""
    mutants, extensions = compiled(mutants, options.jobs)
    tree = make_tree(ROOT, BUILD, extensions)
    loaded_from(tree)
    size = 1 + max(one.number for one in mutants)

    def started() -> tuple[Switch, Sequence[Any]]:
        paths = [tree / "dstcc/engine" / one.name for one in extensions]
        return switch_of(paths, size), random_trials(options.seed, options.trials)

    return report(mutants, ends_in(judged(tree, mutants, options, SUITES, started)))


def ends_in(file: Path) -> dict[int, str]:
    """What became of each change that was judged, of the file of :func:`judged`."""
    return {
        int(number): end for number, end, _ in (line.split("\t") for line in file.read_text().splitlines())
    }


def report(mutants: Sequence[Mutant], ends: dict[int, str], apart: str = "unseen") -> int:
    """Print what survived and the tables; the exit status. Counted apart is that end of a change."""
    if len(ends) < len(mutants):
        print(f"judged: the first {len(ends)} of {len(mutants)}")
        mutants = [one for one in mutants if one.number in ends]
    for one in mutants:
        if ends[one.number] == "survived":
            print(f"survived: {one.file} {one.note}\n    - {one.find}\n    + {one.replace}")
    table("room", mutants, ends, lambda one: one.family, apart)
    table("change", mutants, ends, lambda one: one.note.split(", ", 1)[1], apart)
    counts = Counter(ends.values())
    return 0 if counts["killed"] >= 9 * counts["survived"] else 1


if __name__ == "__main__":
    sys.exit(main())
