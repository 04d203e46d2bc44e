"""A page ends early if it would exceed 4 MiB, and the walk still returns every row once."""

from collections.abc import AsyncIterator, Callable

import pytest

from studiogate.domain.paging import MAX_PAGE_BYTES
from tests.support.asgi import ask
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def leads_of_sizes(partner: Partner, *sizes: int) -> list[str]:
    """Create leads with metadata of these sizes, and return their ids, newest first."""
    ids = []
    for number, size in enumerate(sizes):
        made = (await partner.post("/leads", {"email": f"size{number}@example.com"})).json()["id"]
        await partner.api.connection.execute(
            "update leads set metadata = jsonb_build_object('a', repeat('x', $2)) where id = $1", made, size
        )
        ids.append(made)
    return ids[::-1]


async def walk(partner: Partner, path: str, key: str | None = None) -> list[list[str]]:
    """Return the ids per page; only a page of a single row may exceed the limit, and each says whether more follow."""
    pages: list[list[str]] = []
    cursor = ""
    while True:
        response = await ask(partner.api.app, "GET", path + cursor, key=key or partner.key)
        assert response.status == 200, response.body
        page = response.json()
        pages.append([each["id"] for each in page["data"]])
        assert len(response.body) <= MAX_PAGE_BYTES or len(page["data"]) == 1
        assert page["next_cursor"] == (pages[-1][-1] if page["has_more"] else None)
        if not page["has_more"]:
            return pages
        cursor = f"&cursor={page['next_cursor']}"


def flat(pages: list[list[str]]) -> list[str]:
    return [each for page in pages for each in page]


async def test_leads(partner: Partner) -> None:
    others = flat(await walk(partner, "/leads?limit=200"))
    sizes = [1_000, 3 * MIB, 1_000, 1_000, 5 * MIB, 2 * MIB, 2 * MIB - 9_000, 1_000, 9 * MIB]
    ids = [*await leads_of_sizes(partner, *sizes), *others]
    for limit in (200, 9, 2):
        pages = await walk(partner, f"/leads?limit={limit}")
        assert flat(pages) == ids, limit
        assert all(len(page) <= limit for page in pages)
    pages = await walk(partner, "/leads?limit=200")
    assert [len(page) for page in pages] == [1, 3, 1, 4 + len(others)]
    assert flat(await walk(partner, "/leads?limit=200&updated_after=2020-01-01T00:00:00Z")) == ids
    filtered = await walk(partner, "/leads?limit=200&email=size8@example.com")
    assert filtered == [ids[:1]]


@pytest.mark.parametrize("restricted", [False, True])
async def test_classes(partner: Partner, restricted: bool) -> None:
    """Covers ascending order, several ranges for a restricted key, and text of several bytes per character."""
    connection = partner.api.connection
    key = None
    if restricted:
        locations = await connection.fetch(
            "select id from locations where studio_id = $1 order by id", partner.studio.studio_id
        )
        key = await issue_key(connection, partner.studio, locations=[row["id"] for row in locations])
    before = flat(await walk(partner, "/classes?limit=3", key))
    assert len(before) >= 2
    await connection.execute("update classes set description = repeat('é', 1500000)")
    assert flat(await walk(partner, "/classes?limit=200", key)) == before
    await connection.execute("update classes set description = null")
