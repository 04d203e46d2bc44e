"""Values for rows of the schedule: absent stays, null clears, and all faults are listed."""

import json
from typing import Any

import pytest

from studiogate.domain.catalog import NEW_PRODUCT, PRODUCT
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import Code
from studiogate.domain.schedule import fields
from studiogate.domain.schedule.fields import CLOSURE, NEW_SERIES, SERIES, Referenced, currency_faults, reference_faults
from studiogate.domain.staff_input import Fields, invalid, read_fields

SETTING = Setting("EUR", "DE", "Europe/Berlin")
ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"


def faults_of(kind: Fields, given: dict[str, Any], *, new: bool = False) -> dict[str, str]:
    _, faults = read_fields(kind, given, SETTING, new=new)
    return {".".join(map(str, fault.loc)): fault.msg for fault in faults}


def test_a_new_row_gets_defaults_and_a_change_only_what_is_given() -> None:
    values, faults = read_fields(fields.LOCATION, {"name": "Mitte"}, SETTING, new=True)
    assert faults == []
    assert (values["timezone"], values["active"], values["is_primary"], values["city"]) == (
        "Europe/Berlin",
        True,
        False,
        "",
    )
    assert read_fields(fields.LOCATION, {"city": "Berlin"}, SETTING) == ({"city": "Berlin"}, [])


def test_null_clears_an_optional_field_and_is_a_fault_in_a_required_one() -> None:
    values, faults = read_fields(fields.CLASS, {"room_id": None, "policy": None}, SETTING)
    assert (values, faults) == ({"room_id": None, "policy": "{}"}, [])
    assert faults_of(fields.CLASS, {"title": None}) == {"title": "must not be null"}


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (fields.STUDIO, "name"),
        (fields.LOCATION, "name"),
        (fields.ROOM, "name"),
        (fields.CLASS_TYPE, "name"),
        (fields.INSTRUCTOR, "name"),
        (fields.NEW_CLASS, "title"),
        (fields.CLASS, "title"),
        (SERIES, "title"),
        (fields.SPOT, "label"),
        (NEW_PRODUCT, "key"),
        (PRODUCT, "name"),
    ],
)
def test_a_name_is_not_blank(kind: Fields, field: str) -> None:
    for blank in ("   ", "\u2003"):
        assert faults_of(kind, {field: blank}) == {field: "must not be blank"}
    assert faults_of(kind, {field: " a "}) == {}


def test_all_faults_are_listed() -> None:
    given = {"name": "", "slug": "No Slug", "timezone": "Mars", "currency": "eur", "colour": "red"}
    found = faults_of(fields.NEW_STUDIO, given, new=True)
    assert set(found) == {"name", "slug", "timezone", "currency", "country", "colour"}
    assert found["country"] == "is required"
    assert found["colour"] == "is not a field that can be set"


@pytest.mark.parametrize(
    ("kind", "given", "place"),
    [
        (fields.STUDIO, {"primary_color": "url(x)"}, "primary_color"),
        (fields.STUDIO, {"schedule_weeks_ahead": 0}, "schedule_weeks_ahead"),
        (fields.STUDIO, {"schedule_weeks_ahead": 53}, "schedule_weeks_ahead"),
        (fields.STUDIO, {"schedule_weeks_ahead": True}, "schedule_weeks_ahead"),
        (fields.STUDIO, {"policy": {"late_fee_amount": "5"}}, "policy.late_fee_amount"),
        (fields.LOCATION, {"name": "a\u202eb"}, "name"),
        (fields.CLASS_TYPE, {"description": "a\x00b"}, "description"),
        (fields.CLASS_TYPE, {"description": "a\udc80b"}, "description"),
        (fields.CLASS_TYPE, {"description": "x" * 20_001}, "description"),
        (fields.INSTRUCTOR, {"tags": ["ok", "a\x00"]}, "tags"),
        (fields.ROOM, {"capacity": -1}, "capacity"),
        (fields.ROOM, {"capacity": 2**31}, "capacity"),
        (fields.ROOM, {"spots": [{"label": "A"}, {"label": "A"}]}, "spots.1.label"),
        (fields.ROOM, {"spots": [{"label": "A", "x": float("nan")}]}, "spots.0.x"),
        (fields.ROOM, {"spots": [7]}, "spots.0.label"),
        (fields.ROOM, {"spots": [{"label": str(n)} for n in range(501)]}, "spots"),
        (fields.CLASS, {"start_time": "2026-12-01 18:00"}, "start_time"),
        (fields.CLASS, {"location_id": ID}, "location_id"),
        (fields.CLASS, {"room_id": "R"}, "room_id"),
        (SERIES, {"weekdays": []}, "weekdays"),
        (SERIES, {"weekdays": ["montag"]}, "weekdays"),
        (SERIES, {"weekdays": [1]}, "weekdays"),
        (SERIES, {"weekdays": ["mon"] * 8}, "weekdays"),
        (SERIES, {"local_start": "24:00"}, "local_start"),
        (SERIES, {"local_start": "9:00"}, "local_start"),
        (SERIES, {"minutes": 10_081}, "minutes"),
        (SERIES, {"every_weeks": 0}, "every_weeks"),
        (SERIES, {"last_date": "2026-02-30"}, "last_date"),
        (SERIES, {"last_date": "2200-01-01"}, "last_date"),
        (SERIES, {"first_date": "2026-01-01"}, "first_date"),
        (CLOSURE, {"mode": "maybe"}, "mode"),
        (CLOSURE, {"reason": "x" * 501}, "reason"),
    ],
)
def test_values_at_and_beyond_the_limits(kind: Fields, given: dict[str, Any], place: str) -> None:
    assert list(faults_of(kind, given)) == [place]


def test_names_of_weekdays_become_numbers() -> None:
    values, faults = read_fields(NEW_SERIES, {"weekdays": ["Thursday", "mon", "thu"]}, SETTING)
    assert (values, faults) == ({"weekdays": [1, 4]}, [])


def test_references_must_exist_and_be_in_use() -> None:
    values = {"room_id": ID, "instructor_id": ID, "class_type_id": None, "policy": json.dumps({"waiver_form_id": ID})}
    found = list(reference_faults(values, {"instructor_id": Referenced(False, "I")}, ()))
    assert [(fault.loc, fault.type) for fault in found] == [
        (("room_id",), "not_found"),
        (("instructor_id",), "inactive"),
        (("policy", "waiver_form_id"), "not_found"),
    ]


def test_a_currency_must_fit_the_fees_that_exist() -> None:
    policies = {
        "the studio": {"late_fee_amount": "5.00"},
        "class 1": {"late_fee_amount": "5.00", "late_fee_currency": "EUR"},
    }
    (fault,) = currency_faults("JPY", policies)
    assert "the studio" in fault.msg
    assert list(currency_faults("USD", policies)) == []


def test_faults_become_one_refusal() -> None:
    assert invalid([]) is None
    _, faults = read_fields(fields.STUDIO, {"name": None, "slug": None}, SETTING)
    refusal = invalid(faults)
    assert refusal is not None
    assert refusal.code is Code.VALIDATION_ERROR
    assert len(refusal.faults) == 2
