"""A page that records what must not happen: external requests, console errors, policy violations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page

from tests.support.deadlines import LONG_MILLISECONDS

# Runs before any script of the page: records layout shifts and violations of the content security policy.
OBSERVER = """
    window.shifts = 0; window.violations = [];
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifts += each.value;
    }).observe({type: 'layout-shift', buffered: true});
    addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
"""
# Toasts stay: a machine that is busy for six seconds would miss what they say, and for twelve their undo.
LASTING_TOASTS = """
    const setTimeoutAsShipped = window.setTimeout;
    window.setTimeout = (work, delay, ...rest) =>
      [6000, 12000].includes(delay) ? 0 : setTimeoutAsShipped(work, delay, ...rest);
"""


@dataclass
class Watched:
    page: Page
    origin: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    # A refusal that a test provokes, and a network that it takes away, also appear in the browser's console.
    expected: tuple[str, ...] = (
        "the server responded with a status of 4",
        "Response Status Error Code 4",
        "net::ERR_INTERNET_DISCONNECTED",
        "htmx:sendError",
        "htmx:afterRequest",
    )

    def outside(self) -> list[str]:
        own = (self.origin + "/", "data:", "about:", *self.allowed)
        return [url for url in self.asked if not url.startswith(own)]

    def unexpected(self) -> list[str]:
        return [text for text in self.complaints if not any(each in text for each in self.expected)]


@contextmanager
def watched(
    browser: Browser,
    origin: str,
    *,
    script: bool = True,
    toasts_leave: bool = False,
    provoked: str | None = None,
    **options: Any,
) -> Iterator[Watched]:
    """Yield a page; ``provoked`` is an error that the test causes, as the browser's console words it."""
    context = browser.new_context(
        java_script_enabled=script, **{"viewport": {"width": 1100, "height": 900}, "locale": "en-US", **options}
    )
    if script:
        context.add_init_script(OBSERVER)
        if not toasts_leave:
            context.add_init_script(LASTING_TOASTS)
    page = context.new_page()
    watch = Watched(page, origin)
    if provoked is not None:
        watch.expected = (*watch.expected, provoked)
    page.on("request", lambda each: watch.asked.append(each.url))
    page.on("console", lambda each: watch.complaints.append(each.text) if each.type in ("error", "warning") else None)
    page.on("pageerror", lambda each: watch.complaints.append(str(each)))
    page.set_default_timeout(LONG_MILLISECONDS)
    yield watch
    if script and watch.page.url.startswith(origin):
        assert page.evaluate("window.violations || []") == []
    context.close()
    assert watch.outside() == [], watch.outside()
    assert watch.unexpected() == [], watch.unexpected()
