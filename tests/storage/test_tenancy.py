"""No stored row can reference a row of another studio: checked in PostgreSQL's catalog, and by trying."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.support.seed import NOON, Studio, insert, issue_key, seed_series, seed_studio

pytestmark = pytest.mark.anyio

# All exceptions. The URL of a hosted page identifies the studio by its slug; a key contains its credential's id.
# An account of staff is not of one studio: a person may work at several with one password, and is found by their email,
# a session's token or a link's token before a studio is known. What they may do in a studio is in staff_roles.
ACCOUNTS = {"staff_accounts", "staff_sessions", "staff_links", "staff_sign_in_attempts"}
WITHOUT_STUDIO = {"schema_migrations", "schema_migrations_since", "deployment", "proven_backup", *ACCOUNTS}
GLOBALLY_UNIQUE = {"studios_slug_key", "credentials_id_key"}
# Ids that no foreign key checks: arrays (checked when a key is created or a role given, and compared within the studio
# by reads). An external id is another system's, of a row in one of several tables.
# The audit log outlives what it is about. The request log has the ids of authenticated keys, and callers' own ids.
# Transactions have no table, and a member that was merged is gone.
UNCHECKED_REFERENCES = {
    ("credentials", "location_ids"),
    ("daily_figures", "location_id"),
    ("staff_roles", "location_ids"),
    ("audit_log", "account_id"),
    ("audit_log", "subject_id"),
    ("audit_log", "transaction_id"),
    ("events", "merged_id"),
    ("events", "transaction_id"),
    ("external_ids", "external_id"),
    ("external_ids", "row_id"),
    ("request_log", "credential_id"),
    ("request_log", "request_id"),
    ("staff_form_tokens", "request_id"),
}
MUTANTS = 30  # at least this many foreign keys are tried

TABLES = """
    select c.relname as name, a.attname is not null as tenanted, coalesce(a.attnotnull, false) as required
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = 'studio_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace"""

UNIQUE = """
    select i.relname as name, t.relname as table, x.indisprimary as is_primary,
           array(select coalesce(a.attname::text, '(expression)') from unnest(x.indkey) with ordinality k(number, place)
                 left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number
                 order by k.place) as columns
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
    where t.relnamespace = 'public'::regnamespace and x.indisunique"""

FOREIGN = """
    select c.conname as name, t.relname as table, r.relname as referenced, c.convalidated as validated,
           array(select a.attname::text from unnest(c.conkey) with ordinality k(number, place)
                 join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number order by k.place) as columns,
           array(select a.attname::text from unnest(c.confkey) with ordinality k(number, place)
                 join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number order by k.place) as keys
    from pg_constraint c join pg_class t on t.oid = c.conrelid join pg_class r on r.oid = c.confrelid
    where c.contype = 'f' and c.connamespace = 'public'::regnamespace"""

REFERENCES = """
    select t.relname as table, a.attname as column from pg_attribute a join pg_class t on t.oid = a.attrelid
    where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
      and a.attname ~ '_ids?$' and a.attname <> 'studio_id'"""


@dataclass(frozen=True)
class TwoStudios:
    connection: Any
    north: Studio
    south: Studio


@pytest.fixture(scope="module")
async def two_studios(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[TwoStudios]:
    """Two studios with at least one row in every table."""
    connection = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
    studios = [await seed_studio(connection, name) for name in ("north", "south")]
    for studio in studios:
        await _fill_the_rest(connection, studio)
    yield TwoStudios(connection, *studios)
    await connection.close()


async def _fill_the_rest(connection: Any, studio: Studio) -> None:
    own = {"studio_id": studio.studio_id}
    await issue_key(connection, studio)
    await seed_series(connection, studio)
    credential = await connection.fetchval("select id from credentials where studio_id = $1", studio.studio_id)
    await connection.execute(
        "insert into idempotency_keys (studio_id, credential_id, key, fingerprint) values ($1, $2, 'a-key-of-12', '')",
        studio.studio_id,
        credential,
    )
    await connection.execute(
        "insert into product_class_types values ($1, $2, $3)",
        studio.studio_id,
        studio.first("product"),
        studio.first("class_type"),
    )
    booking = studio.first("booking")
    await insert(
        connection,
        "booking_cancellations",
        booking_id=booking,
        member_id=studio.first("member"),
        cancelled_at=NOON,
        cancellation_type="standard",
        late=False,
        graced_for_promotion=False,
        credits_forfeited=0,
        credits_returned=0,
        receipt=json.dumps({}),
        **own,
    )
    account = await connection.fetchval(
        "insert into staff_accounts (id, email) values (gen_random_uuid(), $1) returning id", f"{uuid4()}@example.com"
    )
    instructor = await insert(connection, "instructors", name="I", **own)
    await connection.execute(
        "insert into staff_roles (studio_id, account_id, role, instructor_id) values ($1, $2, 'instructor', $3)",
        studio.studio_id,
        account,
        instructor,
    )
    # A membership's first line belongs to no booking, so it could not refer to another studio's.
    await connection.execute("delete from credit_ledger where studio_id = $1", studio.studio_id)
    await insert(
        connection,
        "credit_ledger",
        membership_id=studio.first("membership"),
        booking_id=booking,
        delta=-1,
        reason="booked",
        **own,
    )


async def test_every_table_belongs_to_studios(two_studios: TwoStudios) -> None:
    rows = await two_studios.connection.fetch(TABLES)
    assert {row["name"] for row in rows if not row["tenanted"]} == WITHOUT_STUDIO
    assert {row["name"] for row in rows if row["tenanted"] and not row["required"]} == set(), "null escapes every check"


async def test_every_unique_key_starts_with_the_studio(two_studios: TwoStudios) -> None:
    rows = [row for row in await two_studios.connection.fetch(UNIQUE) if row["table"] not in WITHOUT_STUDIO]
    assert {row["name"] for row in rows if row["columns"][0] != "studio_id"} == GLOBALLY_UNIQUE
    tables = {row["name"] for row in await two_studios.connection.fetch(TABLES)} - WITHOUT_STUDIO
    assert {row["table"] for row in rows if row["is_primary"]} == tables, "every table has a primary key"


async def _foreign_keys(two_studios: TwoStudios) -> list[Any]:
    """Return the foreign keys between tables of studios. Those from and to accounts concern no rows of a studio."""
    rows = await two_studios.connection.fetch(FOREIGN)
    return [row for row in rows if not {row["table"], row["referenced"]} & ACCOUNTS]


async def test_every_foreign_key_starts_with_the_studio(two_studios: TwoStudios) -> None:
    rows = await _foreign_keys(two_studios)
    assert len(rows) > MUTANTS
    for row in rows:
        assert (row["columns"][0], row["keys"][0]) == ("studio_id", "studio_id"), row["name"]
        assert row["validated"], row["name"]


async def test_every_reference_has_its_foreign_key(two_studios: TwoStudios) -> None:
    checked = {(row["table"], each) for row in await two_studios.connection.fetch(FOREIGN) for each in row["columns"]}
    named = {(row["table"], row["column"]) for row in await two_studios.connection.fetch(REFERENCES)}
    assert named - checked == UNCHECKED_REFERENCES


async def test_no_row_can_reference_another_studio_s(two_studios: TwoStudios) -> None:
    """Tries every foreign key: a row of studio "north" is pointed at a row of studio "south"."""
    # An unverified submission is stored without a member, whatever the statement says.
    await two_studios.connection.execute("update form_submissions set verified = true")
    tried, empty = [], []
    for row in await _foreign_keys(two_studios):
        if row["columns"] == ["studio_id"]:
            continue
        column, key = row["columns"][1], row["keys"][1]
        theirs = await two_studios.connection.fetchval(
            f"select {key} from {row['referenced']} where studio_id = $1 limit 1", two_studios.south.studio_id
        )
        place = await two_studios.connection.fetchval(
            f"select ctid::text from {row['table']} where studio_id = $1 limit 1", two_studios.north.studio_id
        )
        if theirs is None or place is None:
            empty.append(row["name"])
            continue
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await two_studios.connection.execute(
                f"update {row['table']} set {column} = $1 where ctid = $2::text::tid", theirs, place
            )
        tried.append(row["name"])
    assert len(tried) >= MUTANTS, f"nothing to try for {empty}"


async def test_no_row_can_move_to_another_studio(two_studios: TwoStudios) -> None:
    """The studio of a row with a parent cannot be changed."""
    for row in await _foreign_keys(two_studios):
        if row["columns"] == ["studio_id"]:
            continue
        moved = f"update {row['table']} set studio_id = $2 where ctid = (select ctid from {row['table']} where "
        moved += f"studio_id = $1 and {row['columns'][1]} is not null limit 1)"
        try:
            status = await two_studios.connection.execute(
                moved, two_studios.north.studio_id, two_studios.south.studio_id
            )
        except asyncpg.ForeignKeyViolationError:
            continue
        assert status == "UPDATE 0", row["name"]


async def test_the_same_id_in_two_studios_stays_two_rows(connection: Any) -> None:
    """Ids are unique per studio, not globally: a studio can neither collide with another nor detect its rows."""
    studios = [await seed_studio(connection, name) for name in ("north", "south")]
    shared = uuid4()
    for studio in studios:
        await insert(connection, "leads", id=shared, studio_id=studio.studio_id, email=f"same@{studio.canary}.example")
    assert await connection.fetchval("select count(*) from leads where id = $1", shared) == 2
