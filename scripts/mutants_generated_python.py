"""How many wrong Python modules that nobody thought of do the tests notice? Changes drawn from their syntax trees.

    python -m scripts.mutants_generated_python [--count 600] [--seed 1] [--room NAME].. [--only TEXT].. [--files N]
        [--near] [--no-kernel] [--minutes M] [--list]

The changes are those of `scripts.mutants_generated`, as Python writes them, and `is` for `is not`, `in` for `not in`,
any for all, and a number with a fraction one higher. They are drawn in the same way, and of functions alone: what a
module computes when it is imported `scripts.mutants_python` changes. All are written into a copy of the modules, in
which each place asks whether it is to be wrong, and so notes that it was reached. A change is judged by the tests that
reach it, of the whole suite, or with --near of those that `mutants_python.toml` names for its file, that import it, or
that mirror it. Where one is of `kernel-cc`, the kernel's tests that the list names (`guests`) judge as well, unless
--no-kernel leaves them out: guests make the change, too, and say where they were. One that no test reaches has
survived. What `mutants_python.toml` lists as equivalent is counted apart.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from scripts import mutants_generated as generated
from scripts.mutants_cpp import ROOT, TREE, Fragment, ListError, Mutant, fragments, make_tree, rewrite
from scripts.mutants_generated import Change, Switch, ends_in, judged, options_of, ordered, report
from scripts.mutants_python import ANY, Plan, load_plan, module_name

BUILD = ROOT / "build/mutants-generated-python"
PLAN = ROOT / "scripts/mutants_python.toml"
PLACES = {
    "dstcc": "",
    "channel-models/dstcc_channels": "channels",
    "svc/dstcc_svc": "svc",
    "cli/dstcc_cli": "cli",
    "kernel-cc/dstcc_kernel": "kernel",
}
"""Packages, and the folder of tests that mirrors each."""
KERNEL = "kernel-cc/"
NAMES: dict[type[ast.AST], str] = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or"},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"},
}
OTHER = {
    **{name: other for name, other in generated.OTHER.items() if name not in ("&&", "||")},
    **{"is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",)},
    **{"and": ("or",), "or": ("and",), "//": ("/",)},
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
GUARDS = {"strict", "frozen", "slots", "kw_only"}
"""Arguments that only forbid mistakes in code."""
LEFT_OUT = "pass"
SWITCH = '''"""Which wrong change is made, and which places were reached; `sitecustomize` has every process load it."""
import builtins
import contextlib
import functools
import os
import shutil

chosen = int(os.environ.get("DSTCC_MUTANT", "0"))
noted = set()
LONGEST_S = 60.0
kept = None
if "DSTCC_KEPT" in os.environ:  # in a guest, whose processes may leave the file's folder behind
    kept = os.open(os.environ["DSTCC_KEPT"], os.O_WRONLY | os.O_APPEND)


def dstcc_mutant(number):
    if number not in noted:
        noted.add(number)
        with contextlib.suppress(KeyError, OSError):  # a test that takes away the environment, the disk or all files
            to = kept or os.open(os.environ["DSTCC_REACH"], os.O_WRONLY | os.O_APPEND)
            os.write(to, b"%d\\n" % number)
            if to != kept:
                os.close(to)
    return number == chosen


def in_guests(boot):
    """What boots a guest: all that runs in it makes the change too, and says in the guest's folder where it was.

    A wrong one has a minute to end."""

    @functools.wraps(boot)
    def with_switch(command, scratch, console, out, *, wall_s, **how):
        noted_there = out / ".reached"
        noted_there.touch()
        if (out / "lib").is_dir():  # of a mission: its programs have nothing else to import from
            shutil.copy(__file__, out / "lib")
        job = scratch / "job"
        at = job.read_bytes().partition(b"\\0")[0].decode()
        with job.open("ab") as file:
            file.write(f"DSTCC_MUTANT={chosen}\\0DSTCC_KEPT={at}/.reached\\0".encode())
        try:
            return boot(command, scratch, console, out, wall_s=min(wall_s, LONGEST_S) if chosen else wall_s, **how)
        finally:
            with contextlib.suppress(KeyError, OSError), open(os.environ["DSTCC_REACH"], "ab") as file:
                file.write(noted_there.read_bytes())
                noted_there.unlink()

    return with_switch


builtins.dstcc_mutant, builtins.dstcc_in_guests = dstcc_mutant, in_guests
'''
PACKAGED = """; __import__('importlib.util').util.find_spec('dstcc_switch') and __import__('dstcc_switch')\
; __import__('builtins').__dict__.setdefault('dstcc_mutant', lambda number: False)"""
"""Behind a package's first statement, for a Python that looks for no `sitecustomize`; not of copies elsewhere."""


# ------------------------------------------------------------------------------------------------------ the changes


class Text:
    """A source and where its nodes stand in it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def place(self, line: int, column: int) -> int:
        """Of a line (from 1) and a column in bytes."""
        text = self.lines[line - 1]
        return self.starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def span(self, node: Any) -> tuple[int, int]:
        """Begin and end of a node."""
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def with_others(
        self, node: ast.expr, operands: Sequence[ast.expr], operator: ast.AST
    ) -> Iterator[tuple[str, str]]:
        """(kind, text) of a node with other operators between its operands."""
        name = NAMES.get(type(operator), "")
        pattern = re.escape(name).replace(r"\ ", r"\s+")
        for other in OTHER.get(name, ()):
            begin, end = self.span(node)
            text = ""
            for left, right in pairwise(operands):
                after, before = self.span(left)[1], self.span(right)[0]
                text += self.source[begin:after] + re.sub(pattern, other, self.source[after:before], count=1)
                begin = before
            yield f"{name} {other}", text + self.source[begin:end]

    def alone(self, node: ast.stmt) -> bool:
        """Whether a statement begins its line."""
        return not self.source[self.starts[node.lineno - 1] : self.span(node)[0]].strip()


def wrong_texts(node: ast.AST, text: Text) -> Iterator[tuple[str, str]]:
    """(kind, text) of the changes of one node."""
    match node:
        case ast.Compare(ops=[operator]):
            yield from text.with_others(node, [node.left, *node.comparators], operator)
        case ast.BoolOp():
            yield from text.with_others(node, node.values, node.op)
        case ast.BinOp() if not (_no_number(node.left) or _no_number(node.right)):
            yield from text.with_others(node, [node.left, node.right], node.op)
        case ast.UnaryOp(op=ast.Not()):
            begin, end = text.span(node.operand)
            yield "not ", f"bool({text.source[begin:end]})"
        case ast.Constant(value=bool(value)):
            yield "True False", str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ("n n+1" if isinstance(value, int) else "x x+1"), repr(value + 1)
        case ast.Call(func=ast.Name(id=called)) if called in CALLS:
            begin, end = text.span(node)
            yield f"{called} {CALLS[called]}", CALLS[called] + text.source[begin + len(called) : end]
        case ast.Expr(value=ast.Call()) | ast.AugAssign() if text.alone(node):
            yield "statement left out", LEFT_OUT
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) if text.alone(node):
            yield "statement left out", LEFT_OUT


def _no_number(node: ast.expr) -> bool:
    """Whether an operator's change would be of no type: texts, lists, paths to a text."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple | ast.Dict | ast.Set) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def changed_nodes(node: ast.AST, inside: bool = False) -> Iterator[ast.AST]:
    """What may be changed: what is computed in functions, but for asserts, patterns, annotations and guards."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            parts: Sequence[ast.AST] = node.body
            inside = True
        case ast.Lambda():
            parts, inside = [node.body], True
        case ast.AnnAssign():
            parts = [node.value] if node.value is not None else []
        case ast.JoinedStr() | ast.Assert() | ast.pattern():
            return
        case ast.keyword(arg=name) if name in GUARDS:
            return
        case _:
            parts = list(ast.iter_child_nodes(node))
            if inside:
                yield node
    for part in parts:
        yield from changed_nodes(part, inside)


def changes(file: str, source: str) -> list[Change]:
    """All changes of one source, in the order of its text."""
    text, found = Text(source), []
    for node in changed_nodes(ast.parse(source)):
        for kind, wrong in wrong_texts(node, text):
            begin, end = text.span(node)
            line = source.count("\n", 0, begin) + 1
            found.append(Change(file, begin, end, kind, source[begin:end], wrong, line))
    return found


def all_changes(root: Path, seed: int) -> list[Change]:
    """Of every module of the packages, in the order in which they are drawn."""
    found: list[Change] = []
    for package in PLACES:
        for path in sorted((root / package).rglob("*.py")):
            found += changes(str(path.relative_to(root)), path.read_text())
    return ordered(found, seed)


# ------------------------------------------------------------------------------------------------------- the judges


@cache
def _test_files(root: Path) -> dict[str, frozenset[str]]:
    """Each test file, and the dotted names that it imports."""
    found = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        found[str(path.relative_to(root))] = frozenset(names)
    return found


def near(file: str, plan: Plan, root: Path) -> tuple[str, ...]:
    """The test files listed for a module, or which import it; of its mirrored folder those of its name, or else all."""
    package = next(one for one in PLACES if file.startswith(f"{one}/"))
    path = Path(file).relative_to(package)
    name = module_name(file).removesuffix(".__init__")
    imports = _test_files(root)
    folder = Path("tests", PLACES[package], path.parent)
    while not (beside := [one for one in imports if Path(one).parent == folder]):
        folder = folder.parent
    found = {test for one in plan.modules if one.path == file for test in one.tests}
    found |= {one for one, names in imports.items() if name in names}
    found |= {one for one in beside if re.fullmatch(rf"test_{path.stem}\w*\.py", Path(one).name)}
    return tuple(sorted(found or beside))


# --------------------------------------------------------------------------------------------------- how it is judged


def choice(fragment: Fragment, _: str, right: str) -> str:
    """Write the choice between right and wrong as Python does, in as many lines as before."""
    out = [one for one in fragment.mutants if one.replace == LEFT_OUT]
    wrong = [one for one in fragment.mutants if one.replace != LEFT_OUT]
    if wrong:
        chain = "".join(f"({one.replace}) if dstcc_mutant({one.number}) else " for one in wrong)
        right = f"({chain}({right}))"
    return f"if not dstcc_mutant({out[0].number}): {right}" if out else right


def write_modules(mutants: Sequence[Mutant], root: Path, tree: Path) -> None:
    """Put modules with all changes into the tree. ListError where one is no Python any more."""
    for file in sorted({one.file for one in mutants}):
        text = (root / file).read_text()
        mine = [one for one in mutants if one.file == file]
        written = rewrite(text, 0, len(text), fragments(mine, text), choice)
        try:
            compile(written, file, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise ListError(f"{file}, line {error.lineno}: {error.text}") from error
        (tree / file).write_text(written)
    (tree / "dstcc_switch.py").write_text(SWITCH)
    (tree / "sitecustomize.py").write_text("import dstcc_switch\n")


def carry_into_guests(tree: Path) -> None:
    """Have guests load the switch, with our packages, and know which change is made."""
    for name in ("dstcc", "kernel-cc/dstcc_kernel"):
        path = tree / name / "__init__.py"
        text = path.read_text()
        first = "from __future__ import annotations" if "from __future__" in text else '"""\n'
        place = text.index(first) + len(first.rstrip())
        path.write_text(text[:place] + PACKAGED + text[place:])
    with (tree / "kernel-cc/dstcc_kernel/guest.py").open("a") as file:
        file.write('_boot = getattr(__import__("builtins"), "dstcc_in_guests", lambda boot: boot)(_boot)\n')


def made_tree(mutants: Sequence[Mutant], root: Path) -> Path:
    """What the tests run in."""
    tree = make_tree(root, BUILD, sorted((root / "dstcc/engine").glob("*.so")))
    for path in root.iterdir():
        if path.name not in (*TREE, "build", ".git", ".venv"):
            (tree / path.name).symlink_to(path)
    for source in chain.from_iterable((root / name).rglob("*.[ch]pp") for name in TREE):
        shutil.copy(source, tree / source.relative_to(root))
    write_modules(mutants, root, tree)
    carry_into_guests(tree)
    return tree


def switched(tree: Path) -> Switch:
    """Load the tree's switch into this process, and into those that tests start."""
    noted = tree / "reached"
    noted.touch()
    rooms = [str(tree), *(str(tree / Path(one).parent) for one in PLACES if "/" in one)]
    os.environ |= {"DSTCC_REACH": str(noted), "PYTHONPATH": os.pathsep.join(rooms)}
    spec = spec_from_loader("dstcc_switch", SourceFileLoader("dstcc_switch", str(tree / "dstcc_switch.py")))
    assert spec is not None and spec.loader is not None
    switch = sys.modules["dstcc_switch"] = module_from_spec(spec)
    spec.loader.exec_module(switch)

    def clear() -> None:
        switch.noted.clear()
        os.truncate(noted, 0)

    def reached() -> frozenset[int]:
        return frozenset(map(int, noted.read_text().split()))

    return Switch(clear, reached, partial(setattr, switch, "chosen"))


def judge(mutants: list[Mutant], options: argparse.Namespace) -> int:
    """Write, run the tests, print; the exit status."""
    tree = made_tree(mutants, ROOT)
    switch = switched(tree)
    plan = load_plan(PLAN)
    guests = plan.guests if options.kernel and any(one.file.startswith(KERNEL) for one in mutants) else ()
    ends = ends_in(judged(tree, mutants, options, ("tests",), lambda: (switch, ()), guests=guests))
    excuses = plan.equivalents
    text = {one.file: (ROOT / one.file).read_text() for one in mutants}
    for one in mutants:
        if ends.get(one.number) == "unseen":  # there are no trials that could see more
            ends[one.number] = "equivalent" if excused(one, text[one.file], excuses) else "survived"
    return report(mutants, ends, "equivalent")


def excused(one: Mutant, source: str, excuses: Sequence[Any]) -> bool:
    """Whether the line at which it begins, and what becomes of that, is listed as equivalent."""
    assert one.span is not None
    begin, end = one.span
    left = source.rfind("\n", 0, begin) + 1
    was, now = (
        text.partition("\n")[0].strip()
        for text in (source[left:], source[left:begin] + one.replace + source[end:])
    )
    return any(
        excuse.path == one.file and excuse.was == was and (now in excuse.now or ANY in excuse.now)
        for excuse in excuses
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = options_of(__doc__, 600)
    parser.add_argument(
        "--no-kernel", dest="kernel", action="store_false", help="ask no test that is marked as the kernel's"
    )
    options = parser.parse_args(arguments)
    tests_of = partial(near, plan=load_plan(PLAN), root=ROOT)
    return generated.run(all_changes(ROOT, options.seed), options, judge, tests_of)


if __name__ == "__main__":
    sys.exit(main())
