"""Queue a mail with a signed link to a form: what is stored, who is refused, what erasing and merging do."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.forms.signed_links import LIMIT, LINKS_PER_HOUR, MAX_LINK_LIFE, NO_ADDRESS
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.flows.forms import staff as flow
from studiogate.flows.forms.staff import FormLinkToSend, QueuedLink
from studiogate.flows.members import erase, export, merge
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import did, entries, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def with_email(studio: BookingStudio) -> tuple[UUID, str]:
    email = f"{uuid4().hex}@example.com"
    return await studio.new_member(email=email), email


async def queued(studio: BookingStudio) -> list[Any]:
    return list(await studio.rows("mails", "kind = 'form_link' order by created_at, id"))


async def test_a_mail_names_the_member_and_the_form_and_holds_no_secret(studio: BookingStudio) -> None:
    form, (member, email) = await studio.new_form(), await with_email(studio)
    done = await did(studio, flow.send_link, FormLinkToSend(form, member))
    assert done.masked_email == f"{email[0]}***@example.com"
    (mail,) = await queued(studio)
    kept = {name: value for name, value in dict(mail).items() if value is not None}
    fixed = ("studio_id", "id", "status", "attempts", "due_at", "created_at")
    assert {name: value for name, value in kept.items() if name not in fixed} == {
        "kind": "form_link",
        "form_id": form,
        "member_id": member,
        "expires_at": done.expires_at,
    }
    week = timedelta(days=7)
    assert week <= done.expires_at - mail["created_at"] < week + timedelta(hours=1)
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_type"], entry["subject_id"]) == ("form.send_link", "member", member)
    assert entry["changes"] == {"form_id": [None, str(form)]}


async def test_the_life_of_the_link_is_stored(studio: BookingStudio) -> None:
    form, (member, _) = await studio.new_form(), await with_email(studio)
    await did(studio, flow.send_link, FormLinkToSend(form, member, timedelta(hours=2)))
    (mail,) = await queued(studio)
    assert timedelta(hours=2) <= mail["expires_at"] - mail["created_at"] < timedelta(hours=3)


LIVES = {
    "none": (timedelta(0), False),
    "negative": (timedelta(seconds=-1), False),
    "short": (timedelta(seconds=1), True),
    "longest": (MAX_LINK_LIFE, True),
    "too long": (MAX_LINK_LIFE + timedelta(seconds=1), False),
}


@pytest.mark.parametrize(("life", "is_accepted"), LIVES.values(), ids=LIVES)
async def test_how_long_a_link_may_open_a_form(studio: BookingStudio, life: timedelta, is_accepted: bool) -> None:
    """Whether it is mailed or handed over."""
    form, (member, _) = await studio.new_form(), await with_email(studio)
    if is_accepted:
        await did(studio, flow.send_link, FormLinkToSend(form, member, life))
        await did(studio, flow.link, form, member, life)
        return
    mailed = await refused(studio, flow.send_link, FormLinkToSend(form, member, life))
    made = await refused(studio, flow.link, form, member, life)
    assert mailed == made
    assert [(fault.loc, fault.msg) for fault in made.faults] == [
        (("expires_at",), "must be in the future, at most 366 days from now")
    ]
    assert (await queued(studio), await entries(studio)) == ([], [])


async def test_nobody_to_send_it_to(studio: BookingStudio) -> None:
    form, (member, _) = await studio.new_form(), await with_email(studio)
    assert (await refused(studio, flow.send_link, FormLinkToSend(uuid4(), member))) == NOT_FOUND
    assert (await refused(studio, flow.send_link, FormLinkToSend(form, uuid4()))) == flow.NO_MEMBER
    without = await refused(studio, flow.send_link, FormLinkToSend(form, await studio.new_member()))
    assert (without.code, without.faults) == (Code.VALIDATION_ERROR, (NO_ADDRESS,))
    await did(studio, erase.erase, member)
    gone = await refused(studio, flow.send_link, FormLinkToSend(form, member))
    assert (gone.code, gone.details["from"]) == (Code.INVALID_TRANSITION, "erased")
    assert await queued(studio) == []


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"status": "draft"}, "not_published"),
        ({"status": "archived"}, "not_published"),
        ({"settings": '{"opens_at": "2099-01-01T00:00:00Z"}'}, "not_open_yet"),
        ({"settings": '{"closes_at": "2020-01-01T00:00:00Z"}'}, "closed"),
        ({"settings": '{"max_submissions": 1}'}, "full"),
        ({"settings": '{"allow_multiple": false}'}, "already_submitted"),
    ],
)
async def test_a_form_that_takes_nothing_from_the_member(
    studio: BookingStudio, columns: dict[str, Any], reason: str
) -> None:
    form, (member, email) = await studio.new_form(), await with_email(studio)
    await studio.submit(form, member)
    await studio.sql("update form_submissions set submitter_email = $2 where studio_id = $1", email)
    await studio.change("forms", form, **columns)
    refusal = await refused(studio, flow.send_link, FormLinkToSend(form, member))
    assert (refusal.code, refusal.details) == (Code.FORM_NOT_ACCEPTING_SUBMISSIONS, {"reason": reason})
    assert await queued(studio) == []


async def test_a_mailbox_is_not_flooded(studio: BookingStudio) -> None:
    (member, _), (other, _) = await with_email(studio), await with_email(studio)
    forms = [await studio.new_form() for _ in range(2)]
    for number in range(LINKS_PER_HOUR):
        await did(studio, flow.send_link, FormLinkToSend(forms[number % 2], member))
    refusal = await refused(studio, flow.send_link, FormLinkToSend(forms[0], member))
    assert (refusal.code, refusal.details) == (Code.LIMIT_REACHED, {"limit": LIMIT, "maximum": LINKS_PER_HOUR})
    await did(studio, flow.send_link, FormLinkToSend(forms[0], other))
    await studio.sql("update mails set created_at = created_at - interval '61 minutes' where studio_id = $1")
    await did(studio, flow.send_link, FormLinkToSend(forms[0], member))


async def test_the_limit_holds_for_staff_who_send_at_the_same_time(studio: BookingStudio) -> None:
    form, (member, _) = await studio.new_form(), await with_email(studio)

    async def send() -> QueuedLink | Refusal:
        async with studio.database.connection() as connection:
            return await flow.send_link(connection, person(studio), FormLinkToSend(form, member))

    outcomes = await asyncio.gather(*(send() for _ in range(LINKS_PER_HOUR * 2)))
    assert sum(isinstance(each, QueuedLink) for each in outcomes) == LINKS_PER_HOUR
    assert len(await queued(studio)) == LINKS_PER_HOUR


async def test_an_erased_person_gets_none(studio: BookingStudio) -> None:
    form, (member, _) = await studio.new_form(), await with_email(studio)
    await did(studio, flow.send_link, FormLinkToSend(form, member))
    await did(studio, erase.erase, member)
    assert await queued(studio) == []


async def test_a_merged_person_gets_it_as_the_kept_one(studio: BookingStudio) -> None:
    form, (duplicate, _), (kept, _) = await studio.new_form(), await with_email(studio), await with_email(studio)
    await did(studio, flow.send_link, FormLinkToSend(form, duplicate))
    await did(studio, merge.merge, kept, duplicate)
    assert [mail["member_id"] for mail in await queued(studio)] == [kept]


async def test_the_export_of_a_person_lists_it(studio: BookingStudio) -> None:
    form, (member, email) = await studio.new_form(), await with_email(studio)
    await did(studio, flow.send_link, FormLinkToSend(form, member))
    (mail,) = (await did(studio, export.export, member)).sections["mails"]
    assert (mail["kind"], mail["recipient"], mail["form_id"]) == ("form_link", email, str(form))
