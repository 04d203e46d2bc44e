"""Members and their memberships."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access, Scope
from studiogate.domain.fields import Values
from studiogate.domain.members import MEMBER as PROFILE
from studiogate.domain.members import NEW_MEMBER, Profile
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff_input import NO_SETTING
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.paging import Filter, Parent, read_page
from studiogate.storage.resources import MEMBER, MEMBERSHIP


async def list_members(
    connection: Connection, access: Access, page: PageRequest, email: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if email is None else [Filter("m.email = {}", email)]
    return await read_page(connection, access, MEMBER, page, filters=filters, updated_after=updated_after)


async def list_memberships(
    connection: Connection, access: Access, page: PageRequest, member_id: str, updated_after: datetime | None
) -> Page | Refusal:
    return await read_page(
        connection,
        access,
        MEMBERSHIP,
        page,
        filters=[Filter("s.member_id = {}", member_id, of_the_list=True)],
        updated_after=updated_after,
        parents=[Parent("select from members m where m.studio_id = $1 and m.id = {}", member_id)],
    )


MERGED_INTO = "select member_id from merged_people where studio_id = $1 and id = $2 and kind = 'member'"
INSERT = f"""
    with made as (
        insert into members (studio_id, id, {", ".join(NEW_MEMBER)})
        values ($1, $2, {", ".join(f"${number}" for number, _ in enumerate(NEW_MEMBER, 3))})
        on conflict (studio_id, email) do nothing returning *
    )
    select row_to_json(w)::text from (select {MEMBER.columns} from made m) w"""


async def insert_member(connection: Connection, access: Access, new: Values) -> str | None:
    """Insert a member; return it in wire form, or None if this email already has one."""
    values = [new.get(name, field.absent_value(NO_SETTING)) for name, field in NEW_MEMBER.items()]
    wire: str | None = await connection.fetchval(INSERT, access.studio_id, new_id(), *values)
    return wire


# The email of a merged profile leads to the member that was kept, unless another member has it by now.
MEMBER_OF_EMAIL = """
    select id from (
        select id, 1 as place from members where studio_id = $1 and email = $2
        union all
        select member_id, 2 from merged_people where studio_id = $1 and email = $2) found
    order by place limit 1"""


async def member_of_email(connection: Connection, access: Access, email: str) -> UUID | None:
    """Return the member with an email, or into which the one with it was merged."""
    found: UUID | None = await connection.fetchval(MEMBER_OF_EMAIL, access.studio_id, email)
    return found


async def merged_into(connection: Connection, access: Access, member_id: str | UUID) -> UUID | None:
    """Return the member that a merged one has become."""
    found: UUID | None = await connection.fetchval(MERGED_INTO, access.studio_id, member_id)
    return found


async def missing_member(connection: Connection, access: Access, member_id: str, param: str | None = None) -> Refusal:
    """Return the refusal for a member that does not exist. It names the one into which it was merged, to a key that may
    read members."""
    other = await merged_into(connection, access, member_id) if Scope.MEMBERS_READ in access.scopes else None
    return Refusal(Code.NOT_FOUND, {"merged_into": str(other)} if other else {}, param)


async def member_with_email(connection: Connection, access: Access, email: str) -> UUID | None:
    statement = "select id from members where studio_id = $1 and email = $2"
    found: UUID | None = await connection.fetchval(statement, access.studio_id, email)
    return found


class KeptMember(NamedTuple):
    """The state of a member while the row is locked."""

    id: UUID
    profile: Profile
    suspended: bool
    notes_bytes: int
    erased: bool
    now: datetime


COLUMNS = ", ".join(PROFILE)
LOCK = f"""
    select id, {COLUMNS}, suspended, octet_length(staff_notes) as notes_bytes, erased_at is not null as erased,
           clock_timestamp() as now
    from members where studio_id = $1 and id = $2 for no key update"""
WRITE = f"""
    update members set {", ".join(f"{column} = ${number}" for number, column in enumerate(PROFILE, 3))}
    where studio_id = $1 and id = $2"""
SUSPEND = "update members set suspended = $3 where studio_id = $1 and id = $2"
NOTE = """
    update members set staff_notes = case when staff_notes = '' then $3 else staff_notes || E'\\n' || $3 end
    where studio_id = $1 and id = $2"""


async def lock_member(connection: Connection, access: Access, member_id: UUID) -> KeptMember | None:
    row = await connection.fetchrow(LOCK, access.studio_id, member_id)
    if row is None:
        return None
    profile = {name: row[name] for name in PROFILE}
    return KeptMember(row["id"], profile, row["suspended"], row["notes_bytes"], row["erased"], row["now"])


async def write_profile(connection: Connection, access: Access, member_id: UUID, profile: Profile) -> None:
    await connection.execute(WRITE, access.studio_id, member_id, *(profile[name] for name in PROFILE))


async def set_suspended(connection: Connection, access: Access, member_id: UUID, suspended: bool) -> None:
    await connection.execute(SUSPEND, access.studio_id, member_id, suspended)


async def add_note(connection: Connection, access: Access, member_id: UUID, note: str) -> None:
    """Append a note on a line of its own to a locked member's staff notes."""
    await connection.execute(NOTE, access.studio_id, member_id, note)
