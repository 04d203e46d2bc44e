"""Connect to the configured servers: one after the other, each with its own timeout, until one accepts writes.

The driver also supports several hosts in a URL, but has one timeout for all of them: a first host that hangs would use
it up. It also passes libpq's ``connect_timeout`` on to the server, which rejects it.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from studiogate.storage.db import driver, failures
from studiogate.storage.db.failures import Connection

CONNECT_SECONDS = 5.0
CONNECT_SECONDS_EACH = 2.0  # per server, if there are several
# The settings that a pooler (PgBouncer) passes on at the start of a session; it rejects all others.
PASSED_ON = ("application_name", "timezone")
# Settings that make some work cheaper and that nothing depends on.
OPTIONAL = ("synchronous_commit", "enable_sort")
REFUSED_PARAMETER = "unsupported startup parameter"
STATEMENTS_KEPT = 500  # all statements that a process ever sends, cached for the lifetime of the connection


class Server(NamedTuple):
    """One host of the URL: its name for messages, and a URL with only this host."""

    name: str
    url: str


class Servers:
    """The servers of a database URL. The one that was connected to last is tried first, unless it hung."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        wanted_seconds = int(options.pop("connect_timeout", "") or 0)
        self._target = options.pop("target_session_attrs", None)
        self._servers = _each(parts, options)
        default = CONNECT_SECONDS if len(self._servers) == 1 else CONNECT_SECONDS_EACH
        self.connect_seconds = float(wanted_seconds) if wanted_seconds > 0 else default
        self._first = 0
        self._poolers: set[Server] = set()

    async def connect(self, session: Mapping[str, str], target: str = "primary") -> Connection:
        """Connect to the first server that answers in time and has the wanted role; the URL's own takes precedence."""
        problems: list[str] = []
        kind = failures.DatabaseUnavailableError
        places = [*range(self._first, len(self._servers)), *range(self._first)]
        for index in places:
            server = self._servers[index]
            try:
                connection = await self._connect_to(server, session, self._target or target)
            except (*failures.UNAVAILABLE, *failures.READ_ONLY) as error:
                if isinstance(error, failures.READ_ONLY):
                    kind = failures.ReadOnlyDatabaseError
                elif failures.may_pass(error) and kind is not failures.ReadOnlyDatabaseError:
                    kind = failures.NotConnectedYetError
                problems.append(f"{server.name}: {self._problem(error)}")
                continue
            except asyncpg.PostgresError as error:
                raise failures.DatabaseUnavailableError(f"{server.name}: {error}") from error
            self._first = index
            return connection
        raise kind("; ".join(problems))

    def leave(self) -> None:
        """Try the server after this one first. This one hangs, though it may still accept connections and call itself
        the primary: a replaced primary does, and no standby confirms its writes."""
        self._first = (self._first + 1) % len(self._servers)

    def _problem(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self.connect_seconds:g} s"
        if isinstance(error, asyncpg.exceptions.TargetServerAttributeNotMatched):
            return "not a server that takes writes (a standby)"
        return str(error) or type(error).__name__

    async def _connect_to(self, server: Server, session: Mapping[str, str], target: str) -> Connection:
        try:
            connect = self._connect_to_pooler if server in self._poolers else self._open
            connection = await connect(server, session, target)
        except asyncpg.ProtocolViolationError as error:
            if REFUSED_PARAMETER not in str(error):
                raise
            self._poolers.add(server)
            connection = await self._connect_to_pooler(server, session, target)
        driver.limit_silence(connection)
        return connection

    async def _connect_to_pooler(self, server: Server, session: Mapping[str, str], target: str) -> Connection:
        """Connect through a pooler, which accepts no settings for a new session: they must be set on the role."""
        connection = await self._open(server, {name: session[name] for name in session if name in PASSED_ON}, target)
        try:
            async with asyncio.timeout(self.connect_seconds):
                await _check_settings(
                    connection, {name: session[name] for name in session if name not in (*PASSED_ON, *OPTIONAL)}
                )
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _open(self, server: Server, session: Mapping[str, str], target: str) -> Connection:
        return await asyncpg.connect(
            server.url,
            timeout=self.connect_seconds,
            server_settings=dict(session),
            target_session_attrs=SessionAttribute(target),
            statement_cache_size=STATEMENTS_KEPT,
            max_cached_statement_lifetime=0,
        )


def _each(parts: SplitResult, options: dict[str, str]) -> list[Server]:
    """Return the hosts of a URL, which are before the path or, as for sockets, in the query."""
    credentials, at, hosts = parts.netloc.rpartition("@")
    if hosts or "host" not in options:
        return [
            Server(host or "the local server", _url(parts, credentials + at + host, options))
            for host in hosts.split(",")
        ]
    names, ports = options.pop("host").split(","), options.pop("port", "").split(",")
    if len(ports) == 1:
        ports *= len(names)
    return [
        Server(name, _url(parts, parts.netloc, {**options, "host": name, **({"port": port} if port else {})}))
        for name, port in zip(names, ports, strict=False)
    ]


def _url(parts: SplitResult, place: str, options: Mapping[str, str]) -> str:
    query = urlencode(options, safe="/", quote_via=quote)
    return f"{parts.scheme}://{place}{parts.path}{'?' + query if query else ''}"


async def _check_settings(connection: Connection, wanted: Mapping[str, str]) -> None:
    rows = await connection.fetch("select name, current_setting(name) as value from unnest($1::text[]) name", [*wanted])
    missing = {row["name"]: wanted[row["name"]] for row in rows if row["value"] != wanted[row["name"]]}
    if missing:
        role = await connection.fetchval("select quote_ident(current_user)")
        statements = " ".join(f"alter role {role} set {name} = '{value}';" for name, value in missing.items())
        raise failures.PoolerError(
            "The connection pooler in front of PostgreSQL does not pass on session settings. Make them the role's own "
            f"on the server, then reconnect the pooler: {statements}"
        )
