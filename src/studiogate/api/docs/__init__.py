"""The documentation pages: the API reference and the guide to every error code. They ask nothing of the outside."""

from collections.abc import Mapping

from studiogate.api.docs import assets, errors_page, reference_page
from studiogate.api.errors import Answer


def pages() -> Mapping[str, Answer]:
    """All pages by their path, made once."""
    return {
        "/docs": reference_page.answer(),
        "/docs/errors": errors_page.answer(),
        **assets.answers(),
    }
