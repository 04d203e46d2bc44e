"""Where visitors are redirected after a form, also if its redirect_url was stored before URLs were validated."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.hosted.test_submit import AS_JSON, INTRO, sending
from tests.support.site import Site

FORM = "intro-offer"


@pytest.fixture
def stored(site: Site) -> Iterator[Site]:
    yield site
    site.set_settings(FORM, redirect_url=None)


@pytest.mark.parametrize(
    "url",
    [
        "https://\u00fc..example/x",
        "https://a.example;script-src",
        "https://user@a.example/",
        "https://a.example\\@b.example",
        "https://a.example/\r\nx: y",
        "http://a.example/",
        "javascript:alert(1)",
        "https://" + "a" * 300 + ".example",
    ],
)
def test_a_stored_redirect_that_is_none_is_not_followed(stored: Site, client: httpx2.Client, url: str) -> None:
    stored.set_settings(FORM, redirect_url=url)
    page = client.get(stored.url(FORM))
    assert page.status_code == 200
    assert "form-action 'self';" in page.headers["content-security-policy"]
    answer = client.post(stored.url(FORM), data=sending(stored, FORM, **INTRO))
    assert (answer.status_code, answer.headers["location"]) == (303, "/f/demo/intro-offer/done")


def test_a_stored_redirect_is_followed_in_its_encoded_form(stored: Site, client: httpx2.Client) -> None:
    stored.set_settings(FORM, redirect_url="https://b\u00fccher.example/danke sch\u00f6n;x".replace(" ", "%20"))
    policy = client.get(stored.url(FORM)).headers["content-security-policy"]
    assert "form-action 'self' https://xn--bcher-kva.example;" in policy
    assert ";x" not in policy
    goal = "https://xn--bcher-kva.example/danke%20sch%C3%B6n;x"
    answer = client.post(stored.url(FORM), data=sending(stored, FORM, **INTRO))
    assert (answer.status_code, answer.headers["location"]) == (303, goal)
    response = client.post(stored.url(FORM), data=sending(stored, FORM, **INTRO), headers=AS_JSON)
    assert response.json() == {"location": goal}
