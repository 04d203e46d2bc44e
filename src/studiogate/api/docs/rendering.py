"""Render templates to responses."""

from pathlib import Path

from markupsafe import Markup, escape

from studiogate import API_VERSION
from studiogate.api.docs.assets import ASSETS
from studiogate.domain.refusals import Code
from studiogate.templating import templates_in
from studiogate.web.response import Answer


def prose(text: str) -> Markup:
    """Return the HTML of a text with `code` in backticks; an error code links to its own paragraph."""
    parts = text.split("`")
    return Markup("").join(_code(part) if index % 2 else escape(part) for index, part in enumerate(parts))


def _code(text: str) -> Markup:
    marked = Markup("<code>{}</code>").format(text)
    return Markup('<a href="/docs/errors#{}">{}</a>').format(text, marked) if text in _CODES else marked


_CODES = {code.value for code in Code}
_templates = templates_in(Path(__file__).parent / "templates")
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
