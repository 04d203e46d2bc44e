"""The warnings of a change of the schedule as sentences, in local time."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import day_and_time
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.warnings import WarningCode, conflict_text


def conflict_warnings(refusal: Refusal) -> list[Mapping[str, object]] | None:
    """Return the warnings of a strict refusal, or None if it is another one."""
    return list(refusal.details["warnings"]) if refusal.code is Code.SCHEDULE_CONFLICT else None


def warning_texts(warnings: Iterable[Mapping[str, object]], zone: ZoneInfo) -> list[str]:
    """Return the sentences of warnings, with times as the location's clocks show them."""
    return [_in_local_time(each, zone) for each in warnings]


def _in_local_time(warning: Mapping[str, Any], zone: ZoneInfo) -> str:
    if "start_time" not in warning:
        return str(warning["message"])
    when = day_and_time(datetime.fromisoformat(warning["start_time"]), zone.key)
    return conflict_text(WarningCode(warning["code"]), f"{warning['title']!r} on {when}")
