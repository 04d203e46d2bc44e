"""Pages over HTTP, without a browser: what is shown when, with which status and which headers."""

from datetime import timedelta
from uuid import uuid4

import httpx2
import pytest

from studiogate.domain.forms.signed_links import Link, sign
from tests.support.hosted_forms import HOSTILE
from tests.support.page_reader import read, token_of
from tests.support.site import Site

OPEN = ["intro-offer", "liability-waiver", "movement-intake", "everything", "all-required", "hostile", "own-email"]


@pytest.mark.parametrize("form", OPEN)
def test_an_open_form_is_shown(site: Site, client: httpx2.Client, form: str) -> None:
    answer = client.get(site.url(form))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    names = [given.get("data-name") for _, given in read(answer).tags if "data-name" in given]
    assert len([name for name in names if str(name).startswith("f.")]) == len(site.forms[form]["fields"])


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ("nothing-here", 404, "Form not found"),
        ("autumn-retreat", 404, "Form not found"),
        ("street-fair", 410, "no longer available"),
        ("not-yet", 403, "Thursday, June 3, 2100 at 8:00\u00a0AM\u00a0(EDT)"),
        ("closed", 410, "is closed"),
        ("members-only", 403, "personal link"),
    ],
)
def test_a_shut_form_says_why(site: Site, client: httpx2.Client, form: str, status: int, words: str) -> None:
    for answer in (client.get(site.url(form)), client.post(site.url(form), data={"action": "send"})):
        assert answer.status_code == status
        assert words in answer.text
        assert "North Loop Movement" in answer.text
        assert "<form" not in answer.text


def test_unknown_addresses(site: Site, client: httpx2.Client) -> None:
    for path in ("/f/", "/f/demo", "/f/nobody/intro-offer", "/f/demo/intro-offer/", "/f/demo/intro-offer/x",
                 "/f/Demo/intro-offer", "/f/demo/%00", "/f/demo/" + "a" * 5000, "/f/assets/0/form.css",
                 "/f/../etc/passwd", "/f/assets/theme-2/zzzzzz.css"):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert "Form not found" in answer.text or answer.headers["content-type"] == "application/json"


def test_other_methods(site: Site, client: httpx2.Client) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        answer = client.request(method, site.url("intro-offer"))
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    head = client.head(site.url("intro-offer"))
    assert (head.status_code, head.content) == (200, b"")


def test_headers(site: Site, client: httpx2.Client) -> None:
    answer = client.get(site.url("intro-offer"))
    policy = dict(each.split(" ", 1) for each in answer.headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-request-id"].startswith("req_")
    intake = client.get(site.url("movement-intake")).headers["content-security-policy"]
    assert "form-action 'self' https://www.example.com;" in intake, "browsers hold a form's redirect against it"


def test_only_the_embedded_page_may_be_framed(site: Site, client: httpx2.Client) -> None:
    answer = client.get(site.url("intro-offer", "?embed=1"))
    assert "frame-ancestors *" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in answer.headers
    assert 'action="/f/demo/intro-offer?embed=1"' in answer.text
    repeated = client.get(site.url("intro-offer", "?embed=0&embed=1"))
    assert "frame-ancestors *" in repeated.headers["content-security-policy"], "the last one counts on pages"
    linked = client.get(link_to(site, "members-only") + "&embed=1")
    assert linked.status_code == 200
    assert "frame-ancestors 'none'" in linked.headers["content-security-policy"], "nobody lays anything over a member's"


def test_assets_are_kept_for_good_and_small(site: Site, client: httpx2.Client) -> None:
    page = client.get(site.url("everything"))
    sizes = [int(page.headers["content-length"])]
    for _tag, given in read(page).tags:
        address = given.get("src") or given.get("href") or ""
        if address.startswith("/f/"):
            answer = client.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
            sizes.append(int(answer.headers["content-length"]))
    assert len(sizes) == 6
    assert sum(sizes) < 100_000, "what a browser transfers, headers apart"


def test_nothing_inline(site: Site, client: httpx2.Client) -> None:
    for form in OPEN:
        for tag, given in read(client.get(site.url(form))).tags:
            assert tag not in ("style", "base", "object", "embed")
            assert not [name for name in given if name.startswith("on") or name == "style"]
            assert tag != "script" or given.get("src")


def test_markup_in_every_text_stays_text(site: Site, client: httpx2.Client) -> None:
    """Also in answers that are shown again with errors."""
    plain = client.get(site.url("everything"))
    shown = client.get(site.url("hostile"))
    keys = [f"f.{each}" for each, _ in read(shown).values]
    posted = {name: HOSTILE for name, _ in read(shown).values} | dict.fromkeys(keys, HOSTILE)
    posted |= {"token": token_of(site, "hostile"), "step": "0", "website": "", "submitter_email": HOSTILE}
    again = client.post(site.url("hostile"), data=posted)
    assert again.status_code == 422
    for answer in (shown, again, client.get(site.url("hostile", "/done"))):
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert "&lt;script&gt;alert(1)" in answer.text
    tags = [tag for tag, _ in read(plain).tags if tag not in ("option", "label", "input", "span", "p", "a", "li")]
    hostile = [tag for tag, _ in read(shown).tags if tag not in ("option", "label", "input", "span", "p", "a", "li")]
    assert set(hostile) == set(tags)


def test_the_logo_is_shown_only_from_here(site: Site, client: httpx2.Client) -> None:
    """Without a logo stored in this service, the studio's initials are shown."""
    site.sql("update studios set logo_url = 'https://www.example.com/logo.svg'")
    answer = client.get(site.url("intro-offer"))
    assert "logo.svg" not in answer.text
    assert '<span class="mark" aria-hidden="true">NL</span>' in answer.text
    shown = {
        "/static/logo.png": True,
        "data:image/png;base64,iVBORw0KGgo=": True,
        "//evil.example/x.png": False,
        "javascript:alert(1)": False,
        "data:text/html,<script>": False,
    }
    for logo, own in shown.items():
        site.sql("update studios set logo_url = $1", logo)
        assert (f'src="{logo}"' in client.get(site.url("intro-offer")).text) == own
    site.sql("update studios set logo_url = null")


def link_to(site: Site, form: str, *, days: float = 7, member: object = None) -> str:
    row = site.sql("select link_secret, clock_timestamp() as now from studio_secrets")[0]
    link = Link(member or site.member_id, row["now"] + timedelta(days=days))  # type: ignore[arg-type]
    return site.url(form, "?link=" + sign(row["link_secret"], site.form_id(form), link))


def test_a_link_opens_the_form_for_its_member(site: Site, client: httpx2.Client) -> None:
    url = link_to(site, "members-only")
    shown = client.get(url)
    assert shown.status_code == 200
    assert "Robin Okafor" in shown.text
    assert "submitter_email" not in shown.text
    data = {"token": token_of(site, "members-only"), "f.line": "mine", "submitter_email": "other@example.com",
            "shown": "f.line", "action": "send"}  # fmt: skip
    sent = client.post(url, data=data)
    assert (sent.status_code, sent.headers["location"]) == (303, "/f/demo/members-only/done")
    kept = site.submissions("members-only")[-1]
    assert (kept["member_id"], kept["submitter_email"]) == (site.member_id, "robin@member.example")
    assert kept["submitter_name"] == "Robin Okafor"


def test_links_that_do_not_open(site: Site, client: httpx2.Client) -> None:
    good = link_to(site, "members-only")
    other = link_to(site, "once").split("?")[1]
    assert client.get(link_to(site, "members-only", days=-1)).status_code == 410
    wrong = [good[:-1], good + "x", good.replace("link=", "link=x"), site.url("members-only", "?" + other),
             site.url("members-only", "?link=a.b.c"), site.url("members-only", "?link=%00"),
             link_to(site, "members-only", member=uuid4())]  # fmt: skip
    for url in wrong:
        answer = client.get(url)
        assert (answer.status_code, "does not work" in answer.text) == (403, True), url


def test_the_theme_is_readable_for_any_colour(site: Site, client: httpx2.Client) -> None:
    for colour in ("#ffe600", "#000", "#FFFFFF", "red;}", None):
        site.sql("update studios set primary_color = $1", colour)
        page = read(client.get(site.url("intro-offer")))
        theme = next(str(given["href"]) for _, given in page.tags if "theme" in str(given.get("href")))
        answer = client.get(theme)
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
        assert "--on-accent:var(--light,#" in answer.text
        assert "red" not in answer.text
    site.sql("update studios set primary_color = $1", site.studio["primary_color"])


def test_two_studios_forms_with_one_slug_never_meet(site: Site, client: httpx2.Client) -> None:
    other = uuid4()
    site.sql(
        "insert into studios (studio_id, name, slug, timezone, currency, country)"
        " values ($1, 'South', 'south', 'UTC', 'USD', 'US')",
        other,
    )
    form = uuid4()
    site.sql(
        "insert into forms (studio_id, id, title, slug, status, fields) values ($1, $2, 'South', 'intro-offer',"
        """ 'published', '[{"key":"q","label":"South asks","type":"text"}]')""",
        other,
        form,
    )
    mine, theirs = client.get("/f/demo/intro-offer").text, client.get("/f/south/intro-offer").text
    assert "South" not in mine
    assert "South asks" in theirs
    foreign = client.post("/f/south/intro-offer", data={"token": token_of(site, "intro-offer"), "f.q": "x"})
    assert foreign.status_code == 422, "a token of another studio's form is none"
    assert "session expired" in foreign.text
    site.sql("delete from forms where studio_id = $1", other)
    site.sql("delete from studio_secrets where studio_id = $1", other)
    site.sql("delete from studios where studio_id = $1", other)
