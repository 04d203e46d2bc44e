"""GET /: a page for browsers that says what this is and links to the documentation."""

from studiogate import clock
from studiogate.api.docs import rendering
from studiogate.storage.db.pool import Database, DatabaseUnavailableError, OverloadedError
from studiogate.storage.forms import hosted
from studiogate.storage.forms.hosted import PublishedForm
from studiogate.web.response import Answer

POLICY = "style-src 'self'; img-src data:"
DEMO = "demo"  # the slug of the demo studio; other studios publish their forms themselves
KEPT_SECONDS = 5.0


class FrontPage:
    """Rendered at most every few seconds, because anybody can request it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: tuple[float, Answer] | None = None
        _page([])  # read the template now: after a switch of user it may not be readable

    async def answer(self, _request_id: str) -> Answer:
        now = clock.monotonic()
        if self._made is None or now - self._made[0] > KEPT_SECONDS:
            self._made = now, _page(await self._demo_forms())
        return self._made[1]

    async def _demo_forms(self) -> list[PublishedForm]:
        try:
            async with self._database.connection() as connection:
                return await hosted.published_test_forms(connection, DEMO)
        except (DatabaseUnavailableError, OverloadedError):
            return []  # the page is as useful without them


def _page(forms: list[PublishedForm]) -> Answer:
    return rendering.page("front.html", POLICY, forms=forms, demo=DEMO)
