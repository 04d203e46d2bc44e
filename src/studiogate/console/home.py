"""The console's first page, and the search over pages, members and classes.

The console's own address leads to the first page that the person's role permits, in an empty studio to its first steps.
The search is the palette that Ctrl-K opens, and a page without JavaScript. Every group of hits has its own limit and
shows only what the role permits. What is searched for may be a name: it is sent in the body of a POST and is part of no
address (docs/decisions/0018).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from studiogate import clock
from studiogate.console.framework import Audience, ConsoleRequest, action, page
from studiogate.console.framework.formats import day, day_and_time, local, with_query
from studiogate.console.framework.parse import near_date
from studiogate.console.navigation import Entry, Group, menu_of
from studiogate.domain.staff import Permission
from studiogate.domain.time_format import typed_day
from studiogate.storage import member_search
from studiogate.storage.console import read_first_rows
from studiogate.storage.db.pool import Connection
from studiogate.storage.member_list import MemberFilters
from studiogate.storage.schedule.read import find_classes
from studiogate.web.response import Answer


@page("/", Audience.SIGNED_IN)
async def home(request: ConsoleRequest) -> Answer:
    if request.may(Permission.STUDIO):
        rows = await request.read(read_first_rows)
        if not rows.classes and not rows.members:
            return request.redirect("/console/welcome")
    menu = menu_of(request.navigation, request.may)
    return request.redirect(menu[0].href) if menu else request.render("home.html")


PER_GROUP = 6
MAX_TEXT = 100
MAX_WORDS = 6
DAY_PAGES = ("/schedule", "/today")


class Hit(NamedTuple):
    label: str
    detail: str
    href: str


class Found(NamedTuple):
    """The hits of one group."""

    title: str
    hits: Sequence[Hit]


Words = list[str]
Finder = Callable[[ConsoleRequest, Connection, Words], Awaitable[Found]]


@page("/search", Audience.SIGNED_IN)
@action("/search", Audience.SIGNED_IN)
async def search(request: ConsoleRequest) -> Answer:
    """Show the field, and what matches; all pages if nothing was typed."""
    text = request.form.get("q", "").strip()[:MAX_TEXT]
    words = text.split()[:MAX_WORDS]
    entries = [each for each in request.navigation if each.is_for(request.may)]
    matching = [each for each in entries if is_named_by(each, words)]
    groups = [Found("Pages", [Hit(each.label, each.group.value, each.href) for each in matching])]
    groups.insert(0, Found("Days", _days(request, text)))
    if words:  # without one, arbitrary rows would match
        paths = {each.path for each in entries}
        async with request.database.connection() as connection:
            groups += [await finder(request, connection, words) for path, finder in FINDERS if path in paths]
    shown = [each for each in groups if each.hits]
    return request.render("search/search.html", part="search/_hits.html", text=text, groups=shown)


def _days(request: ConsoleRequest, text: str) -> list[Hit]:
    """Return the pages of the day that a text names, such as tomorrow or 3 dec."""
    today = local(clock.now(), request.frame.timezone).date()
    found = near_date(str(typed_day(text, today, request.frame.time_format.order)), today)
    entries = [each for each in request.navigation if each.path in DAY_PAGES and each.is_for(request.may)]
    if found is None:
        return []
    return [Hit(f"{day(found)}", each.label, with_query(each.href, day=found)) for each in entries]


def is_named_by(entry: Entry, words: Words) -> bool:
    """Return whether each word is in the label, the other words or the group of a page. Actions need a word."""
    text = f"{entry.label} {entry.words} {entry.group.value}".casefold()
    return bool(words or entry.group is not Group.ACTION) and all(each.casefold() in text for each in words)


def _detail(*parts: str | None) -> str:
    return " · ".join(filter(None, parts))


async def _classes(request: ConsoleRequest, connection: Connection, words: Words) -> Found:
    if not request.may(Permission.SCHEDULE_READ):
        return Found("Classes", ())
    classes = await find_classes(connection, request.access, words, PER_GROUP)
    hits = []
    for each in classes:
        detail = _detail(day_and_time(each.start_time, each.timezone), each.location, each.instructor)
        hits.append(Hit(each.title, detail, f"/console/classes/{each.id}"))
    return Found("Classes", hits)


async def _members(request: ConsoleRequest, connection: Connection, words: Words) -> Found:
    found = await member_search.search(connection, request.access, " ".join(words), MemberFilters(), (None, PER_GROUP))
    hits = []
    for each in found.rows:
        detail = _detail("similar name" if each["similar"] else "", each["email"], each["phone"], each["product"])
        hits.append(Hit(each["name"], detail, f"/console/members/{each['id']}"))
    return Found("Members", hits)


# A group is searched if the page of its menu entry exists and the role permits it.
FINDERS: Sequence[tuple[str, Finder]] = (("/members", _members), ("/today", _classes))
