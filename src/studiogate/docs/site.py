"""The pages: each is rendered once, on its first request, because their sources do not change while a process runs."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from studiogate.docs import contents, reference, reference_text, rendering, search
from studiogate.docs.contents import CONTENTS, ENTRIES, FRONT, IMAGES, REFERENCE, Entry
from studiogate.docs.rendering import Section
from studiogate.web.static_assets import SHARED, StaticAssets

_HERE = Path(__file__).parent
ASSETS = StaticAssets("/docs/assets/", SHARED / "tokens.css", SHARED / "ui.css", _HERE / "static", *contents.images())
# In samples; a page shows the address of the service instead.
SAMPLE_ADDRESS = "http://127.0.0.1:8080"
SUMMARY = (
    "The partner interface of a fitness studio: schedule, members, bookings, forms and events over HTTP and JSON, "
    "with webhooks. Self-hosted."
)


class Page(NamedTuple):
    """A page as the template shows it. ``template`` extends layout.html."""

    entry: Entry
    title: str
    description: str
    body: Markup
    sections: Sequence[Section]
    markdown: str
    template: str = "page.html"
    chapter: reference.Chapter | None = None


class Site:
    """All pages. ``texts`` are the Markdown of those that are no files, by name; ``document`` is the OpenAPI document,
    ``address`` the service's own."""

    def __init__(
        self,
        texts: Mapping[str, Callable[[], str]],
        document: Callable[[], Mapping[str, Any]],
        address: Callable[[], str],
    ) -> None:
        self._sources = contents.read_sources()
        self._texts = texts
        self._document = document
        self._address = address
        self._pages: dict[str, Page] = {}

    def page(self, name: str) -> Page | None:
        """Return the page at /docs/NAME."""
        if name not in self._pages and name.partition("/")[0] == REFERENCE:
            page = self._of_reference(name.partition("/")[2], name)
            if page is not None:
                self._pages[name] = page
        elif name in ENTRIES and name not in self._pages:
            self._pages[name] = self._rendered(ENTRIES[name])
        return self._pages.get(name)

    @cached_property
    def pages(self) -> list[Page]:
        chapters = [f"{REFERENCE}/{name}" for name in self.reference.chapters]
        return [page for name in (*ENTRIES, *chapters) if (page := self.page(name)) is not None]

    @cached_property
    def reference(self) -> reference.Reference:
        return reference.Reference(self._document(), self._address())

    @cached_property
    def index(self) -> search.Index:
        """Return the index of all sections, for searches."""
        return search.Index(
            [
                search.Section(
                    page.entry.path + (f"#{each.anchor}" if each.level > 1 else ""),
                    page.title,
                    each.title,
                    each.text,
                    WEIGHTS.get(page.entry.name, 1.0),
                )
                for page in self.pages
                for each in page.sections
            ]
        )

    @cached_property
    def summary(self) -> str:
        """Return /llms.txt: all pages, with the addresses of their Markdown."""
        lines = ["# Studiogate", "", f"> {SUMMARY}", ""]
        for group, entries in CONTENTS.items():
            lines += [f"## {group}", ""]
            for page in filter(None, (self.page(entry.name) for entry in entries)):
                lines.append(f"- [{page.title}]({self._address()}{page.entry.path}.md): {page.description}")
            lines.append("")
        return "\n".join(lines)

    @cached_property
    def everything(self) -> str:
        """Return /llms-full.txt: the Markdown of all pages."""
        return "\n\n".join(page.markdown for page in self.pages)

    def title(self, entry: Entry) -> str:
        """Return a page's title for the contents, without rendering it."""
        if entry.name == FRONT:
            return "Overview"
        text = self._sources.get(entry.name)
        return TITLES[entry.name] if text is None else text.partition("\n")[0].removeprefix("# ")

    @cached_property
    def _words(self) -> Mapping[str, str]:
        """Return the addresses of what the texts name: pages, and error codes, which are headings of their page."""
        codes = re.findall(r"^### (\w+)$", self._texts["errors"](), re.MULTILINE)
        pages = [*(entry.path for entry in ENTRIES.values()), "/llms.txt", "/llms-full.txt", "/partner/v1/openapi.json"]
        return {path: path for path in pages} | {code: f"/docs/errors#{code}" for code in codes}

    def _rendered(self, entry: Entry) -> Page:
        text = self._sources[entry.name] if entry.file else self._texts[entry.name]()
        text = text.replace(SAMPLE_ADDRESS, self._address())
        made = rendering.render(text, lambda target: _address_of(target, entry), self._words)
        markdown = rendering.portable(text, lambda target: _address_of(target, entry))
        return Page(entry, made.title, made.description, made.html, made.sections, markdown)

    def _of_reference(self, word: str, name: str) -> Page | None:
        """Return the index of the reference, or the page of a word."""
        chapter, entry = self.reference.chapters.get(word), Entry(name)
        if chapter is not None:
            markdown = reference_text.markdown(chapter, self.reference.base)
            sections = reference_text.sections(chapter)
            return Page(entry, chapter.title, chapter.text, Markup(), sections, markdown, "reference.html", chapter)
        if name != REFERENCE:
            return None
        markdown = reference_text.index(self.reference)
        return Page(entry, TITLES[REFERENCE], REFERENCE_TEXT, Markup(), (), markdown, "reference.html")


# In searches: pages for everybody count more, tables and lists less.
WEIGHTS = dict.fromkeys(["quickstart", "booking", "leads-and-forms", "events", "conventions"], 1.5)
WEIGHTS |= {"errors": 0.7, "changelog": 0.5, "studio-file": 0.6}
TITLES = {REFERENCE: "API reference", "errors": "Errors", "conventions": "Conventions"}
REFERENCE_TEXT = "Every operation with its parameters, its answers and an example."


def _address_of(target: str, entry: Entry) -> str | None:
    found = contents.resolve(target, entry)
    if found is not None and found.startswith(IMAGES):
        return ASSETS.address(found.removeprefix(IMAGES))
    return found
