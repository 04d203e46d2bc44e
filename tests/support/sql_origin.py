"""Where the text of SQL comes from: read off the source, whoever calls it.

The rule. Every text that is given to the database driver is made of constants only. A constant is

  - a literal; a name that a module binds at import, before there is any request;
  - a parameter or a field that describes tables and conditions (``DESCRIPTIONS``), a bool, or a member of an enum;
    what describes is itself made of constants only, wherever it is made;
  - a parameter of a function of ours to which every caller gives a constant;
  - an f-string, a sum, a choice, a lookup in a constant, or a plain function's result, of constants.

Anything else (another parameter, what was awaited, a row) is a value, and belongs into a placeholder.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
EXECUTORS = {
    *("execute", "executemany", "fetch", "fetchrow", "fetchval", "fetchmany", "cursor", "prepare"),
    *("copy_from_query", "copy_from_table", "copy_records_to_table", "copy_to_table"),
}
# What describes tables and statements, with the fields of each that hold values instead.
DESCRIPTIONS: Mapping[str, set[str]] = {
    "Resource": set(),
    "Filter": {"value"},
    "OneOf": {"values"},
    "Parent": {"id"},
    "Invariant": set(),
    "_Subject": set(),
    "Shape": set(),
    "Table": set(),
    "Column": set(),
    "Unique": set(),
    "Link": set(),
    "Limits": set(),
    "Migration": set(),
    "Statement": set(),
}
HELD_VALUES = {name for held in DESCRIPTIONS.values() for name in held}
ENUMS = {"EventType", "Scope"}
BOOLEANS = {"restricted"}
# Plain functions of the language that make nothing of their own.
BUILTINS = {"str", "list", "tuple", "dict", "set", "sorted", "zip", "enumerate", "range", "map", "filter", "next"}
TEXT_METHODS = {
    "format",
    "join",
    "replace",
    "strip",
    "items",
    "values",
    "keys",
    "get",
    "split",
    "removesuffix",
    "_replace",
    "lower",
}


@dataclass(frozen=True)
class Place:
    """Where a text is that holds a value."""

    path: str
    line: int
    why: str


@dataclass
class Module:
    path: str
    tree: ast.Module

    @cached_property
    def names(self) -> set[str]:
        """Bound at import: assigned, imported, defined."""
        bound: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                bound |= {(each.asname or each.name).split(".")[0] for each in node.names}
            else:
                bound |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and _is_stored(each)}
        return bound

    @cached_property
    def is_storage(self) -> bool:
        return self.path.startswith("storage/")

    @cached_property
    def imported_from_storage(self) -> set[str]:
        return {
            each.asname or each.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("studiogate.storage")
            for each in node.names
        }


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


@dataclass
class SourceTree:
    """All modules together: a parameter is judged by its callers."""

    modules: list[Module]
    _under_way: set[tuple[Function, str]] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path) -> "SourceTree":
        paths = sorted(path for path in folder.rglob("*.py") if "vendor" not in path.parts)
        return cls([Module(path.relative_to(folder).as_posix(), ast.parse(path.read_text())) for path in paths])

    @cached_property
    def functions(self) -> dict[str, list[tuple[Module, Function, bool]]]:
        """By name, with whether it is a method. Two of one name are judged together."""
        found: dict[str, list[tuple[Module, Function, bool]]] = {}
        for module in self.modules:
            methods = {m for c in ast.walk(module.tree) if isinstance(c, ast.ClassDef) for m in c.body}
            for node in ast.walk(module.tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found.setdefault(node.name, []).append((module, node, node in methods))
        return found

    @cached_property
    def calls(self) -> dict[str, list[tuple["Frame", ast.Call]]]:
        found: dict[str, list[tuple[Frame, ast.Call]]] = {}
        for module in self.modules:
            for frame, node in frames(self, module):
                if isinstance(node, ast.Call):
                    found.setdefault(_last_name(node.func), []).append((frame, node))
        return found

    @cached_property
    def handed_on(self) -> set[str]:
        """Functions that are mentioned and not called: whoever gets them gives them whatever they like."""
        nodes = [node for module in self.modules for node in ast.walk(module.tree)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        mentioned = (node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called)
        return {_last_name(node) for node in mentioned if isinstance(node.ctx, ast.Load)} & set(self.functions)

    def faults(self) -> list[Place]:
        """Every text for the driver, and every description, that holds a value."""
        found = []
        for name in (*EXECUTORS, *DESCRIPTIONS):
            for frame, call in self.calls.get(name, ()):
                if name in EXECUTORS:
                    found += [frame.place(each, "executed") for each in self._executed(call, frame)]
                elif frame.module.is_storage or _first_name(call.func) in frame.module.imported_from_storage:
                    found += [frame.place(each, name) for each in self._described(name, call, frame)]
        return sorted({*found, *self._executors_handed_on()}, key=lambda place: (place.path, place.line))

    def _executors_handed_on(self) -> Iterator[Place]:
        """A method of a connection that is mentioned and not called would be called out of our sight."""
        for module in self.modules:
            called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
            for frame, node in frames(self, module):
                match node:
                    case ast.Attribute() if id(node) not in called and _is_executor(node):
                        yield frame.place(node, "handed on")

    def _executed(self, call: ast.Call, frame: "Frame") -> Iterator[ast.expr]:
        """Elsewhere than in storage other things are executed as well: there, what a connection is given."""
        receiver = _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if frame.module.is_storage or "connection" in receiver:
            yield from (each for each in call.args[:1] if not frame.is_constant(each))

    def _described(self, name: str, call: ast.Call, frame: "Frame") -> Iterator[ast.expr]:
        holding = DESCRIPTIONS[name]
        positional = [each for number, each in enumerate(call.args) if not (holding and number == 1)]
        named = [each.value for each in call.keywords if each.arg not in holding]
        return (each for each in (*positional, *named) if not frame.is_constant(each))

    def is_constant_parameter(self, function: Function, argument: ast.arg) -> bool:
        """Whether every caller gives a constant. Without a caller, or when the function itself is given to others,
        nobody is known, so it is a value."""
        given = list(self._given(function, argument.arg))
        return bool(given) and function.name not in self.handed_on and self.all_constant(function, argument.arg, given)

    def all_constant(self, function: Function, name: str, bound: Iterable[tuple["Frame", ast.expr]]) -> bool:
        """Everything that a name is ever bound to. What is bound to itself, round some corners, adds nothing."""
        if (function, name) in self._under_way:
            return True
        self._under_way.add((function, name))
        try:
            return all(frame.is_constant(each) for frame, each in bound)
        finally:
            self._under_way.discard((function, name))

    def _given(self, function: Function, name: str) -> Iterator[tuple["Frame", ast.expr]]:
        (is_method,) = {method for _, each, method in self.functions[function.name] if each is function}
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)][is_method:]
        defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
        for frame, call in self.calls.get(function.name, ()):
            # What is unpacked into a call can land anywhere in it.
            yield from ((frame, each.value) for each in call.args if isinstance(each, ast.Starred))
            yield from ((frame, each.value) for each in call.keywords if each.arg is None)
            named = {each.arg: each.value for each in call.keywords}
            place = names.index(name) if name in names else len(names)
            if name in named:
                yield frame, named[name]
            elif function.args.vararg and function.args.vararg.arg == name:
                yield from ((frame, each) for each in call.args[place:] if not isinstance(each, ast.Starred))
            elif name in names and place < len(call.args):
                yield frame, call.args[place]
            elif name in defaults:
                yield frame, defaults[name]


@dataclass
class Frame:
    """A function's inside (or a module's), with the functions around it."""

    sources: SourceTree
    module: Module
    functions: tuple[Function, ...]
    inside_description: bool = False

    def place(self, node: ast.expr, why: str) -> Place:
        return Place(self.module.path, node.lineno, f"{why}: {ast.unparse(node)[:60]}")

    def is_constant(self, node: ast.AST | None) -> bool:
        match node:
            case None | ast.Constant() | ast.Compare():
                return True
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Name():
                return self._is_constant_name(node.id)
            case ast.Attribute():
                return self._is_constant_attribute(node)
            case ast.Subscript():
                return self.is_constant(node.value)
            case ast.IfExp():
                return self.is_constant(node.body) and self.is_constant(node.orelse)
            case ast.Call():
                return self._is_constant_call(node)
            case ast.Await() | ast.Lambda() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.comprehension():
                return self.is_constant(node.iter)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self.is_constant(node.elt)
            case ast.DictComp():
                return self.is_constant(node.key) and self.is_constant(node.value)
        return all(self.is_constant(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))

    def _is_constant_attribute(self, node: ast.Attribute) -> bool:
        if node.attr in HELD_VALUES and not _is_enum(node.value):
            return False
        return node.attr in BOOLEANS or self.is_constant(node.value)

    def _is_constant_call(self, call: ast.Call) -> bool:
        ours = [function for _, function, _ in self.sources.functions.get(_last_name(call.func), ())]
        if ours and all(_mentions(each.returns, set(DESCRIPTIONS)) for each in ours):
            return True  # it is judged where it is made
        if isinstance(call.func, ast.Name) and call.func.id == "len":
            return True  # a number
        arguments = [*call.args, *(each.value for each in call.keywords)]
        if not all(self.is_constant(each.value if isinstance(each, ast.Starred) else each) for each in arguments):
            return False
        if isinstance(call.func, ast.Attribute) and call.func.attr in TEXT_METHODS:
            return self.is_constant(call.func.value)
        if isinstance(call.func, ast.Name) and call.func.id in BUILTINS | set(DESCRIPTIONS):
            return True
        plain = bool(ours) and all(isinstance(each, ast.FunctionDef) for each in ours)
        return plain and (not isinstance(call.func, ast.Attribute) or self.is_constant(call.func.value))

    def _is_constant_name(self, name: str) -> bool:
        for function in reversed(self.functions):
            bound = _bindings(function).get(name)
            if bound is not None:
                return self.sources.all_constant(function, name, ((self, each) for each in bound))
            argument = _parameters(function).get(name)
            if argument is not None:
                return self._is_constant_parameter(function, argument)
        return name in self.module.names

    def _is_constant_parameter(self, function: Function, argument: ast.arg) -> bool:
        if argument.arg == "self":
            return self.inside_description
        if _mentions(argument.annotation, set(DESCRIPTIONS) | ENUMS | {"bool"}):
            return True
        return self.sources.is_constant_parameter(function, argument)


def frames(sources: SourceTree, module: Module) -> Iterator[tuple[Frame, ast.AST]]:
    """Every node with the functions that it stands in."""

    def walk(node: ast.AST, frame: Frame) -> Iterator[tuple[Frame, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            yield frame, child
            inner = frame
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = Frame(sources, module, (*frame.functions, child), frame.inside_description)
            elif isinstance(child, ast.ClassDef):
                inner = Frame(sources, module, frame.functions, child.name in DESCRIPTIONS)
            yield from walk(child, inner)

    return walk(module.tree, Frame(sources, module, ()))


def _last_name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _first_name(called: ast.expr) -> str:
    """Return the name that is imported: of ``rows.Table`` it is the module."""
    return _first_name(called.value) if isinstance(called, ast.Attribute) else _last_name(called)


def _is_enum(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ENUMS


def _is_executor(node: ast.Attribute) -> bool:
    return node.attr in EXECUTORS and "connection" in _last_name(node.value)


def _mentions(annotation: ast.expr | None, names: set[str]) -> bool:
    return annotation is not None and any(isinstance(e, ast.Name) and e.id in names for e in ast.walk(annotation))


def _parameters(function: Function) -> dict[str, ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return {each.arg: each for each in every}


def _bindings(function: Function) -> dict[str, list[ast.expr]]:
    """What each local name is ever bound to."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        for target, value in _bound_by(node):
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and _is_stored(name):
                    bound.setdefault(name.id, []).append(value)
    return bound


def _bound_by(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Tuple() as several], value=ast.Tuple() as values):
            yield from zip(several.elts, values.elts, strict=True)
        case ast.Assign():
            yield from ((target, node.value) for target in node.targets)
        case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
            yield node.target, value
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield node.target, node.iter
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    yield item.optional_vars, item.context_expr
