"""A separate studio for one race: many classes and members, and the clients that compete for them."""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from studiogate.domain.access import Access, operator_access
from tests.support.races import checker
from tests.support.races.client import Crowd, History
from tests.support.seed import Studio, insert, issue_key

START = datetime(2035, 1, 1, 12, tzinfo=UTC)
CREDITS = 50


@dataclass
class RaceStudio:
    """``seed`` determines every random choice of a race."""

    port: int
    connection: "asyncpg.Connection[asyncpg.Record]"
    studio_id: UUID
    service_key: str
    product_id: UUID
    seed: int
    history: History = field(default_factory=History)
    classes: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def staff(self) -> Access:
        return operator_access(self.studio_id)

    def crowd(self, size: int) -> Crowd:
        return Crowd(self.port, self.service_key, self.history, size)

    async def add_class(self, capacity: int, **columns: Any) -> UUID:
        """Add a class, by default one day after the previous one, so that classes do not overlap."""
        self.classes += 1
        start = columns.pop("start_time", START + timedelta(days=self.classes))
        return await insert(
            self.connection,
            "classes",
            studio_id=self.studio_id,
            title="race",
            start_time=start,
            end_time=start + timedelta(hours=1),
            capacity=capacity,
            **columns,
        )

    async def add_classes(self, count: int, capacity: int, **columns: Any) -> list[UUID]:
        return [await self.add_class(capacity, **columns) for _ in range(count)]

    async def add_members(self, count: int, paid: int | None = CREDITS) -> list[UUID]:
        """Add members, each with a membership of ``paid`` credits (None: unlimited)."""
        members = [uuid4() for _ in range(count)]
        await self.connection.executemany(
            "insert into members (studio_id, id, first_name, last_name) values ($1, $2, 'Race', 'Member')",
            [(self.studio_id, member_id) for member_id in members],
        )
        await self.connection.executemany(
            "insert into memberships (studio_id, id, member_id, product_id, status, credits_granted, credits_remaining)"
            " values ($1, $2, $3, $4, 'active', $5, $5)",
            [(self.studio_id, uuid4(), member_id, self.product_id, paid) for member_id in members],
        )
        return members

    async def violations(self, **options: Any) -> list[str]:
        return await checker.violations(self.connection, self.studio_id, self.history, **options)

    async def fetch(self, query: str, *arguments: Any) -> list[Any]:
        """Return the rows of a query whose $1 is the studio's id."""
        return list(await self.connection.fetch(query, self.studio_id, *arguments))


async def open_race_studio(
    port: int, connection: "asyncpg.Connection[asyncpg.Record]", seed: int = 0, **policy: Any
) -> RaceStudio:
    studio = Studio(uuid4(), f"race-{uuid4().hex[:12]}", "race")
    await connection.execute(
        "insert into studios (studio_id, name, slug, timezone, currency, country, policy)"
        " values ($1, 'Race', $2, 'UTC', 'USD', 'US', $3)",
        studio.studio_id,
        studio.slug,
        json.dumps(policy),
    )
    product_id = await insert(
        connection, "products", studio_id=studio.studio_id, key="race", name="race", product_type="package"
    )
    return RaceStudio(port, connection, studio.studio_id, await issue_key(connection, studio), product_id, seed)
