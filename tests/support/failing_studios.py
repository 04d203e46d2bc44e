"""One studio whose rows of a table cannot be changed, as after a manual change in the database that broke them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

PREPARE = """
    create or replace function fail_for_studio() returns trigger language plpgsql as $$ begin
        if old.studio_id = tg_argv[0]::uuid then raise 'this studio is broken'; end if;
        return coalesce(new, old);
    end $$"""


@asynccontextmanager
async def failing_studio(connection: Any, table: str, studio_id: UUID) -> AsyncIterator[None]:
    """Let every change and deletion of the studio's rows fail inside the block."""
    await connection.execute(PREPARE)
    await connection.execute(
        f"create trigger fail_for_studio before update or delete on {table}"
        f" for each row execute function fail_for_studio('{studio_id}')"
    )
    yield
    await connection.execute(f"drop trigger fail_for_studio on {table}")
