"""The documentation pages: the API reference and the guide to all error codes. They load nothing from other servers."""

from collections.abc import Mapping

from studiogate.api.docs import assets, errors_page, reference_page
from studiogate.web.response import Answer


def pages() -> Mapping[str, Answer]:
    """Return all pages by path, built once."""
    return {
        "/docs": reference_page.answer(),
        "/docs/errors": errors_page.answer(),
        **assets.answers(),
    }
