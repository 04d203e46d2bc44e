"""POST /forms/{id}/submissions (CONTRACT 6)."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from studiogate.storage import people
from studiogate.storage.forms import submit as storage
from tests.support.asgi import AsgiResponse, assert_refused
from tests.support.form_fields import completed
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.pictures import png_url
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

FIELDS: list[dict[str, Any]] = [
    {"key": "name", "label": "Name", "type": "text", "required": True},
    {"key": "injured", "label": "Injured?", "type": "select", "options": ["no", "yes"]},
    {
        "key": "where",
        "label": "Where?",
        "type": "text",
        "required": True,
        "display_when": {"field_key": "injured", "op": "equals", "value": "yes"},
    },
    {
        "key": "terms",
        "label": "Terms",
        "type": "consent",
        "required": True,
        "consent_policy_slug": "terms",
        "consent_policy_version": "3",
        "consent_label": "I agree to the terms.",
    },
    {"key": "sign", "label": "Sign", "type": "signature"},
]
GOOD = {"name": "Sam", "injured": "no", "terms": "true"}


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def new_form(partner: Partner, settings: dict[str, Any] | None = None, **more: Any) -> str:
    body = {"title": f"F {uuid4().hex}", "fields": [], "settings": settings or {}, "status": "published", **more}
    response = await partner.post("/forms", body)
    assert response.status == 201, response.body
    return str(response.json()["id"])


async def submit(
    partner: Partner, form: str, data: Any = None, *headers: tuple[str, str], email: str | None = None, **more: Any
) -> AsgiResponse:
    body = {"submitter_email": email or f"{uuid4().hex}@example.com", "data": data or {}, **more}
    return await partner.post(f"/forms/{form}/submissions", body, *headers)


async def test_a_submission_is_kept_with_its_version(partner: Partner) -> None:
    form = await new_form(partner, fields=FIELDS)
    response = await submit(
        partner, form, {**GOOD, "sign": png_url()}, email=" Sam@Example.com", submitter_name="Sam Lee"
    )
    assert response.status == 201, response.body
    made = response.json()
    assert made == await partner.get(f"/forms/{form}/submissions/{made['id']}")
    assert (made["submitter_email"], made["submitter_name"]) == ("sam@example.com", "Sam Lee")
    assert (made["status"], made["form_version"], made["form_id"]) == ("pending", 1, form)
    assert made["data"] == {**GOOD, "sign": png_url()}
    assert (made["member_id"], made["lead_id"]) == (None, None)
    await partner.send("PUT", f"/forms/{form}", json.dumps({"fields": FIELDS[:1]}).encode())
    later = (await submit(partner, form, {"name": "X"})).json()
    assert later["form_version"] == 2
    kept = await partner.value("select fields from form_versions where form_id = $1 and version = 1", form)
    assert json.loads(kept) == completed(*FIELDS)


async def test_consent_is_evidence(partner: Partner) -> None:
    form = await new_form(partner, fields=FIELDS)
    made = (await submit(partner, form, GOOD)).json()
    (evidence,) = json.loads(await partner.value("select consents from form_submissions where id = $1", made["id"]))
    assert evidence.pop("at") == made["created_at"]
    assert evidence == {
        "key": "terms",
        "slug": "terms",
        "version": "3",
        "text_sha256": hashlib.sha256(b"I agree to the terms.").hexdigest(),
    }


async def test_every_fault_at_once(partner: Partner) -> None:
    form = await new_form(partner, fields=FIELDS)
    response = await submit(
        partner, form, {"injured": "maybe", "where": "knee", "nobody": "x", "sign": "scribble"}, email="broken"
    )
    assert sorted(locs(response)) == [
        ["body", "data", "injured"],
        ["body", "data", "name"],
        ["body", "data", "nobody"],
        ["body", "data", "sign"],
        ["body", "data", "terms"],
        ["body", "data", "where"],
        ["body", "submitter_email"],
    ]
    assert b"scribble" not in response.body
    assert b"knee" not in response.body


async def test_conditional_fields(partner: Partner) -> None:
    form = await new_form(partner, fields=FIELDS)
    assert locs(await submit(partner, form, {**GOOD, "injured": "yes"})) == [["body", "data", "where"]]
    assert (await submit(partner, form, {**GOOD, "injured": "yes", "where": "knee"})).status == 201
    assert locs(await submit(partner, form, {**GOOD, "where": "knee"})) == [["body", "data", "where"]]


async def test_the_email_is_required_and_must_be_one(partner: Partner) -> None:
    form = await new_form(partner)
    assert locs(await partner.post(f"/forms/{form}/submissions", {"data": {}})) == [["body", "submitter_email"]]
    wrong: list[Any] = [None, 5, [], "", "x", "a@b.example\nbcc: c@d.example"]
    for email in wrong:
        response = await partner.post(f"/forms/{form}/submissions", {"submitter_email": email})
        assert locs(response) == [["body", "submitter_email"]], email
    response = await partner.post(
        f"/forms/{form}/submissions", {"submitter_email": "a@b.example", "data": [], "submitter_name": "a\nb", "x": 1}
    )
    assert sorted(locs(response)) == [["body", "data"], ["body", "submitter_name"], ["body", "x"]]


async def test_order_of_checks(partner: Partner) -> None:
    assert_refused(await submit(partner, str(uuid4())), "not_found")
    assert locs(await submit(partner, str(uuid4()), email="broken")) == [["body", "submitter_email"]]
    draft = await new_form(partner, fields=FIELDS, status="draft")
    assert locs(await submit(partner, draft, {"name": "X"})) == [["body", "data", "terms"]]
    assert_refused(await submit(partner, draft, GOOD), "form_not_accepting_submissions")


@pytest.mark.parametrize("status", ["draft", "archived"])
async def test_only_published_forms_take_submissions(partner: Partner, status: str) -> None:
    form = await new_form(partner, status=status)
    assert_refused(await submit(partner, form), "form_not_accepting_submissions")


async def test_the_window(partner: Partner) -> None:
    past, future = "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
    for settings, open_ in [
        ({"opens_at": past}, True),
        ({"opens_at": future}, False),
        ({"closes_at": past}, False),
        ({"closes_at": future}, True),
        ({"opens_at": past, "closes_at": future}, True),
    ]:
        response = await submit(partner, await new_form(partner, settings))
        assert (response.status == 201) is open_
        if not open_:
            assert_refused(response, "form_not_accepting_submissions")


async def test_a_full_form_under_concurrency(partner: Partner) -> None:
    form = await new_form(partner, {"max_submissions": 5})
    responses = await asyncio.gather(*(submit(partner, form) for _ in range(20)))
    assert sorted(each.status for each in responses) == [201] * 5 + [409] * 15
    assert_refused(await submit(partner, form), "form_not_accepting_submissions")


async def test_without_the_lock_it_overfills(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove that the race is real and that the test above would detect it."""
    monkeypatch.setattr(storage, "LOCK_COUNT", "select $1::text, $2::text")
    for _ in range(10):
        form = await new_form(partner, {"max_submissions": 1})
        responses = await asyncio.gather(*(submit(partner, form) for _ in range(10)))
        if sum(each.status == 201 for each in responses) > 1:
            return
    raise AssertionError("never overfilled: the test of the full form proves nothing")


async def test_once_per_email_under_concurrency(partner: Partner) -> None:
    form = await new_form(partner, {"allow_multiple": False})
    spellings = ["once@example.com", "ONCE@example.com", " once@example.com", "\uff4fnce@example.com"]
    responses = await asyncio.gather(*(submit(partner, form, email=spellings[n % 4]) for n in range(12)))
    assert sorted(each.status for each in responses) == [201] + [409] * 11
    assert (await submit(partner, form, email="other@example.com")).status == 201


async def test_without_the_lock_an_email_submits_twice(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "LOCK_EMAIL", "select $1::text, $2::text")
    for _ in range(10):
        form = await new_form(partner, {"allow_multiple": False})
        responses = await asyncio.gather(*(submit(partner, form, email="twice@example.com") for _ in range(10)))
        if sum(each.status == 201 for each in responses) > 1:
            return
    raise AssertionError("never submitted twice: the test of one submission per email proves nothing")


async def test_many_are_allowed_by_default(partner: Partner) -> None:
    form = await new_form(partner)
    assert [(await submit(partner, form, email="m@example.com")).status for _ in range(3)] == [201] * 3


async def test_it_is_linked_to_member_and_lead(partner: Partner) -> None:
    form = await new_form(partner)
    lead = (await partner.post("/leads", {"email": "linked@example.com"})).json()
    made = (await submit(partner, form, email="LINKED@example.com")).json()
    assert (made["member_id"], made["lead_id"]) == (None, lead["id"])
    metadata = (await partner.get(f"/leads/{lead['id']}"))["metadata"]
    assert metadata == {
        "form_submissions": [
            {"form_id": form, "submission_id": made["id"], "submitted_at": made["created_at"]},
        ]
    }
    member = (
        await partner.post("/members", {"email": "linked@example.com", "first_name": "A", "last_name": "B"})
    ).json()
    again = (await submit(partner, form, email="linked@example.com")).json()
    assert (again["member_id"], again["lead_id"]) == (member["id"], lead["id"])


async def test_the_newest_20_are_kept_on_the_lead(partner: Partner) -> None:
    form = await new_form(partner)
    lead = (await partner.post("/leads", {"email": "busy@example.com", "metadata": {"own": 1}})).json()
    made = [(await submit(partner, form, email="busy@example.com")).json()["id"] for _ in range(23)]
    metadata = (await partner.get(f"/leads/{lead['id']}"))["metadata"]
    assert metadata["own"] == 1
    assert [each["submission_id"] for each in metadata["form_submissions"]] == made[3:]


async def test_an_unknown_email_becomes_a_lead_where_the_form_says_so(partner: Partner) -> None:
    quiet, eager = await new_form(partner), await new_form(partner, {"create_lead": True})
    await submit(partner, quiet, email="unknown@example.com")
    assert (await partner.get("/leads?email=unknown@example.com"))["data"] == []
    responses = await asyncio.gather(
        *(submit(partner, eager, email="unknown@example.com", submitter_name="Uma Thorn") for _ in range(4))
    )
    (lead,) = (await partner.get("/leads?email=unknown@example.com"))["data"]
    assert [lead[name] for name in ("source", "first_name", "last_name", "status")] == ["form", "Uma", "Thorn", "new"]
    assert {each.json()["lead_id"] for each in responses} == {lead["id"]}
    assert len(lead["metadata"]["form_submissions"]) == 4
    member = await partner.value("select email from members where id = $1", partner.studio.first("member"))
    made = (await submit(partner, eager, email=member)).json()
    assert (made["member_id"], made["lead_id"]) == (str(partner.studio.first("member")), None)


async def test_a_retry_with_its_key(partner: Partner) -> None:
    form = await new_form(partner, {"allow_multiple": False})
    header = ("idempotency-key", f"submission-{uuid4()}")
    first = await submit(partner, form, None, header, email="idem@example.com")
    again = await submit(partner, form, None, header, email="idem@example.com")
    assert (again.status, again.body, again.header("idempotent-replayed")) == (201, first.body, "true")
    assert await partner.value("select count(*) from form_submissions where form_id = $1", form) == 1
    bad = ("idempotency-key", f"submission-{uuid4()}")
    other = await new_form(partner, fields=FIELDS)
    assert (await submit(partner, other, {}, bad, email="x@example.com")).status == 422
    assert (await submit(partner, other, GOOD, bad, email="x@example.com")).status == 201, "a 422 is not remembered"


async def test_another_studio_s_form(partner: Partner) -> None:
    other = await partner_of(partner.api, f"other{uuid4().hex[:6]}")
    mine, theirs = await new_form(partner, slug="shared-slug"), await new_form(other, slug="shared-slug")
    assert_refused(await submit(partner, theirs), "not_found")
    made = (await submit(partner, mine)).json()
    missing = await partner.send("GET", f"/forms/{theirs}/submissions/{made['id']}", b"")
    assert_refused(missing, "not_found")
    second = await new_form(partner)
    assert_refused(await partner.send("GET", f"/forms/{second}/submissions/{made['id']}", b""), "not_found")


async def test_a_key_without_the_scope(partner: Partner) -> None:
    key = await issue_key(partner.api.connection, partner.studio, "forms:write", "form_submissions:read")
    response = await partner.post(f"/forms/{uuid4()}/submissions", {}, key=key)
    assert assert_refused(response, "insufficient_scope")["details"] == {"required_scope": "form_submissions:write"}


async def test_a_cycle_that_slipped_in_ends(partner: Partner) -> None:
    form = await new_form(partner, fields=FIELDS)
    cycle = [
        {"key": "a", "label": "A", "type": "text", "display_when": {"field_key": "b", "op": "is_empty"}},
        {"key": "b", "label": "B", "type": "text", "display_when": {"field_key": "a", "op": "is_empty"}},
    ]
    await partner.api.connection.execute("update forms set fields = $1 where id = $2", json.dumps(cycle), form)
    assert (await submit(partner, form)).status == 201
    assert locs(await submit(partner, form, {"a": "x"})) == [["body", "data", "a"]]


@pytest.mark.parametrize("value", [None, 5, 1.5, True, {}, {"x": {"y": "z"}}, [1], [[]], [None]], ids=repr)
async def test_values_of_wrong_types(partner: Partner, value: Any) -> None:
    form = await new_form(partner, fields=FIELDS)
    assert locs(await submit(partner, form, {**GOOD, "name": value})) == [["body", "data", "name"]]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "{{7*7}}", "'; drop table forms; --", "%s%n", "../../x", "=cmd|'/c calc'!A1"]
)
async def test_markup_is_text(partner: Partner, text: str) -> None:
    form = await new_form(partner, fields=FIELDS)
    made = (await submit(partner, form, {**GOOD, "name": text}, submitter_name=text)).json()
    assert (made["data"]["name"], made["submitter_name"]) == (text, text)


async def test_many_unknown_keys_are_answered_briefly(partner: Partner) -> None:
    form = await new_form(partner)
    response = await submit(partner, form, {f"k{n}": "x" for n in range(20_000)})
    assert response.status == 422
    assert len(response.body) < 2000


@pytest.mark.parametrize(
    ("body", "faulty"),
    [
        ({}, [["submitter_email"], ["data", "name"], ["data", "terms"]]),
        ({"submitter_email": "no", "data": GOOD, "foo": 1}, [["foo"], ["submitter_email"]]),
        ({"submitter_email": "no", "data": []}, [["data"], ["submitter_email"]]),
        (
            {"submitter_name": 5, "data": {**GOOD, "injured": "maybe"}},
            [["submitter_name"], ["submitter_email"], ["data", "injured"]],
        ),
    ],
)
async def test_faults_around_the_answers_do_not_hide_those_in_them(
    partner: Partner, body: dict[str, Any], faulty: list[list[str]]
) -> None:
    form = await new_form(partner, fields=FIELDS)
    response = await partner.post(f"/forms/{form}/submissions", body)
    assert locs(response) == [["body", *each] for each in faulty]


async def test_a_faulty_submission_to_no_form(partner: Partner) -> None:
    response = await partner.post(f"/forms/{uuid4()}/submissions", {"data": {"x": "y"}})
    assert locs(response) == [["body", "submitter_email"]]
