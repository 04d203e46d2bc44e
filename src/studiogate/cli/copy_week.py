"""studiogate class copy-week."""

from collections import Counter
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from studiogate.cli.actions import act_in_studio, option_id
from studiogate.cli.context import AsJson, DataFolder, print_json, screen
from studiogate.cli.lists import Slug
from studiogate.domain.instants import instant_text
from studiogate.domain.schedule.copy_week import Copy
from studiogate.flows.schedule import copy_week as flow
from studiogate.flows.schedule.copy_week import CopiedWeek, WeekCopy

DAY = ["%Y-%m-%d"]
REASONS = {
    "past": "would be in the past",
    "series": "is created by its series",
    "exists": "is there already",
    "closed": "would be on a closed day",
    "inactive": "uses something that is deactivated",
    "clash": "would clash with another class",
}


def copy_week(
    studio: Slug,
    location: Annotated[UUID, option_id("The location whose week is copied.", "--location")],
    source: Annotated[datetime, typer.Option("--from", formats=DAY, help="A day of the week to copy.")],
    target: Annotated[datetime, typer.Option("--to", formats=DAY, help="A day of the week that gets the copies.")],
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would be created.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Copy a week's classes, without bookings, to another week. What is there already or would clash is skipped."""
    wanted = WeekCopy(location, source.date(), target.date())
    action = flow.preview if preview else flow.copy_week
    done = act_in_studio(data, studio, "location", lambda connection, access: action(connection, access, wanted))
    if as_json:
        print_json(_as_json(done))
        return
    skipped = Counter(each.skipped for each in done.copies if each.skipped is not None)
    new = sum(each.skipped is None for each in done.copies)
    screen.print(f"{new} {'class' if new == 1 else 'classes'} {'would be created' if preview else 'created'}.")
    for reason, count in skipped.items():
        screen.print(f"{count} skipped: {escape(REASONS[reason])}.")


def _as_json(done: CopiedWeek) -> dict[str, object]:
    return {
        "created": [str(class_id) for class_id in done.created],
        "classes": [_copy_json(each) for each in done.copies],
    }


def _copy_json(each: Copy) -> dict[str, object]:
    return {
        "source_id": str(each.source.id),
        "title": each.source.title,
        "start_time": instant_text(each.start_time),
        "skipped": each.skipped,
    }
