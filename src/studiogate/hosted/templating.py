"""The templates of the hosted pages, compiled once."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from studiogate.hosted import assets

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(asset=assets.ASSETS.address, theme=assets.THEMES.address)


def warm() -> None:
    """Read every asset and compile every template, so that the first visitor does not wait for it."""
    assets.ASSETS.address("form.css")
    for name in _templates.list_templates():
        _templates.get_template(name)


def render(template: str, values: dict[str, Any]) -> str:
    return _templates.get_template(template).render(values)


def render_field(view: object) -> Markup:
    """Return the HTML of one field of a form."""
    show: Any = vars(_templates.get_template("fields.html").module)["show"]
    html: Markup = show(view)
    return html
