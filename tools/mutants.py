"""Test the tests: put small faults into the package, one at a time, and count those that no test notices.

    python tools/mutants.py                      # 200 mutants, seed 0
    python tools/mutants.py --jobs 2 --only 3,17,40-59
    python tools/mutants.py --list               # show the diffs, run nothing
    python tools/mutants.py --module _response.py --tests tests/test_response.py   # of one module, by some tests

The sample is drawn from all mutants of `MODULES` (the compiled kernels have their own tests). The default suite runs
once under coverage, which records the lines that each test runs; ``.mutants`` keeps this record until the package or
the tests change. A mutant then runs the quick tests of its lines. It lives in the memory of a fork of one process that
has imported the other packages, so no file is changed. A mutant counts as killed if a test fails, if it cannot be
imported, or if its tests take far longer than without it. The survivors are shown as diffs. Documentation, annotations
and the wording of messages are never mutated.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "skglex"
FOLDERS = [
    "_decomposition",
    "_input",
    "_leaves",
    "_mixed_rows",
    "_planted",
    "_readers",
    "_utils",
    "components",
]
MODULES = ["_*.py", *(f"{folder}/*.py" for folder in FOLDERS)]
RECORD = ROOT / ".mutants"
# Clusters cannot be started in a fork, and tests of the project run no code of the package.
LEFT_OUT = ("tests/dask/", "tests/project/")
# In seconds: tests are timed from here on, are too slow from here on, and all tests of a mutant take this at most.
QUICK, SLOW, BUDGET = 0.05, 2.0, 20.0
# Functions that write text.
TEXT = {"__repr__", "__str__", "_repr_html_"}
MEMORY = 4 << 30
# Of how long the tests take without a mutant.
PATIENCE = 4.0

ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*"}
ARITHMETIC |= {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
COMPARISON = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
}
COMPARISON |= {"is": ["is not"], "is not": ["is"], "in": ["not in"], "not in": ["in"]}
CALLED = {
    "min": "max",
    "any": "all",
    "minimum": "maximum",
    "zeros": "ones",
    "floor": "ceil",
    "argmin": "argmax",
}
CALLED |= {new: old for old, new in CALLED.items()} | {"sorted": "list", "cumsum": "asarray"}
SYMMETRIC = {"min", "max", "minimum", "maximum", "array_equal"}
# Keywords that change time or text only.
QUIET = {"n_jobs", "verbose", "label", "stacklevel"}


@dataclass(frozen=True)
class Mutant:
    """A replacement of part of a module's text."""

    path: Path
    kind: str
    start: int
    end: int
    text: str
    lines: range

    @property
    def module(self) -> str:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def source(self) -> str:
        before = self.path.read_bytes()
        return (before[: self.start] + self.text.encode() + before[self.end :]).decode()

    def diff(self) -> str:
        name, before = str(self.path.relative_to(ROOT)), self.path.read_text(encoding="utf-8")
        lines = difflib.unified_diff(
            before.splitlines(), self.source().splitlines(), name, name, "", "", 2, ""
        )
        return "\n".join(line for line in lines if not line.startswith("+++"))


# -- making them -----------------------------------------------------------------------------------


def is_text(node: ast.AST | None) -> bool:
    """Text, or a list or tuple written out: no numbers to add."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def symbol(op: Any) -> str:
    """An operator as it is written."""
    a, b = ast.Name("a"), ast.Name("b")
    node = ast.Compare(a, [op], [b]) if isinstance(op, ast.cmpop) else ast.BinOp(a, op, b)
    return ast.unparse(node)[2:-2]


def children(node: ast.AST) -> Iterator[ast.AST]:
    """What may be mutated below a node: no annotations, decorators or messages."""
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                match child:
                    case ast.FunctionDef(name=name) if name in TEXT:
                        pass
                    case ast.JoinedStr() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                        pass
                    case ast.Call(func=ast.Name(id="warn_user" | "cast" | "TypeVar")):
                        pass
                    case ast.AST():
                        yield child


class Source:
    """A module's text, to make mutants of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_bytes()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def start(self, node: Any) -> int:
        return int(self.starts[node.lineno - 1] + node.col_offset)

    def end(self, node: Any) -> int:
        return int(self.starts[node.end_lineno - 1] + node.end_col_offset)

    def between(self, start: int, end: int) -> str:
        return self.text[start:end].decode()

    def of(self, node: ast.AST) -> str:
        return self.between(self.start(node), self.end(node))

    def mutants(self) -> Iterator[Mutant]:
        pending: list[tuple[Any, int]] = [(ast.parse(self.text), 0)]
        while pending:
            node, line = pending.pop()
            if isinstance(node, ast.stmt | ast.excepthandler):
                line = node.lineno
            pending += [(child, line) for child in children(node)]
            for kind, start, end, text in self.variants(node):
                last: Any = node.test.end_lineno if isinstance(node, ast.If | ast.While) else node.end_lineno
                yield Mutant(self.path, kind, start, end, text, range(line, int(last) + 1))

    def variants(self, node: Any) -> Iterator[tuple[str, int, int, str]]:
        """Mutants of one node, not of those below it: kind, start and end of what is replaced, and by what."""

        def whole(kind: str, text: str) -> tuple[str, int, int, str]:
            return kind, self.start(node), self.end(node), text

        def operator(
            kind: str, left: ast.AST, op: str, right: ast.AST, new: str
        ) -> tuple[str, int, int, str]:
            between = self.between(self.end(left), self.start(right)).replace(op, new, 1)
            before = self.between(self.start(node), self.end(left))
            return whole(kind, f"({before}{between}{self.between(self.start(right), self.end(node))})")

        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                for new in COMPARISON[symbol(op)]:
                    yield operator("comparison", left, symbol(op), right, new)
            case ast.BinOp(left=left, op=op, right=right) if not (is_text(left) or is_text(right)):
                yield operator("arithmetic", left, symbol(op), right, ARITHMETIC[symbol(op)])
            case ast.AugAssign(target=left, op=op, value=right):
                new = ARITHMETIC[symbol(op)]
                yield whole(
                    "arithmetic", f"{self.of(left)} {new}= {self.between(self.start(right), self.end(node))}"
                )
                yield whole("statement", "pass")
            case ast.BoolOp(op=op, values=values):
                new = " or " if isinstance(op, ast.And) else " and "
                yield whole("and/or", "(" + new.join(f"({self.of(value)})" for value in values) + ")")
                yield whole("operand", f"({self.of(values[0])})")
                yield whole("operand", f"({self.of(values[-1])})")
            case ast.UnaryOp(operand=operand):
                yield whole("unary", f"({self.of(operand)})")
            case ast.Constant(value=bool(value)):
                yield whole("constant", str(not value))
            case ast.Constant(value=int(value) | float(value)) if value + 1 == value:
                yield whole("constant", repr(value / 2))
            case ast.Constant(value=int(value) | float(value)):
                yield whole("constant", repr(value + 1))
                yield whole("constant", repr(value - 1) if value >= 1 else f"({value - 1!r})")
            case ast.IfExp(body=body, test=test, orelse=orelse):
                yield whole("condition", f"({self.of(orelse)} if {self.of(test)} else {self.of(body)})")
            case ast.If(test=test) | ast.While(test=test):
                if not isinstance(test, ast.Compare | ast.UnaryOp):  # these have mutants of their own
                    yield "condition", self.start(test), self.end(test), f"not ({self.of(test)})"
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if node.generators[
                0
            ].ifs:
                test = node.generators[0].ifs[0]
                yield "condition", self.start(test), self.end(test), "True"
            case ast.Call(func=func, args=args, keywords=keywords):
                name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
                if name in CALLED:
                    yield "function", self.end(func) - len(name), self.end(func), CALLED[name]
                if (
                    len(args) > 1
                    and name not in SYMMETRIC
                    and not any(isinstance(arg, ast.Starred) for arg in args[:2])
                    and self.of(args[0]) != self.of(args[1])
                ):
                    a, b = args[:2]
                    between = self.between(self.end(a), self.start(b))
                    yield "argument order", self.start(a), self.end(b), f"{self.of(b)}{between}{self.of(a)}"
                parts = [*args, *keywords]
                for i, keyword in enumerate(parts):
                    if not (isinstance(keyword, ast.keyword) and keyword.arg) or keyword.arg in QUIET:
                        continue
                    if i + 1 < len(parts):
                        yield "argument", self.start(keyword), self.start(parts[i + 1]), ""
                    elif i:
                        yield "argument", self.end(parts[i - 1]), self.end(keyword), ""
            case ast.Return(value=value) if not (
                is_text(value) or ast.unparse(node) in ("return", "return None")
            ):
                yield whole("return", "return None")
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete():
                yield whole("statement", "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield whole("statement", "pass")
            case ast.Break():
                yield whole("loop", "continue")
            case ast.Continue():
                yield whole("loop", "break")


def mutants(modules: list[str]) -> list[Mutant]:
    """Return every mutant of some modules, given by patterns within the package, in a fixed order."""
    paths = {path for pattern in modules for path in PACKAGE.glob(pattern) if path.name != "_html.py"}
    found = [mutant for path in paths for mutant in Source(path).mutants()]
    return sorted(found, key=lambda m: (m.module, m.start, m.end, m.text))


# -- running them ----------------------------------------------------------------------------------


class Finder(SourceFileLoader):
    """Imports the mutated module in place of the one on disk."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self.code = compile(mutant.source(), str(mutant.path), "exec")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> Any:
        return self.code


def import_all(tests: list[str]) -> None:
    """Collect the tests, which imports what they import; then forget the package (but its kernels) and the tests."""
    with redirect_stdout(StringIO()) as output:
        if pytest.main(["-qq", "--collect-only", *tests]):
            raise SystemExit(output.getvalue())
    for path in (PACKAGE / "_kernels").glob("[!_]*.py"):
        importlib.import_module(f"skglex._kernels.{path.stem}")
    for name, module in list(sys.modules.items()):
        path = Path(getattr(module, "__file__", None) or "/")
        if path.is_relative_to(ROOT) and not path.is_relative_to(PACKAGE / "_kernels") and name != "__main__":
            del sys.modules[name]


class Selection:
    """Choose the quick tests that run what a mutant changes, the likeliest to notice first."""

    def __init__(self, recorded_tests: list[str], n_jobs: int) -> None:
        times = RECORD / digest(recorded_tests)
        if not times.exists():
            record(recorded_tests, n_jobs, times)
        self.lines = CoverageData(str(RECORD / "coverage"))
        self.lines.read()
        self.seconds: dict[str, float] = json.loads(times.read_text(encoding="utf-8"))

    def __call__(self, mutant: Mutant) -> list[str]:
        by_line = self.lines.contexts_by_lineno(str(mutant.path))
        contexts = {context for line in mutant.lines for context in by_line.get(line, [])}
        # Lines that run while the module is imported matter to every test of the module.
        if "" in contexts:
            contexts = {context for found in by_line.values() for context in found}
        # A context is the id of a test and its phase.
        tests = {context.rpartition("|")[0] for context in contexts}
        words = re.findall("[a-z]+", mutant.module)[1:]

        def rank(test: str) -> tuple[bool, float, str]:
            return not any(word in test.partition("::")[0] for word in words), self.cost([test]), test

        chosen, spent = [], 0.0
        for test in sorted(tests, key=rank):
            known = test.startswith("tests/") and not test.startswith(LEFT_OUT)
            if known and (cost := self.cost([test])) <= SLOW and (spent := spent + cost) <= BUDGET:
                chosen.append(test)
        return chosen

    def cost(self, tests: list[str]) -> float:
        """Return the seconds that tests take without a mutant."""
        return sum(self.seconds.get(test, QUICK) for test in tests)


def digest(tests: list[str]) -> str:
    """Return a hash of the package, the tests, and which of them are recorded."""
    paths = sorted(path for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py"))
    return sha256(repr(tests).encode() + b"".join(path.read_bytes() for path in paths)).hexdigest()


def record(tests: list[str], n_jobs: int, times: Path) -> None:
    """Run tests under coverage; keep which test runs which line, and the seconds of tests over `QUICK`."""
    shutil.rmtree(RECORD, ignore_errors=True)
    RECORD.mkdir()
    print("recording which test runs which line: once, some ten minutes", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(n_jobs), "--cov=skglex", "--cov-context=test"]
    command += ["--cov-report=", "--durations=0", f"--durations-min={QUICK}", *tests]
    environment = {**os.environ, "COVERAGE_FILE": str(RECORD / "coverage")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the tests fail without a mutant:\n{done.stdout[-2000:]}")
    seconds: dict[str, float] = Counter()
    for took, test in re.findall(r"^([\d.]+)s (?:setup|call|teardown) +(.*)$", done.stdout, re.MULTILINE):
        seconds[test] += float(took)
    times.write_text(json.dumps(seconds), encoding="utf-8")


def start(mutant: Mutant, tests: list[str], output: Path) -> int:
    """Run the tests of a mutant in a fork. Returns the process id."""
    if pid := os.fork():
        return pid
    code = 70
    try:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        sys.meta_path.insert(0, Finder(mutant))
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


@dataclass
class Result:
    """What became of a mutant: how long it took, and the test that it failed, if any."""

    survived: bool
    seconds: float
    why: str


def run(
    sample: dict[int, Mutant], tests_of: Selection, n_jobs: int, report: Callable[[int, Result], None]
) -> None:
    """Run mutants, some at a time."""
    waiting = list(sample)[::-1]
    running: dict[int, tuple[int, float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="skglex-mutants-") as folder:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                number = waiting.pop()
                if tests := tests_of(sample[number]):
                    limit = 20 + PATIENCE * tests_of.cost(tests)
                    pid = start(sample[number], tests, Path(folder, str(number)))
                    running[pid] = number, time.perf_counter(), limit
                else:
                    report(number, Result(True, 0.0, "no test runs it"))
            time.sleep(0.02)
            for pid, (number, since, limit) in list(running.items()):
                done, status = os.waitpid(pid, os.WNOHANG)
                took = time.perf_counter() - since
                if not done and took < limit:
                    continue
                if not done:
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                del running[pid]
                lines = Path(folder, str(number)).read_text(errors="replace").splitlines()
                failed = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
                why = (failed or lines[-1:] or ["no output"])[0] if done else "time"
                why = "crash" if done and os.WIFSIGNALED(status) else why
                report(number, Result(bool(done) and status == 0, took, why))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="number of mutants (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--only", help="numbers within the sample, such as 3,17 or 0-49")
    parser.add_argument("--module", nargs="+", default=MODULES, help="patterns of modules within the package")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="tests that may notice (default: all)")
    parser.add_argument("--list", action="store_true", help="show the diffs, run nothing")
    parser.add_argument("--verbose", action="store_true", help="also show what killed the others")
    args = parser.parse_args()
    every = mutants(args.module)
    sample = random.Random(args.seed).sample(every, min(args.sample, len(every)))
    ranges = [part.split("-") for part in (args.only or f"0-{len(sample) - 1}").split(",")]
    numbers = [i for r in ranges for i in range(int(r[0]), int(r[-1]) + 1) if i < len(sample)]
    if args.list:
        for i in numbers:
            print(f"-- {i}: {sample[i].kind}\n{sample[i].diff()}")
        return 0
    os.environ["OMP_NUM_THREADS"] = "1"  # a process with threads cannot be forked
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    tests_of = Selection(args.tests, args.jobs)
    import_all(args.tests)
    results: dict[int, Result] = {}
    print(f"{len(numbers)} of {len(every):,} mutants", flush=True)

    def report(number: int, result: Result) -> None:
        results[number] = result
        mutant = sample[number]
        if result.survived:
            print(f"\n-- {number} survived: {mutant.kind}, {result.why}\n{mutant.diff()}", flush=True)
        elif args.verbose:
            print(f"-- {number} killed in {result.seconds:.1f} s: {mutant.kind}: {result.why}", flush=True)

    run({i: sample[i] for i in numbers}, tests_of, args.jobs, report)
    by_kind = (
        Counter(sample[i].kind for i in results),
        Counter(sample[i].kind for i in results if results[i].survived),
    )
    for kind, n in sorted(by_kind[0].items()):
        print(f"{kind:>16}: {n - by_kind[1][kind]:3} of {n:3} killed")
    survivors = sorted(i for i, result in results.items() if result.survived)
    timed = sum(result.why == "time" for result in results.values())
    killed = len(results) - len(survivors)
    print(f"killed {killed} of {len(results)} ({killed / len(results):.1%}), {timed} of them by time")
    print(f"survivors: {','.join(map(str, survivors))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
