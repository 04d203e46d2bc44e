"""The documentation pages."""

from collections.abc import Mapping

from studiogate.api.errors import Answer


def pages() -> Mapping[str, Answer]:
    return {}
