"""The statement that reads one page of a list, assembled from constants and cached per shape."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from studiogate.domain.paging import MAX_ROWS_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A table as partners see it; ``alias`` is its name inside ``columns``, ``joins`` and conditions. There is one
    instance each, so cached statements are looked up by its identity."""

    table: str
    alias: str
    columns: str
    joins: str = ""
    order: str = "created_at"
    descending: bool = True
    # What a restricted key may see, with {} for the permitted locations; None: the resource is studio-wide.
    permitted: str | None = None
    # The column along which a restricted key's pages are read, if the table has one.
    located_by: str | None = None
    # The time of the last change that readers see, if it is not the column of that name.
    updated_at: str | None = None
    # The wire columns themselves need the permitted locations (as $2, null for an unrestricted key).
    columns_need_locations: bool = False


class Placeholders:
    """Generates $1, $2, … in the order in which the values are passed."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"${self._count}"

    def fill(self, condition: str) -> str:
        return condition.format(self.next()) if "{}" in condition else condition


def permitted_conditions(resource: Resource, restricted: bool, locations: str) -> list[str]:
    """Return conditions that use the permitted locations, so that the parameter always has a type."""
    if not restricted:
        return [f"{locations}::uuid[] is null"]
    if resource.permitted is None:
        return [f"{locations}::uuid[] is not null"]
    return [resource.permitted.format(f"{locations}::uuid[]")]


class Shape(NamedTuple):
    """Everything that determines the text of a page's statement, without its values."""

    resource: Resource
    restricted: bool
    cursor: bool
    changed: bool
    ranges: tuple[tuple[str, str], ...]
    filters: tuple[tuple[str, bool], ...]
    parents: tuple[str, ...]
    # The whole page would be too large: it ends before the first row that does not fit.
    cut: bool = False


@cache
def page_statement(shape: Shape) -> str:
    return _PageStatement(shape).text()


class _PageStatement:
    """Assembles one page's statement. Placeholders are numbered in the order in which read_page passes values."""

    def __init__(self, shape: Shape) -> None:
        places = Placeholders()
        resource = self.resource = shape.resource
        self.cut = shape.cut
        direction = "desc" if resource.descending else "asc"
        self.alias = resource.alias
        self.order = f"{{0}}{resource.order} {direction}, {{0}}id {direction}"
        self.studio = f"{self.alias}.studio_id = {places.next()}"
        self.permitted: list[str] = []
        self.permitted_range = ""
        if shape.restricted or resource.columns_need_locations:
            locations = places.next()
            self.permitted = permitted_conditions(resource, shape.restricted, locations)
            self.permitted_range = f"{{}}.value = any({locations}::uuid[])" if shape.restricted else ""
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
        sized = "(select page.*, sum(octet_length(wire) + 1) over (order by number) as size from page) sized"
        answer = self._cut_rows() if self.cut else self._whole_rows()
        return f"""
            with {self._cursor_row()} page as (
                select {self.alias}.id, row_number() over (order by {self._ordered()}) as number,
                       row_to_json(w)::text as wire
                from (select * from ({self._source()}) merged
                      order by {self.order.format("")} limit {self.limit}::integer + 1) {self.alias}
                     {self.resource.joins} cross join lateral (select {self.resource.columns}) w
            )
            select {answer},
                   {cursor_known} as cursor_known,
                   {parents_known} as parents_known
            from {sized if self.cut else "page"}"""

    def _whole_rows(self) -> str:
        """Return SQL for all rows, or none if they have too many bytes. Nearly every page needs only this sum."""
        fits = f"filter (where number <= {self.limit})"
        return f"""case when sum(octet_length(wire) + 1) {fits} <= {MAX_ROWS_BYTES}
                        then string_agg(wire, ',' order by number) {fits} end as rows,
                   count(*) as found,
                   max(id::text) filter (where number = {self.limit}) as last_id"""

    def _cut_rows(self) -> str:
        """Return SQL for as many rows as fit, at least one."""
        fits = f"filter (where number <= {self.limit} and (size <= {MAX_ROWS_BYTES} or number = 1))"
        return f"""string_agg(wire, ',' order by number) {fits} as rows,
                   count(*) as found, count(*) {fits} as kept,
                   (array_agg(id::text order by number desc) {fits})[1] as last_id"""

    def _ordered(self) -> str:
        return self.order.format(f"{self.alias}.")

    def _cursor_row(self) -> str:
        if self.cursor_id is None:
            return ""
        where = " and ".join([self.studio, *self.permitted, *self.list_filters, f"{self.alias}.id = {self.cursor_id}"])
        return f"""cursor_row as materialized (
            select {self.alias}.{self.resource.order}, {self.alias}.id
            from {self.resource.table} {self.alias} where {where}),"""

    def _source(self) -> str:
        """Return SQL for the rows, at most limit + 1 per range.

        The rows changed since an instant are all rows created since, read along the list's own index, and the older
        rows that were updated since. If the list is not ordered by creation, the two cannot be separated: the index is
        scanned and filtered.
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
        """Return SQL that reads rows in the list's order, each range separately, up to the limit.

        Where a range is a location, the permitted locations are compared with the range instead of the column:
        PostgreSQL 15 does not read an index in order if ``= any`` is among its conditions, and sorts the whole range.
        """
        permitted, values = self.permitted, []
        for name, column, _, _ in self.ranges:
            values.append(f"{self.alias}.{column} = {name}.value")
            if self.permitted_range and column == self.resource.located_by:
                permitted = [self.permitted_range.format(name)]
        arm = self._rows([*permitted, *conditions, *values])
        limited = f"({arm} order by {self._ordered()} limit {self.limit}::integer + 1)"
        if not self.ranges:
            return limited
        unnested = " cross join ".join(
            f"unnest({place}::{type_}[]) {name}(value)" for name, _, type_, place in self.ranges
        )
        return f"(select arm.* from {unnested} cross join lateral {limited} arm)"

    def _among_the_changes(self, conditions: list[str]) -> str:
        """Return SQL for exactly the changed rows, all ranges at once. The optimization fence (offset 0) keeps the
        planner from scanning the whole list in order and filtering, which it would do because of the limit."""
        ranges = [f"{self.alias}.{column} = any({place}::{type_}[])" for _, column, type_, place in self.ranges]
        changed = self._rows([*self.permitted, *conditions, *ranges])
        order = self.order.format("")
        return f"(select * from ({changed} offset 0) changed order by {order} limit {self.limit}::integer + 1)"

    def _rows(self, conditions: list[str]) -> str:
        where = " and ".join([self.studio, *self.filters, *conditions, *self._beyond_the_cursor()])
        return f"select {self.alias}.* from {self.resource.table} {self.alias} where {where}"

    def _beyond_the_cursor(self) -> list[str]:
        if self.cursor_id is None:
            return []
        compare = "<" if self.resource.descending else ">"
        order = self.resource.order
        return [f"({self.alias}.{order}, {self.alias}.id) {compare} (select {order}, id from cursor_row)"]
