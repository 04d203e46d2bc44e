"""The console's templates, its styles and scripts, and the stylesheet of a studio's colour.

Every template has functions of ``formats`` as filters, ``asset`` for addresses of styles and scripts, and what
``ConsoleRequest`` passes: the signed-in person, the studio, the form's tokens. Names that are not there fail loudly.
"""

from collections.abc import Mapping
from pathlib import Path

from studiogate.console.framework import formats
from studiogate.domain.logos import logo_path
from studiogate.domain.names import MAX_NAME
from studiogate.domain.retention import EVENT_DAYS, REQUEST_DAYS
from studiogate.templating import templates_in
from studiogate.web.response import Answer, Header
from studiogate.web.static_assets import SHARED, StaticAssets, Themes

PREFIX = "/console/assets/"
ASSETS = StaticAssets(PREFIX, SHARED, Path(__file__).parent.parent / "static")
THEMES = Themes(PREFIX, tinted_page=False)
# This site's own scripts and styles and nothing inline: markup that somebody stored in a name cannot run. No other site
# can show a page in a frame.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The same for a page that shows another page of this service in a frame.
WITH_FRAMES: Header = (b"content-security-policy", POLICY + b"; frame-src 'self'")


def find(path: str, *, zipped: bool) -> Answer | None:
    return THEMES.find(path) or ASSETS.find(path, zipped=zipped)


_environment = templates_in(Path(__file__).parent.parent / "templates")
_environment.filters.update({each.__name__: each for each in formats.FILTERS})
_environment.globals.update(
    asset=ASSETS.address,
    theme_address=THEMES.address,
    logo_path=logo_path,
    event_days=EVENT_DAYS,
    max_name=MAX_NAME,
    request_days=REQUEST_DAYS,
)


def render(template: str, values: Mapping[str, object]) -> str:
    return _environment.get_template(template).render(values)


def render_block(template: str, block: str, values: Mapping[str, object]) -> str:
    """Return one block of a template, without the page around it. What the template imports at its top is executed
    first: its first output comes from the template that it extends, whose blocks it has then."""
    found = _environment.get_template(template)
    context = found.new_context(dict(values))
    next(found.root_render_func(context), None)
    return "".join(context.blocks[block][0](context))
