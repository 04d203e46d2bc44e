"""The measured requests. A request, and the rows that it needs in the database, are derived from its number."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench import labels
from bench.dataset import (
    DAY_BOOKINGS,
    DAY_CLASSES,
    FIRST_OF_MANY,
    FORM,
    HOT_CLASS,
    MANY,
    NEW_BOOKINGS,
    NEW_MEMBERS,
    Size,
    id_of,
)
from bench.request import Request

PREFIX = "/partner/v1"
KEY = {"key": "'bench-' || lpad(:n::text, 12, '0')"}


@dataclass(frozen=True)
class Scenario:
    """``numbers`` and ``given`` define for pgbench the request that ``make`` builds for the servers."""

    name: str
    part: str
    make: Callable[[int], Request]
    given: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    # SQL that inserts the rows for requests {first} to {last}.
    needs: str = ""
    # Whether the textbook has this endpoint.
    in_textbook: bool = False
    connections: int = 16


def scenarios(size: Size) -> list[Scenario]:
    reads, bookings = _reads(size), _bookings()
    return [*reads, *bookings, *_people(), _mixed_day(reads)]


def _reads(size: Size) -> list[Scenario]:
    def one_class(n: int) -> Request:
        return Request("GET", f"{PREFIX}/classes/{id_of(f'class1-{1 + n % size.classes}')}")

    def bookings_of_a_member(n: int) -> Request:
        member_id = id_of(f"member1-{1 + n % size.members}")
        return Request("GET", f"{PREFIX}/bookings", f"member_id={member_id}&limit=50")

    return [
        Scenario(
            labels.ONE_CLASS,
            "reads",
            one_class,
            {"id": "md5('class1-' || :class::text)"},
            numbers={"class": f"1 + mod(:n, {size.classes})"},
            in_textbook=True,
        ),
        Scenario(
            labels.FIFTY,
            "reads",
            lambda _: Request("GET", f"{PREFIX}/classes", "limit=50"),
            {"limit": ":limit"},
            numbers={"limit": "50"},
            in_textbook=True,
        ),
        Scenario(
            labels.TWO_HUNDRED,
            "reads",
            lambda _: Request("GET", f"{PREFIX}/classes", "limit=200"),
            {"limit": ":limit"},
            numbers={"limit": "200"},
        ),
        Scenario(
            labels.OF_A_MEMBER,
            "reads",
            bookings_of_a_member,
            {"member_id": "md5('member1-' || :member::text)", "limit": ":limit"},
            numbers={"member": f"1 + mod(:n, {size.members})", "limit": "50"},
        ),
    ]


def booking(n: int, class_name: str, **more: bool) -> Request:
    """Return the request of member ``n`` to book a class."""
    body = {"class_id": str(id_of(class_name)), "member_id": str(id_of(f"member1-{n}")), **more}
    return _write("POST", "/bookings", n, body)


def cancellation(n: int) -> Request:
    return _write("DELETE", f"/bookings/{id_of(f'booked1-{n}')}", n)


def _mixed_day(reads: Sequence[Scenario]) -> Scenario:
    """Return the requests of a day over 200 classes: 80 % reads, 15 % bookings, 5 % cancellations."""
    by_name = {each.name: each.make for each in reads}
    read = [by_name[name] for name in (labels.ONE_CLASS, labels.FIFTY, labels.ONE_CLASS, labels.OF_A_MEMBER)]

    def request(n: int) -> Request:
        if n % 20 == 0:
            return cancellation(n)
        if n % 20 in (5, 10, 15):
            return booking(n, f"class1-{FIRST_OF_MANY + n % DAY_CLASSES}")
        return read[n % len(read)](n)

    return Scenario(labels.MIXED_DAY, "day", request, needs=DAY_BOOKINGS)


def _bookings() -> list[Scenario]:
    ids = {"class_id": "md5('class1-' || :class::text)", "member_id": "md5('member1-' || :n::text)"}
    members = NEW_MEMBERS.replace("{kind}", "member")
    many = Scenario(
        labels.MANY,
        "bookings",
        lambda n: booking(n, f"class1-{FIRST_OF_MANY + n % MANY}"),
        {**ids, **KEY},
        numbers={"class": f"{FIRST_OF_MANY} + mod(:n, {MANY})"},
        needs=members,
        in_textbook=True,
    )
    return [
        many,
        replace(many, name=labels.BOOKING_ALONE, connections=1),
        Scenario(
            labels.HOT,
            "bookings",
            lambda n: booking(n, f"class1-{HOT_CLASS}"),
            {**ids, **KEY},
            numbers={"class": str(HOT_CLASS)},
            needs=members,
            in_textbook=True,
        ),
        Scenario(
            labels.CANCEL,
            "bookings",
            cancellation,
            {"id": "md5('booked1-' || :n::text)", **KEY},
            needs=NEW_BOOKINGS,
        ),
    ]


def _people() -> list[Scenario]:
    def lead(n: int) -> Request:
        body = {"email": f"lead{n}@example.com", "first_name": "Sam", "utm_source": "newsletter"}
        return _write("POST", "/leads", n, body)

    def submission(n: int) -> Request:
        answers = {"goals": "Get stronger", "injured": "no"}
        body = {"submitter_email": f"visitor{n}@example.com", "submitter_name": "Sam Lee", "data": answers}
        return _write("POST", f"/forms/{id_of(FORM)}/submissions", n, body)

    return [
        Scenario(
            labels.LEAD,
            "people",
            lead,
            {"email": "'lead' || :n::text || '@example.com'", "first_name": "'Sam'", **KEY},
        ),
        Scenario(
            labels.SUBMISSION,
            "people",
            submission,
            {"submitter_email": "'visitor' || :n::text || '@example.com'", "submitter_name": "'Sam Lee'", **KEY},
        ),
    ]


def _write(method: str, path: str, n: int, body: Mapping[str, object] | None = None) -> Request:
    content = json.dumps(body).encode() if body else b""
    return Request(method, PREFIX + path, idempotency_key=f"bench-{n:012d}", body=content)
