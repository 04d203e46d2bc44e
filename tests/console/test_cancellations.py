"""Cancelling at the desk: what each way costs, waiving, undoing; what stops a check-in; spots."""

import re
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.staff import Role
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio
FEE = {"late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}


async def late(studio: BookingStudio, **columns: Any) -> tuple[UUID, UUID, str]:
    class_id = await studio.new_class(**{"policy": FEE, **columns})
    member = await studio.new_member(first_name="Priya", last_name="Nair")
    booking = await studio.booked(class_id, member)
    await studio.move(class_id, 2 * HOUR)
    return class_id, member, booking["id"]


async def test_the_preview_names_fee_credit_and_who_is_promoted(console: Console, studio: BookingStudio) -> None:
    class_id, _, booking = await late(studio, capacity=1)
    await studio.waits(class_id, await studio.new_member(first_name="Mia", last_name="Chen"))
    page = texts(await console.get(f"/console/bookings/{booking}/cancel"))
    for said in (
        "By the policy Late: a fee of $15.00, the credit is not returned.",
        "Waive the fee Late: without the fee of $15.00, the credit is not returned.",
        "Cancelled by the studio No fee, the credit is returned.",
        "Mia Chen is promoted at once, so this cannot be undone.",
    ):
        assert said in page
    done = await console.post(f"/console/bookings/{booking}/cancel", {"charge": "policy"})
    after = await console.get(done.headers["location"])
    assert "The booking of Priya Nair is cancelled." in texts(after)
    assert "Mia Chen is promoted." in texts(after)
    assert "/uncancel" not in after.text


async def test_a_fee_is_charged_then_the_cancellation_undone(console: Console, studio: BookingStudio) -> None:
    _, member, booking = await late(studio)
    path = f"/console/bookings/{booking}"
    assert "You can undo this right afterwards." in texts(await console.get(f"{path}/cancel"))
    done = await console.post(f"{path}/cancel", {"charge": "policy", "next": f"/console/members/{member}"})
    assert done.headers["location"] == f"/console/members/{member}"
    page = await console.get(f"/console/members/{member}")
    assert "Late: a fee of $15.00, the credit is not returned." in texts(page)
    assert f'action="{path}/uncancel"' in page.text
    undone = await console.post(f"{path}/uncancel", {"spot": "", "next": f"/console/members/{member}"})
    assert "Priya Nair is booked again. The fee is withdrawn." in texts(await console.get(undone.headers["location"]))
    (fee,) = await studio.rows("purchases", "product_type = 'fee'")
    assert (str(fee["status"]), await studio.credits(member)) == ("cancelled", 9)


async def test_waiving_needs_a_reason_and_a_choice_that_exists(console: Console, studio: BookingStudio) -> None:
    _, _, booking = await late(studio)
    path = f"/console/bookings/{booking}/cancel"
    refused = await console.post(path, {"charge": "waived", "reason": " "})
    assert (refused.status_code, "Waiving a fee needs a reason." in texts(refused)) == (422, True)
    assert re.search(r'value="waived" checked', refused.text), "the choice is kept"
    assert (await console.post(path, {"charge": "nothing"})).status_code == 422
    done = await console.post(path, {"charge": "waived", "reason": "Snow"})
    assert "Late: without the fee of $15.00" in texts(await console.get(done.headers["location"]))


async def test_a_cancelled_wait_says_that_the_place_is_lost(console: Console, studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    waits = await studio.waits(class_id, await studio.new_member(first_name="Mia", last_name="Chen"))
    page = texts(await console.get(f"/console/bookings/{waits['id']}/cancel"))
    assert "The place on the waitlist is lost: this cannot be undone." in page
    done = await console.post(f"/console/bookings/{waits['id']}/cancel", {"charge": "policy"})
    after = await console.get(done.headers["location"])
    assert "Mia Chen is off the waitlist." in texts(after)
    assert "/uncancel" not in after.text


async def stopped(studio: BookingStudio) -> tuple[UUID, str]:
    """Return the class and the booking of a member without the waiver and with an open fee."""
    class_id, form = await studio.new_class(10), await studio.new_form()
    member = await studio.new_member(first_name="Priya", last_name="Nair")
    booking = await studio.booked(class_id, member)
    await studio.policy("classes", class_id, waiver_form_id=str(form))
    fee = {"product_key": "late_cancel_fee", "product_type": "fee", "status": "pending", "quantity": 1}
    await studio.add("purchases", member_id=member, amount_total=15, currency="USD", location_id=studio.location, **fee)
    return class_id, booking["id"]


async def test_a_stopped_check_in_offers_what_settles_it(console: Console, studio: BookingStudio) -> None:
    class_id, booking = await stopped(studio)
    path = f"/console/bookings/{booking}"
    quick = await console.post(f"{path}/attendance", {"mark": "checked_in"}, htmx=True)
    assert (quick.status_code, quick.headers["x-refusal"]) == (409, "check_in_stopped")
    plain = await console.post(f"{path}/attendance", {"mark": "checked_in"})
    assert plain.status_code == 409
    assert f'href="{path}/check-in"' in plain.text
    drawer = await console.get(f"{path}/check-in")
    for said in ("The waiver is missing", "Open fees", "$15.00", "Check in anyway"):
        assert said in texts(drawer)
    assert f"/console/classes/{class_id}/waiver?member=" in drawer.text
    assert "/paid?next=" in drawer.text
    assert (await console.post(f"{path}/check-in", {"reason": " "})).status_code == 409
    done = await console.post(f"{path}/check-in", {"reason": "Signs after class"})
    assert "Checked in Priya Nair." in texts(await console.get(done.headers["location"]))
    assert "Nothing is open" not in texts(await console.get(f"{path}/check-in"))


async def test_an_instructor_is_stopped_by_a_waiver_and_sees_no_fees(console: Console, studio: BookingStudio) -> None:
    class_id, booking = await stopped(studio)
    teacher = await studio.add("instructors", name="Ines")
    person = await console.as_role(Role.INSTRUCTOR, instructor=teacher)
    path = f"/console/bookings/{booking}/check-in"
    assert (await person.get(path)).status_code == 404, "not their class"
    assert (await person.get(f"/console/bookings/{booking}")).status_code == 404
    await studio.change("classes", class_id, instructor_id=teacher)
    drawer = texts(await person.get(path))
    assert "The waiver is missing" in drawer
    assert "$15.00" not in drawer
    menu = texts(await person.get(f"/console/bookings/{booking}"))
    assert "Cancel the booking" not in menu
    await studio.policy("classes", class_id, check_in_stop="fee")
    assert (await person.post(f"/console/bookings/{booking}/attendance", {"mark": "checked_in"})).status_code == 303


async def test_a_free_spot_is_given_from_the_map(console: Console, studio: BookingStudio) -> None:
    first, second = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(spot_selection_mode="optional")
    booking = await studio.booked(class_id, await studio.new_member(first_name="Priya", last_name="Nair"))
    other = await studio.booked(await studio.new_class(), await studio.new_member())
    page = await console.get(f"/console/classes/{class_id}")
    assert f'href="/console/classes/{class_id}/spots/{second}"' in page.text
    assert f'href="/console/bookings/{booking["id"]}"' in page.text
    assert (await console.get(f"/console/classes/{class_id}/spots/{first}")).status_code == 404, "it is taken"
    assert "Priya Nair · now A1" in texts(await console.get(f"/console/classes/{class_id}/spots/{second}"))
    path = f"/console/bookings/{booking['id']}/spot"
    assert (await console.post(path, {"spot": str(second)})).status_code == 303
    assert (await studio.row("bookings", booking["id"]))["class_spot_id"] == second
    refused = await console.post(f"/console/bookings/{other['id']}/spot", {"spot": str(first)}, htmx=True)
    assert refused.headers["x-refusal"] == "spot_not_found"


async def test_why_a_mark_is_not_possible_yet(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(14 * HOUR)
    booking = await studio.booked(class_id, await studio.new_member(first_name="Priya", last_name="Nair"))
    path = f"/console/bookings/{booking['id']}/attendance"
    assert "The check-in of Priya Nair opens" in texts(await console.post(path, {"mark": "checked_in"}, htmx=True))
    absent = texts(await console.post(path, {"mark": "no_show"}, htmx=True))
    assert "Priya Nair can be marked as no-show from" in absent
