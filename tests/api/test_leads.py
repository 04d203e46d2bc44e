"""POST /leads, PATCH /leads/{id} and its alias (CONTRACT 5)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from studiogate.storage import leads as storage
from studiogate.storage import people
from tests.support.asgi import AsgiResponse, assert_refused
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

SPELLINGS = [
    "sam@example.com",
    " sam@example.com ",
    "SAM@EXAMPLE.COM",
    "Sam@Example.com",
    "\uff53am@example.com",
    "sam@EXAMPLE.com\n",
    "sam@\uff45xample.com",
    "\tSAM@example.COM",
]


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def create(partner: Partner, email: str, **more: Any) -> dict[str, Any]:
    response = await partner.post("/leads", {"email": email, **more})
    assert response.status == 201, response.body
    result: dict[str, Any] = response.json()
    assert list(result) == ["id", "object", "created"]
    assert result["object"] == "lead"
    return result


async def patiently(send: Callable[[], Awaitable[AsgiResponse]]) -> AsgiResponse:
    """Retry while a busy machine sheds load; the response says that a retry is safe."""
    while True:
        response = await send()
        if response.status != 503:
            return response


async def patch(partner: Partner, lead_id: str, body: dict[str, Any], *headers: tuple[str, str]) -> AsgiResponse:
    return await partner.send("PATCH", f"/leads/{lead_id}", json.dumps(body).encode(), *headers)


async def test_a_new_lead_has_its_defaults(partner: Partner) -> None:
    made = await create(partner, "new@example.com")
    assert made["created"] is True
    lead = await partner.get(f"/leads/{made['id']}")
    assert lead["email"] == "new@example.com"
    assert (lead["first_name"], lead["source"], lead["status"]) == ("", "partner_api", "new")
    assert (lead["lifecycle_stage"], lead["metadata"]) == ("lead", {})


async def test_the_same_email_is_the_same_lead(partner: Partner) -> None:
    first = await create(partner, SPELLINGS[0].replace("sam", "same"), first_name="Sam", source="fair")
    for spelling in SPELLINGS[:4]:
        again = await create(partner, spelling.lower().replace("sam", "same"), first_name="Other", source="other")
        assert again == {**first, "created": False}
    lead = await partner.get(f"/leads/{first['id']}")
    assert (lead["first_name"], lead["source"]) == ("Sam", "fair")


async def test_only_empty_fields_are_filled(partner: Partner) -> None:
    made = await create(partner, "fill@example.com")
    await create(partner, "fill@example.com", first_name="Ada", last_name="L", phone="(212) 555-0100", source="later")
    await create(partner, "fill@example.com", first_name="Eve", last_name="X", phone="+442079460000")
    row = await partner.api.connection.fetchrow("select * from leads where email = 'fill@example.com'")
    assert row is not None
    assert (row["first_name"], row["last_name"], row["phone"]) == ("Ada", "L", "+12125550100")
    assert row["source"] == "partner_api"
    assert str(row["id"]) == made["id"]


async def test_metadata_merges_and_what_comes_in_wins(partner: Partner) -> None:
    made = await create(partner, "meta@example.com", metadata={"a": 1, "b": {"x": 1}}, utm_source="mail")
    await create(
        partner, "meta@example.com", metadata={"b": {"y": 2}, "c": None}, utm_campaign="spring", utm_medium="email"
    )
    lead = await partner.get(f"/leads/{made['id']}")
    assert lead["metadata"] == {
        "a": 1,
        "b": {"y": 2},
        "c": None,
        "utm": {"utm_source": "mail", "utm_campaign": "spring", "utm_medium": "email"},
    }


async def test_plus_and_dots_are_other_people(partner: Partner) -> None:
    ids = {(await create(partner, f"{each}@fold.example"))["id"] for each in ("a.b", "ab", "ab+1", "a.b+1")}
    assert len(ids) == 4


async def test_an_international_domain_is_kept_in_ascii(partner: Partner) -> None:
    made = await create(partner, "Zoë@Bücher.example")
    assert (await partner.get(f"/leads/{made['id']}"))["email"] == "zoë@xn--bcher-kva.example"
    assert (await create(partner, "zoë@xn--bcher-kva.example"))["id"] == made["id"]


async def test_32_at_once_in_8_spellings_make_one_lead(partner: Partner) -> None:
    bodies = [{"email": SPELLINGS[number % 8], "metadata": {f"n{number}": number}} for number in range(32)]
    responses = await asyncio.gather(*[patiently(partial(partner.post, "/leads", body)) for body in bodies])
    assert {each.status for each in responses} == {201}, [each.body for each in responses if each.status != 201]
    results = [each.json() for each in responses]
    assert len({each["id"] for each in results}) == 1
    assert sum(each["created"] for each in results) == 1
    lead = await partner.get(f"/leads/{results[0]['id']}")
    assert lead["metadata"] == {f"n{number}": number for number in range(32)}


def forget_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    text = storage.MAKE_OR_LOCK._text
    assert "for no key update" in text
    monkeypatch.setattr(storage.MAKE_OR_LOCK, "_text", text.replace("for no key update", ""))


async def test_without_any_lock_metadata_of_32_at_once_is_lost(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prove that the test above can fail: either the email's lock or the lead's makes the requests wait."""
    monkeypatch.setattr(people, "LOCK_EMAIL", "select $1::text, $2::text")
    forget_the_lock(monkeypatch)
    for attempt in range(10):
        made = await create(partner, f"unlocked{attempt}@example.com")
        bodies = [{"email": f"unlocked{attempt}@example.com", "metadata": {f"n{number}": 1}} for number in range(32)]
        await asyncio.gather(*[patiently(partial(partner.post, "/leads", body)) for body in bodies])
        if len((await partner.get(f"/leads/{made['id']}"))["metadata"]) < 32:
            return
    raise AssertionError("nothing was ever lost: the test of 32 at once proves nothing")


async def written_at_once(partner: Partner, email: str) -> set[str]:
    """Write different metadata to one lead, by POST and by PATCH at the same time; return what is kept of it."""
    made = await create(partner, email)
    posts = [partial(partner.post, "/leads", {"email": email, "metadata": {f"post{each}": 1}}) for each in range(8)]
    patches = [partial(patch, partner, made["id"], {"metadata": {f"patch{each}": 1}}) for each in range(8)]
    responses = await asyncio.gather(*map(patiently, [*posts, *patches]))
    assert {each.status for each in responses} == {201, 200}
    return set((await partner.get(f"/leads/{made['id']}"))["metadata"])


WRITTEN = {f"{way}{number}" for way in ("post", "patch") for number in range(8)}


async def test_concurrent_writes_to_a_lead_keep_all_metadata(partner: Partner) -> None:
    assert await written_at_once(partner, "both-ways@example.com") == WRITTEN


async def test_without_the_lead_s_lock_metadata_is_lost(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove that the test above can fail: without the row lock, concurrent writes to a lead overwrite each other."""
    forget_the_lock(monkeypatch)
    for attempt in range(10):
        if await written_at_once(partner, f"mutant{attempt}@example.com") < WRITTEN:
            return
    raise AssertionError("nothing was ever lost: the test of concurrent writes proves nothing")


async def test_two_studios_have_leads_of_their_own(partner: Partner) -> None:
    other = await partner_of(partner.api, f"other{uuid4().hex[:6]}")
    one, two = await create(partner, "both@example.com"), await create(other, "both@example.com")
    assert one["id"] != two["id"]
    assert two["created"] is True
    assert_refused(await patch(other, one["id"], {"first_name": "X"}), "not_found")


@pytest.mark.parametrize("way", ["patch", "post"])
async def test_an_update_changes_what_is_given(partner: Partner, way: str) -> None:
    made = await create(partner, f"update-{way}@example.com", first_name="A", metadata={"keep": 1, "drop": 2})
    body = {
        "first_name": "B",
        "last_name": "C",
        "phone": "212 555 0100",
        "status": "qualified",
        "notes": "first note",
        "metadata": {"drop": None, "new": [1]},
    }
    if way == "patch":
        response = await patch(partner, made["id"], body)
    else:
        response = await partner.post(f"/leads/{made['id']}/update", body)
    assert response.status == 200, response.body
    assert response.json() == {"id": made["id"], "object": "lead", "created": False}
    lead = await partner.get(f"/leads/{made['id']}")
    assert (lead["first_name"], lead["status"], lead["metadata"]) == ("B", "qualified", {"keep": 1, "new": [1]})
    assert "first note" not in json.dumps(lead)
    await patch(partner, made["id"], {"notes": "second <b>note</b>"})
    row = await partner.api.connection.fetchrow("select * from leads where id = $1", made["id"])
    assert row is not None
    assert row["staff_notes"] == "first note\nsecond <b>note</b>"
    assert (row["last_name"], row["phone"]) == ("C", "+12125550100")
    await patch(partner, made["id"], {"phone": None})
    assert await partner.value("select phone from leads where id = $1", made["id"]) is None


async def test_notes_are_never_returned(partner: Partner) -> None:
    made = await create(partner, "notes@example.com")
    response = await patch(partner, made["id"], {"notes": "canary-of-the-staff"})
    everything = [response.body, json.dumps(await partner.get(f"/leads/{made['id']}")).encode()]
    everything.append(json.dumps(await partner.get("/leads?email=notes@example.com")).encode())
    assert all(b"canary-of-the-staff" not in each for each in everything)


async def test_converted_is_the_system_s_to_write(partner: Partner) -> None:
    made = await create(partner, "convert@example.com")
    for way in (patch(partner, made["id"], {"status": "converted"}),):
        assert locs(await way) == [["body", "status"]]
    response = await partner.post(f"/leads/{made['id']}/update", {"status": "converted", "phone": 5, "x": 1})
    assert locs(response) == [["body", "phone"], ["body", "status"], ["body", "x"]]


async def test_at_least_one_member(partner: Partner) -> None:
    made = await create(partner, "empty@example.com")
    assert locs(await patch(partner, made["id"], {})) == [["body"]]
    assert locs(await partner.post(f"/leads/{made['id']}/update", {})) == [["body"]]


@pytest.mark.parametrize(
    "body", [{"first_name": None}, {"status": None}, {"notes": None}, {"notes": " "}, {"metadata": None}]
)
async def test_null_is_no_value(partner: Partner, body: dict[str, Any]) -> None:
    made = await create(partner, "nulls@example.com")
    assert locs(await patch(partner, made["id"], body)) == [["body", next(iter(body))]]


async def test_an_unknown_lead(partner: Partner) -> None:
    assert_refused(await patch(partner, str(uuid4()), {"first_name": "X"}), "not_found")
    assert locs(await patch(partner, "not-an-id", {"first_name": "X"})) == [["path", "lead_id"]]
    # Faults in the body are reported before an unknown lead.
    assert locs(await patch(partner, str(uuid4()), {"phone": "call me"})) == [["body", "phone"]]


async def test_metadata_has_bounds(partner: Partner) -> None:
    made = await create(partner, "bounds@example.com", metadata={"a": "x" * 15_000})
    assert locs(await partner.post("/leads", {"email": "b2@example.com", "metadata": {"a": "x" * 17_000}})) == [
        ["body", "metadata"]
    ]
    response = await partner.post("/leads", {"email": "bounds@example.com", "metadata": {"b": "x" * 15_000}})
    assert locs(response) == [["body", "metadata"]]
    assert locs(await patch(partner, made["id"], {"metadata": {"b": "x" * 15_000}})) == [["body", "metadata"]]
    replaced = await patch(partner, made["id"], {"metadata": {"a": None, "b": "x" * 15_000}})
    assert replaced.status == 200
    deep: Any = "x"
    for _ in range(40):
        deep = {"d": deep}
    assert_refused(await partner.post("/leads", {"email": "deep@example.com", "metadata": deep}), "invalid_json")


async def test_a_retry_with_its_key_is_the_first_answer(partner: Partner) -> None:
    header = ("idempotency-key", f"lead-{uuid4()}")
    first = await partner.post("/leads", {"email": "once@example.com"}, header)
    again = await partner.post("/leads", {"email": "ONCE@example.com"}, header)
    assert (first.body, first.header("idempotent-replayed")) == (again.body, None)
    assert again.json()["created"] is True
    assert again.header("idempotent-replayed") == "true"
    assert_refused(await partner.post("/leads", {"email": "two@example.com"}, header), "idempotency_key_reused")
    lead_id, header = first.json()["id"], ("idempotency-key", f"lead-{uuid4()}")
    await patch(partner, lead_id, {"notes": "one"}, header)
    await patch(partner, lead_id, {"notes": "one"}, header)
    assert await partner.value("select staff_notes from leads where id = $1", lead_id) == "one"
    assert_refused(await patch(partner, lead_id, {"notes": "one", "status": "new"}, header), "idempotency_key_reused")
    assert locs(await patch(partner, lead_id, {"notes": "x"}, ("idempotency-key", "short"))) == [
        ["header", "Idempotency-Key"]
    ]


async def test_a_location_restricted_key_writes_leads_too(partner: Partner) -> None:
    key = await issue_key(partner.api.connection, partner.studio, locations=[partner.studio.first("location")])
    response = await partner.post("/leads", {"email": "restricted@example.com"}, key=key)
    assert response.status == 201


BAD_EMAILS = [
    "",
    " ",
    "a",
    "a@",
    "@b.example",
    "a@@b.example",
    "a b@c.example",
    "a@b@c.example",
    "a@.example",
    "a@b..example",
    ".a@b.example",
    "a.@b.example",
    "a..b@c.example",
    "a@-b.example",
    "a@b-.example",
    "a@b_c.example",
    "a@[127.0.0.1]",
    "a@127.0.0.1",
    "a@localhost",
    "a@b.example, c@d.example",
    "a@b.example;c@d.example",
    "Sam <a@b.example>",
    '"a b"@c.example',
    "a@b.example\nbcc: x@y.example",
    "a@b.example\r\nTo: x@y.example",
    "a\u0000@b.example",
    "a@b\u0000.example",
    "a\u200b@b.example",
    "a@b.exa mple",
    "a@b.example>",
    "<script>@b.example",
    "a@<b>.example",
    "javascript:alert(1)",
    "mailto:a@b.example",
    "a" * 65 + "@b.example",
    "a@" + "b" * 64 + ".example",
    "a@" + ".".join(["b" * 60] * 5) + ".example",
    "\ud83d\ude00",
    "a@\u2024example",
    "a@b\u3002",
    "a\u202e@b.example",
    "a@exa\u00admple..com",
]


@pytest.mark.parametrize("email", BAD_EMAILS, ids=ascii)
@pytest.mark.parametrize("path", ["/leads", "/members"])
async def test_what_is_no_email(partner: Partner, path: str, email: str) -> None:
    response = await partner.post(path, {"email": email, "first_name": "A", "last_name": "B"})
    if "\x00" in email:
        assert_refused(response, "invalid_json")
    else:
        assert_refused(response, "validation_error", param="email")
        assert locs(response) == [["body", "email"]]
        assert email == "" or json.dumps(email)[1:-1].encode() not in response.body or len(email) < 3


WRONG = [None, 5, 1.5, True, [], ["a@b.example"], {}, {"email": "a@b.example"}]


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("member", ["email", "first_name", "source", "utm_source", "phone", "metadata"])
async def test_wrong_types(partner: Partner, member: str, value: Any) -> None:
    response = await partner.post("/leads", {"email": "types@example.com", member: value})
    fits = (value is None and member != "email") or (isinstance(value, dict) and member == "metadata")
    if fits:
        assert response.status == 201
    else:
        assert locs(response) == [["body", member]]


@pytest.mark.parametrize("text", ["a\nb", "a\x1bb", "a\x7fb", "a\u0085b", "a\u2028b", "x" * 201], ids=ascii)
@pytest.mark.parametrize("member", ["first_name", "last_name", "source", "utm_campaign"])
async def test_control_characters_and_lengths(partner: Partner, member: str, text: str) -> None:
    assert locs(await partner.post("/leads", {"email": "ctl@example.com", member: text})) == [["body", member]]


@pytest.mark.parametrize(
    "phone", ["call me", "+", "+1", "123", "+1 212 555 0100 ext. 5", "+999 123 456 789", "1" * 50, "\u0660", "+1-212"]
)
async def test_what_is_no_phone(partner: Partner, phone: str) -> None:
    assert locs(await partner.post("/leads", {"email": "ph@example.com", "phone": phone})) == [["body", "phone"]]


async def test_markup_is_kept_and_never_means_anything(partner: Partner) -> None:
    text = "<script>alert('x')</script> {{7*7}} '; drop table leads; --"
    made = await create(partner, "markup@example.com", first_name=text, metadata={text: text})
    lead = await partner.get(f"/leads/{made['id']}")
    assert lead["first_name"] == text
    assert lead["metadata"] == {text: text}


async def test_unknown_members_are_refused(partner: Partner) -> None:
    body = {"email": "x", "status": "new", "lifecycle_stage": "member", "notes": "x", "joinWaitlist": True}
    response = await partner.post("/leads", body)
    assert sorted(each[-1] for each in locs(response)) == [
        "email",
        "joinWaitlist",
        "lifecycle_stage",
        "notes",
        "status",
    ]


async def test_a_key_without_the_scope(api: PartnerApi) -> None:
    reader = await partner_of(api, "north", "leads:read")
    error = assert_refused(await reader.post("/leads", {"email": "broken"}), "insufficient_scope")
    assert error["details"] == {"required_scope": "leads:write"}


async def test_a_phone_number_is_judged_with_the_rest(partner: Partner) -> None:
    """Its validity depends on the studio's country, but a fault elsewhere does not hide it."""
    assert locs(await partner.post("/leads", {"email": "no", "phone": "12"})) == [["body", "email"], ["body", "phone"]]
    lead = (await partner.post("/leads", {"email": "judged@example.com"})).json()["id"]
    response = await partner.post(f"/leads/{lead}/update", {"status": "no", "phone": "12"})
    assert locs(response) == [["body", "status"], ["body", "phone"]]
