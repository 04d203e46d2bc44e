"""How a form's definition is stored and returned: limits, defaults, times, redirects, older rows (CONTRACT 6)."""

import json
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studiogate.domain.forms.canonical import MAX_DEFINITION, canonical_settings, completed_fields
from studiogate.domain.forms.settings import encoded_url, origin_of, read_settings
from studiogate.storage.resources import FIELDS, SETTINGS, SHARED_SETTINGS
from tests.support.asgi import AsgiResponse, ask
from tests.support.form_fields import OPTIONAL, completed
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


def field(key: str = "a", kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"key": key, "label": "A", "type": kind, **more}


async def create(partner: Partner, **body: Any) -> dict[str, Any]:
    response = await partner.post("/forms", {"title": f"Form {uuid4().hex}", **body})
    assert response.status == 201, response.body
    return response.json()  # type: ignore[no-any-return]


async def put(partner: Partner, form_id: str, **body: Any) -> AsgiResponse:
    return await partner.send("PUT", f"/forms/{form_id}", json.dumps(body).encode())


async def store(partner: Partner, fields: Any, settings_: Any, status: str = "published") -> str:
    """Insert a form as an earlier version of the service stored it, and return its id."""
    form_id = uuid4()
    connection, studio_id = partner.api.connection, partner.studio.studio_id
    await connection.execute(
        "insert into forms (studio_id, id, title, slug, fields, settings, status) values ($1, $2, 'T', $3, $4, $5, $6)",
        studio_id,
        form_id,
        f"f-{form_id.hex}",
        json.dumps(fields),
        json.dumps(settings_),
        status,
    )
    await connection.execute(
        "insert into form_versions (studio_id, form_id, version, fields) select studio_id, id, version, fields"
        " from forms where id = $1",
        form_id,
    )
    return str(form_id)


async def test_200_fields_with_200_options_are_taken_and_no_more(partner: Partner) -> None:
    fields = [field(f"k{n}") for n in range(199)] + [field("o", "select", options=[str(n) for n in range(200)])]
    form = await create(partner, fields=fields)
    assert form["fields"] == completed(*fields)
    too_many = [*fields, field("one more")]
    too_long = [field("o", "select", options=[str(n) for n in range(201)])]
    for faulty, loc in ((too_many, ["fields"]), (too_long, ["fields", 0, "options"])):
        assert locs(await partner.post("/forms", {"title": "X", "fields": faulty})) == [["body", *loc]]
        assert locs(await put(partner, form["id"], fields=faulty)) == [["body", *loc]]


def sized(size: int, fields: list[Any]) -> dict[str, Any]:
    """Return settings that make a definition with these fields exactly this large."""
    used = len(json.dumps(fields, separators=(",", ":"))) + len('{"x":""}')
    return {"x": "x" * (size - used)}


async def test_a_definition_has_at_most_256_kib(partner: Partner) -> None:
    fields = [field("a", own="x" * 1000)]
    form = await create(partner, fields=fields, settings=sized(MAX_DEFINITION, fields))
    over = {"fields": fields, "settings": sized(MAX_DEFINITION + 1, fields)}
    assert locs(await partner.post("/forms", {"title": "X", **over})) == [["body", "fields"]]
    assert locs(await partner.post("/forms", {"title": "X", "settings": sized(MAX_DEFINITION + 1, [])})) == [
        ["body", "settings"]
    ]
    wide = sized(MAX_DEFINITION, [])["x"].replace("xx", "\u00fc", 10) + "x"
    assert locs(await partner.post("/forms", {"title": "X", "settings": {"x": wide}})) == [["body", "settings"]], (
        "bytes are counted, not characters"
    )
    back = await put(partner, form["id"], fields=form["fields"], settings=form["settings"])
    assert (back.status, back.json()["version"]) == (200, 1), "what was answered can be written back"
    larger = await put(partner, form["id"], fields=[*fields, field("b")])
    assert locs(larger) == [["body", "fields"]], "together with the settings that stay"
    assert locs(await put(partner, form["id"], settings={**form["settings"], "y": 1})) == [["body", "settings"]]


async def test_an_older_form_beyond_the_limits_is_read_judged_and_put_away(partner: Partner) -> None:
    fields = [field(f"k{n}", "select", options=[str(each) for each in range(300)]) for n in range(400)]
    form_id = await store(partner, fields, {"x": "x" * MAX_DEFINITION})
    assert (await partner.get(f"/forms/{form_id}"))["fields"] == completed(*fields)
    wrong = {"submitter_email": "a@b.example", "data": {"k399": "300"}}
    assert locs(await partner.post(f"/forms/{form_id}/submissions", wrong)) == [["body", "data", "k399"]]
    right = {"submitter_email": "a@b.example", "data": {"k399": "299"}}
    assert (await partner.post(f"/forms/{form_id}/submissions", right)).status == 201
    response = await put(partner, form_id, title="Renamed", status="archived")
    assert (response.status, response.json()["version"]) == (200, 2)
    assert locs(await put(partner, form_id, fields=fields)) == [["body", "fields"]]


BOUNDED: list[tuple[dict[str, Any], list[Any]]] = [
    (field("k" * 101), ["key"]),
    (field(label="x" * 50_001), ["label"]),
    (field(help_text="x" * 50_001), ["help_text"]),
    (field(accept="x" * 1_001), ["accept"]),
    (field(consent_policy_slug="x" * 1_001), ["consent_policy_slug"]),
    (field(kind="select", options=["x" * 1_001]), ["options", 0]),
    (field(kind="select", options=[{"value": "x", "label": "x" * 1_001}]), ["options", 0]),
    (field(kind="number", min=10**41), ["min"]),
    (field(kind="number", max=-1e300), ["max"]),
]


@pytest.mark.parametrize(("faulty", "loc"), BOUNDED)
async def test_texts_and_numbers_of_a_field_are_bounded(
    partner: Partner, faulty: dict[str, Any], loc: list[Any]
) -> None:
    response = await partner.post("/forms", {"title": "X", "fields": [faulty]})
    assert locs(response) == [["body", "fields", 0, *loc]]
    assert "items" not in response.body.decode()


@pytest.mark.parametrize("bound", ["9" * 40, "0.123456789012345", "-123456789012.345", "1.5e-20"])
async def test_a_number_that_the_guide_calls_exact(partner: Partner, bound: str) -> None:
    """Where it is stored, in the answer and against submissions."""
    body = '{"title": "%s", "status": "published", "fields": [{"key": "a", "label": "A", "type": "number", %s}]}'
    bounds = f'"min": {bound}, "max": {bound}'
    form = await partner.send("POST", "/forms", (body % (uuid4().hex, bounds)).encode())
    returned = json.loads(form.body, parse_float=Decimal, parse_int=Decimal)["fields"][0]
    assert returned["min"] == returned["max"] == Decimal(bound)
    sent = {"submitter_email": "exact@example.com", "data": {"a": f"{Decimal(bound):f}"}}
    response = await partner.post(f"/forms/{form.json()['id']}/submissions", sent)
    assert response.status == 201, response.body


async def test_every_tabulated_field_is_answered_everywhere(partner: Partner) -> None:
    rule = {"field_key": "a", "op": "is_empty"}
    given = [field("a", order=None, required=None, own=None), field("b", display_when=rule)]
    wanted = completed(
        {**given[0], "order": 0, "required": False}, {**given[1], "display_when": {**rule, "value": None}}
    )
    form = await create(partner, fields=given, status="published")
    old = await store(partner, given, {})
    for form_id in (form["id"], old):
        answered = (await partner.get(f"/forms/{form_id}"))["fields"]
        assert answered == wanted
        assert all(set(OPTIONAL) | {"key", "label", "type"} <= set(each) for each in answered)
        listed = {each["id"]: each for each in (await partner.get("/forms"))["data"]}
        assert listed[form_id]["fields"] == wanted
        assert (await put(partner, form_id, fields=answered)).json()["version"] == 1, "nothing has changed"


async def test_the_openapi_document_says_so(partner: Partner) -> None:
    response = await ask(partner.api.app, "GET", "/openapi.json")
    schemas = response.json()["components"]["schemas"]
    assert set(schemas["FormField"]["required"]) == {"key", "label", "type", *OPTIONAL}
    for name in ("PartnerFormCreate", "StudioFormUpdate"):
        assert schemas[name]["properties"]["fields"]["items"]["$ref"].endswith("/FormFieldInput")
        taken = schemas["FormFieldInput"]
        assert set(taken["required"]) == {"key", "label", "type"}
        assert set(taken["properties"]) == {"key", "label", "type", *OPTIONAL}


TIMES = [
    ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00+00:00"),
    ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00"),
    ("2026-03-01t10:00:00.250z", "2026-03-01T10:00:00.25+00:00"),
    ("2024-02-29T23:30:00-01:30", "2024-03-01T01:00:00+00:00"),
    ("2026-12-31T23:59:59.123456-11:00", "2027-01-01T10:59:59.123456+00:00"),
]


@pytest.mark.parametrize(("sent", "answered"), TIMES)
async def test_times_are_answered_in_utc(partner: Partner, sent: str, answered: str) -> None:
    form = await create(partner, settings={"opens_at": sent, "x": sent})
    assert form["settings"] == {"opens_at": answered, "x": sent}
    old = await store(partner, [], {"opens_at": sent, "x": sent, "closes_at": None})
    for key in (partner.key, await issue_key(partner.api.connection, partner.studio, "forms:read")):
        shown = (await ask(partner.api.app, "GET", f"/forms/{old}", key=key)).json()
        assert shown["settings"] == {"opens_at": answered, "x": sent, "closes_at": None}


@pytest.mark.parametrize(
    "stored", ["soon", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00+20:00", "0000-01-01T00:00:00Z", "", 5, [], {}, True]
)
async def test_a_stored_time_that_is_none_is_answered_as_it_is(partner: Partner, stored: Any) -> None:
    old = await store(partner, [5, "x", None, {}], {"opens_at": stored})
    shown = await partner.get(f"/forms/{old}")
    assert shown["settings"] == {"opens_at": stored}
    assert shown["fields"] == [5, "x", None, OPTIONAL]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab\u00e9"\\ \n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=5,
)
some_field = st.dictionaries(st.sampled_from([*OPTIONAL, "key", "own"]), anything, max_size=6)
some_settings = st.dictionaries(
    st.sampled_from(["opens_at", "notification_emails", "x", "y\u00e9"]), anything, max_size=4
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=st.lists(some_field | anything, max_size=4), kept=some_settings, complete=st.booleans())
async def test_the_database_and_the_domain_complete_alike(
    partner: Partner, fields: list[Any], kept: dict[str, Any], complete: bool
) -> None:
    version = 1 if complete else None
    stored = (completed_fields(fields), canonical_settings(kept)) if complete else (fields, kept)
    row = await partner.api.connection.fetchrow(
        f"select {FIELDS}, {SETTINGS} from (select $1::json as fields, $2::json as settings, 1 as version,"
        " $3::integer as completed_version) f",
        *map(json.dumps, stored),
        version,
    )
    assert row is not None
    assert row["fields"] is not None
    assert written(json.loads(row["fields"])) == written(completed_fields(fields))
    assert written(json.loads(row["settings"])) == written(canonical_settings(kept))
    shared = await partner.api.connection.fetchval(
        f"select w.settings from (select {SHARED_SETTINGS} from (select $1::json as settings) f) w", json.dumps(kept)
    )
    assert json.loads(shared) == {k: v for k, v in canonical_settings(kept).items() if k != "notification_emails"}


def written(value: object) -> str:
    """Serialize the value, which preserves the order of members and distinguishes 1 from true."""
    return json.dumps(value)


REDIRECTS = [
    ("https://b\u00fccher.example/\u00e4 b".replace(" ", "%20"), "https://xn--bcher-kva.example/%C3%A4%20b"),
    ("https://fa\u00df.example", "https://xn--fa-hia.example"),
    ("https://\uff41\u3002example/x", "https://a.example/x"),
    ("https://WWW.Example.COM:8443/A?b=c&d#e", "https://www.example.com:8443/A?b=c&d#e"),
    ("HTTPS://a.example:/", "https://a.example/"),
    ("https://a.example/x;y?z;w#v;u", "https://a.example/x;y?z;w#v;u"),
    ("https://a.example/100%?q=%zz%20", "https://a.example/100%25?q=%25zz%20"),
    ("https://a.example/{id}|^`", "https://a.example/%7Bid%7D%7C%5E%60"),
    ("https://a.example/\U0001f600?\u00fc=\u00fc", "https://a.example/%F0%9F%98%80?%C3%BC=%C3%BC"),
    ("https://192.0.2.7/x", "https://192.0.2.7/x"),
]
NO_REDIRECTS = [
    "https://\u00fc..example/x",
    "https://.example",
    "https://a..example",
    "https://a.example;script-src/",
    "https://a.example;x",
    "https://a.example,b.example",
    "https://*.example",
    "https://'self'/",
    "https://a%2eexample/",
    "https://%61.example",
    "https://a_b.example",
    "https://-a.example",
    "https://xn--a/",
    "https://xn--\u00fc.example",
    "https://\u00ad.example",
    "https://a\u200db.example",
    "https://a\u2100b.example",
    "https://" + "a" * 64 + ".example",
    "https://" + "\u0300" * 250,
    "https://" + "a." * 127 + "example",
    "https://\u00fc@a.example",
    "https://a.example:0",
    "https://a.example:65536",
    "https://a.example:8_0",
    "https://a.example:+80",
    "https://a.example:\u0661",
    "https://127.1/",
    "https://0x7f000001/",
    "https://2130706433",
    "https://1.2.3.4.5",
    "https://[::1]/",
    "https://[v1.a]/",
    "https:a.example",
    "https:/a.example",
    "https://a.example/" + "\u00fc" * 400,
]


@pytest.mark.parametrize(("given_url", "kept"), REDIRECTS)
async def test_a_redirect_is_kept_and_answered_encoded(partner: Partner, given_url: str, kept: str) -> None:
    form = await create(partner, settings={"redirect_url": given_url})
    assert form["settings"]["redirect_url"] == kept
    assert encoded_url(kept) == kept
    assert kept.isascii()
    again = await put(partner, form["id"], settings={"redirect_url": given_url})
    assert again.json()["version"] == 1


@pytest.mark.parametrize("url", NO_REDIRECTS)
async def test_what_is_no_redirect(partner: Partner, url: str) -> None:
    response = await partner.post("/forms", {"title": "X", "settings": {"redirect_url": url}})
    assert locs(response) == [["body", "settings", "redirect_url"]]
    assert read_settings({"redirect_url": url}).redirect_url is None, "nor is one that was stored before"


@settings(deadline=None)
@given(text=st.text(max_size=60), host=st.text(max_size=20))
def test_an_encoded_url_is_plain_and_stays_as_it_is(text: str, host: str) -> None:
    for url in (f"https://a.example/{text}", f"https://{host}", f"https://{host}/{text}"):
        encoded = encoded_url(url)
        if encoded is not None:
            assert encoded_url(encoded) == encoded
            assert encoded.isascii()
            assert not set(origin_of(encoded)) & set(" ;,'\"*\\@%")
