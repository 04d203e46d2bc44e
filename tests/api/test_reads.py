"""Every read succeeds."""

import pytest

from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio

pytestmark = pytest.mark.anyio

LISTS = [
    "/locations",
    "/rooms",
    "/class-types",
    "/instructors",
    "/classes",
    "/products",
    "/forms",
    "/leads",
    "/members",
    "/bookings",
    "/waitlist",
    "/purchases",
]


async def test_the_studio(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    answer = await shared_api.get("/studio", key)
    assert answer.status_code == 200
    assert answer.json()["id"] == str(studios[0].studio_id)


@pytest.mark.parametrize("path", LISTS)
async def test_every_list(shared_api: PartnerApi, key: str, path: str) -> None:
    answer = await shared_api.get(path, key)
    assert answer.status_code == 200
    body = answer.json()
    assert body["object"] == "list"
    assert body["data"]
    assert body["has_more"] is False
    assert body["next_cursor"] is None
