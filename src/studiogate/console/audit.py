"""The audit log: who changed what and when, by person, kind, row and day; as a page and as a file."""

import json
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, Values, page
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import Days, as_id, read_date
from studiogate.console.framework.words import WORDS
from studiogate.console.members.words import StudioFacts, action, changes_of
from studiogate.domain.refusals import Fault
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, refused
from studiogate.storage import staff
from studiogate.storage.audit_list import AuditFilters, list_entries
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage
from studiogate.web.response import Answer

PATH = "/console/audit"
PER_PAGE = 50
PER_READ = 1_000
MAX_EXPORTED = 20_000
KINDS: Mapping[str, str] = WORDS["audit_kinds"]
CHANNELS: Mapping[str, str] = WORDS["audit_channels"]
# The page of a row, by its kind.
PAGES: Mapping[str, str] = {
    "member": "/console/members/{}",
    "class": "/console/classes/{}",
    "booking": "/console/bookings/{}",
    "staff_role": "/console/staff/{}",
    "staff_account": "/console/staff/{}",
}
COLUMNS = ("time", "who", "by", "address", "action", "kind", "id", "about", "changes", "reason")
TOO_MANY = f"These are more than {MAX_EXPORTED:,} entries. Choose fewer days."


class Asked(NamedTuple):
    """The filters as the address has them."""

    person: str
    kind: str
    subject: str
    since: str
    until: str

    def filters(self, timezone: str) -> AuditFilters:
        since, until = Days.of({"from": self.since, "to": self.until}).between(timezone)
        return AuditFilters(
            account_id=as_id(self.person),
            channel=self.person if self.person in CHANNELS else None,
            kind=self.kind or None,
            subject_id=as_id(self.subject),
            since=since,
            until=until,
        )

    def address(self, path: str = PATH, **other: object) -> str:
        given = {"person": self.person, "kind": self.kind, "subject": self.subject}
        return with_query(path, **{**given, "from": self.since, "to": self.until, **other})


def _asked(request: ConsoleRequest) -> Asked:
    """Return the filters of the address; what is none of them does not filter."""
    query = request.query
    person, kind = query.get("person", ""), query.get("kind", "")
    days = [query.get(name, "") if read_date(query.get(name)) else "" for name in ("from", "to")]
    return Asked(
        person if person in CHANNELS or as_id(person) else "",
        kind if kind in KINDS else "",
        query.get("subject", "") if as_id(query.get("subject")) else "",
        *days,
    )


@page("/audit", Permission.AUDIT_READ)
async def show(request: ConsoleRequest) -> Answer:
    asked, after = _asked(request), as_id(request.query.get("after"))
    async with request.database.connection() as connection:
        filters = asked.filters(request.frame.timezone)
        found = await list_entries(connection, request.access, filters, after, PER_PAGE)
        people = await staff.list_staff(connection, request.access)
    facts = StudioFacts(
        request.frame.timezone, request.frame.currency, {str(each.id): each.name for each in request.frame.places}
    )
    values: Values = {
        "entries": [_entry(each, asked, facts) for each in found.rows],
        "next_href": found.next and asked.address(after=found.next),
        "asked": asked,
        "people": [(str(each["id"]), each["name"] or each["email"]) for each in people] + list(CHANNELS.items()),
        "kinds": list(KINDS.items()),
        "everything": asked.address(subject=None),
        "export": asked.address(f"{PATH}/export"),
        "is_filtered": any(asked),
        "is_later": after is not None,
        "max_exported": MAX_EXPORTED,
    }
    return request.render("settings/audit.html", **values)


def _entry(row: Record, asked: Asked, facts: StudioFacts) -> dict[str, object]:
    entry = {**row, "changes": json.loads(row["changes"])}
    href = PAGES.get(row["subject_type"], "").format(row["subject_id"])
    return {
        **row,
        "text": action(row["action"]),
        "changes": changes_of(entry, facts),
        "href": href,
        "only": asked.address(subject=row["subject_id"]),
        "by": CHANNELS.get(row["channel"], ""),
    }


@page("/audit/export", Permission.AUDIT_READ)
async def export(request: ConsoleRequest) -> Answer:
    """Send the entries that the filters show as a CSV file, the newest first."""
    asked = _asked(request)
    filters = asked.filters(request.frame.timezone)

    async def read(connection: Connection, after: UUID | None) -> ListPage:
        found = await list_entries(connection, request.access, filters, after, PER_READ)
        return ListPage(found.rows, None if found.next is None else str(found.next))

    listed = ListedRows(read, COLUMNS, _line, MAX_EXPORTED)
    sent = await csv_of_list(request, f"audit-log-{request.frame.slug}", listed)
    return sent or request.error(refused(Fault((), INVALID, TOO_MANY)))


def _line(row: Record) -> list[object]:
    names = ("actor_name", "channel", "address", "action", "subject_type", "subject_id", "about", "changes", "reason")
    return [row["occurred_at"].isoformat(), *(row[name] for name in names)]
