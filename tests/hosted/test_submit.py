"""Submissions of a form's page, over HTTP and without a browser: the same flow and validation as the API's."""

import base64
import json
from typing import Any

import httpx2
import pytest

from studiogate.hosted import bot_protection
from studiogate.hosted.bot_protection import SENDING
from studiogate.web.limits import Limit
from tests.support.deadlines import LONG
from tests.support.page_reader import read, token_of
from tests.support.site import Site, serving

AS_JSON = {"Accept": "application/json"}


def sending(site: Site, form: str, **values: Any) -> dict[str, Any]:
    """Return the data of a posted form on which all fields were shown."""
    shown = [f"f.{each['key']}" for each in site.forms[form]["fields"]]
    given = {"token": token_of(site, form), "step": "0", "action": "send", "website": "", "shown": shown}
    return given | {"submitter_email": "visitor@example.com"} | values


INTRO = {"f.first_name": "Sam", "f.location": "denver", "f.interests": ["Yoga", "Cycle"], "f.newsletter": "true"}


def test_a_submission_arrives(site: Site, client: httpx2.Client) -> None:
    answer = client.post(site.url("intro-offer"), data=sending(site, "intro-offer", **INTRO))
    assert (answer.status_code, answer.headers["location"]) == (303, "/f/demo/intro-offer/done")
    kept = site.submissions("intro-offer")[-1]
    assert json.loads(kept["data"]) == {
        "first_name": "Sam",
        "location": "denver",
        "interests": ["Yoga", "Cycle"],
        "newsletter": "true",
    }
    assert (kept["submitter_email"], kept["submitter_name"]) == ("visitor@example.com", "Sam")
    assert kept["lead_id"] is not None, "the form makes leads"
    done = client.get(answer.headers["location"])
    assert site.forms["intro-offer"]["settings"]["confirmation_message"] in done.text


def test_errors_stand_beside_their_fields_with_what_was_typed(site: Site, client: httpx2.Client) -> None:
    values = {"f.amount": "1000", "f.line": "kept as typed", "f.day": "2026-02-30", "submitter_email": "nobody"}
    answer = client.post(site.url("all-required"), data=sending(site, "all-required", **values))
    page = read(answer)
    assert answer.status_code == 422
    assert len(page.errors) == 17, "every field but the line, and the email"
    assert page.errors["submitter_email-error"].startswith("Please give an email address")
    assert "This must be at most 99.5." in page.errors.values()
    assert page.value("f.line") == "kept as typed"
    assert page.value("submitter_email") == "nobody"
    assert site.submissions("all-required") == []


def test_json_says_the_same(site: Site, client: httpx2.Client) -> None:
    url = site.url("all-required")
    response = client.post(url, data=sending(site, "all-required"), headers=AS_JSON)
    assert response.status_code == 422
    faults = response.json()["faults"]
    assert faults["f.sign"] == "Please sign here."
    assert faults["f.agree"] == "Please tick the box to agree."
    assert len(faults) == 17


def test_steps_without_script(site: Site, client: httpx2.Client) -> None:
    """One request per step: a field that an answer makes visible is shown before it can be an error."""
    url = site.url("movement-intake")
    first = {"f.preferred_name": "Sam", "f.age": "30", "f.emergency_name": "Kim", "f.emergency_phone": "212 555 0100"}

    def post(**values: Any) -> Any:
        given = {"token": token_of(site, "movement-intake"), "submitter_email": "steps@example.com", **first, **values}
        return client.post(url, data=given)

    shown = [name for name, value in read(client.get(url)).values if name == "shown" for name in [value]]
    wrong = read(post(step="0", action="next", shown=shown, **{"f.age": "7"}))
    assert list(wrong.errors.values()) == ["This must be at least 16."]
    assert wrong.value("step") == "0"
    second = read(post(step="0", action="next", shown=shown))
    assert (second.value("step"), second.errors) == ("1", {})
    assert "f.injury_details" in second.hidden
    opened = read(post(step="1", action="next", shown=shown, **{"f.conditions": "injury"}))
    assert (opened.value("step"), opened.errors) == ("1", {})
    assert "f.injury_details" not in opened.hidden
    shown = [value for name, value in opened.values if name == "shown"]
    missing = read(post(step="1", action="next", shown=shown, **{"f.conditions": "injury"}))
    assert list(missing.errors.values()) == ["Please fill this in."]
    health = {"f.conditions": "injury", "f.injury_details": "knee"}
    deeper = read(post(step="1", action="next", shown=shown, **health))
    assert "f.pain_today" not in deeper.hidden, "the next one came into view"
    shown = [value for name, value in deeper.values if name == "shown"]
    third = read(post(step="1", action="next", shown=shown, **health))
    assert third.value("step") == "2"
    back = read(post(step="2", action="back", shown=shown, **health))
    assert (back.value("step"), back.value("f.age")) == ("1", "30")
    shown = [value for name, value in third.values if name == "shown"]
    goals = {"f.experience": "Some classes", "f.health_data": "true"}
    sent = post(step="2", action="send", shown=shown, **health, **goals)
    assert (sent.status_code, sent.headers["location"]) == (303, "https://www.example.com/north-loop/welcome")
    assert json.loads(site.submissions("movement-intake")[-1]["data"])["injury_details"] == "knee"


def test_answers_of_hidden_fields_are_left_out(site: Site, client: httpx2.Client) -> None:
    values = {"f.preferred_name": "Sam", "f.age": "30", "f.emergency_name": "Kim", "f.emergency_phone": "2125550100",
              "f.conditions": "none", "f.injury_details": "typed, then hidden", "f.due_date": "nonsense",
              "f.experience": "Some classes", "f.health_data": "true"}  # fmt: skip
    answer = client.post(site.url("movement-intake"), data=sending(site, "movement-intake", **values))
    assert answer.status_code == 303
    assert "injury_details" not in json.loads(site.submissions("movement-intake")[-1]["data"])


def test_a_typed_signature_is_drawn_by_the_server(site: Site, client: httpx2.Client) -> None:
    values = {"f.full_name": "Zoë Ångström", "f.date_of_birth": "1990-05-01", "f.risk": "true", "f.release": "true",
              "t.signature": "Zoë Ångström", "a.0.home_address": "1 Main St", "a.2.home_address": "Denver"}  # fmt: skip
    answer = client.post(site.url("liability-waiver"), data=sending(site, "liability-waiver", **values))
    assert answer.status_code == 303
    kept = site.submissions("liability-waiver")[-1]
    data = json.loads(kept["data"])
    picture = base64.b64decode(data["signature"].removeprefix("data:image/png;base64,"))
    assert picture.startswith(b"\x89PNG")
    assert "Zoë Ångström".encode() in picture, "the very text is in the file"
    assert data["home_address"] == "1 Main St\nDenver"
    assert {each["key"] for each in json.loads(kept["consents"])} == {"risk", "release"}


def test_a_full_form_is_closed_to_the_next(site: Site, client: httpx2.Client) -> None:
    assert client.post(site.url("full"), data=sending(site, "full")).status_code == 303
    for answer in (client.get(site.url("full")), client.post(site.url("full"), data=sending(site, "full"))):
        assert (answer.status_code, "This form is full" in answer.text) == (403, True)
    response = client.post(site.url("full"), data=sending(site, "full"), headers=AS_JSON)
    assert response.json()["notice"]["title"] == "This form is full"


def test_the_form_s_own_email_is_the_submitter_s(site: Site, client: httpx2.Client) -> None:
    assert "submitter_email" not in client.get(site.url("own-email")).text
    values = {"f.email": "Own@Example.com", "f.full_name": "Own Er", "submitter_email": ""}
    assert client.post(site.url("own-email"), data=sending(site, "own-email", **values)).status_code == 303
    kept = site.submissions("own-email")[-1]
    assert (kept["submitter_email"], kept["submitter_name"]) == ("own@example.com", "Own Er")


# Bots.


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"website": "http://spam.example"}, "hidden field"),
        ({"token": ""}, "session expired"),
        ({"token": "1700000000.AAAAAAAAAAAAAAAAAAAAAAAA"}, "session expired"),
    ],
)
def test_machines_are_refused(site: Site, client: httpx2.Client, values: dict[str, str], words: str) -> None:
    before = len(site.submissions("everything"))
    answer = client.post(site.url("everything"), data=sending(site, "everything", **values))
    assert answer.status_code == 422
    assert words in answer.text
    response = client.post(site.url("everything"), data=sending(site, "everything", **values), headers=AS_JSON)
    assert words in response.json()["message"]
    assert len(site.submissions("everything")) == before


def test_nobody_is_that_quick(site: Site, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bot_protection.MIN_SECONDS == 2.0
    monkeypatch.setattr(bot_protection, "MIN_SECONDS", LONG)  # but a busy machine is slower
    fresh = token_of(site, "everything", seconds=0)
    answer = client.post(site.url("everything"), data=sending(site, "everything", token=fresh))
    assert (answer.status_code, "too quickly" in answer.text) == (422, True)
    response = client.post(site.url("everything"), data=sending(site, "everything", token=fresh), headers=AS_JSON)
    assert 0 < response.json()["wait"] <= LONG + 1
    assert read(answer).value("token") == fresh, "its time goes on"
    old = token_of(site, "everything", seconds=90_000)
    stale = client.post(site.url("everything"), data=sending(site, "everything", token=old))
    assert "session expired" in stale.text
    assert read(stale).value("token") != old


def test_a_visitor_who_sends_too_much_waits(new_database: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_protection, "SENDING", Limit(SENDING.name, 1 / 3600, SENDING.burst))
    with serving(Site(new_database(), tmp_path)) as site, httpx2.Client(timeout=LONG) as client:
        data = sending(site, "everything")
        statuses = [client.post(site.url("everything"), data=data).status_code for _ in range(SENDING.burst + 2)]
        assert statuses[: SENDING.burst] == [303] * SENDING.burst
        assert statuses[-1] == 429
        limited = client.post(site.url("everything"), data=data)
        assert limited.headers["retry-after"]
        assert "Wait a minute, go back" in limited.text
        beside = client.post(site.url("everything"), data=data, headers=AS_JSON)
        assert beside.json() == {"message": "A lot was sent from your network. Wait a minute and try again."}
        assert client.get(site.url("everything")).status_code == 200, "looking is free"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 400),
        (b"", "", 400),
        (b"x" * (2 * 1024 * 1024 + 1), "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a=%d" % n for n in range(3000)), "application/x-www-form-urlencoded", 413),
        (b"--x\r\n", "multipart/form-data; boundary=x", 400),
        (b"--x\r\nnonsense\r\n\r\n--x--", "multipart/form-data; boundary=x", 400),
        (b"\xff\xfe\x00%00%ff=%ff&f.line=%00%ed%a0%80", "application/x-www-form-urlencoded", 422),
    ],
)
def test_broken_bodies(site: Site, client: httpx2.Client, content: bytes, kind: str, status: int) -> None:
    answer = client.post(site.url("everything"), content=content, headers={"Content-Type": kind})
    assert answer.status_code == status


HOSTILE_ANSWERS = ["\x00", "\ud7ff\ufffe", "a" * 60_000, "'; drop table members; --", "\u202e", "\x1b[31m", "1e999999"]


@pytest.mark.parametrize("value", HOSTILE_ANSWERS)
def test_hostile_answers_are_kept_as_text_or_refused(site: Site, client: httpx2.Client, value: str) -> None:
    keys = [each["key"] for each in site.forms["everything"]["fields"]]
    names = [f"f.{key}" for key in keys] + [f"a.{n}.home" for n in range(6)] + ["t.sign", "submitter_name", "step"]
    answer = client.post(site.url("everything"), data=sending(site, "everything", **dict.fromkeys(names, value)))
    assert answer.status_code in (303, 422)


@pytest.mark.parametrize("text", ["a" * 36, "-" * 36, "0192f0c1a2b37c4d8e5f60718293a4b5", "\u0660" * 36])
def test_what_is_no_upload_id_is_a_fault_of_the_field(site: Site, client: httpx2.Client, text: str) -> None:
    values = sending(site, "everything", **{"f.files": text})
    answer = client.post(site.url("everything"), data=values)
    assert answer.status_code == 422
    assert "Please add the file again." in read(answer).errors.values()


@pytest.mark.parametrize("name", ["submitter_email", "f.line", "f.story", "f.call", "f.sign", "t.sign", "a.0.home"])
def test_a_text_that_is_far_too_long_is_not_shown_again(site: Site, client: httpx2.Client, name: str) -> None:
    answer = client.post(
        site.url("everything"), data=sending(site, "everything", **{"submitter_email": "x", name: "x'" * 50_000})
    )
    assert (answer.status_code, "x&#39;" * 100 in answer.text) == (422, False)
