"""Parse pages without a browser: form fields, errors, texts."""

from datetime import timedelta
from html.parser import HTMLParser

import httpx2

from studiogate.domain.forms.signed_links import make_token
from tests.support.site import Site


class PageReader(HTMLParser):
    """The contents of a page: tags with their attributes, the values that its form would post, errors by field."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.values: list[tuple[str, str]] = []
        self.errors: dict[str, str] = {}
        self.hidden: list[str] = []
        self._inside: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        self._inside = None
        if tag == "input" and given.get("name") and given.get("type") not in ("radio", "checkbox", "file"):
            self.values.append((str(given["name"]), given.get("value") or ""))
        if tag == "p" and given.get("class") == "error" and "hidden" not in given:
            self._inside = str(given.get("id"))
            self.errors[self._inside] = ""
        if "data-name" in given and "hidden" in given:
            self.hidden.append(str(given["data-name"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept, self._inside = self._inside, None
        self.handle_starttag(tag, attrs)
        self._inside = kept

    def handle_data(self, data: str) -> None:
        last = next(reversed(self.errors), None)
        if last is not None and not self.errors[last] and data.strip():
            self.errors[last] = data.strip()

    def value(self, name: str) -> str:
        return dict(self.values)[name]


def read(answer: httpx2.Response) -> PageReader:
    return PageReader(answer.text)


def token_of(site: Site, form: str, seconds: int = 60) -> str:
    """Return a token issued this many seconds ago, so that tests need not wait the minimum time."""
    row = site.sql("select link_secret, clock_timestamp() as now from studio_secrets")[0]
    return make_token(row["link_secret"], site.form_id(form), row["now"] - timedelta(seconds=seconds))
