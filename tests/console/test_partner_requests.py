"""The request log and the use of keys: what the pages show of real requests, and what they never show."""

import csv
import gzip
import io
import re
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from studiogate import clock
from studiogate.console.partners.requests import PER_PAGE, figures, line_of
from studiogate.domain.staff import Role
from studiogate.flows import keys
from studiogate.flows.keys import IssuedKey, KeyRequest
from studiogate.flows.request_log import RequestLog
from tests.support import console as fixtures
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts
from tests.support.seed import logged_request

pytestmark = pytest.mark.anyio
console, people = fixtures.console, fixtures.people
studio_factory, studio = fixtures.studio_factory, fixtures.studio
PATH = "/console/partners/requests"


@pytest.fixture(autouse=True)
def own_log(studio: BookingStudio) -> None:
    studio.api.app.request_log = RequestLog(studio.api.app._runtime.database)


async def new_key(studio: BookingStudio, name: str = "CityPass") -> str:
    issued: IssuedKey = await studio.staff(keys.issue, KeyRequest(name, ["studio:read", "leads:write"]))
    return issued.key


async def logged(studio: BookingStudio, key: str, **columns: Any) -> UUID:
    return await logged_request(studio.api.connection, studio.id, key.split("_")[2], **columns)


def routes(page: Any) -> list[str]:
    return re.findall(r"data-drawer>([A-Z]+ /?[^<]+)</a>", page.text)


async def test_a_real_refusal_is_found_by_its_request_id(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    await studio.api.get("/studio", key)
    answer = await studio.api.get("/members?email=ada@example.com", key)
    await studio.api.app.request_log.flush()
    page = await console.get(PATH)
    assert routes(page) == ["GET /members"], "reads that succeed are not listed"
    assert sorted(routes(await console.get(f"{PATH}?reads=yes"))) == ["GET /members", "GET /studio"]
    found = await console.get(f"{PATH}?request={answer.json()['error']['request_id']}")
    assert routes(found) == ["GET /members"]
    assert "insufficient_scope" in texts(found)
    assert "ada@example.com" not in page.text + found.text


async def test_the_filters_and_their_addresses(console: Console, studio: BookingStudio) -> None:
    key, other = await new_key(studio), await new_key(studio, "Website")
    old = clock.now() - timedelta(days=3)
    await logged(studio, key, status=409, code="class_full")
    await logged(studio, key, status=503, code="overloaded", route="/partner/v1/leads")
    await logged(studio, other, route="/partner/v1/forms", occurred_at=old)

    async def shown(query: str) -> list[str]:
        return [each.removeprefix("POST ") for each in routes(await console.get(f"{PATH}?{query}"))]

    assert sorted(await shown("")) == ["/bookings", "/forms", "/leads"]
    assert sorted(await shown(f"key={key.split('_')[2]}")) == ["/bookings", "/leads"]
    assert await shown("status=4xx") == ["/bookings"]
    assert await shown("status=5xx") == ["/leads"]
    assert await shown("status=2xx") == ["/forms"]
    assert await shown("code=class_full") == ["/bookings"]
    assert await shown("route=/partner/v1/forms") == ["/forms"]
    zone = studio_day(old)
    assert await shown(f"from={zone}&to={zone}") == ["/forms"]
    assert await shown("status=4xx&code=overloaded") == []


def studio_day(instant: datetime) -> str:
    return str(instant.astimezone(ZoneInfo("America/New_York")).date())


async def test_times_are_as_the_studio_writes_them_and_name_their_zone(console: Console, studio: BookingStudio) -> None:
    await studio.sql("update studios set hour_cycle = '12h', date_order = 'month_day' where studio_id = $1")
    await studio.sql(
        "update locations set timezone = 'America/Denver' where (studio_id, id) = ($1, $2)", studio.location
    )
    at = datetime.combine(clock.now().date() - timedelta(days=1), time(17, 5, 31), UTC)
    entry = await logged(studio, await new_key(studio), occurred_at=at)
    here = at.astimezone(ZoneInfo((await studio.rows("studios", "true"))[0]["timezone"]))
    shown = f"{here:%b} {here.day}, {here:%-I:%M}:31 {here:%p %Z}"
    for path in ("", f"/{entry}"):
        assert shown in " ".join(texts(await console.get(PATH + path)).split())


async def test_refusals_of_one_kind_are_one_line(console: Console, studio: BookingStudio) -> None:
    key, other = await new_key(studio), await new_key(studio, "Website")
    for each in (key, key, other):
        await logged(studio, each, status=409, code="class_full")
    await logged(studio, key)
    page = await console.get(f"{PATH}?group=error")
    cells = [texts_of(row) for row in re.findall(r"<tr><td>.*?</tr>", page.text, re.DOTALL)]
    assert [row[:5] for row in cells] == [["409", "class_full", "POST /bookings", "3", "2"]]
    assert "code=class_full" in page.text


def texts_of(row: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]


async def test_a_request_as_curl_has_no_secret(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    entry = await logged(studio, key, route="/partner/v1/leads/{lead_id}", method="PATCH", status=404, code="not_found")
    page = await console.fragment(f"{PATH}/{entry}")
    shown = texts(page)
    assert "curl -X PATCH" in shown
    assert "/partner/v1/leads/{lead_id}" in shown
    assert "$STUDIOGATE_KEY" in shown
    assert key.split("_")[3] not in page.text
    assert 'href="/docs/errors#not_found"' in page.text
    assert (await console.get(f"{PATH}/{uuid4()}")).status_code == 404


async def test_only_developers_and_owners_see_it(console: Console, studio: BookingStudio) -> None:
    await logged(studio, await new_key(studio))
    developer = await console.as_role(Role.DEVELOPER)
    assert routes(await developer.get(PATH)) == ["POST /bookings"]
    manager = await console.as_role(Role.MANAGER)
    assert (await manager.get(PATH)).status_code == 403


async def test_a_page_is_small_and_has_all_the_others(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    for number in range(PER_PAGE * 2 + 1):
        await logged(studio, key, occurred_at=clock.now() - timedelta(seconds=number), request_id=f"req_{number}")
    path, found = PATH, 0
    while path:
        page = await console.get(path)
        assert len(page.content) <= 60_000
        assert len(gzip.compress(page.content, 5)) <= 12_000
        found += len(routes(page))
        link = re.search(r'href="([^"]+)">More<', page.text)
        path = link[1] if link else ""
    assert found == PER_PAGE * 2 + 1


async def test_the_use_of_a_key_counts_unlisted_requests(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    await logged(studio, key, unlisted=900)
    await logged(studio, key, status=429, code="rate_limited")
    await logged(studio, key, occurred_at=clock.now() - timedelta(days=2))
    address = f"/console/partners/keys/{key.split('_')[2]}"
    file = await console.get(f"{address}/use.csv")
    assert file.headers["content-type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(file.text.removeprefix("\ufeff"))))
    assert rows[0] == ["day", "requests", "refused"]
    assert rows[-1][1:] == ["902", "1"]
    assert rows[-3][1:] == ["1", "0"]
    assert len(rows) == 8, "each of seven days, also those without requests"
    page = (await console.get(address)).text
    assert 'data-plot="bars"' in page
    assert 'data-value="902"' in page


def test_figures_without_requests_are_flat_lines() -> None:
    assert [each.value for each in figures([])] == ["0", "0", "0", "0 ms"]
    assert set(re.findall(r",([\d.]+)", line_of([0.0] * 24))) == {"24.0"}
    assert line_of([0.0, 5.0]).split()[-1] == "100.0,2.0"
