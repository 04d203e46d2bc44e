"""The request log of partners' keys: write it in batches, list it, delete what is old."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.request_log import FIRST_FAILURE, KeyRequests
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement, new_id

INSERT = Statement("""
    insert into request_log (studio_id, id, credential_id, occurred_at, method, route, status, code, milliseconds,
                             bytes, request_id, unlisted)
    select :studio, r.* from unnest(
        :ids::uuid[], :credential_ids::text[], :times::timestamptz[], :methods::text[], :routes::text[],
        :statuses::integer[], :codes::text[], :milliseconds::real[], :bytes::bigint[], :request_ids::text[],
        :unlisted::integer[]) r""")


class LogFilter(NamedTuple):
    """Which entries to list: of one key, failures only, older than an entry."""

    credential_id: str
    failures_only: bool = False
    before: UUID | None = None
    limit: int = 100


async def add(connection: Connection, access: Access, keys: Sequence[KeyRequests]) -> None:
    listed = [each for key in keys for each in key.listed]
    last = {id(key.listed[-1]): key.unlisted for key in keys if key.listed}
    await INSERT.rows(
        connection,
        studio=access.studio_id,
        ids=[new_id() for _ in listed],
        credential_ids=[each.credential_id for each in listed],
        times=[each.occurred_at for each in listed],
        methods=[each.method for each in listed],
        routes=[each.route for each in listed],
        statuses=[each.status for each in listed],
        codes=[each.code for each in listed],
        milliseconds=[each.seconds * 1000 for each in listed],
        bytes=[each.bytes for each in listed],
        request_ids=[each.request_id for each in listed],
        unlisted=[last.get(id(each), 0) for each in listed],
    )


async def list_requests(connection: Connection, access: Access, wanted: LogFilter) -> list[Record]:
    """Return the newest requests of a key; ``before`` is the last entry of the previous page."""
    rows: list[Record] = await connection.fetch(
        """
        select id, occurred_at, method, route, status, code, milliseconds, bytes, request_id, unlisted
        from request_log
        where studio_id = $1 and credential_id = $2 and ($3 = 0 or status >= $3)
          and ($4::uuid is null or (occurred_at, id) < (
               select b.occurred_at, b.id from request_log b where b.studio_id = $1 and b.id = $4))
        order by occurred_at desc, id desc limit $5""",
        access.studio_id,
        wanted.credential_id,
        FIRST_FAILURE if wanted.failures_only else 0,
        wanted.before,
        wanted.limit,
    )
    return rows
