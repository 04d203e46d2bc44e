"""Locations, rooms, class types and instructors in the settings: what their pages and actions have in common.

Their forms are made of the fields that the commands and the studio file have too. A row that is not needed any more is
deactivated, never removed: classes and bookings refer to it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Form, Subject, Values, page, paging
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Input, Row
from studiogate.console.framework.page import Handler
from studiogate.console.framework.parse import as_id
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.audit import Subject as AuditSubject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes, rows
from studiogate.storage.schedule import settings as storage
from studiogate.storage.schedule.settings import Listed
from studiogate.web.response import Answer

PER_PAGE = 100
NAMED = 12
ABOUT = "It stays on the classes that have it, and nothing new can use it. It can be taken back."


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rows: its word, its path below ``/console``, its flows (create, change and deactivate), its inputs."""

    word: str
    path: str
    flow: ModuleType
    inputs: Sequence[Input]
    template: str = "ui/action.html"  # of the form
    options: Callable[[ConsoleRequest, Connection, Row], Awaitable[Values | Refusal]] | None = None
    read: Callable[[Connection, Access, UUID], Awaitable[Row | None]] | None = None

    @property
    def name(self) -> str:
        return self.word.replace(" ", "_")

    def address(self, row_id: UUID) -> str:
        return f"/console{self.path}/{row_id}"

    def subject(self) -> Subject:
        return Subject(
            self.name,
            f"{self.path}/{{{self.name}_id}}",
            Permission.SCHEDULE,
            self.read or (lambda connection, access, row_id: rows.read_row(connection, access, self.name, row_id)),
            lambda row: self.address(row["id"]),
            lambda row: str(row["name"]),
            {"kind": self},
        )

    def new(self) -> Action:
        """Return the action that creates a row; the inputs that are left empty have the defaults of their fields."""
        return Action(
            Subject(self.name, self.path, Permission.SCHEDULE, None, lambda _row: f"/console{self.path}"),
            "new",
            lambda connection, access, given: self.flow.create(connection, access, Given(given)),
            lambda done: saved_text(f"Created {done.given['name']}.", done.result),
            self.inputs,
            Form(f"New {self.word}", "Create", template=self.template, values=self.options),
            edits=True,
            leads_to=lambda done: self.address(done.result.id),
        )

    def actions(self, subject: Subject) -> Sequence[Action]:
        async def change(connection: Connection, access: Access, row_id: UUID, given: Values) -> Saved | Refusal:
            found: Saved | Refusal = await self.flow.change(connection, access, row_id, Given(given))
            return found

        edit = Form(f"Change the {self.word}", "Save", template=self.template, values=self.options)
        end = Form(f"Deactivate the {self.word}", "Deactivate", ABOUT, "danger", "settings/deactivate.html", self._uses)
        return (
            Action(
                subject, "change", change, lambda done: saved_text("Saved.", done.result), self.inputs, edit, edits=True
            ),
            Action(
                subject,
                "deactivate",
                self.flow.deactivate,
                "{name} is deactivated.",
                (),
                end,
                is_offered=lambda row: bool(row["active"]),
                undo="activate",
            ),
            Action(
                subject,
                "activate",
                lambda connection, access, row_id: change(connection, access, row_id, {"active": True}),
                "{name} is in use again.",
                is_offered=lambda row: not row["active"],
                undo="deactivate",
            ),
        )

    async def _uses(self, request: ConsoleRequest, connection: Connection, row: Row) -> Values:
        """Return what uses a row: the numbers that the flow counts, and the first of them by name."""
        access, subject = request.access, AuditSubject(self.name, row["id"])
        ids = await storage.next_classes(connection, access, subject, NAMED)
        return {
            "class_count": await rows.count_classes(connection, access, *subject),
            "series_count": await rows.count_series(connection, access, *subject),
            "classes": await classes.read_seats(connection, access, ids),
            "series": await storage.running_series(connection, access, subject, NAMED),
        }

    def list_page(self, template: str) -> Handler:
        """Declare the page that lists the rows in use, or those that are not."""

        @page(self.path, Permission.SCHEDULE)
        async def show(request: ConsoleRequest) -> Answer:
            active, after = request.query.get("show") != "inactive", as_id(request.query.get(paging.AFTER))
            async with request.database.connection() as connection:
                wanted = Listed(active, after, PER_PAGE + 1)
                found = await storage.list_rows(connection, request.access, self.name, wanted)
            path, shown = f"/console{self.path}", found[:PER_PAGE]
            more = with_query(path, show="" if active else "inactive", after=shown[-1]["id"]) if shown else ""
            return request.render(
                template,
                kind=self,
                rows=sorted(shown, key=lambda row: str(row["name"]).casefold()),
                active=active,
                is_later=after is not None,
                next_href=more if len(found) > PER_PAGE else None,
                path_here=path,
            )

        return show


def saved_text(text: str, saved: Saved) -> str:
    """Return what is said after a change, with what should be checked."""
    return " ".join([text, *(each.message for each in saved.warnings)])
