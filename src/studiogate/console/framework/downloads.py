"""Files that a browser saves and never shows, such as lists as CSV."""

import asyncio
import csv
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from io import StringIO, TextIOWrapper
from tempfile import TemporaryFile
from typing import NamedTuple
from urllib.parse import quote
from uuid import UUID

from studiogate.console.framework.inputs import Row
from studiogate.console.framework.request import ConsoleRequest
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import ListPage
from studiogate.web.response import Answer, Header, OpenFile

CSV: Header = (b"content-type", b"text/csv; charset=utf-8")
# Characters outside printable ASCII, or with a special meaning inside a quoted string.
_UNSAFE = re.compile(r"[^ -~]|[\"\\%]")
# What a spreadsheet would run as a formula, which a number or a phone number is not. An apostrophe makes it a text.
_FORMULA = re.compile(r" *(?:[=@\t\r\uff1d\uff0b\uff0d\uff20]|[+-](?![0-9 ()./-]*$))")


def attachment(content: OpenFile | bytes, kind: Header, filename: str) -> Answer:
    """Return a download with RFC 6266 headers: the name in ASCII for old clients, in UTF-8 for all others."""
    disposition = f"attachment; filename=\"{_UNSAFE.sub('_', filename)}\"; filename*=UTF-8''{quote(filename, safe='')}"
    headers = (kind, (b"content-disposition", disposition.encode("ascii")))
    return Answer(200, content, headers) if isinstance(content, bytes) else Answer(200, b"", headers, content)


def _cells(row: Iterable[object]) -> list[object]:
    return [f"'{each}" if isinstance(each, str) and _FORMULA.match(each) else each for each in row]


def csv_table(name: str, rows: Iterable[Sequence[object]]) -> Answer:
    """Return a table as a download. The mark at its beginning tells spreadsheets that it is UTF-8."""
    target = StringIO()
    csv.writer(target).writerows(map(_cells, rows))
    return attachment(target.getvalue().encode("utf-8-sig"), CSV, f"{name}.csv")


class ListedRows(NamedTuple):
    """What a list writes: how a page of it is read, its columns, the values of a row, and how many rows at most."""

    read: Callable[[Connection, UUID | None], Awaitable[ListPage]]
    columns: Sequence[str]
    line: Callable[[Row], Iterable[object]]
    most: float = math.inf


async def csv_of_list(request: ConsoleRequest, name: str, listed: ListedRows) -> Answer | None:
    """Return a list as a download, or None if it has more rows than may be sent: a file is never cut. It is written a
    page at a time, so that neither memory nor a connection is held for all of it."""
    stream, after, count = TemporaryFile(), None, 0  # noqa: SIM115 (it is gone when it has been sent)
    try:
        text = TextIOWrapper(stream, "utf-8-sig", "replace", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow(_cells(listed.columns))
        while True:
            async with request.database.connection() as connection:
                found = await listed.read(connection, after)
            count += len(found.rows)
            if count > listed.most:
                stream.close()
                return None
            lines = [_cells(listed.line(each)) for each in found.rows]
            await asyncio.to_thread(writer.writerows, lines)
            if found.next is None:
                break
            after = UUID(found.next)
        text.detach()
        size = stream.tell()
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    return attachment(OpenFile(stream, size), CSV, f"{name}.csv")
