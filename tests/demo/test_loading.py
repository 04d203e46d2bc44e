"""The demo studio, loaded: a day has happened in it, everything holds together, and nobody can sign in uninvited."""

from datetime import timedelta

import pytest

from studiogate.cli import prepare
from studiogate.demo.activity import STEPS
from studiogate.demo.schedule import TIMETABLE
from studiogate.demo.studio import STAFF
from studiogate.domain.events import EventType
from studiogate.domain.staff import Role
from studiogate.flows import doctor, events
from studiogate.storage.upload_folder import UploadFolder
from tests.support import demo_service as loaded_demo
from tests.support.demo_service import DemoService

pytestmark = pytest.mark.anyio
demo_service = loaded_demo.demo_service

# What a day at the front desk does not do: disable an endpoint, change the studio's places and catalog, merge or erase
# somebody. Changed counts are announced once the events are numbered.
UNCHANGED = {"webhook_endpoint", "location", "room", "class_type", "instructor", "product"}
LATER = {EventType.CLASS_AVAILABILITY_CHANGED}
CAUSED = {each for each in EventType if each.resource not in UNCHANGED} - {
    EventType.MEMBER_MERGED,
    EventType.MEMBER_ERASED,
    *LATER,
}


async def test_doctor_finds_nothing(demo_service: DemoService) -> None:
    findings = await doctor.examine(demo_service.api.connection)
    findings.append(await doctor.examine_files(demo_service.api.connection, UploadFolder(demo_service.folder)))
    assert [finding for finding in findings if finding.level != "ok"] == []


async def test_no_step_of_the_day_is_refused(demo_service: DemoService) -> None:
    """Each step leaves its traces; a refused one would be missing here."""
    rows = await demo_service.rows("select action, count(*) from audit_log where channel = 'console' group by action")
    actions = {row["action"] for row in rows}
    assert actions >= {
        "booking.check_in", "booking.no_show_undone", "booking.create", "member.create", "member.change", "member.note",
        "member.suspend", "membership.sell", "membership.credits", "membership.pause", "purchase.mark",
        "purchase.refund", "fee.waive", "class.create", "class.change", "class.cancel", "closure.create",
        "series.create", "lead.move", "form.create", "form.publish",
    }  # fmt: skip
    assert len(STEPS) == 21


async def test_the_event_log_has_every_type(demo_service: DemoService) -> None:
    rows = await demo_service.rows("select distinct type, actor from events")
    assert {row["type"] for row in rows} - LATER == {each.value for each in CAUSED}
    assert {row["actor"] for row in rows if row["type"] not in LATER} == {"partner", "staff", "visitor"}


async def test_partners_read_the_log(demo_service: DemoService) -> None:
    await events.number_all(demo_service.api.app._runtime.database)
    await events.announce_availability(demo_service.api.app._runtime.database)
    status, page = await demo_service.request("GET", "/events?limit=200")
    assert status == 200
    assert {event["type"] for event in page["data"]} == {each.value for each in CAUSED | LATER}


async def test_staff_of_every_role_without_passwords(demo_service: DemoService) -> None:
    rows = await demo_service.rows("select a.name, a.password_hash, r.role from staff_accounts a, staff_roles r"
                                   " where r.account_id = a.id")  # fmt: skip
    assert {row["role"] for row in rows} == {role.value for role in Role}
    assert {row["name"] for row in rows} == {each.name for each in STAFF}
    assert {row["password_hash"] for row in rows} == {None}
    assert await demo_service.value("select count(*) from staff_links") == 0, "nobody holds a link"


async def test_the_ledger_has_a_history(demo_service: DemoService) -> None:
    rows = await demo_service.rows("select distinct reason from credit_ledger")
    assert {row["reason"] for row in rows} >= {"granted", "booked", "returned", "adjusted", "opening", "promoted"}
    reason = "select reason from audit_log where action = 'membership.credits'"
    assert await demo_service.value(reason) == "Class ended early: power cut."


async def test_the_roster_of_the_class_that_starts_soon(demo_service: DemoService) -> None:
    """A birthday, a first visit, a missing waiver, an open fee, and a waitlist by hand."""
    class_id = await demo_service.value("select id from classes where title = 'Express Ride'")
    rows = await demo_service.rows(
        """
        select m.first_name, b.status,
               exists (select from bookings o where o.member_id = m.id and o.status = 'checked_in'
                       and o.start_time < now() - interval '1 day') as has_visited,
               exists (select from purchases p where p.member_id = m.id and p.product_type = 'fee'
                       and p.status = 'pending') as owes,
               (select f.data ->> 'date_of_birth' from form_submissions f
                where f.member_id = m.id and f.data ? 'date_of_birth') as born
        from bookings b join members m on m.id = b.member_id where b.class_id = $1""",
        class_id,
    )
    people = {row["first_name"]: row for row in rows}
    assert not people["Tomás"]["has_visited"]
    assert people["Nia"]["has_visited"]
    assert people["Hanna"]["owes"]
    assert people["Lucía"]["born"] is None, "no waiver"
    assert people["Sofia"]["born"][5:] in {f"{day:%m-%d}" for day in demo_service.days}
    waiting = "select skip_reason from waitlist_entries where class_id = $1 and status = 'waiting' order by position"
    entries = await demo_service.rows(waiting, class_id)
    assert [row["skip_reason"] for row in entries] == ["insufficient_credits", None]


async def test_submissions_have_files_and_signatures(demo_service: DemoService) -> None:
    row = (await demo_service.rows("select id, form_id, submission_id from form_uploads order by id limit 1"))[0]
    path = f"/partner/v1/forms/{row['form_id']}/submissions/{row['submission_id']}/files/{row['id']}"
    answer = await demo_service.api.client.get(path, headers={"X-Service-Key": demo_service.key})
    assert (answer.status_code, answer.content[:5]) == (200, b"%PDF-")
    signed = "select count(*) from form_submissions where data ->> 'signature' like 'data:image/png;base64,%'"
    assert await demo_service.value(signed) > 30


async def test_it_is_loaded_once(demo_service: DemoService) -> None:
    before = await demo_service.value("select count(*) from events")
    assert await prepare.ensure(demo_service.api.connection, demo_service.folder) == demo_service.key
    assert await demo_service.value("select count(*) from events") == before


async def test_housekeeping_has_nothing_to_add(demo_service: DemoService) -> None:
    """The classes of the series exist as far ahead as they are created; a closure keeps Denver free for two days."""
    assert await demo_service.value("select count(*) from class_series") == len(TIMETABLE) + 1
    until = await demo_service.rows("select distinct generated_until from class_series")
    assert {row["generated_until"] for row in until} <= {day + timedelta(weeks=8) for day in demo_service.days}
    closed = await demo_service.rows("select location_id, first_date, last_date from closures")
    assert len(closed) == 1
    open_classes = """
        select count(*) from classes c join locations l on l.id = c.location_id
        where c.location_id = $1 and c.status = 'scheduled'
          and (c.start_time at time zone l.timezone)::date between $2 and $3"""
    assert await demo_service.value(open_classes, *closed[0]) == 0
