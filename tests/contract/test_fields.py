"""What the API's models and the triggers of the schema say about a field agrees with ``domain/fields``."""

import re
from pathlib import Path
from typing import Any

import pytest

from studiogate.domain.erasure import left_of
from studiogate.domain.fields import Field, Section, catalog, forms, history, people, schedule
from studiogate.domain.fields.readers import SHAPES
from studiogate.storage import resources
from studiogate.storage.paging import Resource
from tests.support.openapi_document import served_document

SCHEMA = (Path(resources.__file__).parent / "db" / "schema.sql").read_text()
SCHEMAS = served_document()["components"]["schemas"]
MODELS = {
    "Location": schedule.LOCATIONS,
    "Room": schedule.ROOMS,
    "ClassType": schedule.CLASS_TYPES,
    "Instructor": schedule.INSTRUCTORS,
    "Class": schedule.CLASSES,
    "Product": catalog.PRODUCTS,
    "Price": catalog.PRICES,
    "Purchase": catalog.PURCHASES,
    "Member": people.MEMBERS,
    "Membership": people.MEMBERSHIPS,
    "Lead": people.LEADS,
    "Form": forms.FORMS,
    "FormSubmission": forms.SUBMISSIONS,
    "Booking": history.BOOKINGS,
}
SHARED = [
    (model, field)
    for model, section in MODELS.items()
    for field in section.fields
    if field.name in SCHEMAS[model]["properties"]
]


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a property, without references."""
    found = SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return [each for part in found.get("anyOf", [found]) for each in ([part] if part is found else alternatives(part))]


@pytest.mark.parametrize(("model", "field"), SHARED, ids=lambda each: each.name if isinstance(each, Field) else each)
def test_a_model_says_what_the_field_says(model: str, field: Field) -> None:
    """The types of the values, the values of an enumeration, and whether there may be none."""
    said, shape = alternatives(SCHEMAS[model]["properties"][field.name]), SHAPES[field.read]
    types = {each.get("type", "string") for each in said} - {"null"}
    assert types == {shape.get("type", "string")}
    listed = {value for each in said for value in [*each.get("enum", []), *filter(None, [each.get("const")])]}
    assert not listed or not shape.get("enum") or listed == set(shape["enum"])
    if {"type": "null"} in said:
        assert field.null is None


def columns_of(trigger: str, table: str) -> set[str]:
    """Return the columns that a trigger compares."""
    found = re.search(rf"CREATE TRIGGER {trigger} BEFORE UPDATE ON public\.{table} .*", SCHEMA)
    assert found
    return set(re.findall(r"new\.(\w+)", found[0]))


@pytest.mark.parametrize(("table", "section"), [("members", people.MEMBERS), ("forms", forms.FORMS)])
def test_every_field_raises_the_revision(table: str, section: Section) -> None:
    assert columns_of("raise_revision", table) == {each.name for each in section.fields} - {"id", "revision"}


@pytest.mark.parametrize(("table", "resource"), [("members", resources.MEMBER), ("leads", resources.LEAD)])
def test_every_wire_column_touches_the_row(table: str, resource: Resource) -> None:
    wire = set(re.findall(rf"\b{resource.alias}\.(\w+)", resource.columns))
    assert columns_of("touch", table) == wire - {"id", "name", "updated_at"}


@pytest.mark.parametrize("table", ["locations", "rooms", "class_types", "instructors", "products", "prices"])
def test_every_change_touches_what_listings_show(table: str) -> None:
    """Whatever the column, so that a new one cannot be forgotten. A row is touched from its first moment on."""
    found = re.search(rf"CREATE TRIGGER touch BEFORE UPDATE ON public\.{table} FOR EACH ROW EXECUTE .*", SCHEMA)
    assert found
    columns = re.search(rf"CREATE TABLE public\.{table} \((.*?)\n\);", SCHEMA, re.DOTALL)
    assert columns
    assert "updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL" in columns[1]


def test_what_was_erased_stays_erased() -> None:
    body = re.search(r"FUNCTION public\.keep_erased\(\).*?\$\$(.*?)\$\$", SCHEMA, re.DOTALL)
    assert body
    assert set(re.findall(r"new\.(\w+) :=", body[1])) == {*left_of(people.MEMBERS), "suspended", "erased_at"}
