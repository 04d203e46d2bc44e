"""Resolve a webhook's host name to the addresses that may be connected to. Every lookup is checked again."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address

from studiogate.domain.webhooks.targets import Address, Target, TargetRules

# Names that are very slow to look up must not delay the others: many threads, and one lookup at a time per name.
LOOKUPS_AT_ONCE = 64
CREATION_SECONDS = 2.0

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]


class DeniedAddressError(Exception):
    """The name has no address that may be connected to."""


class UnknownNameError(Exception):
    """The name cannot be resolved now."""


class Resolver:
    """Resolves and checks host names. ``lookup`` asks the operating system unless a test replaces it."""

    def __init__(self, rules: TargetRules, lookup: Lookup | None = None) -> None:
        self.rules = rules
        self.lookup: Lookup = lookup or self._ask_system
        self._threads: ThreadPoolExecutor | None = None
        self._under_way: dict[tuple[str, int], asyncio.Task[Sequence[str]]] = {}

    async def permitted(self, host: str, port: int) -> list[Address]:
        """Return the addresses of a host that may be connected to; raise if there is none."""
        try:
            found = [ip_address(host)]
        except ValueError:
            found = [ip_address(each.partition("%")[0]) for each in await self._look_up(host, port)]
        permitted = [address for address in dict.fromkeys(found) if self.rules.permits(address)]
        if not permitted:
            raise DeniedAddressError
        return permitted

    async def fault_of(self, url: str) -> str | None:
        """Return what is wrong with an endpoint's URL, or None. A name that does not resolve may be set up later."""
        target = self.rules.parse(url)
        if not isinstance(target, Target):
            return target
        try:
            async with asyncio.timeout(CREATION_SECONDS):
                await self.permitted(target.host, target.port)
        except DeniedAddressError:
            return "should not lead to an address in a network that is not public"
        except (UnknownNameError, TimeoutError):
            pass
        return None

    async def _look_up(self, host: str, port: int) -> Sequence[str]:
        key = (host, port)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.ensure_future(self.lookup(host, port))
            task.add_done_callback(lambda done: self._done(key, done))
        # A caller that stops waiting must not cancel the lookup for the others.
        return await asyncio.shield(task)

    def _done(self, key: tuple[str, int], task: "asyncio.Task[Sequence[str]]") -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # mark it as retrieved: it is raised in the callers that still wait, if any

    async def _ask_system(self, host: str, port: int) -> Sequence[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="dns")
        loop = asyncio.get_running_loop()
        try:
            look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
            return [str(answer[4][0]) for answer in await loop.run_in_executor(self._threads, look_up)]
        except (OSError, UnicodeError) as error:
            raise UnknownNameError from error

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
