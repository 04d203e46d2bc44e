"""How every resource is read: one row by its id, or a page of a list.

A resource's wire columns are one SQL constant, and PostgreSQL builds the JSON: nothing of a row becomes a Python
object on its way out. Statements are put together from constants only and kept per shape (which filters, whether
restricted, whether there is a cursor), so that every shape has its own plan and its own index.

A page is read along an index in keyset order. Where a filter takes several values (the permitted locations of a
restricted key), each value is read along the index for itself and the few rows are merged: never a scan, never a
sort of more than ``limit + 1`` rows a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.database import Connection


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A table as partners see it. ``alias`` is the table's name inside ``columns``, ``joins`` and conditions.

    There is one of each, so that it is itself and not its text that a kept statement is found by.
    """

    table: str
    alias: str
    columns: str
    joins: str = ""
    order: str = "created_at"
    descending: bool = True
    # What a restricted key may see, with {} for the permitted locations; None: the resource is studio-wide.
    permitted: str | None = None
    # The column along which a restricted key's pages are read, where the table has one.
    located_by: str | None = None
    # The moment of the last change that readers see, where it is not the column of that name.
    updated_at: str | None = None
    # The wire columns themselves need the permitted locations (as $2, null for an unrestricted key).
    columns_need_locations: bool = False


class Filter(NamedTuple):
    """A condition with {} for its value. The text is a constant; the value goes to PostgreSQL as a parameter.

    ``of_the_list``: the condition makes the list what it is (its parent in the path), so a cursor has to meet it
    too. A cursor whose row has only left the filter still works.
    """

    condition: str
    value: Any = None
    of_the_list: bool = False


class OneOf(NamedTuple):
    """A column that takes several values, each read along its own stretch of the index."""

    column: str
    values: Sequence[Any]
    type: str = "uuid"


class Parent(NamedTuple):
    """A row that must exist, or the answer is not_found; the condition has {} for its id.

    ``param`` is the query parameter that names it; None where the path does.
    """

    exists: str
    id: Any
    param: str | None = None


async def read_one(
    connection: Connection, access: Access, resource: Resource, row_id: str | UUID, *filters: Filter
) -> str | None:
    """One resource in wire form, or None where this access may not see it or it does not exist."""
    values: list[Any] = [access.studio_id]
    if access.restricted or resource.columns_need_locations:
        values.append(access.location_ids)
    conditions = tuple(each.condition for each in filters)
    values += [row_id, *(each.value for each in filters if "{}" in each.condition)]
    statement = _one(resource, access.restricted, conditions)
    wire: str | None = await connection.fetchval(statement, *values)
    return wire


async def read_page(
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
    """One page of a list, or why there is none."""
    ranges = _with_permitted(access, resource, one_of)
    values: list[Any] = [access.studio_id]
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
    shape = _Shape(
        resource,
        access.restricted,
        page.cursor is not None,
        updated_after is not None,
        tuple([(each.column, each.type) for each in ranges]) if ranges else (),
        tuple([(each.condition, each.of_the_list) for each in filters]),
        tuple([each.exists for each in parents]) if parents else (),
    )
    row = await connection.fetchrow(_page(shape), *values)
    return _outcome(row, page, parents)


def _with_permitted(access: Access, resource: Resource, one_of: Sequence[OneOf]) -> list[OneOf]:
    ranges = list(one_of)
    if access.restricted and resource.located_by and all(each.column != resource.located_by for each in ranges):
        ranges.insert(0, OneOf(resource.located_by, access.location_ids or ()))
    return ranges


def _outcome(row: Any, page: PageRequest, parents: Sequence[Parent]) -> Page | Refusal:
    if not row["cursor_known"]:
        return Refusal(Code.INVALID_CURSOR, param="cursor")
    if not row["parents_known"]:
        return Refusal(Code.NOT_FOUND, param=next((each.param for each in parents), None))
    has_more = row["found"] > page.limit
    return Page(row["rows"] or "", has_more, row["last_id"] if has_more else None)


class _Placeholders:
    """Hands out $1, $2, … in the order in which the values are passed."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"${self._count}"

    def fill(self, condition: str) -> str:
        return condition.format(self.next()) if "{}" in condition else condition


@cache
def _one(resource: Resource, restricted: bool, filters: tuple[str, ...]) -> str:
    places = _Placeholders()
    alias = resource.alias
    where = [f"{alias}.studio_id = {places.next()}"]
    if restricted or resource.columns_need_locations:
        where += _permitted(resource, restricted, places.next())
    where.append(f"{alias}.id = {places.next()}")
    where += [places.fill(each) for each in filters]
    return f"""
        select row_to_json(w)::text from (
            select {resource.columns} from {resource.table} {alias} {resource.joins} where {" and ".join(where)}
        ) w"""


def _permitted(resource: Resource, restricted: bool, locations: str) -> list[str]:
    """Conditions that name the permitted locations, so that the parameter always has its type."""
    if not restricted:
        return [f"{locations}::uuid[] is null"]
    if resource.permitted is None:
        return [f"{locations}::uuid[] is not null"]
    return [resource.permitted.format(f"{locations}::uuid[]")]


class _Shape(NamedTuple):
    """Everything that decides the text of a page's statement, and nothing of its values."""

    resource: Resource
    restricted: bool
    cursor: bool
    changed: bool
    ranges: tuple[tuple[str, str], ...]
    filters: tuple[tuple[str, bool], ...]
    parents: tuple[str, ...]


@cache
def _page(shape: _Shape) -> str:
    return _PageStatement(shape).text()


class _PageStatement:
    """Puts one page's statement together. Placeholders are numbered in the order in which read_page passes values."""

    def __init__(self, shape: _Shape) -> None:
        places = _Placeholders()
        resource = self.resource = shape.resource
        direction = "desc" if resource.descending else "asc"
        self.alias = resource.alias
        self.order = f"{{0}}{resource.order} {direction}, {{0}}id {direction}"
        self.scope = [f"{self.alias}.studio_id = {places.next()}"]
        if shape.restricted or resource.columns_need_locations:
            self.scope += _permitted(resource, shape.restricted, places.next())
        self.limit = places.next()
        self.cursor_id = places.next() if shape.cursor else None
        self.updated_after = places.next() if shape.changed else None
        self.ranges = [(f"range_{n}", column, type_, places.next()) for n, (column, type_) in enumerate(shape.ranges)]
        filled = [(places.fill(condition), of_the_list) for condition, of_the_list in shape.filters]
        self.filters = [condition for condition, _of_the_list in filled]
        self.list_filters = [condition for condition, of_the_list in filled if of_the_list]
        self.parents = [places.fill(each) for each in shape.parents]

    def text(self) -> str:
        cursor_known = "exists (select from cursor_row)" if self.cursor_id else "true"
        parents_known = " and ".join(f"exists ({each})" for each in self.parents) or "true"
        return f"""
            with {self._cursor_row()} page as (
                select {self.alias}.id, row_number() over (order by {self._ordered()}) as number,
                       row_to_json(w)::text as wire
                from (select * from ({self._source()}) merged
                      order by {self.order.format("")} limit {self.limit}::integer + 1) {self.alias}
                     {self.resource.joins} cross join lateral (select {self.resource.columns}) w
            )
            select string_agg(wire, ',' order by number) filter (where number <= {self.limit}) as rows,
                   count(*) as found,
                   max(id::text) filter (where number = {self.limit}) as last_id,
                   {cursor_known} as cursor_known,
                   {parents_known} as parents_known
            from page"""

    def _ordered(self) -> str:
        return self.order.format(f"{self.alias}.")

    def _cursor_row(self) -> str:
        if self.cursor_id is None:
            return ""
        where = " and ".join([*self.scope, *self.list_filters, f"{self.alias}.id = {self.cursor_id}"])
        return f"""cursor_row as materialized (
            select {self.alias}.{self.resource.order}, {self.alias}.id
            from {self.resource.table} {self.alias} where {where}),"""

    def _source(self) -> str:
        """The rows, at most limit + 1 from every range.

        What changed since an instant is all rows made since, read along the list's own index, and the older ones that
        were touched since. In another order than that of creation the two cannot be told apart: there the index is
        walked and filtered.
        """
        if self.updated_after is None:
            return self._along_the_index([])
        changed = self.resource.updated_at or f"{self.alias}.updated_at"
        made, touched = f"{self.alias}.created_at", f"{changed} >= {self.updated_after}"
        if self.resource.order != "created_at":
            return self._along_the_index([touched])
        since = self._along_the_index([f"{made} >= {self.updated_after}", touched])
        return f"{since} union all {self._among_the_changes([f'{made} < {self.updated_after}', touched])}"

    def _along_the_index(self, conditions: list[str]) -> str:
        """In the list's order from the first row on, each range for itself, ended by the limit."""
        arm = self._rows(
            [*conditions, *(f"{self.alias}.{column} = {name}.value" for name, column, _, _ in self.ranges)]
        )
        limited = f"({arm} order by {self._ordered()} limit {self.limit}::integer + 1)"
        if not self.ranges:
            return limited
        unnested = " cross join ".join(
            f"unnest({place}::{type_}[]) {name}(value)" for name, _, type_, place in self.ranges
        )
        return f"(select arm.* from {unnested} cross join lateral {limited} arm)"

    def _among_the_changes(self, conditions: list[str]) -> str:
        """Exactly the changed rows, all ranges at once. The fence (offset 0) keeps the planner from walking the whole
        list in its order and filtering, which is what it would do for the sake of the limit."""
        ranges = [f"{self.alias}.{column} = any({place}::{type_}[])" for _, column, type_, place in self.ranges]
        changed = self._rows([*conditions, *ranges])
        order = self.order.format("")
        return f"(select * from ({changed} offset 0) changed order by {order} limit {self.limit}::integer + 1)"

    def _rows(self, conditions: list[str]) -> str:
        where = " and ".join([*self.scope, *self.filters, *conditions, *self._beyond_the_cursor()])
        return f"select {self.alias}.* from {self.resource.table} {self.alias} where {where}"

    def _beyond_the_cursor(self) -> list[str]:
        if self.cursor_id is None:
            return []
        compare = "<" if self.resource.descending else ">"
        order = self.resource.order
        return [f"({self.alias}.{order}, {self.alias}.id) {compare} (select {order}, id from cursor_row)"]
