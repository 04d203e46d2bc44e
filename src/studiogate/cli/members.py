"""studiogate member create | change | suspend | unsuspend | note | merge | find: what staff do with members."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import (
    Clear,
    Reason,
    RowId,
    StudioOption,
    act,
    act_in_studio,
    changes,
    given,
    studio_access,
)
from studiogate.cli.context import (
    AsJson,
    DataFolder,
    counted,
    no_such,
    on_database,
    parse_row_id,
    print_json,
    print_result,
    screen,
)
from studiogate.domain.access import Access
from studiogate.domain.members import MemberRole
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.members import merge as merging
from studiogate.flows.members import staff as flow
from studiogate.flows.members.merge import Merged
from studiogate.storage import member_search
from studiogate.storage.db.pool import Connection, Record

app = typer.Typer(help="Members.", no_args_is_help=True)
FIND = Annotated[
    str, typer.Argument(metavar="TEXT", help="Words of the name, the email or its beginning, the phone, or the id.")
]
FirstName = Annotated[str | None, typer.Option("--first-name")]
LastName = Annotated[str | None, typer.Option("--last-name")]
Email = Annotated[str | None, typer.Option("--email")]
Phone = Annotated[str | None, typer.Option("--phone", help="International, or of the studio's country.")]


@app.command("create")
def create(
    studio: lists.Slug,
    first_name: Annotated[str, typer.Option("--first-name")],
    last_name: Annotated[str, typer.Option("--last-name")],
    email: Email = None,
    phone: Phone = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create a member. The lead with the same email is converted, earlier verified submissions become theirs."""
    values = given(None, first_name=first_name, last_name=last_name, email=email, phone=phone)
    made = act_in_studio(data, studio, "member", lambda c, access: flow.create(c, access, values))
    print_result(made, f"Created member {made['id']}.", as_json)


@app.command("change")
def change(
    member_id: RowId,
    first_name: FirstName = None,
    last_name: LastName = None,
    email: Email = None,
    phone: Phone = None,
    role: Annotated[MemberRole | None, typer.Option("--role")] = None,
    membership_type: Annotated[str | None, typer.Option("--membership-type")] = None,
    membership_start_date: Annotated[str | None, typer.Option("--membership-start-date", metavar="INSTANT")] = None,
    membership_end_date: Annotated[str | None, typer.Option("--membership-end-date", metavar="INSTANT")] = None,
    clear: Clear = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change a member's fields; those that are not given stay. A new email converts the lead that has it."""
    values = changes(
        clear,
        first_name=first_name,
        last_name=last_name,
        email=email,
        phone=phone,
        role=None if role is None else role.value,
        membership_type=membership_type,
        membership_start_date=membership_start_date,
        membership_end_date=membership_end_date,
    )
    member = act(data, studio, "member", member_id, lambda c, access: flow.change(c, access, member_id, values))
    print_result(member, f"Changed {', '.join(values)} of member {member_id}.", as_json)


@app.command("suspend")
def suspend(
    member_id: RowId,
    reason: Reason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Suspend a member: no new bookings. Bookings that exist stay."""
    act(data, studio, "member", member_id, lambda c, access: flow.suspend(c, access, member_id, reason))
    _print_suspended(member_id, True, as_json)


@app.command("unsuspend")
def unsuspend(
    member_id: RowId,
    reason: Reason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """End a member's suspension."""
    act(data, studio, "member", member_id, lambda c, access: flow.unsuspend(c, access, member_id, reason))
    _print_suspended(member_id, False, as_json)


def _print_suspended(member_id: object, suspended: bool, as_json: bool) -> None:
    print_result(
        {"id": str(member_id), "suspended": suspended},
        "The member is suspended now." if suspended else "The member is no longer suspended.",
        as_json,
    )


@app.command("note")
def note(
    member_id: RowId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note. Partners never see it.")],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Add a note to a member's staff notes, on a line of its own."""
    act(data, studio, "member", member_id, lambda c, access: flow.add_note(c, access, member_id, text))
    print_result({"id": str(member_id), "added": True}, "Added the note.", as_json)


@app.command("merge")
def merge(
    kept_id: Annotated[UUID, typer.Argument(metavar="KEPT_ID", parser=parse_row_id, help="The member that stays.")],
    merged_id: Annotated[
        UUID, typer.Argument(metavar="DUPLICATE_ID", parser=parse_row_id, help="The member that becomes part of it.")
    ],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Merge two members that are one person: all of the duplicate becomes the kept one's. Cannot be undone."""

    async def merged(connection: Connection, access: Access) -> Merged | Refusal:
        outcome = await merging.merge(connection, access, kept_id, merged_id)
        if isinstance(outcome, Refusal) and outcome.code is Code.NOT_FOUND and outcome.param == "merged_id":
            raise no_such("member", merged_id)
        return outcome

    done = act(data, studio, "member", kept_id, merged)
    if as_json:
        print_json({name: str(each) if isinstance(each, UUID) else each for name, each in done._asdict().items()})
        return
    counts = [
        counted(done.bookings, "booking"),
        counted(done.memberships, "membership"),
        counted(done.purchases, "purchase"),
        counted(done.submissions, "submission"),
    ]
    screen.print(f"Merged: {', '.join(counts)} belong to member {kept_id} now.", soft_wrap=True)


@app.command("find")
def find(
    text: FIND, studio: lists.Slug, limit: lists.Limit = 100, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Find members by their name, email, phone or id."""

    async def work(connection: Connection) -> Sequence[Record]:
        return await member_search.find(connection, await studio_access(connection, studio), text, limit)

    lists.print_rows(on_database(data, work), as_json, limit)
