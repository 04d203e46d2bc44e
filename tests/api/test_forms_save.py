"""POST /forms and PUT /forms/{id}: every save-time check, versions, slugs, states (CONTRACT 6)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain.names import slug_of
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.form_fields import completed
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

FIELDS: list[dict[str, Any]] = [
    {"key": "goals", "label": "Goals", "type": "textarea", "required": True, "colour": {"kept": [1]}},
    {"key": "n", "label": "N", "type": "number", "min": 1, "max": 2.5, "order": 3},
]


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def create(partner: Partner, **body: Any) -> dict[str, Any]:
    response = await partner.post("/forms", {"title": f"Form {uuid4().hex}", **body})
    assert response.status == 201, response.body
    return response.json()  # type: ignore[no-any-return]


async def put(partner: Partner, form_id: str, body: Any, *headers: tuple[str, str]) -> AsgiResponse:
    return await partner.send("PUT", f"/forms/{form_id}", json.dumps(body).encode(), *headers)


async def test_a_new_form_is_kept_as_it_was_given(partner: Partner) -> None:
    settings = {"confirmation_message": "Thanks", "theme": {"own": True}}
    form = await create(partner, title="  Intake Ünïcode! ", description="D", fields=FIELDS, settings=settings)
    assert (form["title"], form["slug"], form["description"]) == ("Intake Ünïcode!", "intake-unicode", "D")
    assert (form["fields"], form["settings"]) == (completed(*FIELDS), settings)
    kept = [list(field)[: len(given)] for field, given in zip(form["fields"], FIELDS, strict=True)]
    assert kept == [list(field) for field in FIELDS], "the order of what was given is kept"
    assert (form["status"], form["version"], form["object"]) == ("draft", 1, "form")
    assert form == await partner.get(f"/forms/{form['id']}")


async def test_only_a_title_is_required(partner: Partner) -> None:
    form = await create(partner)
    assert (form["description"], form["fields"], form["settings"], form["status"]) == (None, [], {}, "draft")
    assert locs(await partner.post("/forms", {})) == [["body", "title"]]
    for title in ("", " ", "x" * 201, "a\nb", None, 5):
        assert locs(await partner.post("/forms", {"title": title})) == [["body", "title"]]


async def test_a_slug_from_the_title_gets_a_suffix_where_taken(partner: Partner) -> None:
    slugs = [(await create(partner, title="Same Title"))["slug"] for _ in range(3)]
    assert slugs == ["same-title", "same-title-2", "same-title-3"]
    assert (await create(partner, title="Same title 2"))["slug"] == "same-title-2-2"
    assert (await create(partner, title="\u6f22\u5b57"))["slug"] == "form"


async def test_many_at_once_get_slugs_of_their_own(partner: Partner) -> None:
    made = await asyncio.gather(*(create(partner, title="At once") for _ in range(4)))
    assert len({each["slug"] for each in made}) == 4


async def test_a_given_slug_that_is_taken(partner: Partner) -> None:
    await create(partner, slug="taken-one")
    error = assert_refused(await partner.post("/forms", {"title": "X", "slug": "taken-one"}), "slug_taken")
    assert error["param"] == "slug"
    other = await create(partner)
    assert_refused(await put(partner, other["id"], {"slug": "taken-one"}), "slug_taken")
    assert (await put(partner, other["id"], {"slug": "free-one"})).json()["slug"] == "free-one"
    same = await put(partner, other["id"], {"slug": "free-one", "title": "Y"})
    assert same.status == 200


async def test_one_of_many_gets_a_given_slug(partner: Partner) -> None:
    responses = await asyncio.gather(*(partner.post("/forms", {"title": "X", "slug": "fought-for"}) for _ in range(8)))
    assert sorted(each.status for each in responses) == [201] + [409] * 7
    forms = [await create(partner) for _ in range(4)]
    responses = await asyncio.gather(*(put(partner, each["id"], {"slug": "fought-for-too"}) for each in forms))
    assert sorted(each.status for each in responses) == [200] + [409] * 3


async def test_two_studios_may_have_the_same_slug(partner: Partner) -> None:
    other = await partner_of(partner.api, f"other{uuid4().hex[:6]}")
    one, two = await create(partner, slug="both-have-it"), await create(other, slug="both-have-it")
    assert one["id"] != two["id"]
    assert_refused(await put(other, one["id"], {"title": "Mine now"}), "not_found")
    response = await ask(other.api.app, "GET", f"/forms/{one['id']}", key=other.key)
    assert_refused(response, "not_found")


@pytest.mark.parametrize(
    "slug", ["", "A", "a b", "-a", "a-", "a--b", "a/b", "../a", "a.b", "\u00e4", "a" * 101, 5, ["a"]]
)
async def test_what_is_no_slug(partner: Partner, slug: Any) -> None:
    assert locs(await partner.post("/forms", {"title": "X", "slug": slug})) == [["body", "slug"]]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Hello, World", "hello-world"),
        ("--", ""),
        ("x" * 100, "x" * 60),
        ("Été 2026", "ete-2026"),
        ("a/../b", "a-b"),
        ("a" + "\u0300" * 1_000_000 + "b", "a"),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    assert slug_of(title) == slug


async def test_put_replaces_what_is_given_and_leaves_the_rest(partner: Partner) -> None:
    form = await create(partner, fields=FIELDS, settings={"a": 1, "b": 2}, description="D")
    response = await put(partner, form["id"], {"settings": {"b": 3}})
    assert response.status == 200
    assert response.json() == {**form, "settings": {"b": 3}, "version": 2}
    response = await put(partner, form["id"], {"description": None, "fields": FIELDS[:1]})
    assert (response.json()["description"], response.json()["fields"], response.json()["version"]) == (
        None,
        completed(*FIELDS[:1]),
        3,
    )
    versions = await partner.api.connection.fetch(
        "select version, fields from form_versions where form_id = $1 order by version", form["id"]
    )
    assert [(row["version"], json.loads(row["fields"])) for row in versions] == [
        (1, completed(*FIELDS)),
        (2, completed(*FIELDS)),
        (3, completed(*FIELDS[:1])),
    ]


async def test_no_change_is_no_version(partner: Partner) -> None:
    form = await create(partner, fields=FIELDS)
    response = await put(partner, form["id"], {"title": form["title"], "fields": FIELDS})
    assert response.json() == form


async def test_concurrent_changes_each_have_their_version(partner: Partner) -> None:
    form = await create(partner)
    responses = await asyncio.gather(*(put(partner, form["id"], {"title": f"T{number}"}) for number in range(8)))
    assert sorted(each.json()["version"] for each in responses) == list(range(2, 10))


async def test_a_put_needs_a_member(partner: Partner) -> None:
    form = await create(partner)
    assert locs(await put(partner, form["id"], {})) == [["body"]]
    for member in ("title", "slug", "fields", "settings", "status"):
        assert locs(await put(partner, form["id"], {member: None})) == [["body", member]]
    assert_refused(await put(partner, str(uuid4()), {"title": "X"}), "not_found")
    assert locs(await put(partner, form["id"], {"version": 5, "id": form["id"]})) == [
        ["body", "version"],
        ["body", "id"],
    ]


async def test_states(partner: Partner) -> None:
    form = await create(partner)

    async def go(status: str) -> AsgiResponse:
        return await put(partner, form["id"], {"status": status})

    error = assert_refused(await go("archived"), "invalid_transition")
    assert error["details"] == {"from": "draft", "to": "archived"}
    for status in ("published", "draft", "published", "archived"):
        assert (await go(status)).json()["status"] == status
    assert_refused(await go("published"), "invalid_transition")
    for status in ("draft", "published"):
        assert (await go(status)).status == 200
    sent = await partner.post(f"/forms/{form['id']}/submissions", {"submitter_email": "a@b.example"})
    assert sent.status == 201, sent.body
    error = assert_refused(await go("draft"), "invalid_transition")
    assert error["details"] == {"from": "published", "to": "draft"}
    assert (await go("archived")).status == 200
    assert (await go("draft")).status == 200
    wrong: list[Any] = ["", "deleted", 5, "Draft"]
    for each in wrong:
        assert locs(await go(each)) == [["body", "status"]]


async def test_a_draft_is_seen_by_its_writers_only(partner: Partner) -> None:
    form = await create(partner)
    reader = await issue_key(partner.api.connection, partner.studio, "forms:read")
    assert_refused(await ask(partner.api.app, "GET", f"/forms/{form['id']}", key=reader), "not_found")
    await put(partner, form["id"], {"status": "published"})
    assert (await ask(partner.api.app, "GET", f"/forms/{form['id']}", key=reader)).status == 200


async def test_a_retry_with_its_key(partner: Partner) -> None:
    header = ("idempotency-key", f"form-{uuid4()}")
    body = {"title": "Once only"}
    first, again = await partner.post("/forms", body, header), await partner.post("/forms", body, header)
    assert first.body == again.body
    form, header = first.json(), ("idempotency-key", f"form-{uuid4()}")
    once = await put(partner, form["id"], {"title": "Renamed"}, header)
    await put(partner, form["id"], {"title": "Renamed again"})
    assert (await put(partner, form["id"], {"title": "Renamed"}, header)).body == once.body
    assert_refused(
        await put(partner, form["id"], {"title": "Renamed", "status": "draft"}, header), "idempotency_key_reused"
    )


def field(key: str = "a", kind: Any = "text", **more: Any) -> dict[str, Any]:
    return {"key": key, "label": "A", "type": kind, **more}


def rule(key: str, op: str = "equals", value: Any = "x") -> dict[str, Any]:
    return {"field_key": key, "op": op, "value": value}


BAD_FIELDS: list[tuple[Any, list[list[Any]]]] = [
    ("x", [[]]),
    (None, [[]]),
    ({}, [[]]),
    ([5], [[0]]),
    ([None, "x"], [[0], [1]]),
    ([{}], [[0, "key"], [0, "label"], [0, "type"]]),
    ([field("")], [[0, "key"]]),
    ([field("x" * 101)], [[0, "key"]]),
    ([field(), field()], [[1, "key"]]),
    ([field(kind="colour")], [[0, "type"]]),
    ([field(kind={"x": 1})], [[0, "type"]]),
    ([field(label=5)], [[0, "label"]]),
    ([field(required="true")], [[0, "required"]]),
    ([field(kind="select")], [[0, "options"]]),
    ([field(kind="checkbox_group", options=[])], [[0, "options"]]),
    (
        [field(kind="select", options=["a", 5, {"value": "x"}, {"value": 5, "label": "x"}])],
        [[0, "options", n] for n in (1, 2, 3)],
    ),
    ([field(kind="select", options={"a": "b"})], [[0, "options"]]),
    ([field(kind="number", min=3, max=2)], [[0, "max"]]),
    ([field(kind="number", min="3", max=True)], [[0, "min"], [0, "max"]]),
    ([field(kind="rating", max_rating=0)], [[0, "max_rating"]]),
    ([field(kind="rating", max_rating=11)], [[0, "max_rating"]]),
    ([field(kind="rating", max_rating=4.5)], [[0, "max_rating"]]),
    ([field(max_file_size=-1)], [[0, "max_file_size"]]),
    ([field(order="1", step_index=-1)], [[0, "order"], [0, "step_index"]]),
    ([field(options_layout="wheel")], [[0, "options_layout"]]),
    ([field(display_when=[])], [[0, "display_when"]]),
    ([field(display_when=rule("nobody"))], [[0, "display_when", "field_key"]]),
    ([field("s", "section_break"), field(display_when=rule("s"))], [[1, "display_when", "field_key"]]),
    ([field("b"), field(display_when=rule("b", "matches"))], [[1, "display_when", "op"]]),
    ([field("b"), field(display_when=rule("b", ["equals"]))], [[1, "display_when", "op"]]),  # type: ignore[arg-type]
    ([field(display_when=rule("a"))], [[0, "display_when"]]),
    ([field(display_when=rule("b")), field("b", display_when=rule("a"))], [[0, "display_when"], [1, "display_when"]]),
    (
        [field(str(n), display_when=rule(str((n + 1) % 50))) for n in range(50)],
        [[n, "display_when"] for n in range(50)],
    ),
]


@pytest.mark.parametrize(("fields", "faulty"), BAD_FIELDS)
async def test_fields_that_are_refused(partner: Partner, fields: Any, faulty: list[list[Any]]) -> None:
    wanted = [["body", "fields", *each] for each in faulty]
    assert locs(await partner.post("/forms", {"title": "X", "fields": fields})) == wanted
    form_id = str(partner.studio.first("form"))
    assert locs(await put(partner, form_id, {"fields": fields})) == wanted


BAD_SETTINGS: list[tuple[Any, list[str]]] = [
    ([], []),
    ("x", []),
    (None, []),
    ({"require_auth": "yes"}, ["require_auth"]),
    ({"notify_on_submit": 1}, ["notify_on_submit"]),
    ({"send_confirmation_email": "true"}, ["send_confirmation_email"]),
    ({"allow_multiple": 0}, ["allow_multiple"]),
    ({"create_lead": []}, ["create_lead"]),
    ({"notification_emails": "a@b.example"}, ["notification_emails"]),
    ({"notification_emails": ["a@b.example", "broken"]}, ["notification_emails"]),
    ({"notification_emails": ["a@b.example\nbcc: c@d.example"]}, ["notification_emails"]),
    ({"notification_emails": [5]}, ["notification_emails"]),
    ({"notification_emails": ["a@b.example"] * 21}, ["notification_emails"]),
    ({"confirmation_message": 5}, ["confirmation_message"]),
    ({"submit_label": {}}, ["submit_label"]),
    ({"opens_at": "tomorrow"}, ["opens_at"]),
    ({"opens_at": "2026-01-01T00:00:00"}, ["opens_at"]),
    ({"opens_at": "2026-02-30T00:00:00Z"}, ["opens_at"]),
    ({"opens_at": "0001-01-01T00:00:00+23:00"}, ["opens_at"]),
    ({"closes_at": 1700000000}, ["closes_at"]),
    ({"opens_at": "2026-01-02T00:00:00Z", "closes_at": "2026-01-01T00:00:00Z"}, ["closes_at"]),
    ({"opens_at": "2026-01-01T00:00:00Z", "closes_at": "2026-01-01T01:00:00+01:00"}, ["closes_at"]),
    ({"max_submissions": 0}, ["max_submissions"]),
    ({"max_submissions": 1.5}, ["max_submissions"]),
    ({"max_submissions": "5"}, ["max_submissions"]),
    ({"max_submissions": True}, ["max_submissions"]),
    ({"max_submissions": 2**40}, ["max_submissions"]),
    ({"require_auth": 1, "create_lead": 1, "redirect_url": 1}, ["require_auth", "redirect_url", "create_lead"]),
]
BAD_URLS = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\nscript:alert(1)",
    " https://a.example",
    "http://a.example",
    "//a.example",
    "/path",
    "https://",
    "https:///path",
    "https://user@a.example",
    "https://user:pw@a.example",
    "https://a.example\\@b.example",
    "https://a.example\nX: y",
    "https://a.example/\x00".replace("\x00", "\x01"),
    'https://a.example/"onclick="x',
    "https://a.example/<script>",
    "https://a.example:99999",
    "https://[::1",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "https://a.example/" + "x" * 2000,
    "",
    5,
    ["https://a.example"],
]


@pytest.mark.parametrize(
    ("settings", "faulty"), BAD_SETTINGS + [({"redirect_url": url}, ["redirect_url"]) for url in BAD_URLS]
)
async def test_settings_that_are_refused(partner: Partner, settings: Any, faulty: list[str]) -> None:
    wanted = [["body", "settings", each] for each in faulty] or [["body", "settings"]]
    assert locs(await partner.post("/forms", {"title": "X", "settings": settings})) == wanted
    form_id = str(partner.studio.first("form"))
    assert locs(await put(partner, form_id, {"settings": settings})) == wanted


async def test_settings_that_are_fine(partner: Partner) -> None:
    settings = {
        "require_auth": False,
        "notify_on_submit": True,
        "notification_emails": ["Desk@Example.com"],
        "send_confirmation_email": True,
        "confirmation_message": "<b>Thanks</b>",
        "redirect_url": "https://www.example.com:8443/thanks?a=b#c",
        "submit_label": "Send",
        "allow_multiple": False,
        "opens_at": "2026-01-01T00:00:00Z",
        "closes_at": "2026-12-31T23:59:59+01:00",
        "max_submissions": 1,
        "create_lead": True,
        "anything": {"else": None},
        "unset": None,
    }
    in_utc = {"opens_at": "2026-01-01T00:00:00+00:00", "closes_at": "2026-12-31T22:59:59+00:00"}
    assert (await create(partner, settings=settings))["settings"] == settings | in_utc


async def test_all_faults_come_at_once(partner: Partner) -> None:
    response = await partner.post(
        "/forms",
        {"slug": "-", "fields": [field(kind="x"), 5], "settings": {"redirect_url": "x"}, "status": "gone", "extra": 1},
    )
    assert sorted(map(str, locs(response))) == sorted(
        map(
            str,
            [
                ["body", "title"],
                ["body", "slug"],
                ["body", "status"],
                ["body", "extra"],
                ["body", "fields", 0, "type"],
                ["body", "fields", 1],
                ["body", "settings", "redirect_url"],
            ],
        )
    )


async def test_a_million_faults_are_not_listed(partner: Partner) -> None:
    response = await partner.post("/forms", {"title": "X", "fields": [0] * 200_000})
    assert response.status == 422
    assert len(response.body) < 2000


async def test_markup_is_kept_as_text(partner: Partner) -> None:
    text = "<script>alert(1)</script>{{7*7}}"
    fields = [
        field(label=text, help_text=text, placeholder=text),
        field("b", "select", options=[text, {"value": "x", "label": text}]),
    ]
    form = await create(partner, title=text, description=text, fields=fields, settings={"confirmation_message": text})
    assert (form["title"], form["description"], form["fields"]) == (text, text, completed(*fields))
    assert form["slug"] == "script-alert-1-script-7-7"
