"""The cost of rendering the largest form, uncached and cached; a cached page is never the wrong one."""

import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import pytest

from studiogate import settings
from studiogate.domain.forms.canonical import MAX_DEFINITION
from studiogate.domain.forms.definition import MAX_FIELDS, MAX_OPTIONS
from studiogate.domain.forms.signed_links import Link, sign
from studiogate.hosted.app import HostedApp
from studiogate.hosted.field_views import options_of
from studiogate.hosted.page_cache import PageCache, compress_around
from studiogate.runtime import Runtime
from tests.support.asgi import AsgiResponse, ask
from tests.support.counted_work import counted
from tests.support.page_reader import PageReader
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, partner_of

pytestmark = pytest.mark.anyio
# Bytecodes. With one template line per option these were 12, 12 and 15 million; a refused page is also validated.
FIRST, AGAIN, REFUSED = 4_500_000, 120_000, 3_600_000
ZIPPED = [("accept-encoding", "gzip")]
LINE = [{"key": "line", "label": "First question", "type": "text"}]


@dataclass
class Hosting:
    """Forms of two studios, created through the API and served by one process."""

    app: HostedApp
    north: Partner
    south: Partner

    async def create(self, partner: Partner, **body: Any) -> dict[str, Any]:
        made = await partner.post("/forms", {"title": f"Form {uuid4().hex}", "status": "published", **body})
        assert made.status == 201, made.body
        return made.json()  # type: ignore[no-any-return]

    async def get(self, partner: Partner, form: dict[str, Any], query: str = "", method: str = "GET") -> AsgiResponse:
        response = await ask(self.app, method, f"//f/{partner.studio.slug}/{form['slug']}{query}", headers=ZIPPED)
        assert response.status == 200, response.body
        return response

    async def page(self, partner: Partner, form: dict[str, Any], query: str = "") -> str:
        return gzip.decompress((await self.get(partner, form, query)).body).decode()


@pytest.fixture(scope="module")
async def hosting(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Hosting]:
    url = new_database()
    async for api in open_partner_api(url, rate_limit=0):
        runtime = Runtime.open(settings.load(database_url=url, rate_limit=0))
        yield Hosting(HostedApp(runtime), await partner_of(api, "north"), await partner_of(api, "south"))
        await runtime.close()


def largest(kind: str) -> list[dict[str, Any]]:
    options = [format(number, "x") for number in range(MAX_OPTIONS)]
    fields = [{"key": f"k{n}", "label": "L", "type": kind, "options": options} for n in range(MAX_FIELDS)]
    assert MAX_DEFINITION / 2 < len(json.dumps(fields, separators=(",", ":"))) < MAX_DEFINITION
    return fields


@pytest.mark.parametrize("kind", ["select", "checkbox_group"])
async def test_the_largest_page(hosting: Hosting, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = await hosting.create(hosting.north, fields=largest(kind))
    await hosting.get(hosting.north, await hosting.create(hosting.north, fields=LINE))
    spent, pages = [], []
    for _ in range(3):
        with counted(monkeypatch) as count:
            response = await hosting.get(hosting.north, form)
        spent.append(count.bytecodes)
        pages.append(gzip.decompress(response.body).decode())
    assert spent[0] < FIRST
    assert max(spent[1:]) < AGAIN
    assert [each.count('value="c7"') for each in pages] == [MAX_FIELDS] * 3


@pytest.mark.parametrize("kind", ["select", "checkbox_group"])
async def test_the_largest_page_that_is_refused(hosting: Hosting, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = await hosting.create(hosting.north, fields=largest(kind))
    token = PageReader(await hosting.page(hosting.north, form)).value("token")
    sent = [("token", token), ("action", "next"), *((f"f.k{n}", "c7") for n in range(MAX_FIELDS))]
    sent += [("shown", f"f.k{n}") for n in range(MAX_FIELDS)]
    headers = [("content-type", "application/x-www-form-urlencoded")]
    with counted(monkeypatch) as count:
        path = f"//f/north/{form['slug']}"
        response = await ask(hosting.app, "POST", path, headers=headers, body=urlencode(sent).encode())
    assert (response.status, b"Please check 1 answer" in response.body) == (422, True), "the email is missing"
    mark = b'value="c7" selected>' if kind == "select" else b'value="c7" checked>'
    assert (response.body.count(mark), response.body.count(b'value="c6">')) == (MAX_FIELDS, MAX_FIELDS)
    assert count.bytecodes < REFUSED
    assert b" selected>" not in (fresh := (await hosting.page(hosting.north, form)).encode())
    assert b'" checked>' not in fresh, "what one visitor chose is not shown to the next"


async def test_every_page_has_a_token_of_its_own(hosting: Hosting) -> None:
    form = await hosting.create(hosting.north, fields=LINE)
    pages = [await hosting.page(hosting.north, form) for _ in range(3)]
    tokens = [PageReader(each).value("token") for each in pages]
    assert len(set(tokens)) == 3
    assert len({page.replace(token, "") for page, token in zip(pages, tokens, strict=True)}) == 1


async def test_a_change_is_shown_at_once(hosting: Hosting) -> None:
    form = await hosting.create(hosting.north, fields=LINE, settings={"submit_label": "Send it"})
    assert "First question" in await hosting.page(hosting.north, form)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"fields": [{**LINE[0], "label": "Second question"}]}, "Second question"),
        ({"title": "Another title"}, "<h1>Another title</h1>"),
        ({"description": "Some words"}, "Some words"),
        ({"settings": {"submit_label": "Hand in"}}, "Hand in"),
    ]
    for change, text in changes:
        body = json.dumps({"status": "published", **change}).encode()
        changed = await hosting.north.send("PUT", f"/forms/{form['id']}", body)
        assert changed.status == 200, changed.body
        assert text not in json.dumps(form)
        assert text in await hosting.page(hosting.north, changed.json()), change


async def test_a_change_without_a_new_version_is_shown_too(hosting: Hosting) -> None:
    form = await hosting.create(hosting.north, fields=LINE)
    await hosting.page(hosting.north, form)
    changed = json.dumps([{**LINE[0], "label": "Third question"}])
    await hosting.north.api.connection.execute("update forms set fields = $2 where id = $1", UUID(form["id"]), changed)
    assert "Third question" in await hosting.page(hosting.north, form)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("name", "Renamed Studio", "Renamed Studio"),
        ("logo_url", "/logo-of-today.png", 'src="/logo-of-today.png"'),
        ("primary_color", "#123456", "123456"),
    ],
)
async def test_a_change_of_the_studio_is_shown_at_once(hosting: Hosting, column: str, value: str, text: str) -> None:
    partner = hosting.south
    form = await hosting.create(partner, fields=LINE)
    assert text not in await hosting.page(partner, form)
    await partner.api.connection.execute(
        f"update studios set {column} = $2 where studio_id = $1", partner.studio.studio_id, value
    )
    assert text in await hosting.page(partner, form)


async def test_forms_and_studios_do_not_share_a_page(hosting: Hosting) -> None:
    slug = f"same-{uuid4().hex}"
    same = {"title": "Same", "slug": slug, "fields": LINE}
    one, other = await hosting.create(hosting.north, **same), await hosting.create(hosting.south, **same)
    third = await hosting.create(hosting.north, **same | {"slug": slug + "-2"})
    for _ in range(2):
        for partner, form in ((hosting.north, one), (hosting.south, other), (hosting.north, third)):
            page = await hosting.page(partner, form)
            assert f'action="/f/{partner.studio.slug}/{form["slug"]}"' in page
            name = await partner.value("select name from studios where studio_id = $1", partner.studio.studio_id)
            assert page.count(name) >= 2


async def test_frames_have_a_page_of_their_own(hosting: Hosting) -> None:
    form = await hosting.create(hosting.north, fields=LINE)
    for _ in range(2):
        for query, framed in (("", False), ("?embed=1", True)):
            response = await hosting.get(hosting.north, form, query)
            page = gzip.decompress(response.body).decode()
            assert ('class="embedded"' in page, f'/{form["slug"]}?embed=1"' in page) == (framed, framed)
            assert (response.header("x-frame-options") is None) is framed
            assert ("frame-ancestors *" in (response.header("content-security-policy") or "")) is framed


async def test_a_link_opens_a_page_for_its_member_only(hosting: Hosting) -> None:
    north = hosting.north
    form = await hosting.create(north, fields=LINE)
    secret = await north.value("select link_secret from studio_secrets where studio_id = $1", north.studio.studio_id)
    now = await north.value("select now()")
    row = "select id, name from members where studio_id = $1 and email is not null order by id limit 1"
    member = await north.api.connection.fetchrow(row, north.studio.studio_id)
    assert member is not None
    link = sign(secret, UUID(form["id"]), Link(member["id"], now + timedelta(hours=1)))
    for _ in range(2):
        page = await hosting.page(north, form, "?link=" + quote(link))
        assert ("This form is for" in page, link in page, "submitter_email" in page) == (True, True, False)
        page = await hosting.page(north, form)
        assert ("This form is for" in page, link in page, "submitter_email" in page) == (False, False, True)


async def test_a_page_without_compression_is_the_same(hosting: Hosting) -> None:
    form = await hosting.create(hosting.north, fields=LINE)
    zipped = await hosting.page(hosting.north, form)
    response = await ask(hosting.app, "GET", f"//f/north/{form['slug']}")
    assert response.header("content-encoding") is None
    plain = response.body.decode()
    both = [page.replace(PageReader(page).value("token"), "") for page in (zipped, plain)]
    assert both[0] == both[1]
    for headers in ([], ZIPPED):
        path = f"//f/north/{form['slug']}"
        got, head = [await ask(hosting.app, method, path, headers=headers) for method in ("GET", "HEAD")]
        assert (head.body, head.header("content-length")) == (b"", str(len(got.body)))
        assert head.header("content-encoding") == got.header("content-encoding")


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
async def test_a_gap_is_filled_in_without_compressing_again(size: int) -> None:
    before, after = b"<p>" * size, bytes(number % 251 for number in range(size))
    page = compress_around(before, after)
    for text in (b"", b"x", b"token" * 20):
        assert gzip.decompress(page.as_gzip(text)) == page.as_plain(text) == before + text + after
    with pytest.raises(ValueError, match="too long"):
        page.as_gzip(b"x" * 70_000)


async def test_few_pages_are_kept_and_the_used_ones_longest() -> None:
    page = compress_around(b"before", b"after")
    cache = PageCache(max_pages=2)
    for key in ("a", "b"):
        cache.put(key, page)
    assert cache.get("a") is page
    cache.put("c", page)
    assert [cache.get(key) is page for key in ("a", "b", "c")] == [True, False, True]
    assert cache.size == 2 * page.size
    cache.put("c", page)
    assert (len(cache), cache.size) == (2, 2 * page.size)
    small = PageCache(max_bytes=page.size * 2 - 1)
    for number in range(5):
        small.put(number, page)
    assert (len(small), small.size) == (1, page.size)
    none = PageCache(max_bytes=1)
    none.put("a", page)
    assert (len(none), none.size) == (0, 0)


async def test_options_are_escaped_and_the_first_of_a_value_counts() -> None:
    given = [
        "<a>",
        {"value": "b\0'", "label": '"&'},
        {"value": "<a>", "label": "again"},
        {"value": "c"},
        7,
        {"label": "x"},
    ]
    options = options_of({"options": given}).with_answer(["c", "unknown"])
    assert options.menu().split("\n") == [
        '    <option value="&lt;a&gt;">&lt;a&gt;</option>',
        '    <option value="b\0&#39;">&#34;&amp;</option>',
        '    <option value="c" selected>c</option>',
    ]
    assert options_of({"options": ["a"]}).with_answer("a").inputs("radio", 'f."') == (
        '  <label class="option"><input type="radio" name="f.&#34;" value="a" checked><span>a</span></label>'
    )
    assert options_of({}).menu() == ""
