"""Read the fields of a series' form."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from studiogate.console.framework.formats import full_date
from studiogate.console.framework.posted import SEEN, renamed_faults, untouched
from studiogate.console.schedule.class_form import CHOICES, SWITCHES, TEXTS, number
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.refusals import Fault, Refusal

WEEKDAYS = tuple(f"weekday_{name}" for name in DAY_NAMES)
DATES = ("first_date", "last_date")
FIELDS = (*TEXTS, *CHOICES, "capacity", *SWITCHES, "start", "minutes", "every_weeks", *DATES, *WEEKDAYS)
# The field of the form that a fault of a stored field belongs to.
FIELD_OF = {"local_start": "start"}
NO_WEEKDAY = Fault(("weekdays",), "value_error", "Choose at least one weekday.")


def read_series_form(form: Mapping[str, str], *, new: bool) -> dict[str, Any]:
    """Return the values that were typed, by the names of the flows' fields; the flow says what is wrong with them."""
    values: dict[str, object] = {name: form.get(name, "").strip() or None for name in ("description", *CHOICES)}
    values |= {name: name in form for name in SWITCHES}
    values |= {name: number(form.get(name, "")) for name in ("capacity", "minutes", "every_weeks")}
    values |= {
        "title": form.get("title", "").strip(),
        "weekdays": [name for name, field in zip(DAY_NAMES, WEEKDAYS, strict=True) if field in form],
        "local_start": form.get("start", ""),
        "last_date": form.get("last_date") or None,
    }
    return {**values, "first_date": form.get("first_date", "")} if new else _touched(values, form)


def _touched(values: dict[str, object], form: Mapping[str, str]) -> dict[str, object]:
    """Return the values of the fields that somebody changed in the form."""
    same = untouched(form, FIELDS)
    others: dict[str, tuple[str, ...]] = {"local_start": ("start",), "weekdays": WEEKDAYS}
    return {name: value for name, value in values.items() if not same.issuperset(others.get(name, (name,)))}


def given_series(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a stored series as its form shows it."""
    given = {name: "" if row.get(name) is None else str(row[name]) for name in FIELDS if name in row}
    given |= {name: "on" if row[name] else "" for name in SWITCHES}
    given["start"] = f"{row['local_start']:%H:%M}"
    return given | {WEEKDAYS[number - 1]: "on" for number in row["weekdays"]}


def to_form_fields(refusal: Refusal) -> Refusal:
    """Return a refusal whose faults name the fields of the form."""
    renamed = renamed_faults(refusal, FIELD_OF)
    # The form has a field for each weekday; their group has the name of the stored field.
    faults = [NO_WEEKDAY if fault.loc[:1] == ("weekdays",) else fault for fault in renamed.faults]
    return Refusal(renamed.code, renamed.details, renamed.param, faults)


def typed_fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a series' form that were sent, to be sent again after a question."""
    return {name: form[name] for name in (*FIELDS, SEEN, "complete", "from_date", "location") if name in form}


def pattern_text(row: Mapping[str, Any]) -> str:
    """Return when the classes of a series take place, such as Mon, Thu at 18:00."""
    days = ", ".join(DAY_NAMES[number - 1][:3].title() for number in row["weekdays"])
    every = "" if row["every_weeks"] == 1 else f", every {row['every_weeks']} weeks"
    return f"{days} at {row['local_start']:%H:%M}{every}"


def dates_text(row: Mapping[str, Any], today: date) -> str:
    """Return from when to when a series lasts, as far as it matters today."""
    begins = f"from {full_date(row['first_date'])}" if row["first_date"] > today else ""
    ends = f"until {full_date(row['last_date'])}" if row["last_date"] else ""
    return " ".join(part for part in (begins, ends) if part)
