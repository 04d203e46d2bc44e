"""Every action of a partner emits exactly these events, with the resource as GET returns it afterwards.

Events caused by commands and by the passing of time are tested in ``test_event_causes_inside.py``; those of places, of
the catalog and of merged and erased members in ``test_event_causes_staff.py``.
"""

from uuid import UUID

import pytest

from studiogate.domain.events import EventType
from tests.contract import test_event_causes_inside, test_event_causes_staff
from tests.support import event_causes
from tests.support.event_causes import EventStudio, News, caused_by, causing, in_any_order

pytestmark = pytest.mark.anyio
studio_factory, event_studio = event_causes.studio_factory, event_causes.event_studio


def test_every_type_has_a_cause() -> None:
    defined = {**globals(), **vars(test_event_causes_inside), **vars(test_event_causes_staff)}
    tests = [test for name, test in defined.items() if name.startswith("test_") and callable(test)]
    named = {type_ for test in tests for type_ in caused_by(test)}
    assert named == set(EventType)


@causing("lead.created", "lead.updated")
async def test_leads(event_studio: EventStudio) -> None:
    body = {"email": "cause@example.com", "metadata": {"a": 1}}
    lead = await event_studio.act("POST", "/leads", body)
    assert await event_studio.news() == [("lead.created", {})]
    await event_studio.act("POST", "/leads", body)
    assert await event_studio.news() == [], "identified, and nothing changed"
    await event_studio.act("POST", "/leads", {**body, "first_name": "Ca", "metadata": {"b": 2}})
    assert await event_studio.news() == [("lead.updated", {"first_name": "", "metadata": {"a": 1}})]
    path = f"/leads/{lead['id']}"
    await event_studio.act("PATCH", path, {"status": "qualified"})
    assert await event_studio.news() == [("lead.updated", {"status": "new"})]
    await event_studio.act("POST", path + "/update", {"metadata": {"a": None}})
    assert await event_studio.news() == [("lead.updated", {"metadata": {"a": 1, "b": 2}})]
    await event_studio.act("PATCH", path, {"notes": "only the staff reads this"})
    await event_studio.act("PATCH", path, {"status": "qualified"})
    assert await event_studio.news() == [], "nothing that a reader sees"


@causing("member.created", "lead.created", "lead.updated")
async def test_members(event_studio: EventStudio) -> None:
    person = {"email": "cause@example.com", "first_name": "Ca", "last_name": "Use"}
    await event_studio.act("POST", "/members", person)
    assert await event_studio.news() == [("member.created", {})]
    await event_studio.act("POST", "/leads", {"email": "other@example.com"})
    await event_studio.news()
    await event_studio.act("POST", "/members", {**person, "email": "other@example.com"})
    news = dict(await event_studio.news())
    assert set(news) == {"member.created", "lead.updated"}
    assert news["member.created"] == {}
    assert news["lead.updated"] == {"status": "new", "lifecycle_stage": "lead"}


@causing("form.created", "form.updated", "form.submitted", "lead.created", "lead.updated")
async def test_forms(event_studio: EventStudio) -> None:
    question = {"key": "a", "label": "A", "type": "text"}
    form = await event_studio.act("POST", "/forms", {"title": "Cause", "fields": [question]})
    assert await event_studio.news() == [("form.created", {})]
    path = f"/forms/{form['id']}"
    await event_studio.act("PUT", path, {"status": "published"})
    assert await event_studio.news() == [("form.updated", {"status": "draft", "version": 1})]
    await event_studio.act("PUT", path, {"title": "Effect"})
    assert await event_studio.news() == [("form.updated", {"title": "Cause", "version": 2})]
    await event_studio.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "x"}})
    assert await event_studio.news() == [("form.submitted", {})]
    await event_studio.act("PUT", path, {"settings": {"create_lead": True}})
    await event_studio.news()
    await event_studio.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "x"}})
    # The lead is created first; the submission, which contains the lead's id, is then added to it.
    expected = ["form.submitted", "lead.created", "lead.updated"]
    assert sorted(type_ for type_, _ in await event_studio.news()) == expected
    await event_studio.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "y"}})
    news = dict(await event_studio.news())
    assert set(news) == {"form.submitted", "lead.updated"}
    assert set(news["lead.updated"]) == {"metadata"}
    await event_studio.act("PUT", path, {"status": "archived"})
    assert await event_studio.news() == [("form.updated", {"status": "published", "version": 4})]


@causing("member.created", "booking.created", "booking.cancelled", "booking.updated", "waitlist.updated")
async def test_bookings(event_studio: EventStudio) -> None:
    class_id = str(await event_studio.studio.new_class(capacity=1))
    made = []
    for number, status in enumerate(("confirmed", "waitlisted", "waitlisted")):
        person = {"email": f"b{number}@example.com", "first_name": "Ca", "last_name": "Use"}
        member = await event_studio.act("POST", "/members", person)
        await event_studio.studio.new_membership(UUID(member["id"]))
        await event_studio.news()
        wanted = {"class_id": class_id, "member_id": member["id"], "join_waitlist": True}
        made.append(await event_studio.act("POST", "/bookings", wanted))
        assert made[-1]["status"] == status
        assert await event_studio.news() == [("booking.created", {})], (
            "the class's counts are announced by the booking alone"
        )
    await event_studio.act("DELETE", f"/bookings/{made[0]['id']}")
    waiting = {"status": "waiting", "position": 1, "converted_to_booking": False, "promoted_at": None}
    expected: list[News] = [
        ("booking.cancelled", {"status": "confirmed"}),
        ("booking.updated", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", waiting),
        ("waitlist.updated", {"position": 2}),
    ]
    assert in_any_order(await event_studio.news()) == in_any_order(expected)
    await event_studio.act("DELETE", f"/bookings/{made[2]['id']}")
    expected = [
        ("booking.cancelled", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", {"status": "waiting", "position": 1}),
    ]
    assert in_any_order(await event_studio.news()) == in_any_order(expected)


@causing("booking.created", "booking.cancelled", "purchase.created")
async def test_a_late_fee(event_studio: EventStudio) -> None:
    late = {"late_action": "fee", "late_fee_amount": "15.00"}
    class_id = await event_studio.studio.new_class(60, policy=late)
    booked = await event_studio.studio.booked(class_id, await event_studio.studio.new_member())
    await event_studio.news()
    await event_studio.act("DELETE", f"/bookings/{booked['id']}")
    expected = [("booking.cancelled", {"status": "confirmed"}), ("purchase.created", {})]
    assert in_any_order(await event_studio.news()) == in_any_order(expected)
