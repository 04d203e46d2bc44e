"""Lists of statuses in SQL come from the domain's enums: ``storage/status_lists.py`` is the only place for them."""

import ast
import pkgutil
import re
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from pathlib import Path

import pytest

from studiogate import domain, storage
from studiogate.domain.bookings.entitlement import is_paused, is_usable
from studiogate.domain.bookings.states import MAX_CLASS, MembershipStatus
from studiogate.domain.staff import Role
from studiogate.storage import status_lists
from tests.support.booking_facts import NOW, a_membership

STORAGE = Path(storage.__file__).parent
MIGRATIONS = [path.read_text() for path in sorted(STORAGE.rglob("migrations/*.sql"))]
# Two or more quoted words in brackets: ``in ('waiting', 'offered')``, ``array['waiting', 'offered']``.
LIST = re.compile(r"[(\[]\s*'\w+'(?:\s*,\s*'\w+')+\s*[)\]]")


def status_enums() -> list[type[StrEnum]]:
    modules = [import_module(each.name) for each in pkgutil.walk_packages(domain.__path__, f"{domain.__name__}.")]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return [Role, *(each for each in found if issubclass(each, StrEnum) and each.__name__.endswith("Status"))]


VALUES = [{member.value for member in each} for each in status_enums()]


def literal_lists(source: str) -> Iterator[str]:
    """Yield the lists of statuses that a module writes out, in SQL or as Python collections."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str() as text):
                written = [re.findall(r"\w+", each) for each in LIST.findall(text)]
            case ast.Tuple(elts=each) | ast.List(elts=each) | ast.Set(elts=each):
                written = [[part.value if isinstance(part, ast.Constant) else None for part in each]]
            case _:
                continue
        yield from (
            f"{getattr(node, 'lineno', 0)}: {words}"
            for words in written
            if len(words) > 1 and any(set(words) <= values for values in VALUES)
        )


def test_no_list_of_statuses_is_written_out() -> None:
    found = [
        f"{path.relative_to(STORAGE)}:{each}"
        for path in STORAGE.rglob("*.py")
        for each in literal_lists(path.read_text())
    ]
    assert found == []
    assert len(VALUES) >= 8, "the check knows the enums"


@pytest.mark.parametrize(
    "source",
    [
        "X = \"status in ('waiting', 'offered')\"",
        "X = f\"unnest(array['confirmed', 'no_show'])\"",
        'X = """status not in (\n \'cancelled\',\n \'expired\')"""',
        "X = ('pending', 'failed')",
        "X = {'owner', 'developer'}",
    ],
)
def test_a_list_of_statuses_is_found(source: str) -> None:
    assert len(list(literal_lists(source))) == 1


@pytest.mark.parametrize(
    "source", ['X = "status in ({OPEN_ENTRY})"', "X = \"status <> 'cancelled'\"", "X = ('a', 'b')"]
)
def test_other_texts_pass(source: str) -> None:
    assert list(literal_lists(source)) == []


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        (f"status in ({status_lists.SEAT_HOLDING})", "bookings_of_member_by_time"),
        (f"status in ({status_lists.LIVE}) and cancel_at is not null", "memberships_cancel_due"),
        (f"coalesce(status, 'pending') in ({status_lists.WAIVABLE})", "purchases_open_fees"),
        (f"status in ({status_lists.COUNTED_SUBMISSION})", "form_submissions_verified_by_email"),
    ],
)
def test_the_lists_repeat_the_conditions_of_the_indexes(condition: str, index: str) -> None:
    """A migration is text that never changes. Where an enum changes, the index has to be replaced."""
    statements = [each for text in MIGRATIONS for each in text.split(";")]
    (created,) = [each for each in statements if re.search(rf"create index (concurrently )?{index}\s", each)]
    assert condition in created


def matters(status: MembershipStatus) -> bool:
    """Whether the booking rules treat such a membership differently from none at all."""
    held = a_membership(status=status)
    return is_usable(held, NOW) or is_paused(held, NOW)


THAT_MATTER = ", ".join(f"'{each}'" for each in MembershipStatus if matters(each))


@pytest.mark.parametrize(
    "condition",
    [
        f"s.status in ({THAT_MATTER})",
        f"b.status in ({status_lists.SEAT_HOLDING})",
        f"b.start_time > class_begins - interval '{MAX_CLASS.days} days'",
        f"f.status in ({status_lists.COUNTED_SUBMISSION})",
    ],
)
def test_the_facts_of_a_booking_are_those_of_the_rules(condition: str) -> None:
    """The function is a migration as well: where a rule changes, the function has to be replaced."""
    newest = [text for text in MIGRATIONS if re.search(r"create (or replace )?function booking_facts\(", text)][-1]
    assert condition in newest
