"""Find the routes of a path in a tree of segments, which is walked once per request."""

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

Route = TypeVar("Route")


class Match(NamedTuple, Generic[Route]):
    """The routes of a path by method, and the values of its variable segments in order."""

    template: str
    by_method: Mapping[str, Route]
    values: tuple[str, ...]

    def route(self, method: str) -> Route | None:
        return self.by_method.get("GET" if method == "HEAD" else method)

    @property
    def allow(self) -> str:
        methods = {"OPTIONS", *self.by_method}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))


class _Node(Generic[Route]):
    __slots__ = ("by_method", "by_segment", "template", "variable")

    def __init__(self) -> None:
        self.by_segment: dict[str, _Node[Route]] = {}
        self.variable: _Node[Route] | None = None
        self.by_method: dict[str, Route] = {}
        self.template = ""

    def child(self, segment: str) -> "_Node[Route]":
        if segment.startswith("{"):
            self.variable = self.variable or _Node()
            return self.variable
        return self.by_segment.setdefault(segment, _Node())


class RouteTree(Generic[Route]):
    """The routes of a front end below one prefix: triples of a method, a path such as ``/members/{id}`` and what serves
    it. A literal segment is preferred to a variable one."""

    def __init__(self, prefix: str, routes: Iterable[tuple[str, str, Route]]) -> None:
        self._root: _Node[Route] = _Node()
        self._depth = prefix.count("/") + 1
        for method, path, route in routes:
            node = self._root
            for segment in filter(None, path.split("/")):
                node = node.child(segment)
            node.template = prefix + path
            node.by_method[method] = route

    def match(self, path: str) -> Match[Route] | None:
        """Return the routes of a path below the prefix. With a trailing slash it is a different path."""
        node, values = self._root, []
        for segment in path.split("/")[self._depth :]:
            below = node.by_segment.get(segment)
            if below is None:
                below = node.variable
                values.append(segment)
            if below is None or not segment:
                return None
            node = below
        return Match(node.template, node.by_method, tuple(values)) if node.by_method else None
