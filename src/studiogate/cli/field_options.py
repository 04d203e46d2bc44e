"""Options of commands: the declarations that several share, and one option per field of a table of fields."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum, StrEnum
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import typer

from studiogate.cli.context import TEXTS, CommandError, parse_row_id
from studiogate.domain.fields import Field, Values
from studiogate.domain.fields.readers import SHAPES, WrongValueError, identifier, instant
from studiogate.domain.staff_input import NO_SETTING, Fields

DAY = ["%Y-%m-%d"]


def parse_instant(text: str) -> datetime:
    """Parse a time given on the command line."""
    try:
        return instant(text, NO_SETTING)
    except WrongValueError:
        raise typer.BadParameter(f"{text!r} is not a time with an offset, such as 2026-03-01T09:30:00+01:00.") from None


def option_id(text: str, *names: str) -> object:
    """Return the declaration of an option that takes an id."""
    return typer.Option(*names, metavar="ID", parser=parse_row_id, help=text)


def option_time(text: str, *names: str) -> object:
    """Return the declaration of an option that takes a time."""
    return typer.Option(*names, metavar="TIME", parser=parse_instant, help=text)


RowId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_row_id)]
StudioOption = Annotated[
    str | None, typer.Option("--studio", metavar="SLUG", help="The studio's slug; needed only where there are several.")
]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Kept in the audit log.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse what would only be a warning.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of rows.")]
Before = Annotated[UUID | None, option_id("Only those older than this one: the next page.", "--before")]
Clear = Annotated[
    list[str] | None, typer.Option("--clear", metavar="FIELD", help="Set this field to null, such as room_id.")
]


def parameter(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    """Return the parameter of a command that stands for an option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


class FieldOption(NamedTuple):
    """What an option says beyond what its field says already. ``read`` turns what was typed into the field's value."""

    help: str = ""
    option: str = ""
    type: Any = None
    read: Callable[[Any], object] | None = None
    more: Mapping[str, Any] = {}


def options_of(kind: str, **more: Values) -> dict[str, FieldOption]:
    """Return the options of a kind's fields, which ``texts.toml`` describes; ``more`` is what is no text."""
    options = {}
    for name, stated in {**TEXTS["options"]["any"], **TEXTS["options"][kind]}.items():
        said = {
            **(stated if isinstance(stated, dict) else {"help": stated}),
            **_READ.get(name, {}),
            **more.get(name, {}),
        }
        own = {each: said.pop(each) for each in ("help", "option", "type", "read") if each in said}
        options[name] = FieldOption(**own, more=said)
    return options


def _object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        example = '{"cancellation_window_minutes": 720}'
        raise CommandError(f"--policy is not JSON: write an object such as '{example}'.") from None


IDS: Values = {"type": list[UUID], "parser": parse_row_id}
_DAY = {"type": datetime, "formats": DAY, "read": lambda value: f"{value:%Y-%m-%d}"}
# How fields are read that have the same name in several kinds.
_READ: Mapping[str, Values] = {"policy": {"read": _object}, "first_date": _DAY, "last_date": _DAY}


class FieldOptions:
    """One option per field: of a new row, which must have the required ones (unless ``all_optional``), or of a change,
    which needs at least one field, and where ``--clear`` sets fields to null."""

    def __init__(
        self, fields: Fields, options: Mapping[str, FieldOption], *, is_change: bool = False, all_optional: bool = False
    ) -> None:
        self._options = {name: options.get(name, FieldOption()) for name in fields}
        self._fields, self._is_change = fields, is_change
        self._all_optional = all_optional or is_change

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of the options, the required ones first."""
        made = [self._parameter(field) for field in self._fields.values()]
        made.sort(key=lambda each: each.default is None)
        return [*made, parameter("clear", Clear)] if self._is_change else made

    def _parameter(self, field: Field) -> inspect.Parameter:
        option = self._options[field.name]
        shape = SHAPES.get(field.read, {})
        kind, more = _declared(field.name, shape) if option.type is None else (option.type, {})
        flag = self._name(field.name)
        name = option.option or (f"{flag}/--no-{flag[2:]}" if kind is bool else flag)
        info = typer.Option(
            name,
            help=option.help or field.help or f"{field.name.removesuffix('_id').replace('_', ' ').capitalize()}.",
            **{**more, **option.more},
        )
        must = field.required and not self._all_optional
        return parameter(
            field.name, Annotated[kind if must else kind | None, info], inspect.Parameter.empty if must else None
        )

    def _name(self, field: str) -> str:
        """Return the name of a field's option."""
        return self._options[field].option.partition("/")[0] or f"--{field.replace('_', '-')}"

    def taken_from(self, values: Values) -> Values:
        """Take the options of the fields out of ``values``; return what was given, as staff give it to a flow."""
        given: Values = {}
        for name, option in self._options.items():
            value = values.pop(name)
            if value is not None and value != []:
                given[name] = _plain(value if option.read is None else option.read(value))
        # A field is cleared under its own name or that of its option.
        by_option = {self._name(field).removeprefix("--"): field for field in self._options}
        cleared = [
            by_option.get(name) or by_option.get(name.removesuffix("s")) or name.replace("-", "_")
            for name in values.pop("clear", None) or ()
        ]
        both = sorted(set(given) & set(cleared))
        if both:
            raise CommandError(f"{both[0]} is given and cleared: choose one.")
        given |= dict.fromkeys(cleared)
        if self._is_change and not given:
            raise nothing_to_change(self._options)
        return given


def nothing_to_change(fields: Iterable[str]) -> typer.BadParameter:
    return typer.BadParameter(f"Nothing to change. Give at least one of these fields: {', '.join(sorted(fields))}.")


def _declared(name: str, shape: Mapping[str, Any]) -> tuple[Any, Values]:
    """Return the type of a field's option, and what else declares it, from the shape of the field's values."""
    if "enum" in shape:
        return StrEnum(name, [(each, each) for each in shape["enum"]]), {}
    if shape.get("type") == "array":
        inner, more = _declared(name, shape.get("items", {}))
        return list[inner], more  # type: ignore[valid-type]
    if shape.get("type") == "string" and shape is SHAPES[identifier]:
        return UUID, {"metavar": "ID", "parser": parse_row_id}
    return {"boolean": bool, "integer": int, "number": float}.get(shape.get("type", ""), str), {}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, UUID) else value
