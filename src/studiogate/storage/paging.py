"""Read resources: one row by its id, or a page of a list.

A resource's wire columns are one SQL constant, and PostgreSQL builds the JSON: no row is converted to Python objects.
Statements are assembled from constants only and cached per shape (which filters, whether restricted, whether there is
a cursor), so that every shape has its own plan and its own index.

A page is read along an index in keyset order. Where a filter takes several values (the permitted locations of a
restricted key), each value is read along the index separately and the few rows are merged: never a scan, never a
sort of more than ``limit + 1`` rows per value.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.page_statement import Placeholders, Resource, Shape, page_statement, permitted_conditions

__all__ = ["Filter", "OneOf", "Parent", "Resource", "read_one", "read_page"]


class Filter(NamedTuple):
    """A condition with {} for its value. The text is a constant; the value goes to PostgreSQL as a parameter.

    ``of_the_list``: the condition defines the list (its parent in the path), so the cursor's row must meet it too.
    A cursor whose row merely no longer matches a filter still works.
    """

    condition: str
    value: object = None
    of_the_list: bool = False


class OneOf(NamedTuple):
    """A column that takes several values, each read along its own range of the index."""

    column: str
    values: Sequence[object]
    type: str = "uuid"


class Parent(NamedTuple):
    """A row that must exist, or the answer is not_found; the condition has {} for its id. ``param`` is the query
    parameter that names it; None if the path does."""

    exists: str
    id: object
    param: str | None = None


class ListPage(NamedTuple):
    """Rows of a list for staff, by column name; ``next`` is where the following page begins, if there is one."""

    rows: list[Any]
    next: str | None = None


def list_page(rows: Sequence[Record], limit: int, place: str = "id") -> ListPage:
    """Return a page of which one row too many was read, if there are more; the next begins at the column ``place``."""
    return ListPage(list(rows[:limit]), str(rows[limit - 1][place]) if len(rows) > limit else None)


def wanted_places(access: Access, location_id: UUID | None) -> Sequence[UUID] | None:
    """Return the locations whose rows are listed: one, if it is permitted, or all that are; None for all rows, also
    those of no location."""
    if location_id is None:
        return access.location_ids
    return [location_id] if access.permits(location_id) else []


def comes_after(table: str, row: str, place: str, time: str = "created_at", studio: str = "$1") -> str:
    """Return the condition that a row, by its alias, follows the last one of the page before, whose id is the parameter
    ``place``, in a list with the newest first."""
    last = f"select o.{time}, o.id from {table} o where o.studio_id = {studio} and o.id = {place}"
    return f"({row}.{time}, {row}.id) < ({last})"


async def read_one(
    connection: Connection, access: Access, resource: Resource, row_id: str | UUID, *filters: Filter
) -> str | None:
    """Return one resource in wire form, or None if it does not exist or this access may not see it."""
    values: list[object] = [access.studio_id]
    if access.restricted or resource.columns_need_locations:
        values.append(access.location_ids)
    conditions = tuple(each.condition for each in filters)
    values += [row_id, *(each.value for each in filters if "{}" in each.condition)]
    statement = _one(resource, access.restricted, conditions)
    wire: str | None = await connection.fetchval(statement, *values)
    return wire


async def read_page(  # noqa: PLR0913  keyword arguments that select the rows of a list
    connection: Connection,
    access: Access,
    resource: Resource,
    page: PageRequest,
    *,
    filters: Sequence[Filter] = (),
    one_of: Sequence[OneOf] = (),
    updated_after: datetime | None = None,
    parents: Sequence[Parent] = (),
) -> Page | Refusal:
    """Return one page of a list, or the refusal that says why there is none."""
    ranges = _with_permitted(access, resource, one_of)
    values: list[object] = [access.studio_id]
    if access.restricted or resource.columns_need_locations:
        values.append(access.location_ids)
    values.append(page.limit)
    if page.cursor is not None:
        values.append(page.cursor)
    if updated_after is not None:
        values.append(updated_after)
    if ranges:
        values += [each.values for each in ranges]
    values += [each.value for each in filters if "{}" in each.condition]
    if parents:
        values += [each.id for each in parents]
    shape = Shape(
        resource,
        access.restricted,
        page.cursor is not None,
        updated_after is not None,
        tuple([(each.column, each.type) for each in ranges]) if ranges else (),
        tuple([(each.condition, each.of_the_list) for each in filters]),
        tuple([each.exists for each in parents]) if parents else (),
    )
    row = await connection.fetchrow(page_statement(shape), *values)
    if row is not None and row["rows"] is None and row["found"]:
        # Too many bytes, which is rare: only then is the number of rows that fit computed.
        row = await connection.fetchrow(page_statement(shape._replace(cut=True)), *values)
        return _outcome(row, page, parents, cut=True)
    return _outcome(row, page, parents)


def _with_permitted(access: Access, resource: Resource, one_of: Sequence[OneOf]) -> list[OneOf]:
    ranges = list(one_of)
    if access.restricted and resource.located_by and all(each.column != resource.located_by for each in ranges):
        ranges.insert(0, OneOf(resource.located_by, access.location_ids or ()))
    return ranges


def _outcome(row: Any, page: PageRequest, parents: Sequence[Parent], *, cut: bool = False) -> Page | Refusal:
    if not row["cursor_known"]:
        return Refusal(Code.INVALID_CURSOR, param="cursor")
    if not row["parents_known"]:
        return Refusal(Code.NOT_FOUND, param=next((each.param for each in parents), None))
    has_more = row["found"] > (row["kept"] if cut else page.limit)
    return Page(row["rows"] or "", has_more, row["last_id"] if has_more else None)


@cache
def _one(resource: Resource, restricted: bool, filters: tuple[str, ...]) -> str:
    places = Placeholders()
    alias = resource.alias
    where = [f"{alias}.studio_id = {places.next()}"]
    if restricted or resource.columns_need_locations:
        where += permitted_conditions(resource, restricted, places.next())
    where.append(f"{alias}.id = {places.next()}")
    where += [places.fill(each) for each in filters]
    return f"""
        select row_to_json(w)::text from (
            select {resource.columns} from {resource.table} {alias} {resource.joins} where {" and ".join(where)}
        ) w"""
