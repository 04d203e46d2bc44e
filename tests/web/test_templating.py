"""Templates are read once, escape HTML and fail loudly."""

from pathlib import Path

import pytest
from jinja2 import TemplateNotFound, UndefinedError

import studiogate
from studiogate.templating import templates_in

PACKAGE = Path(studiogate.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "name.html").write_text("<b>{{ name }}</b>", encoding="utf-8")
    (tmp_path / "page.html").write_text("{% include 'parts/name.html' %}", encoding="utf-8")
    (tmp_path / "mail.txt").write_text("{{ name }}", encoding="utf-8")
    return tmp_path


def test_html_is_escaped_and_plain_text_is_not(folder: Path) -> None:
    templates = templates_in(folder)
    assert templates.get_template("page.html").render(name="<i>Ü") == "<b>&lt;i&gt;Ü</b>"
    assert templates.get_template("mail.txt").render(name="<i>Ü") == "<i>Ü"


def test_they_are_not_read_again(folder: Path) -> None:
    """A process that has dropped root privileges may not be able to read them."""
    templates = templates_in(folder)
    for file in [*folder.rglob("*.html"), folder / "mail.txt"]:
        file.unlink()
    assert templates.get_template("page.html").render(name="A") == "<b>A</b>"


def test_what_is_missing_fails(folder: Path) -> None:
    templates = templates_in(folder)
    with pytest.raises(UndefinedError):
        templates.get_template("page.html").render()
    with pytest.raises(TemplateNotFound):
        templates.get_template("../page.html")


def test_pages_have_html_templates_only() -> None:
    """What has another name would not be escaped; mails have a part in plain text."""
    files = [file for folder in PACKAGE.rglob("templates") for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 80, "the check sees them"
    assert [file for file in files if file.suffix != ".html"] == []
