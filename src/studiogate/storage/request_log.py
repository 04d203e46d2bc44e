"""The request log of partners' keys: write it in batches, list it, delete what is old."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.request_log import FIRST_FAILURE, KeyRequests
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement, new_id
from studiogate.storage.paging import ListPage, comes_after, list_page

INSERT = Statement("""
    insert into request_log (studio_id, id, credential_id, occurred_at, method, route, status, code, milliseconds,
                             bytes, request_id, unlisted)
    select :studio, r.* from unnest(
        :ids::uuid[], :credential_ids::text[], :times::timestamptz[], :methods::text[], :routes::text[],
        :statuses::integer[], :codes::text[], :milliseconds::real[], :bytes::bigint[], :request_ids::text[],
        :unlisted::integer[]) r""")


class RequestFilters(NamedTuple):
    """Which entries to show; ``statuses``: from and to, both included. ``reads``: those that succeeded too."""

    credential_id: str | None = None
    statuses: tuple[int, int] = (0, 999)
    code: str | None = None
    route: str | None = None
    request_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    reads: bool = False


# The log of a studio is bounded, and so is what a filter that few entries meet reads of it, along the index of times.
_MATCHING = f"""
    from request_log r
    where r.studio_id = :studio and (:credential_id::text is null or r.credential_id = :credential_id)
      and r.status between :lowest::integer and :highest::integer
      and (:code::text is null or r.code = :code) and (:route::text is null or r.route = :route)
      and (:request_id::text is null or r.request_id = :request_id)
      and (:since::timestamptz is null or r.occurred_at >= :since)
      and (:until::timestamptz is null or r.occurred_at < :until)
      and (:reads::boolean or r.method not in ('GET', 'HEAD') or r.status >= {FIRST_FAILURE})"""
_SHOWN = """
    r.id, r.credential_id, r.occurred_at, r.method, r.route, r.status, r.code, r.milliseconds, r.bytes, r.request_id,
    (select c.name from credentials c where c.studio_id = :studio and c.id = r.credential_id) as key"""
SEARCH = Statement(f"""
    select {_SHOWN} {_MATCHING}
      and (:after::uuid is null or {comes_after("request_log", "r", ":after", "occurred_at", ":studio")})
    order by r.occurred_at desc, r.id desc limit :limit""")
BY_ERROR = Statement(f"""
    select r.status, r.code, r.method, r.route, count(*) as requests, count(distinct r.credential_id) as keys,
           max(r.occurred_at) as last_at {_MATCHING} and r.status >= {FIRST_FAILURE}
    group by r.status, r.code, r.method, r.route order by requests desc, last_at desc limit 100""")
ONE = Statement(f"select {_SHOWN} from request_log r where r.studio_id = :studio and r.id = :id")
# Of a key, from a status on.
OF_KEY = f"""
    select id, occurred_at, method, route, status, code, milliseconds, bytes, request_id, unlisted
    from request_log r
    where studio_id = $1 and credential_id = $2 and ($3 = 0 or status >= $3)
      and ($4::uuid is null or {comes_after("request_log", "r", "$4", "occurred_at")})
    order by occurred_at desc, id desc limit $5"""
# Requests that are not listed were counted with the last listed one of their key.
PER_DAY = Statement(f"""
    select (r.occurred_at at time zone :timezone)::date as day, count(*) + sum(r.unlisted) as requests,
           count(*) filter (where r.status >= {FIRST_FAILURE}) as refused
    from request_log r where r.studio_id = :studio and r.credential_id = :credential_id group by 1""")
PER_HOUR = Statement(f"""
    select floor(extract(epoch from :now::timestamptz - r.occurred_at) / 3600)::integer as hours_ago,
           count(*) + sum(r.unlisted) as requests,
           count(*) filter (where r.status < {FIRST_FAILURE} and r.method not in ('GET', 'HEAD')) as writes,
           count(*) filter (where r.status >= {FIRST_FAILURE}) as refused,
           percentile_disc(0.99) within group (order by r.milliseconds) as slowest
    from request_log r where r.studio_id = :studio and r.occurred_at > :now - interval '24 hours'
    group by 1""")


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
    lowest = FIRST_FAILURE if wanted.failures_only else 0
    values = (wanted.credential_id, lowest, wanted.before, wanted.limit)
    return await connection.fetch(OF_KEY, access.studio_id, *values)


def _values(access: Access, wanted: RequestFilters) -> dict[str, object]:
    lowest, highest = wanted.statuses
    values = {name: value for name, value in wanted._asdict().items() if name != "statuses"}
    return {**values, "studio": access.studio_id, "lowest": lowest, "highest": highest}


async def search(
    connection: Connection, access: Access, wanted: RequestFilters, after: UUID | None, limit: int
) -> ListPage:
    """Return the newest entries that meet the filters."""
    rows = await SEARCH.rows(connection, **_values(access, wanted), after=after, limit=limit + 1)
    return list_page(rows, limit)


async def by_error(connection: Connection, access: Access, wanted: RequestFilters) -> list[Record]:
    """Return the refusals that meet the filters, those of one kind together, the most frequent first."""
    return await BY_ERROR.rows(connection, **_values(access, wanted))


async def read_entry(connection: Connection, access: Access, entry_id: UUID) -> Record | None:
    return next(iter(await ONE.rows(connection, studio=access.studio_id, id=entry_id)), None)


async def per_day(connection: Connection, access: Access, credential_id: str, timezone: str) -> list[Record]:
    """Return how many requests of a key the log has of each day, and how many of them were refused."""
    return await PER_DAY.rows(connection, studio=access.studio_id, credential_id=credential_id, timezone=timezone)


async def per_hour(connection: Connection, access: Access, now: datetime) -> list[Record]:
    """Return the numbers of each of the last 24 hours in which there were requests."""
    return await PER_HOUR.rows(connection, studio=access.studio_id, now=now)
