"""The schedule's pages in tests: the week with a class, and forms as a browser would send them again."""

import re
from datetime import UTC, date, datetime, time, timedelta
from html import unescape
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2

from studiogate.domain.schedule.series import local_instant, monday_of
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console

NEW_YORK = ZoneInfo("America/New_York")
WEEK = "/console/schedule"


def day(weeks: int = 1, weekday: int = 0) -> date:
    """Return a day of a week to come, by the clocks of the test studio."""
    return monday_of(datetime.now(NEW_YORK).date()) + timedelta(weeks=weeks, days=weekday)


def instant(on: date, hour: int = 18, minute: int = 0) -> datetime:
    return local_instant(on, time(hour, minute), NEW_YORK)


async def class_on(studio: BookingStudio, on: date, hour: int = 18, **columns: Any) -> UUID:
    return await studio.new_class(start=instant(on, hour), **columns)


async def week(console: Console, on: date, **query: str) -> httpx2.Response:
    values = {"location": str(console.studio.location), "week": str(on), **query}
    answer = await console.get(WEEK, params=values)
    assert answer.status_code == 200
    return answer


def fields_of(page: httpx2.Response, action: str) -> dict[str, str]:
    """Return the fields of the form with this action, as a browser would send them: hidden, typed and chosen ones."""
    form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', page.text, re.DOTALL)
    assert form is not None, f"no form {action}"
    found: dict[str, str] = {}
    for tag in re.findall(r"<(?:input|textarea)\b[^>]*>", form[0]):
        given = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        if given.get("type") in ("checkbox", "radio") and not re.search(r"\schecked", tag):
            continue
        if given.get("name") not in (None, "csrf", "idempotency"):
            found[unescape(given["name"])] = unescape(given.get("value", ""))
    for name, body in re.findall(r'<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', form[0], re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', body)
        found[name] = unescape(chosen[1]) if chosen else ""
    for name, body in re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form[0], re.DOTALL):
        found[name] = unescape(body)
    return found


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]  # at most seven parts
