"""No import brings an erased person back, or a duplicate that was merged."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.refusals import Refusal
from studiogate.flows.members.erase import erase
from studiogate.flows.members.merge import merge
from studiogate.flows.studio_file import FilesBeside
from studiogate.storage import doctor, record_invariants
from studiogate.storage.upload_folder import UploadFolder
from tests.support import csv_imports
from tests.support.csv_imports import ACCESS, STUDIO, imported, mapping_of
from tests.support.studio_files import (
    Document,
    assert_promises_hold,
    changed,
    exported,
    load,
    places,
    small_studio,
    submission,
    uid,
)

pytestmark = pytest.mark.anyio
small_template, small = csv_imports.small_template, csv_imports.small

Connection = asyncpg.Connection
MEMBER = UUID(uid("north", "member", 0))
OTHER = UUID(uid("north", "member", 1))
MEMBERS = mapping_of("members")
ADA = "external_id,first_name,last_name,email\n7,Ada,Okafor,ada@example.com"


@pytest.fixture
def files(tmp_path: Path) -> FilesBeside:
    folder = tmp_path / "studio.files"
    folder.mkdir()
    (folder / uid("north", "file")).write_bytes(b"hello")
    return FilesBeside(folder, UploadFolder(tmp_path / "data"))


@pytest.fixture
async def elsewhere(new_database: Callable[[], str]) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
    yield opened
    await opened.close()


async def did(flow: Any, connection: Connection, *arguments: Any) -> None:
    done = await flow(connection, ACCESS, *arguments)
    assert not isinstance(done, Refusal), done
    await assert_promises_hold(connection)


async def load_file(connection: Connection, document: Document, files: FilesBeside, **options: Any) -> Any:
    return await load(connection, document, files=files, **options)


def without_revisions(document: Any) -> Any:
    """Return a document as somebody would write it by hand."""
    if isinstance(document, list):
        return [without_revisions(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {name: without_revisions(each) for name, each in document.items() if name != "revision"}


@pytest.mark.parametrize("overwrite", [False, True])
async def test_an_older_file_does_not_bring_an_erased_person_back(
    small: Connection, files: FilesBeside, overwrite: bool
) -> None:
    older = json.loads(await exported(small))
    assert (await load_file(small, {"studio": older["studio"], "submissions": [submission()]}, files)).faults == []
    older["submissions"] = json.loads(await exported(small))["submissions"]
    await did(erase, small, MEMBER)
    erased = await exported(small)
    outcome = await load_file(small, without_revisions(older), files, overwrite=overwrite)
    assert set(places(outcome)) >= {"members[0]", "leads[0]", "submissions[0]", "submissions[0].files[0]"}
    said = {fault.message for fault in outcome.faults}
    assert "was erased: leave the row out" in said
    assert "belongs to a member who was erased: leave the row out" in said
    assert await exported(small) == erased
    others = {**older, "members": older["members"][1:], "leads": [], "submissions": [], "memberships": []}
    others = {**others, "bookings": [each for each in older["bookings"] if each["member_id"] != str(MEMBER)]}
    others["members"][0]["first_name"] = "Changed"
    assert (await load_file(small, without_revisions(others), files, overwrite=overwrite)).faults == []


async def test_an_erased_member_goes_round(small: Connection, elsewhere: Connection) -> None:
    await did(erase, small, MEMBER)
    written = await exported(small)
    (erased,) = [each for each in json.loads(written)["members"] if each["erased_at"] is not None]
    assert erased["id"] == str(MEMBER)
    assert (await load(elsewhere, json.loads(written))).faults == []
    assert await exported(elsewhere) == written
    for promise in record_invariants.PEOPLE:
        assert await doctor.violations(elsewhere, promise) == [], promise.name
    again = changed(json.loads(written), f"members.{json.loads(written)['members'].index(erased)}.first_name", "Back")
    assert [fault.message for fault in (await load(elsewhere, again, overwrite=True)).faults] == [
        "was erased: leave the row out"
    ]


async def test_a_file_cannot_mark_a_member_as_erased(small: Connection) -> None:
    wanted = changed(small_studio(), "members.0.erased_at", "2026-01-01T00:00:00Z")
    assert (await load(small, wanted)).faults == []
    assert await small.fetchval("select count(*) from members where erased_at is not null") == 0


async def test_a_merged_member_stays_merged(small: Connection) -> None:
    older = json.loads(await exported(small))
    await small.execute("delete from bookings where studio_id = $1 and member_id = $2", STUDIO, OTHER)
    await small.execute("update classes set booked_count = 1 where id = $1", UUID(uid("north", "class", 0)))
    await did(merge, small, MEMBER, OTHER)
    outcome = await load(small, without_revisions(older), overwrite=True)
    assert f"was merged into the member {MEMBER}: leave the row out" in {each.message for each in outcome.faults}


async def test_an_erased_person_is_skipped_in_the_next_csv_file(small: Connection) -> None:
    await imported(small, MEMBERS, ADA)
    member = await small.fetchval("select id from members where first_name = 'Ada'")
    await did(erase, small, member)
    kept = await small.fetch("select * from external_ids where studio_id = $1", STUDIO)
    assert [(row["row_id"], row["external_id"][:7]) for row in kept] == [(member, "erased:")]
    again = await imported(small, MEMBERS, ADA)
    assert (again.verdicts, again.reasons) == (
        ["skipped"],
        ["external_id: the member was removed or erased after an earlier import"],
    )
    assert await small.fetchval("select count(*) from members where first_name = 'Ada'") == 0
    other = await imported(small, MEMBERS, ADA.replace("\n7", "\n70"))
    assert other.verdicts == ["created"], "another person"


@pytest.mark.parametrize("overwrite", [False, True])
async def test_an_older_file_does_not_bring_the_external_id_of_an_erased_person_back(
    small: Connection, files: FilesBeside, overwrite: bool
) -> None:
    """Also if nothing else of the person is in the file: the id alone would recognize the person elsewhere."""
    await imported(small, MEMBERS, ADA)
    older = json.loads(await exported(small))
    assert [each["external_id"] for each in older["external_ids"]] == ["7"]
    await did(erase, small, await small.fetchval("select id from members where first_name = 'Ada'"))
    erased = await exported(small)
    file = {"studio": older["studio"], "external_ids": older["external_ids"]}
    outcome = await load_file(small, without_revisions(file), files, overwrite=overwrite)
    assert places(outcome) == ["external_ids[0]"]
    assert [fault.message for fault in outcome.faults] == ["belongs to a member who was erased: leave the row out"]
    assert await exported(small) == erased


async def test_no_membership_is_imported_for_an_erased_member(small: Connection) -> None:
    await imported(small, MEMBERS, ADA)
    await did(erase, small, await small.fetchval("select id from members where first_name = 'Ada'"))
    rows = "external_id,member,product,status,started_at\n1,7,pack-10,active,2026-01-01"
    outcome = await imported(small, mapping_of("memberships"), rows, skip_faults=True)
    assert outcome.verdicts == ["fault"]


async def test_ids_of_a_merged_member_are_the_kept_ones(small: Connection) -> None:
    await imported(small, MEMBERS, ADA)
    member = await small.fetchval("select id from members where first_name = 'Ada'")
    await did(merge, small, MEMBER, member)
    assert await small.fetchval("select row_id from external_ids where external_id = '7'") == MEMBER
    again = await imported(small, MEMBERS, ADA.replace("Ada,", "Adele,"))
    assert again.verdicts == ["updated"]
    assert await small.fetchval("select first_name from members where id = $1", MEMBER) == "Adele"


TWINS = ("102,Ann,Kept,ann@example.com", "103,Anne,Merged,anne@example.com", "104,Nan,Merged,nan@example.com")


def rows_of(*numbers: int) -> str:
    return "\n".join(["external_id,first_name,last_name,email", *(TWINS[number] for number in numbers)])


async def twins(connection: Connection) -> list[UUID]:
    done = await imported(connection, MEMBERS, rows_of(0, 1, 2))
    return [UUID(row["id"]) for row in done.rows]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("kept", [0, 1])
async def test_the_row_of_a_merged_member_is_skipped(small: Connection, kept: int, order: tuple[int, int]) -> None:
    """Whichever row comes first, and whichever id: the kept member's own row decides."""
    ids = await twins(small)
    await did(merge, small, ids[kept], ids[1 - kept])
    done = await imported(small, MEMBERS, rows_of(*order))
    assert {(row["external_id"], row["verdict"]) for row in done.rows} == {
        (f"10{2 + kept}", "unchanged"),
        (f"10{3 - kept}", "skipped"),
    }
    assert done.reasons == [f"external_id: the member was merged with 10{2 + kept}, whose row decides"]
    alone = await imported(small, MEMBERS, rows_of(1 - kept))
    assert alone.verdicts == ["skipped"]
    stored = await small.fetchrow("select last_name, email from members where id = $1", ids[kept])
    assert tuple(stored or ()) == tuple(TWINS[kept].split(",")[2:])


async def test_the_own_row_is_known_after_several_merges(small: Connection) -> None:
    """The last member has no row of its own in the file, so the row of the one who was kept before decides."""
    ann, anne, nan = await twins(small)
    await did(merge, small, nan, anne)
    await did(merge, small, nan, ann)
    await did(merge, small, MEMBER, nan)
    done = await imported(small, MEMBERS, rows_of(0, 1, 2))
    assert done.verdicts == ["skipped", "skipped", "updated"]
    assert await small.fetchval("select email from members where id = $1", MEMBER) == "nan@example.com"


async def test_memberships_of_a_merged_member_are_the_kept_ones(small: Connection) -> None:
    ann, anne, _ = await twins(small)
    await did(merge, small, ann, anne)
    rows = "external_id,member,product,status,started_at\n1,103,pack-10,active,2026-01-01"
    (row,) = (await imported(small, mapping_of("memberships"), rows)).rows
    assert await small.fetchval("select member_id from memberships where id = $1", UUID(row["id"])) == ann
