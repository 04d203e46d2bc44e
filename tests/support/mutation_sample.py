"""A seeded sample of mutants of the rules and of the booking flows, and the share that the nearest tests notice.

`make mutants SAMPLE=300 SEED=7` prints what was not noticed and the share, and adds both to test-artefacts.
Each mutant changes one place: a comparison, an operator, a constant, a condition, or a statement that only calls. A
process that has imported the libraries is forked for each; it loads the changed source and runs the nearest tests until
one fails. The same seed gives the same mutants of the same source.
"""

import argparse
import ast
import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

# What the forked processes need not import again; nothing of the project, of which one file will differ.
import anyio
import asyncpg
import fastapi
import hypothesis
import psutil
import pytest
import structlog
import uvloop

from bench.processes import measured_commit

WARM = (anyio, asyncpg, fastapi, hypothesis, psutil, structlog, uvloop)
ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "studiogate"
SOURCES = sorted([*PACKAGE.glob("domain/**/*.py"), *PACKAGE.glob("flows/bookings/*.py")])
RECORD = ROOT / "test-artefacts" / "mutants.jsonl"
MAX_TEST_FILES, MAX_SECONDS = 3, 60
PAIRS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)],
    *[(ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)],
]
SWAPPED = dict(PAIRS) | {second: first for first, second in PAIRS}


class Mutant(NamedTuple):
    """A place of a file, as the number of a node in the order of ``ast.walk``, and the line that it changes."""

    path: Path
    node: int
    line: int

    def tree(self) -> ast.Module:
        tree = ast.parse(self.path.read_text())
        mutate(next(node for number, node in enumerate(ast.walk(tree)) if number == self.node))
        return ast.fix_missing_locations(tree)

    def __str__(self) -> str:
        text = self.path.read_text()
        before, after = ast.unparse(ast.parse(text)).split("\n"), ast.unparse(self.tree()).split("\n")
        changed = [f"{old.strip()} -> {new.strip()}" for old, new in zip(before, after, strict=False) if old != new]
        return f"{self.path.relative_to(ROOT)}:{self.line}: {changed[0] if changed else '?'}"


def mutate(node: Any) -> None:
    """Change one node in place."""
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else int(node.value) + 1  # type: ignore[arg-type]
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        node.value = ast.Constant(None)


def can_mutate(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in SWAPPED
    if isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        return type(node.op) in SWAPPED
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.If | ast.IfExp) or (isinstance(node, ast.Expr) and _calls(node.value))


def _calls(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) or (isinstance(value, ast.Await) and isinstance(value.value, ast.Call))


def mutants() -> Iterator[Mutant]:
    for path in SOURCES:
        for number, node in enumerate(ast.walk(ast.parse(path.read_text()))):
            if can_mutate(node):
                yield Mutant(path, number, node.lineno)  # type: ignore[attr-defined]  # each of these has a line


def nearest_tests(source: Path) -> list[str]:
    """Return the test files that name the module, those of its layer and of its words first, but few of them."""
    parts = source.relative_to(PACKAGE).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    folder, name = r"\.".join(("studiogate", *parts[:-1])), parts[-1]
    imported = rf"{folder}\.{name}\b|{folder} import [^\n]*\b{name}\b"
    layers = [ROOT / "tests" / layer for layer in ("domain", "flows", "worker", "api", "contract", "console", "cli")]

    def distance(test: Path) -> tuple[bool, int, int]:
        in_layer = test.parent.name == parts[0]
        return not in_layer, -sum(word.rstrip("s") in test.stem for word in parts[1:]), test.stat().st_size

    tests = [test for layer in layers for test in layer.glob("test_*.py") if re.search(imported, test.read_text())]
    if not tests:
        tests = [test for test in layers[0].glob("test_*.py") if any(word in test.stem for word in parts[1:])]
    return [str(test) for test in sorted(tests, key=distance)[:MAX_TEST_FILES]]


def is_noticed(mutant: Mutant) -> bool:
    """Run the nearest tests on the mutant in a process of its own; return whether one fails."""
    if not (tests := nearest_tests(mutant.path)):
        return False
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        load(mutant)
        os._exit(pytest.main(["-x", "-p", "no:cacheprovider", f"--timeout={MAX_SECONDS}", "--day=1", *tests]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != pytest.ExitCode.OK


def load(mutant: Mutant) -> None:
    """Let the import of the mutant's file find the mutant."""
    original, code = SourceFileLoader.get_code, compile(mutant.tree(), str(mutant.path), "exec")

    def get_code(loader: SourceFileLoader, name: str) -> Any:
        return code if Path(loader.path).resolve() == mutant.path.resolve() else original(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sample, began, missed = random.Random(given.seed).sample(list(mutants()), given.sample), time.monotonic(), []
    for number, mutant in enumerate(sample, start=1):
        if not is_noticed(mutant):
            missed.append(str(mutant))
            print(f"{number:4}  not noticed: {mutant}", flush=True)
    share = 1 - len(missed) / len(sample)
    row = {"commit": measured_commit(), "seed": given.seed, "sample": given.sample, "noticed": round(share, 3)}
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("a") as record:
        record.write(json.dumps({**row, "seconds": round(time.monotonic() - began), "missed": missed}) + "\n")
    print(f"{len(sample) - len(missed)} of {len(sample)} noticed ({share:.1%}), seed {given.seed}", file=sys.stderr)


if __name__ == "__main__":
    main()
