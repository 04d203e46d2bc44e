"""Every section of the file, with the names and types of the API and additions; and the same as JSON Schema.

A row is a patch: a stored row keeps what the file does not give, and a new row gets the default. Null stands for the
default too. ``docs/studio-file.md`` describes every member. An import checks more than a schema can say.
"""

from studiogate.domain.fields import Field, Section, catalog, forms, history, people, schedule
from studiogate.domain.fields.readers import SHAPES, Shape
from studiogate.domain.fields.schedule import STUDIO

__all__ = ["EVERY_SECTION", "SECTIONS", "SECTION_BY_NAME", "STUDIO", "studio_file_schema"]

SECTIONS = (
    schedule.LOCATIONS,
    schedule.ROOMS,
    schedule.CLASS_TYPES,
    schedule.INSTRUCTORS,
    schedule.SERIES,
    schedule.CLOSURES,
    schedule.CLASSES,
    catalog.PRODUCTS,
    people.MEMBERS,
    people.MEMBERSHIPS,
    catalog.PURCHASES,
    people.LEADS,
    forms.FORMS,
    forms.SUBMISSIONS,
    history.BOOKINGS,
    history.WAITLIST,
    history.LEDGER,
    history.CANCELLATIONS,
    history.SALES,
    history.RENEWALS,
    people.MERGED_PEOPLE,
    people.EXTERNAL_IDS,
)

SECTION_BY_NAME = {section.name: section for section in SECTIONS}
# By name: the sections and those nested in them, without the studio.
EVERY_SECTION = SECTION_BY_NAME | {each.name: each for section in SECTIONS for each in section.nested}

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DESCRIPTION = (
    "A studio file is a patch: a member that is absent stays as it is, null clears it. A new row needs more members: "
    "those that `x-required-for-new-rows` lists."
)


def studio_file_schema() -> Shape:
    sections = {section.name: {"type": ["array", "null"], "items": _row(section)} for section in SECTIONS}
    return {
        "$schema": DIALECT,
        "title": "Studio file",
        "description": DESCRIPTION,
        "type": "object",
        "properties": {STUDIO.name: _row(STUDIO), **sections},
        "required": [STUDIO.name],
        "additionalProperties": False,
    }


def _row(section: Section) -> Shape:
    nested = {each.name: {"type": ["array", "null"], "items": _row(each)} for each in section.nested}
    ignored: dict[str, object] = dict.fromkeys(sorted(section.derived | {"object"}), True)
    names = [member.name for member in section.fields]
    new = [member.name for member in section.fields if member.required]
    members = {member.name: _member(member) for member in section.fields}
    for name, inside in section.objects.items():
        properties = {each: members.pop(each) for each in inside}
        members[name] = {"type": ["object", "null"], "properties": properties, "additionalProperties": False}
    return {
        "type": "object",
        "properties": members | nested | ignored,
        "required": [name for name in names if name == "id"],
        "x-required-for-new-rows": new,
        "additionalProperties": False,
    }


def _member(member: Field) -> Shape:
    shape = SHAPES[member.read]
    return shape if member.required else {"anyOf": [shape, {"type": "null"}]}
