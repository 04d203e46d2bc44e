"""Whatever an address or a form of the console holds, the answer is a page or a refusal: never an internal error, and
never a page that repeats a text of unbounded length."""

import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest

import studiogate.console
from studiogate.console import screens
from studiogate.console.framework.page import Route
from studiogate.console.framework.posted import MAX_ANONYMOUS_VALUE
from tests.support.console import ORIGIN, Console

pytestmark = pytest.mark.anyio

SOURCES = [path.read_text() for path in Path(studiogate.console.__file__).parent.rglob("*.py")]
TEMPLATES = [path.read_text() for path in Path(studiogate.console.__file__).parent.rglob("*.html")]
# The names that the console's code reads, and those of the fields on its pages.
NAMES = {name for text in SOURCES for name in re.findall(r'(?:form|query|lists)(?:\.get\(|\[)"(\w+)"', text)}
NAMES |= {name for text in TEMPLATES for name in re.findall(r'\bname="(\w+)"', text)}
NAMES |= {name for text in TEMPLATES for name in re.findall(r'forms\.(?:field|choice|check|hidden)\("(\w+)"', text)}
NAMES |= {name for text in SOURCES for name in re.findall(r'\b(?:Input\(|input_of\(\s*\w+\[)"(\w+)"', text)}
NAMES |= {"after", "seen"}
NAMES -= {"csrf", "idempotency"}
LONG = "x'" * 20_001
# Of each value in an address or a form with a value for every name; the client takes addresses of 64 KiB.
LONGEST = 18_000 // len(NAMES)
GARBAGE = {
    "letters": "x",
    "nothing": "",
    "a null character": "a\x00b",
    "half a character": "\ud800",
    "brackets": "[" * 19_000,
    "digits": "9" * 19_000,
    "an instant": "0001-01-01T00:00:00+23:59",
    "a price": f"{uuid4()}:{uuid4()}:",
}
STREAM = ("GET", "/live")


async def ids_of(console: Console) -> Mapping[str, UUID]:
    """Return ids of real rows by the names of the parameters in paths: a page must get past finding its row."""
    studio = console.studio
    member, class_id = await studio.new_member(), await studio.new_class()
    booking = await studio.booked(class_id, member)
    membership = await studio.row("bookings", booking["id"])
    other = await studio.new_member()
    form = await studio.new_form()
    price = {"product_id": studio.product, "amount": 5, "currency": "USD", "price_type": "one_time"}
    return {
        "form_id": form,
        "submission_id": await studio.submit(form, other),
        "member_id": member,
        "other_id": other,
        "class_id": class_id,
        "booking_id": UUID(booking["id"]),
        "membership_id": membership["membership_id"],
        "form": "cancel",  # a part of a page's name
        "location_id": studio.location,
        "room_id": studio.room,
        "class_type_id": studio.class_type,
        "product_id": studio.product,
        "price_id": await studio.add("prices", **price),
    }


def path_of(route: Route, ids: Mapping[str, UUID]) -> str:
    segments = [str(ids.get(each[1:-1], uuid4())) if each.startswith("{") else each for each in route.segments]
    return "/console/" + "/".join(segments)


ROUTES = [each for each in screens.routes() if (each.method, each.path) not in (STREAM, ("POST", "/sign-out"))]
FORM = {"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}


def queried(route: Route) -> set[str]:
    """Return the names in a query that the route's module reads."""
    source = inspect.getsource(sys.modules[route.handler.__module__])
    return set(re.findall(r'query(?:\.get\(|\[)"(\w+)"', source)) | {"after"}


def encoded(text: str, longest: int) -> bytes:
    return text[:longest].encode("utf-8", "surrogatepass")


async def test_no_address_is_an_internal_error(console: Console) -> None:
    ids = await ids_of(console)
    longest = 50_000 // (3 * len(NAMES))  # the client sends no address of more than 65,536 characters
    for route in [each for each in ROUTES if each.method == "GET"]:
        queries = [{name: encoded(text, longest) for name in NAMES} for text in GARBAGE.values()]
        queries += [{name: b"x"} for name in queried(route)]
        for query in queries:
            answer = await console.get(f"{path_of(route, ids)}?{urlencode(query)}")
            assert 200 <= answer.status_code < 500, (route.path, query)


async def test_no_form_is_an_internal_error(console: Console) -> None:
    ids, csrf = await ids_of(console), await console.csrf()
    for route in [each for each in ROUTES if each.method == "POST"]:
        for kind, text in GARBAGE.items():
            # A form that works, as signing out elsewhere does, is as good as one that is refused.
            form = {name: encoded(text, LONGEST) for name in NAMES} | {"csrf": csrf, "idempotency": uuid4().hex}
            answer = await console.client.post(path_of(route, ids), content=urlencode(form), headers=FORM)
            assert 200 <= answer.status_code < 500, (route.path, kind, answer.text[:500])


async def test_a_kept_form_of_brackets_is_none(console: Console) -> None:
    assert console.person is not None
    owner = (await console.csrf()).rpartition(".")[2]
    form = {"password": console.person.password, "target": "/console/account", "owner": owner, "kept": "[" * 100_000}
    answer = await console.post("/console/confirm", form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/")


async def test_nobody_is_shown_a_long_text_again(console: Console) -> None:
    """The pages for anybody have short fields; a form that waits for a session is kept up to a documented size."""
    nobody = console.anonymous()
    for name in ("email", "password", "code"):
        for path in ("/console/sign-in", "/console/forgotten", "/console/resume"):
            form = {"email": "a@b.example", "password": "x" * 12, name: LONG[: MAX_ANONYMOUS_VALUE + 1]}
            answer = await nobody.client.post(path, data=form, headers={"Origin": ORIGIN})
            assert (answer.status_code, LONG[:300] in answer.text) == (413, False), (path, name)
    huge = {f"field-{number}": LONG[:19_000] for number in range(14)}
    answer = await nobody.client.post("/console/members/new", data=huge, headers={"Origin": ORIGIN})
    assert answer.status_code == 413
