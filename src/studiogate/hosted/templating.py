"""The templates of the hosted pages."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from studiogate.hosted import assets
from studiogate.templating import templates_in

_templates = templates_in(Path(__file__).parent / "templates")
_templates.globals.update(asset=assets.ASSETS.address, theme=assets.THEMES.address)


def render(template: str, values: dict[str, object]) -> str:
    return _templates.get_template(template).render(values)


def render_field(view: object) -> Markup:
    """Return the HTML of one field of a form."""
    show: Any = vars(_templates.get_template("fields.html").module)["show"]
    html: Markup = show(view)
    return html
