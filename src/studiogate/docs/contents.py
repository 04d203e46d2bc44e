"""Which pages the documentation has, in the order of its contents, and where their Markdown comes from.

The files are those of the repository. A wheel contains them in the folder ``repository`` of this package.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PACKAGED = Path(__file__).parent / "repository"
REPOSITORY = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3]
IMAGES = "docs/images/"
FRONT = ""  # the name of the page at /docs
REFERENCE = "reference"


class Entry(NamedTuple):
    """A page at /docs/NAME. Its Markdown is a file of the repository, or else handed over under its name."""

    name: str
    file: str | None = None

    @property
    def path(self) -> str:
        return path_of(self.name)


def _guides(*names: str) -> tuple[Entry, ...]:
    return tuple(Entry(name, f"docs/guides/{name}.md") for name in names)


CONTENTS: Mapping[str, Sequence[Entry]] = {
    "Start": (Entry(FRONT, "docs/guides/README.md"), *_guides("quickstart", "demo-studio")),
    "Integrate": (*_guides("booking", "leads-and-forms", "events", "hosted-forms"), Entry("conventions")),
    "Look up": (
        Entry(REFERENCE),
        Entry("errors"),
        *_guides("versioning"),
        Entry("changelog", "CHANGELOG.md"),
    ),
    "Work at the studio": (
        *_guides("console", "front-desk", "schedule", "products-and-sales", "peoples-rights"),
        Entry("member-mails", "docs/member-mails.md"),
    ),
    "Set up a studio": (
        *_guides("studio-of-your-own", "import-csv", "operating"),
        Entry("studio-file", "docs/studio-file.md"),
        Entry("operations", "docs/operations.md"),
        Entry("upgrading", "docs/upgrading.md"),
        Entry("metrics", "docs/metrics.md"),
    ),
}
ENTRIES: Mapping[str, Entry] = {entry.name: entry for group in CONTENTS.values() for entry in group}
_BY_FILE = {entry.file: entry.name for entry in ENTRIES.values() if entry.file}


def path_of(name: str) -> str:
    return f"/docs/{name}" if name else "/docs"


def read_sources() -> Mapping[str, str]:
    """Return the Markdown of the pages that are files, by their names."""
    return {
        entry.name: (REPOSITORY / entry.file).read_text(encoding="utf-8") for entry in ENTRIES.values() if entry.file
    }


def images() -> list[Path]:
    """Return the pictures that pages show."""
    shown = {name for text in read_sources().values() for name in re.findall(r"images/([\w-]+\.\w+)", text)}
    return [REPOSITORY / IMAGES / name for name in sorted(shown)]


def resolve(target: str, entry: Entry) -> str | None:
    """Return what a link of a page leads to on this site: a path, an address elsewhere, the name of a picture after
    ``IMAGES``, or None if the site does not have the file."""
    if re.match(r"[a-z]+:|#|/", target):
        return target
    file, mark, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(entry.file or ""), file))
    if file.startswith(IMAGES):
        return file
    return path_of(_BY_FILE[file]) + mark + anchor if file in _BY_FILE else None
