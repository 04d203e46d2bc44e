"""Shared by the tests of people and forms: a studio, its key, and JSON requests."""

from dataclasses import dataclass
from typing import Any

from tests.support.asgi import AsgiResponse, ask, post
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key, seed_studio


@dataclass
class Partner:
    """A key of one studio, and the API that it is used with."""

    api: PartnerApi
    studio: Studio
    key: str

    async def get(self, path: str) -> Any:
        response = await ask(self.api.app, "GET", path, key=self.key)
        assert response.status == 200, response.body
        return response.json()

    async def post(self, path: str, body: object, *headers: tuple[str, str], key: str | None = None) -> AsgiResponse:
        return await post(self.api.app, path, key or self.key, body, *headers)

    async def send(self, method: str, path: str, body: bytes, *headers: tuple[str, str]) -> AsgiResponse:
        given = [("content-type", "application/json"), *headers]
        return await ask(self.api.app, method, path, key=self.key, headers=given, body=body)

    async def value(self, query: str, *values: Any) -> Any:
        return await self.api.connection.fetchval(query, *values)


async def partner_of(api: PartnerApi, name: str = "north", *scopes: str) -> Partner:
    studio = await seed_studio(api.connection, name)
    return Partner(api, studio, await issue_key(api.connection, studio, *scopes))


def locs(response: AsgiResponse) -> list[list[Any]]:
    assert response.status == 422, response.body
    return [fault["loc"] for fault in response.json()["detail"]]
