"""The documentation pages: the API reference and the guide to all error codes. They load nothing from other servers."""

import json
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup, escape

from studiogate import API_VERSION
from studiogate.api.framework.errors import RETRYABLE, STATUS, chapters, example_body
from studiogate.domain.refusals import MESSAGES, Code
from studiogate.templating import templates_in
from studiogate.web.response import Answer
from studiogate.web.static_assets import FOREVER, SHARED, StaticAssets

_HERE = Path(__file__).parent
ASSETS = StaticAssets("/docs/assets/", SHARED / "tokens.css", _HERE / "static", _HERE / "vendor" / "swagger-ui")
PLAIN = "style-src 'self'; img-src data:"
# Requests that are tried out go to this server only; the UI's icons are data: URLs in its style sheet.
REFERENCE = "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"


def prose(text: str) -> Markup:
    """Return the HTML of a text with `code` in backticks; an error code links to its own paragraph."""
    parts = text.split("`")
    return Markup("").join(_code(part) if index % 2 else escape(part) for index, part in enumerate(parts))


def _code(text: str) -> Markup:
    marked = Markup("<code>{}</code>").format(text)
    return Markup('<a href="/docs/errors#{}">{}</a>').format(text, marked) if text in _CODES else marked


_CODES = {code.value for code in Code}
_templates = templates_in(_HERE / "templates")
_templates.filters["prose"] = prose
_templates.globals.update(asset=ASSETS.address, api_version=API_VERSION)


def page(template: str, policy: str, **values: object) -> Answer:
    """Return an HTML page whose content security policy allows ``policy`` and nothing else."""
    policy = f"default-src 'none'; {policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"content-security-policy", policy.encode()),
    )
    return Answer(200, _templates.get_template(template).render(values).encode(), headers)


def pages() -> Mapping[str, Answer]:
    """Return all pages and files by path, built once: /docs shows the OpenAPI document with a vendored Swagger UI,
    /docs/errors has one paragraph per code, generated from the same tables as the responses themselves."""
    facts = {code: _facts(code) for code in Code}
    return {
        "/docs": page("reference.html", REFERENCE),
        "/docs/errors": page("errors.html", PLAIN, chapters=chapters(), facts=facts),
        **{ASSETS.address(name): ASSETS.answer(name, FOREVER, zipped=False) for name in ASSETS.names},
    }


def _facts(code: Code) -> dict[str, object]:
    return {
        "status": STATUS[code][1],
        "message": MESSAGES[code],
        "retryable": code in RETRYABLE,
        "example": json.dumps(example_body(code), indent=2, ensure_ascii=False),
    }
