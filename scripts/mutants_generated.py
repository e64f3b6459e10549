"""How many wrong engines that nobody thought of do the tests notice? Changes drawn from the sources' syntax trees.

    python -m scripts.mutants_generated [--count 400] [--seed 1] [--room NAME].. [--trials 300] [--jobs 2] [--list]

A change is one of: a comparison's other bound or its opposite, and for or, plus for minus, times for divided by, min
for max, a negation left out, true for false, a whole number one higher, a call or an assignment left out. Changes are
drawn in the order of a hash of (seed, file, text), so that an edit elsewhere draws no others. All are compiled into one
extension, as by `scripts.mutants_cpp`; what the compiler refuses is left out.

A change that alters no byte of --trials random trials (`scripts.equal_trials`; half of them over nodes) is *unseen*: it
is counted apart, as most of those mean the same as the right engine. The others are run against the tests that
`tests/mutants/engine.toml` names for their file, or else for their room (a folder of the engine's sources). Printed are
the survivors, and for each room and kind killed, survived, unseen, and the share that was killed of those that were
seen, with its 95 % interval (Wilson). Exit status 1: fewer than nine tenths were killed. 2: tests fail without a
change.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import pybind11
import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from scripts.engine_build import ENGINE, compile_extensions
from scripts.mutants_cpp import (
    CONSTANT,
    FLAGS,
    LIST,
    ROOT,
    SLACK,
    SLACK_S,
    Job,
    ListError,
    Mutant,
    Run,
    loaded_from,
    make_tree,
    read_list,
    run_all,
    usual_times,
    write_sources,
)

BUILD = ROOT / "build/mutants-generated"
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
        for other in OTHER.get(operator, ()):
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


def judges(file: str, listed: Sequence[Mutant]) -> tuple[str, ...]:
    """Test files for a source: those listed for it, or else for the sources of its room, the most frequent first."""
    folder = file.rpartition("/")[0]
    own = [name for one in listed if one.file == file for name in one.tests]
    room = [name for one in listed if one.file.rpartition("/")[0] == folder for name in one.tests]
    ordered = [name for name, _ in Counter(own or room).most_common(8)]
    return tuple(ordered) or ("tests/engine/test_invariants.py", "tests/engine/test_connection.py")


def draw(ranked: Sequence[Change], count: int, rooms: Sequence[str]) -> list[Mutant]:
    """So many changes, as mutants; of nested texts only those that are whole, of equal ones the first."""
    listed = read_list(LIST)
    wanted = [one for one in ranked if not rooms or one.room in rooms][:count]
    tests = {file: judges(file, listed) for file in {one.file for one in wanted}}
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


# ------------------------------------------------------------------------------------------ what does not compile


def refused(source: Path, jobs: int) -> set[int]:
    """The numbers of the mutants at whose places the compiler finds an error."""
    engine = source / ENGINE
    include = [engine, pybind11.get_include(), sysconfig.get_path("include")]
    command = ["g++", *FLAGS, "-fsyntax-only", "-fmax-errors=0", "-include", str(source / "mutants.hpp")]
    command += [f"-I{path}" for path in include]

    def errors(path: Path) -> str:
        return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False).stderr

    paths = [path for path in sorted(engine.rglob("*.cpp")) if path.parent.name not in LEFT_OUT]
    with ThreadPoolExecutor(jobs) as pool:
        said = "\n".join(pool.map(errors, paths))
    numbers: set[int] = set()
    for path, line in set(re.findall(r"^([^\s:]+):(\d+):\d+: error:", said, re.MULTILINE)):
        if not Path(path).is_relative_to(source):
            continue
        texts = Path(path).read_text().split("\n")
        near = "\n".join(texts[max(0, int(line) - 1) : int(line)])
        numbers |= {int(one) for one in re.findall(r"dstcc_mutant\((\d+)\)", near)}
    if "error:" in said and not numbers:
        raise ListError(said)
    return numbers


def compiled(mutants: list[Mutant], jobs: int) -> tuple[list[Mutant], Path]:
    """Those that compile, and their sources."""
    left = mutants
    while True:
        source = write_sources(left, ROOT, BUILD)
        wrong = refused(source, jobs)
        if not wrong:
            return left, source
        print(f"the compiler refuses {len(wrong)}", flush=True)
        left = [one for one in left if one.number not in wrong]


# --------------------------------------------------------------------------------------------------- what is seen

PROBE = """\
import json
from scripts.random_trials.draw import draw_trial
from scripts.random_trials.nodes import over_nodes
from scripts.random_trials.run import run_trial


def test_trials():
    results = []
    for number in range({trials}):
        trial = draw_trial({seed}, number)
        trial = over_nodes({seed}, trial) if number % 2 else trial
        results.append(run_trial({seed}, trial))
    text = json.dumps(results, sort_keys=True)
    from pathlib import Path
    before = Path({path!r})
    if not before.exists():
        before.write_text(text)
    assert before.read_text() == text
"""


def seen(tree: Path, mutants: Sequence[Mutant], seed: int, trials: int, jobs: int) -> set[int]:
    """The numbers of those that change a byte of random trials, do not end, or end the process."""
    before, probe = tree / "trials.json", tree / "tests/engine/test_random_trials_of_mutants.py"
    probe.write_text(PROBE.format(trials=trials, seed=seed, path=str(before)))
    name = str(probe.relative_to(tree))
    found: dict[int, Run] = {}

    def done(job: Job, run: Run) -> None:
        found[job.mutant] = run

    for _ in range(2):  # writes, then compares
        run_all(tree, [Job((name,))], 1, done)
        if not found[0].passed:
            raise ListError(f"random trials fail without a change:\n{found[0].output}")
    limit = SLACK_S + SLACK * found[0].cpu_s
    run_all(tree, [Job((name,), one.number, limit) for one in mutants], jobs, done)
    probe.unlink()
    return {number for number, run in found.items() if not run.passed}


def interval(killed: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.959964, killed / of
    middle, half = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


def table(title: str, mutants: Sequence[Mutant], ends: dict[int, str], key: Callable[[Mutant], str]) -> None:
    """Counts by a key, and of all."""
    print(f"\n{title:28}{'killed':>8}{'survived':>10}{'unseen':>8}{'rate':>8}  95 %")
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
        print(f"{name:28}{killed:>8}{counts['survived']:>10}{counts['unseen']:>8} {said}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=400, help="changes to draw (400)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw and of the random trials (1)")
    parser.add_argument("--room", action="append", default=[], help="a folder of the engine's sources (all)")
    parser.add_argument("--trials", type=int, default=300, help="random trials that show a change (300)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--list", action="store_true", help="print the changes and stop")
    options = parser.parse_args(arguments)
    ranked = all_changes(ROOT, options.seed)
    mutants = draw(ranked, options.count, options.room)
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


def judge(mutants: list[Mutant], options: argparse.Namespace) -> int:
    """Compile, look for effects, run the tests, print; the exit status."""
    mutants, source = compiled(mutants, options.jobs)
    flags = (*FLAGS, "-include", str(source / "mutants.hpp"))
    tree = make_tree(ROOT, BUILD, compile_extensions(source, BUILD, flags, options.jobs))
    loaded_from(tree)
    visible = seen(tree, mutants, options.seed, options.trials, options.jobs)
    print(f"{len(visible)} of {len(mutants)} change a random trial", flush=True)
    shown = [one for one in mutants if one.number in visible]
    usual = usual_times(tree, (name for one in shown for name in one.tests), options.jobs)
    ends = {one.number: "unseen" for one in mutants}

    def done(job: Job, run: Run) -> None:
        ends[job.mutant] = "survived" if run.passed else "killed"

    limits = {one.number: SLACK_S + SLACK * sum(usual[name] for name in one.tests) for one in shown}
    run_all(tree, [Job(one.tests, one.number, limits[one.number]) for one in shown], options.jobs, done)
    for one in mutants:
        if ends[one.number] == "survived":
            print(f"survived: {one.file} {one.note}\n    - {one.find}\n    + {one.replace}")
    table("room", mutants, ends, lambda one: one.family)
    table("change", mutants, ends, lambda one: one.note.split(", ", 1)[1])
    counts = Counter(ends.values())
    return 0 if counts["killed"] >= 9 * counts["survived"] else 1


if __name__ == "__main__":
    sys.exit(main())
