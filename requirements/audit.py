"""Looks the locked dependencies over: `make audit`.

First what needs no network: every requirement is pinned to one version and to hashes, none comes from an address, and
what is installed is what is locked. Then the advisories that the package index publishes (OSV's data, the same that
pip-audit reads), and whether a version has been withdrawn ("yanked").

Status 0: all of it was checked and is in order. 1: something is wrong. 2: nothing is wrong as far as it could be
checked, but the advisories could not be read for everything; that is not the same as being clean.
"""

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker
from pip._internal.models.index import PyPI

FOLDER = Path(__file__).parent
INDEX = PyPI.pypi_url  # where pip itself looks, so that no address stands here
SECONDS = 15.0
AT_ONCE = 8
# Abandoned, with advisories that will never be fixed: an index that knows none of them knows no others either.
KNOWN_BAD = "pycrypto"
_LOCKED = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9.!+_-]+)"
    r"(?: ; (?P<marker>[^\\]+?))?(?: --hash=sha256:[0-9a-f]{64})+"
)
Read = Callable[[str], dict[str, Any] | None]


class NotReachableError(Exception):
    """The index does not answer, or has no advisories to give."""


class Locked(NamedTuple):
    name: str
    version: str
    marker: str | None


def requirements(text: str) -> Iterator[Locked | str]:
    """What a lock file holds; a text is a line that is no pinned requirement with hashes."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    for line in filter(None, map(str.strip, joined.splitlines())):
        found = _LOCKED.fullmatch(line)
        yield line[:100] if found is None else Locked(found["name"], found["version"], found["marker"])


def lock_faults(text: str) -> list[str]:
    return [f"not pinned to a version and its hashes: {each}" for each in requirements(text) if isinstance(each, str)]


def installed_faults(locked: Iterable[Locked]) -> list[str]:
    """What this environment has otherwise than the lock says."""
    faults = []
    for each in locked:
        if each.marker is not None and not Marker(each.marker).evaluate():
            continue
        try:
            found = metadata.version(each.name)
        except metadata.PackageNotFoundError:
            found = "nothing"
        if found != each.version:
            faults.append(f"{each.name}: {each.version} is locked, {found} is installed")
    return faults


def read_index(path: str) -> dict[str, Any] | None:
    """A page of the index as JSON; None where it has no such page."""
    try:
        with urllib.request.urlopen(f"{INDEX}/{path}/json", timeout=SECONDS) as answer:  # noqa: S310  always https
            page: dict[str, Any] = json.load(answer)
            return page
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise NotReachableError(f"the index answers {error.code}") from error
    except (OSError, ValueError) as error:
        raise NotReachableError(f"the index cannot be read: {error}") from error


def advisories(locked: Locked, read: Read) -> list[str] | None:
    """What is known against a version; None where the index does not say (some mirrors only know the newest)."""
    page = read(f"{locked.name}/{locked.version}")
    if page is None:
        page = read(locked.name)
        if page is None or page["info"]["version"] != locked.version:
            return None
    faults = [_in_words(locked, each) for each in page["vulnerabilities"] if not each.get("withdrawn")]
    if page["info"].get("yanked"):
        faults.append(
            f"{locked.name} {locked.version} was withdrawn: {page['info'].get('yanked_reason') or 'no reason'}"
        )
    return faults


def _in_words(locked: Locked, advisory: dict[str, Any]) -> str:
    names = ", ".join([advisory["id"], *advisory.get("aliases", ())])
    fixed = ", ".join(advisory.get("fixed_in", ())) or "no version"
    return f"{locked.name} {locked.version}: {names}; fixed in {fixed}"


def check_index(read: Read) -> None:
    page = read(KNOWN_BAD)
    if page is None or not page.get("vulnerabilities"):
        raise NotReachableError("the index has no advisories")


def audit(locked: list[Locked], read: Read = read_index) -> tuple[list[str], list[Locked]]:
    """Faults, and what could not be judged."""
    check_index(read)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(lambda each: advisories(each, read), locked))
    faults = [fault for each in found for fault in each or ()]
    return faults, [each for each, answer in zip(locked, found, strict=True) if answer is None]


def main(arguments: list[str]) -> int:
    texts = [(FOLDER / name).read_text() for name in ("runtime.txt", "dev.txt")]
    locked = sorted({each for text in texts for each in requirements(text) if isinstance(each, Locked)}, key=str)
    faults = [fault for text in texts for fault in lock_faults(text)] + installed_faults(locked)
    unjudged: list[Locked] = []
    if "--offline" not in arguments:
        try:
            found, unjudged = audit(locked)
            faults += found
        except NotReachableError as error:
            print(f"Advisories were NOT checked: {error}.")
            unjudged = locked
    for fault in faults:
        print(fault)
    print(f"{len(locked)} locked requirements, {len(faults)} faults.")
    if unjudged and len(unjudged) < len(locked):
        print("The index says nothing about: " + ", ".join(f"{each.name} {each.version}" for each in unjudged))
    return 1 if faults else 2 if unjudged else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
