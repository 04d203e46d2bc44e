"""The options of a field as HTML. A form has up to 40,000 of them, so they are joined here instead of in a template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup, escape

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
