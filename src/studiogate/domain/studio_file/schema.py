"""The studio file as JSON Schema: the shape that every file has. An import checks more than a shape can say."""

from studiogate.domain.fields import Field, Section
from studiogate.domain.fields.readers import SHAPES, Shape
from studiogate.domain.studio_file.sections import SECTIONS, STUDIO

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
    return {
        "type": "object",
        "properties": {member.name: _member(member) for member in section.fields} | nested | ignored,
        "required": [name for name in names if name == "id"],
        "x-required-for-new-rows": new,
        "additionalProperties": False,
    }


def _member(member: Field) -> Shape:
    shape = SHAPES[member.read]
    return shape if member.required else {"anyOf": [shape, {"type": "null"}]}
