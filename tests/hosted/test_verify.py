"""The author of a submission: a typed email proves nothing, a signed link or a link in a mail does (CONTRACT 6)."""

import threading
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from studiogate.domain.forms.signed_links import Link, Verification, sign
from tests.hosted.test_submit import sending
from tests.support.deadlines import LONG
from tests.support.page_reader import read
from tests.support.site import Site

ROBIN = "robin@member.example"


def secret_of(site: Site) -> Any:
    found = "select link_secret, now() from studio_secrets where studio_id = $1"
    return site.sql(found, site.studio["id"])[0]


def link_of(site: Site, form: str, hours: float = 1) -> str:
    secret, now = secret_of(site)
    return sign(secret, site.form_id(form), Link(site.member_id, now + timedelta(hours=hours)))


def verification_of(site: Site, form: str, submission_id: Any, hours: float = 1) -> str:
    secret, now = secret_of(site)
    return sign(secret, site.form_id(form), Verification(submission_id, now + timedelta(hours=hours)))


def sent(site: Site, client: httpx2.Client, form: str, email: str = ROBIN, **values: Any) -> Any:
    answer = client.post(site.url(form), data=sending(site, form, submitter_email=email, **values))
    assert answer.status_code == 303, answer.text
    return site.submissions(form)[-1]


def test_a_typed_email_is_not_that_person(site: Site, client: httpx2.Client) -> None:
    kept = sent(site, client, "everything")
    assert (kept["verified"], kept["member_id"], kept["submitter_email"]) == (False, None, ROBIN)


def test_typing_an_email_does_not_keep_its_owner_out(site: Site, client: httpx2.Client) -> None:
    sent(site, client, "once")
    sent(site, client, "once", **{"f.line": "a second time"})
    url = site.url("once") + "?link=" + link_of(site, "once")
    own = client.post(url, data=sending(site, "once", **{"f.line": "mine"}))
    assert own.status_code == 303, "the owner's own submission is not blocked"
    kept = site.submissions("once")[-1]
    assert (kept["verified"], kept["member_id"]) == (True, site.member_id)
    assert client.get(url).status_code == 409, "a verified one counts"
    typed = client.post(site.url("once"), data=sending(site, "once", submitter_email=ROBIN))
    assert (typed.status_code, "already answered" in typed.text) == (409, True)


def test_a_signed_link_says_who_it_is_on_any_form(site: Site, client: httpx2.Client) -> None:
    url = site.url("everything") + "?link=" + link_of(site, "everything")
    page = client.get(url)
    assert "Robin Okafor" in page.text
    assert "submitter_email" not in page.text
    assert "x-frame-options" in page.headers
    assert client.post(url, data=sending(site, "everything", submitter_email="else@example.com")).status_code == 303
    kept = site.submissions("everything")[-1]
    assert (kept["verified"], kept["member_id"], kept["submitter_email"]) == (True, site.member_id, ROBIN)


@pytest.mark.parametrize(("link", "status"), [("nonsense", 403), ("a.b.c", 403), ("x" * 5000, 403), ("", 200)])
def test_a_link_that_is_not_ours_opens_no_form(site: Site, client: httpx2.Client, link: str, status: int) -> None:
    assert client.get(site.url("everything"), params={"link": link}).status_code == status


def test_an_expired_link_says_so(site: Site, client: httpx2.Client) -> None:
    answer = client.get(site.url("everything") + "?link=" + link_of(site, "everything", hours=-1))
    assert (answer.status_code, "has expired" in answer.text) == (410, True)


def test_the_link_of_the_mail_verifies_by_its_button_only(site: Site, client: httpx2.Client) -> None:
    kept = sent(site, client, "everything")
    url = site.url("everything", "/verify") + "?token=" + verification_of(site, "everything", kept["id"])
    page = client.get(url)
    assert (page.status_code, "Confirm your email address" in page.text) == (200, True)
    assert client.head(url).status_code == 200
    row = "select verified, member_id, updated_at from form_submissions where id = $1"
    assert site.sql(row, kept["id"])[0]["verified"] is False, "mail scanners open links"
    form = next(given for tag, given in read(page).tags if tag == "form")
    assert form["action"] is not None
    done = client.post(site.origin + form["action"])
    assert (done.status_code, "is confirmed" in done.text) == (200, True)
    after = site.sql(row, kept["id"])[0]
    assert (after["verified"], after["member_id"]) == (True, site.member_id)
    assert after["updated_at"] > kept["updated_at"]
    again = client.post(url)
    assert (again.status_code, "is confirmed" in again.text) == (200, True)
    assert site.sql(row, kept["id"])[0]["updated_at"] == after["updated_at"], "a second time changes nothing"


def test_links_of_mails_that_do_not_work(site: Site, client: httpx2.Client) -> None:
    kept = sent(site, client, "everything")
    other = verification_of(site, "once", kept["id"])
    old = verification_of(site, "everything", kept["id"], hours=-1)
    nobody = verification_of(site, "everything", site.member_id)
    for token, status in (("", 403), ("nonsense", 403), (other, 403), (old, 410), (nobody, 403), ("é" * 3000, 403)):
        for ask in (client.get, client.post):
            answer = ask(site.url("everything", "/verify"), params={"token": token})
            shown = 200 if token == nobody and ask == client.get else status
            assert (answer.status_code, answer.headers["content-type"]) == (shown, "text/html; charset=utf-8")
    assert site.sql("select verified from form_submissions where id = $1", kept["id"])[0]["verified"] is False
    assert link_of(site, "everything") != verification_of(site, "everything", site.member_id), "purposes differ"


def test_of_several_only_the_first_that_is_verified_counts(site: Site, client: httpx2.Client) -> None:
    email = "several@example.com"
    made = [sent(site, client, "once", email, **{"f.line": text}) for text in ("one", "two")]
    urls = [site.url("once", "/verify") + "?token=" + verification_of(site, "once", each["id"]) for each in made]
    statuses: list[int] = []
    together = threading.Barrier(2)

    def press(url: str) -> None:
        with httpx2.Client(timeout=LONG) as own:
            together.wait()
            statuses.append(own.post(url).status_code)

    threads = [threading.Thread(target=press, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409]
    counted = "select count(*) from form_submissions where submitter_email = $1 and verified"
    assert site.sql(counted, email)[0][0] == 1


def test_a_page_that_is_sent_twice_is_one_submission(site: Site, client: httpx2.Client) -> None:
    before = len(site.submissions("everything"))
    data = sending(site, "everything", submitter_email="twice@example.com", **{"f.line": "a"})
    files = {"u.files": ("note.pdf", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n")}
    statuses: list[int] = []

    def press() -> None:
        with httpx2.Client(timeout=LONG) as own:
            statuses.append(own.post(site.url("everything"), data=data, files=files).status_code)

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [303] * 4
    assert len(site.submissions("everything")) == before + 1
    changed = client.post(site.url("everything"), data=data | {"f.line": "b"})
    assert changed.status_code == 303
    assert len(site.submissions("everything")) == before + 2, "other answers are another submission"


def test_the_last_place_taken_twice_by_one_page_is_taken_once(site: Site, client: httpx2.Client) -> None:
    site.set_settings("own-email", max_submissions=len(site.submissions("own-email")) + 1)
    data = sending(site, "own-email", **{"f.email": "last@example.com", "f.full_name": "La St"})
    answers = [client.post(site.url("own-email"), data=data) for _ in range(2)]
    assert [each.status_code for each in answers] == [303, 303], "a double click does not report that it was too late"
    other = client.post(site.url("own-email"), data=data | {"f.email": "late@example.com"})
    assert (other.status_code, "This form is full" in other.text) == (403, True)
    site.set_settings("own-email", max_submissions=None)
