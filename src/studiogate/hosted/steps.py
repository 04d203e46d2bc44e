"""A form's fields, ordered and grouped into steps, and the contact details that the page asks for in addition.

Every submission needs an email. If the form has a field for it that everybody must fill in (required, of type email,
with a well-known key and no display rule), that field is used; otherwise the page asks for it in the first step. The
same applies to the name, which may stay empty.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.visibility import visible_keys

Field: TypeAlias = Mapping[str, object]
Answers: TypeAlias = Mapping[str, object]

EMAIL = "submitter_email"
NAME = "submitter_name"
EMAIL_KEYS = ("email", "email_address", "submitter_email")
NAME_KEYS = ("submitter_name", "full_name", "name", "first_name", "preferred_name", "last_name")


class Contact(NamedTuple):
    """The keys of the fields that hold the email and the name; None and empty if the page asks for them itself."""

    email_key: str | None
    name_keys: Sequence[str]


class Plan(NamedTuple):
    steps: Sequence[Sequence[Field]]
    contact: Contact
    # The step of each field by its key.
    places: Mapping[str, int]

    @property
    def fields(self) -> list[Field]:
        return [field for step in self.steps for field in step]

    def step_of(self, key: str) -> int:
        """Return the step of a field; the page's own inputs are in the first."""
        return self.places.get(key, 0)

    def visible_steps(self, answers: Answers) -> list[int]:
        """Return the first step and every step with a visible field."""
        return self.steps_with(visible_keys(self.fields, answers))

    def steps_with(self, visible: Set[str]) -> list[int]:
        """Return the first step and every step that contains any of these fields."""
        return [
            index
            for index, step in enumerate(self.steps)
            if index == 0 or any(str(field.get("key")) in visible for field in step)
        ]

    def next_step(self, step: int, answers: Answers) -> int:
        """Return the next visible step, or the same step if it is the last."""
        return next((index for index in self.visible_steps(answers) if index > step), step)

    def step_before(self, step: int, answers: Answers) -> int:
        return next((index for index in reversed(self.visible_steps(answers)) if index < step), 0)


def plan(fields: Sequence[Field]) -> Plan:
    first: dict[str, Field] = {}
    for field in fields:
        first.setdefault(str(field.get("key")), field)
    groups: dict[int, list[Field]] = {}
    for field in sorted(first.values(), key=lambda each: _whole(each.get("order"))):
        groups.setdefault(_whole(field.get("step_index")), []).append(field)
    steps = [groups[index] for index in sorted(groups)] or [[]]
    places = {str(field.get("key")): index for index, step in enumerate(steps) for field in step}
    return Plan(steps, _contact(list(first.values())), places)


def answered(plan_: Plan, answers: Answers) -> dict[str, object]:
    """Return the answers of visible fields; the others do not count."""
    visible = visible_keys(plan_.fields, answers)
    return {key: answer for key, answer in answers.items() if key in visible}


def contact_place(step: Sequence[Field]) -> int:
    """Return the position of the page's own inputs: after the headings and names at the start of the form."""
    for place, field in enumerate(step):
        if field.get("type") != FieldType.SECTION_BREAK and field.get("key") not in NAME_KEYS:
            return place
    return len(step)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _contact(fields: Sequence[Field]) -> Contact:
    always = {str(each.get("key")): each for each in fields if each.get("display_when") is None}
    emails = [
        key
        for key in EMAIL_KEYS
        if key in always and always[key].get("type") == FieldType.EMAIL and always[key].get("required") is True
    ]
    names = [key for key in NAME_KEYS if key in always and always[key].get("type") == FieldType.TEXT]
    whole = [key for key in names[:1] if key not in ("first_name", "last_name")]
    return Contact(emails[0] if emails else None, whole or [key for key in names if key.endswith("t_name")])
