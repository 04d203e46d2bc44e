"""The templates of the hosted pages, their styles and scripts, the script for other sites, and pictures."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from studiogate.domain.logos import Logo
from studiogate.templating import templates_in
from studiogate.web.response import Answer, Header
from studiogate.web.static_assets import FOREVER, SHARED, StaticAssets, Themes

PREFIX = "/f/assets/"
EMBED = "/f/embed.js"
# Sites that embed a form or show the logo load them across origins; they contain no personal data.
_ANY_ORIGIN: Header = (b"cross-origin-resource-policy", b"cross-origin")
ASSETS = StaticAssets(PREFIX, SHARED / "tokens.css", Path(__file__).parent / "static", headers=(_ANY_ORIGIN,))
THEMES = Themes(PREFIX, tinted_page=True)


def find(path: str, *, zipped: bool) -> Answer | None:
    if path == EMBED:
        # Other sites' pages contain this address, so it cannot include a hash; browsers cache it for 5 minutes only.
        return ASSETS.answer("embed.js", (b"cache-control", b"public, max-age=300"), zipped=zipped)
    return THEMES.find(path) or ASSETS.find(path, zipped=zipped)


def image(logo: Logo) -> Answer:
    """Return a studio's logo. Partners may show it in their own pages."""
    return Answer(200, logo.content, ((b"content-type", logo.content_type.encode()), FOREVER, _ANY_ORIGIN))


def of_picture(name: str) -> tuple[Header, ...]:
    """Return the headers of a picture of a class type or an instructor, which partners show in their own pages."""
    return ((b"content-type", b"image/jpeg"), (b"etag", b'"' + name.encode() + b'"'), FOREVER, _ANY_ORIGIN)


_templates = templates_in(Path(__file__).parent / "templates")
_templates.globals.update(asset=ASSETS.address, theme=THEMES.address)


def render(template: str, values: dict[str, object]) -> str:
    return _templates.get_template(template).render(values)


def render_field(view: object) -> Markup:
    show: Any = vars(_templates.get_template("fields.html").module)["show"]
    html: Markup = show(view)
    return html
