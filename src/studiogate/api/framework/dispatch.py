"""Find the routes of a path in a tree of segments, which is walked once per request."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from studiogate.api.framework.route import LeanRoute


class Match(NamedTuple):
    template: str
    by_method: Mapping[str, LeanRoute]
    values: tuple[str, ...]

    @property
    def allow(self) -> str:
        methods = {"OPTIONS", *self.by_method}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))


class _Node:
    __slots__ = ("by_method", "by_segment", "template", "variable")

    def __init__(self) -> None:
        self.by_segment: dict[str, _Node] = {}
        self.variable: _Node | None = None
        self.by_method: dict[str, LeanRoute] = {}
        self.template = ""

    def child(self, segment: str) -> "_Node":
        if segment.startswith("{"):
            self.variable = self.variable or _Node()
            return self.variable
        return self.by_segment.setdefault(segment, _Node())


class RouteTree:
    """All routes below one prefix."""

    def __init__(self, prefix: str, routes: Iterable[LeanRoute]) -> None:
        self._root = _Node()
        self._depth = prefix.count("/") + 1
        for route in routes:
            self._add(prefix, route)

    def _add(self, prefix: str, route: LeanRoute) -> None:
        node = self._root
        for segment in route.path.strip("/").split("/"):
            node = node.child(segment)
        node.template = prefix + route.path
        for method in route.methods or ():
            node.by_method[method] = route

    def match(self, path: str) -> Match | None:
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
