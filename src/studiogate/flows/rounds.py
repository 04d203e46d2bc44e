"""Repeat a step for everything that is due, such as all studios with work: one that fails does not stop the others."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar
from uuid import UUID

from studiogate.storage.db.pool import DatabaseUnavailableError

Item = TypeVar("Item")


async def for_each(due: Iterable[Item], step: Callable[[Item], Awaitable[int]], name_of: Callable[[Item], str]) -> int:
    """Run the step for each item and return the sum. Failures are raised together after the last item, each with a note
    that names its item; without a database, none of the others could be done either, so that is raised at once."""
    done, failed = 0, []
    for item in due:
        try:
            done += await step(item)
        except DatabaseUnavailableError:
            raise
        except Exception as error:
            error.add_note(name_of(item))
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} could not be done, {done} changes made", failed)
    return done


async def for_each_studio(studios: Iterable[UUID], step: Callable[[UUID], Awaitable[int]]) -> int:
    """Do the same for each studio."""
    return await for_each(studios, step, "studio {}".format)
