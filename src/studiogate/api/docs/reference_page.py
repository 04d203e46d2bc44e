"""/docs: the OpenAPI document, shown by a vendored Swagger UI."""

from studiogate.api.docs import rendering
from studiogate.web.response import Answer

# Requests that are tried out go to this server only; the UI's icons are data: URLs in its style sheet.
POLICY = "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"


def answer() -> Answer:
    return rendering.page("reference.html", POLICY)
