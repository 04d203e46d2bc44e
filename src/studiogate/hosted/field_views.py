"""Prepare fields for the templates: all decisions are made here, the templates only render them. The options of a field
are joined here too: a form has up to 40,000 of them."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

from markupsafe import Markup, escape

from studiogate.domain.forms.answer_checks import MAX_LINE, MAX_TEXT, max_rating
from studiogate.domain.forms.answers import consent_text
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.upload_limits import DEFAULT_MAX_FILE_SIZE, size_limit
from studiogate.domain.forms.visibility import rule_texts
from studiogate.hosted.messages import TEXTS, file_limits
from studiogate.hosted.page_cache import BoundedCache
from studiogate.hosted.posted_form import ADDRESS_LINES, Posted, input_name
from studiogate.hosted.steps import EMAIL, NAME, Field, Plan, contact_place
from studiogate.hosted.templating import render_field
from studiogate.storage.forms.hosted import KeptUpload

_SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class Options:
    """Labels by value, in order, and the values that are chosen."""

    labels: Mapping[str, str] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    # The lines of all options with none chosen, by line prefix; shared by all copies that with_answer() returns.
    _plain: dict[str, list[str]] = field(default_factory=dict, compare=False)
    _places: dict[str, int] = field(default_factory=dict, compare=False)

    def with_answer(self, answer: object) -> "Options":
        """Return a copy in which the options that an answer names are chosen."""
        chosen = frozenset(answer) if isinstance(answer, list) else frozenset((str(answer),))
        return replace(self, chosen=chosen & self._places.keys())

    def menu(self) -> Markup:
        """Return the options of a select element."""
        return self._lines('    <option value="', " selected", ">", "</option>")

    def inputs(self, kind: str, name: str) -> Markup:
        """Return one labelled input per option; kind is radio or checkbox."""
        before = f'  <label class="option"><input type="{escape(kind)}" name="{escape(name)}" value="'
        return self._lines(before, " checked", "><span>", "</span></label>")

    def _lines(self, before: str, mark: str, between: str, after: str) -> Markup:
        if before not in self._plain:
            pairs = zip(_escaped(list(self.labels)), _escaped(list(self.labels.values())), strict=True)
            self._plain[before] = [f'{before}{value}"{between}{label}{after}' for value, label in pairs]
        lines = self._plain[before]
        if self.chosen:
            lines = lines.copy()
            for value in self.chosen:
                marked = f'{before}{escape(value)}"{mark}{between}{escape(self.labels[value])}{after}'
                lines[self._places[value]] = marked
        return Markup("\n".join(lines))  # noqa: S704 # nosec B704 # everything in it was escaped above


def options_of(definition: Mapping[str, object]) -> Options:
    """Read the options of a field. If several have the same value, the first one counts."""
    options, labels = definition.get("options"), dict[str, str]()
    for option in options if isinstance(options, list) else ():
        if isinstance(option, str):
            labels.setdefault(option, option)
        elif isinstance(option, dict) and isinstance(value := option.get("value"), str):
            label = option.get("label")
            labels.setdefault(value, label if label and isinstance(label, str) else value)
    return Options(labels, _places=dict(zip(labels, range(len(labels)), strict=True)))


def _escaped(texts: Sequence[str]) -> list[str]:
    """Escape all texts in one call, which takes a fraction of the time of one call per text."""
    pieces = str(escape(_SEPARATOR.join(texts))).split(_SEPARATOR) if texts else []
    # A text that contains the separator would be split, so fall back to one call per text.
    return pieces if len(pieces) == len(texts) else [str(escape(each)) for each in texts]


_FILLED_IN = {"first_name": "given-name", "last_name": "family-name", "full_name": "name", "name": "name"}
_BY_TYPE = {FieldType.EMAIL: "email", FieldType.PHONE: "tel"}
_WITH_OPTIONS = (FieldType.SELECT, FieldType.CHECKBOX_GROUP)
_NO_OPTIONS = Options()
_ABOUT_OTHERS = ("emergency", "contact", "partner", "doctor", "parent", "guardian", "friend")


MAX_BLANK_VIEWS, MAX_BLANK_BYTES = 10_000, 16 * 1024 * 1024


class Choice(NamedTuple):
    value: str
    label: str
    chosen: bool


class Part(NamedTuple):
    label: str
    name: str
    autocomplete: str
    width: str
    value: str


@dataclass(frozen=True, slots=True)
class FieldView:
    id: str
    name: str
    kind: str
    label: str
    required: bool = False
    visible: bool = True
    key: str | None = None
    rule: str | None = None
    help: str = ""
    placeholder: str = ""
    autocomplete: str = "off"
    value: str = ""
    error: str = ""
    choices: Sequence[Choice] = ()
    options: Options = _NO_OPTIONS
    parts: Sequence[Part] = ()
    uploads: Sequence[KeptUpload] = ()
    typed_name: str = ""
    accept: str = ""
    max_file: int = DEFAULT_MAX_FILE_SIZE
    multiple: bool = False
    buttons: bool = False
    text: str = ""
    limits: str = ""
    # Set if the field has been rendered before.
    html: Markup | None = None

    @property
    def size(self) -> int:
        """Return the approximate memory use in bytes."""
        return 2 * len(self.html or "") + 100 * len(self.options.labels) + 2_000

    @property
    def described_by(self) -> str:
        return f"{self.id}-help {self.id}-error" if self.help else f"{self.id}-error"


class Known(NamedTuple):
    """What fields are filled with: posted answers, errors by input name, and uploads by id."""

    posted: Posted
    errors: Mapping[str, str]
    uploads: Mapping[str, KeptUpload]


NOTHING_KNOWN = Known(Posted(), {}, {})
_blank_views: BoundedCache[FieldView] = BoundedCache(MAX_BLANK_VIEWS, MAX_BLANK_BYTES)


def step_views(plan: Plan, known: Known, visible: Set[str], digest: bytes, *, asks: bool) -> list[list[FieldView]]:
    """Return the fields of all steps. ``digest`` is that of the form's fields; ``asks`` adds the contact inputs."""
    numbers = count()
    steps = [
        [_view(field, known, _blank_view(field, next(numbers), visible, digest)) for field in step]
        for step in plan.steps
    ]
    if asks:
        place = contact_place(plan.steps[0])
        steps[0][place:place] = _contact_views(plan, known)
    return steps


def _contact_views(plan: Plan, known: Known) -> list[FieldView]:
    posted, errors, views = known.posted, known.errors, []
    if not plan.contact.name_keys:
        views.append(FieldView(NAME, NAME, "text", "Your name", autocomplete="name", value=posted.name))
    if plan.contact.email_key is None:
        email = FieldView(
            EMAIL, EMAIL, "email", "Your email", required=True, autocomplete="email",
            value=_typed(posted.email), error=errors.get(EMAIL, ""), placeholder="name@example.com",
        )  # fmt: skip
        views.append(email)
    return views


def _view(field: Field, known: Known, blank: FieldView) -> FieldView:
    """Return a field as it was answered, or the shared blank view if it has neither an answer nor an error."""
    posted, key = known.posted, str(blank.key)
    answer, error = posted.answers.get(key) or "", known.errors.get(blank.name, "")
    lines, typed = posted.lines.get(key, ()), posted.typed.get(key, "")
    if not (answer or error or lines or typed):
        return blank
    return replace(
        blank,
        html=None,
        value=_typed(answer, MAX_TEXT if blank.kind == FieldType.TEXTAREA else MAX_LINE),
        error=error,
        choices=_choices(field, answer) if blank.choices else (),
        options=blank.options.with_answer(answer) if blank.options.labels else blank.options,
        parts=_parts(key, [_typed(each) for each in lines]) if blank.parts else (),
        uploads=[known.uploads[each] for each in answer if each in known.uploads] if isinstance(answer, list) else (),
        typed_name=_typed(typed),
    )


def _blank_view(field: Field, number: int, visible: Set[str], digest: bytes) -> FieldView:
    """Return a field before it is answered, with its HTML. It is rendered once per definition, so that a page that is
    refused repeatedly only costs the fields that were filled in."""
    key = str(field.get("key"))
    place = (digest, key, key in visible)
    view = _blank_views.get(place)
    if view is None:
        view = _unanswered(field, f"field-{number}", is_visible=key in visible)
        view = replace(view, html=render_field(view))
        _blank_views.put(place, view)
    return view


def _unanswered(field: Field, id_: str, *, is_visible: bool) -> FieldView:
    key, kind, given, rule = str(field.get("key")), str(field.get("type")), field.get("display_when"), None
    if isinstance(given, Mapping):
        # For the page's script, with its values formatted as in the evaluator.
        rule = json.dumps([str(given.get("field_key")), str(given.get("op")), rule_texts(given.get("value"))])
    return FieldView(
        id=id_,
        name=input_name(key),
        kind=kind,
        label=_text(field.get("label")),
        required=field.get("required") is True,
        visible=is_visible,
        key=key,
        rule=rule,
        help=_text(field.get("help_text")),
        placeholder=_text(field.get("placeholder")),
        autocomplete=_autocomplete(key, kind),
        choices=_choices(field, "") if kind == FieldType.RATING else (),
        options=options_of(field) if kind in _WITH_OPTIONS else _NO_OPTIONS,
        parts=_parts(key, ()) if kind == FieldType.ADDRESS else (),
        accept=_text(field.get("accept")),
        max_file=size_limit(field),
        limits=file_limits(field, size_limit(field)) if kind == FieldType.FILE_UPLOAD else "",
        multiple=field.get("multiple") is True,
        buttons=field.get("options_layout") == "buttons",
        text=consent_text(field) if kind == FieldType.CONSENT else _text(field.get("signature_purpose")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _typed(answer: object, most: int = MAX_LINE) -> str:
    """Return what was typed; nothing if no page lets anybody type so much."""
    return answer if isinstance(answer, str) and len(answer) <= most else ""


def _autocomplete(key: str, kind: str) -> str:
    """Return the autocomplete token of a field about the visitor, and ``off`` for all others."""
    if any(word in key for word in _ABOUT_OTHERS):
        return "off"
    return _BY_TYPE.get(FieldType(kind), _FILLED_IN.get(key, "off")) if kind in set(FieldType) else "off"


def _choices(field: Field, answer: object) -> list[Choice]:
    return [Choice(str(each), str(each), answer == str(each)) for each in range(1, max_rating(field) + 1)]


def _parts(key: str, lines: Sequence[str]) -> list[Part]:
    values = [*lines, *[""] * ADDRESS_LINES]
    return [
        Part(label, input_name(key, f"a.{number}"), autocomplete, width, values[number])
        for number, (label, autocomplete, width) in enumerate(TEXTS["address"]["parts"])
    ]
