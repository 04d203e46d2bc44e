"""Components of the pages: colours, typed signatures, signed texts, multipart, the command for links."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from studiogate.cli.main import commands
from studiogate.domain.forms.answer_checks import CHECKS, FormSetting
from studiogate.domain.forms.signed_links import Link, LinkProblem, make_token, read_signed, sign, token_age
from studiogate.hosted.steps import plan
from studiogate.hosted.typed_signature import signature_of
from studiogate.web import colours
from studiogate.web.multipart import MAX_OPTIONS, MultipartError, MultipartReader, PartBegins, PartData, boundary_of
from tests.support.site import Site

NOW = datetime(2026, 8, 2, 12, tzinfo=UTC)


def test_any_colour_is_readable() -> None:
    chance = random.Random(7)
    for _ in range(2_000):
        digits = f"{chance.randrange(2**24):06x}"
        for shades in (colours.light(digits), colours.dark(digits)):
            assert colours.ratio(shades.on_accent, shades.accent) >= 4.5
            assert colours.ratio(shades.ink, shades.soft) >= 4.5
        assert colours.ratio(colours.light(digits).ink, colours.WHITE) >= 4.5
        assert colours.ratio(colours.dark(digits).ink, colours.NIGHT) >= 4.5


@pytest.mark.parametrize(
    ("written", "digits"),
    [("#2F5D50", "2f5d50"), ("abc", "aabbcc"), (None, colours.DEFAULT), ("red", colours.DEFAULT), ("#12", "2f5d50")],
)
def test_colours_as_studios_write_them(written: str | None, digits: str) -> None:
    assert colours.hex_digits(written) == digits


@pytest.mark.parametrize("name", ["Sam Example", "Zoë", "王小明", "🙂" * 200, "\x00\u202e", "x" * 10_000])
def test_a_typed_signature_is_one_that_forms_take(name: str) -> None:
    signature = signature_of(name)
    assert signature is not None
    assert CHECKS["signature"]({}, FormSetting())(signature) is None
    assert signature_of("  \n ") is None


def test_links_open_one_form_for_one_member_until_they_expire() -> None:
    secret, form, member = b"s" * 32, uuid4(), uuid4()
    text = sign(secret, form, Link(member, NOW + timedelta(days=1)))
    assert read_signed(Link, secret, form, text, NOW) == Link(member, NOW + timedelta(days=1))
    assert read_signed(Link, secret, form, text, NOW + timedelta(days=1)) is LinkProblem.EXPIRED
    for other in (read_signed(Link, b"t" * 32, form, text, NOW), read_signed(Link, secret, uuid4(), text, NOW)):
        assert other is LinkProblem.INVALID
    for position in range(len(text)):
        changed = text[:position] + ("A" if text[position] != "A" else "B") + text[position + 1 :]
        assert read_signed(Link, secret, form, changed, NOW) is LinkProblem.INVALID
    token = make_token(secret, form, NOW)
    assert read_signed(Link, secret, form, token, NOW) is LinkProblem.INVALID
    assert token_age(secret, form, token, NOW + timedelta(seconds=9)) == 9
    assert token_age(secret, form, text, NOW) is None


def test_steps_follow_step_index_and_order() -> None:
    fields = [
        {"key": "c", "type": "text", "step_index": 2},
        {"key": "b", "type": "text", "order": 2},
        {"key": "a", "type": "text", "order": 1, "step_index": 0},
        {"key": "d", "type": "text", "step_index": 2, "display_when": {"field_key": "a", "op": "is_empty"}},
    ]
    made = plan(fields)
    assert [[each["key"] for each in step] for step in made.steps] == [["a", "b"], ["c", "d"]]
    hidden = [each | {"display_when": {"field_key": "a", "op": "equals", "value": "x"}} for each in (fields[0],)]
    skipping = plan([*fields[1:3], *hidden])
    assert (skipping.visible_steps({}), skipping.visible_steps({"a": "x"})) == ([0], [0, 1])
    assert plan([]).steps == [[]]


BODY = (
    b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\none\r\n--B\r\n'
    b'content-disposition: form-data; name="f"; filename="x%22.pdf"\r\nContent-Type: x/y\r\n'
    b'\r\n\r\n--C\r\n-\r\n--B\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n--B--\r\n'
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 64, 1000])
def test_multipart_in_pieces_of_any_size(size: int) -> None:
    reader = MultipartReader(b"B")
    found: list[list[Any]] = []
    for start in range(0, len(BODY), size):
        for event in reader.feed(BODY[start : start + size]):
            if isinstance(event, PartBegins):
                found.append([event.name, event.filename, b""])
            elif isinstance(event, PartData):
                found[-1][2] += event.content
    reader.close()
    assert found == [["a", None, b"one"], ["f", 'x".pdf', b"\r\n--C\r\n-"], ["empty", None, b""]]


@pytest.mark.parametrize(
    "body",
    [b"", b"--B\r\n", b"--Bx", b"--B\r\nA: b\r\n\r\n", b"--B\r\n" + b"x" * 10_000, BODY[:-20],
     b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1_001 + b"--B--",
     (b'--B\r\nContent-Disposition: form-data; name="' + b"a" * 4_000 + b'"\r\n\r\n\r\n') * 200 + b"--B--\r\n",
     b"--B\r\nContent-Disposition: form-data; x=1\r\n\r\n\r\n--B--\r\n"],
)  # fmt: skip
def test_broken_multipart(body: bytes) -> None:
    with pytest.raises(MultipartError):
        _read_whole(body)


def _read_whole(body: bytes) -> None:
    reader = MultipartReader(b"B")
    list(reader.feed(body))
    reader.close()


def test_boundaries() -> None:
    assert boundary_of(b'Multipart/Form-Data; charset=x; boundary="a b"') == b"a b"
    assert boundary_of(b"multipart/form-data; boundary=abc") == b"abc"
    assert boundary_of(b"application/json; boundary=abc") is None
    assert boundary_of(b'multipart/form-data; x="a;b=\\"c"; boundary=abc;') == b"abc"
    assert boundary_of(b"multipart/form-data; boundary=abc" + b"; a=b" * MAX_OPTIONS) is None
    assert boundary_of(b'multipart/form-data; boundary="abc') is None


@pytest.mark.parametrize(
    ("disposition", "name", "filename"),
    [
        (b'form-data; name="a;b=c"', "a;b=c", None),
        (b"form-data; name=a; filename=b.pdf", "a", "b.pdf"),
        (b'Form-Data; NAME="a\\"b\\\\c"; filename="x%22%0D.pdf"', 'a"b\\c', 'x"\r.pdf'),
        (b"form-data; name=\"a\"; filename*=utf-8''b.pdf", "a", None),
        ('form-data; name="\u00e9"; filename=""'.encode(), "\u00e9", ""),
    ],
)
def test_the_names_of_parts(disposition: bytes, name: str, filename: str | None) -> None:
    body = b"--B\r\nContent-Disposition: " + disposition + b"\r\n\r\n\r\n--B--\r\n"
    (begins,) = [each for each in MultipartReader(b"B").feed(body) if isinstance(each, PartBegins)]
    assert begins == PartBegins(name, filename)


def test_the_command_makes_a_link_that_opens(site: Site, client: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", site.database_url)
    monkeypatch.setenv("STUDIOGATE_PUBLIC_URL", site.origin)
    form, member = str(site.form_id("members-only")), str(site.member_id)
    made = CliRunner().invoke(commands(), ["form", "link", form, "--member", member, "--expires", "2d", "--json"])
    assert made.exit_code == 0, made.output
    url = json.loads(made.output)["url"]
    assert url.startswith(site.url("members-only", "?link="))
    assert client.get(url).status_code == 200  # type: ignore[attr-defined]
    plain = CliRunner().invoke(commands(), ["form", "link", form, "--member", member])
    assert plain.output.splitlines()[0].startswith(site.origin)


def test_the_command_wants_a_duration(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", site.database_url)
    form, member = str(site.form_id("members-only")), str(site.member_id)
    assert (
        CliRunner().invoke(commands(), ["form", "link", form, "--member", member, "--expires", "soon"]).exit_code == 2
    )


def test_the_command_says_what_is_missing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", site.database_url)
    form, member = str(site.form_id("members-only")), str(site.member_id)
    for arguments, words in (
        ([str(uuid4()), "--member", member], "There is no form"),
        ([form, "--member", str(uuid4())], "There is no member"),
        ([form, "--member", member, "--studio", "nobody"], "There is no studio"),
    ):
        failed = CliRunner().invoke(commands(), ["form", "link", *arguments])
        assert words in str(failed.exception)
