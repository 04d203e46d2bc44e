"""The hosted pages: which page a request asks for, and the headers of all of them."""

from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.addresses import owner_of
from studiogate.domain.forms.signed_links import LinkProblem, Verification, read_signed
from studiogate.domain.ids import parse_id
from studiogate.domain.logos import PREFIX as LOGO_PREFIX
from studiogate.domain.logos import is_logo_name
from studiogate.domain.pictures import PREFIX as PICTURE_PREFIX
from studiogate.domain.pictures import is_picture_name
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.forms import submit
from studiogate.hosted import bot_protection, pages, templating
from studiogate.hosted.messages import NoticeError, NoticeReason, notice
from studiogate.hosted.open_form import Opened, Source, find, is_embedded, is_slug, open_form, open_preview
from studiogate.hosted.page_cache import PageCache
from studiogate.hosted.submit import Rehearsal, Sending
from studiogate.hosted.upload import upload
from studiogate.runtime import Runtime
from studiogate.storage import studio as studios
from studiogate.storage.forms.hosted import PageStudio
from studiogate.storage.upload_store import in_thread
from studiogate.web import sending as security_headers
from studiogate.web.front_end import Exchange, FrontEnd, RouteTree
from studiogate.web.limits import Limit
from studiogate.web.rate_limits import RateLimits
from studiogate.web.request import READS, Request
from studiogate.web.response import Answer, Header, OpenFile, as_json
from studiogate.web.sending import CommonHeaders

PREFIXES = ("/f/", LOGO_PREFIX, PICTURE_PREFIX)
REASONS = {
    Code.REQUEST_TIMEOUT: NoticeReason.TIMED_OUT,
    Code.BODY_TOO_LARGE: NoticeReason.TOO_LARGE,
    Code.LIMIT_REACHED: NoticeReason.TOO_MANY_FILES,
    Code.OVERLOADED: NoticeReason.BUSY,
    Code.DATABASE_UNAVAILABLE: NoticeReason.BUSY,
    Code.STORAGE_UNAVAILABLE: NoticeReason.BUSY,
    Code.INTERNAL_ERROR: NoticeReason.FAILED,
}
BY_STATUS: dict[int, Header] = {
    405: (b"allow", b"GET, HEAD, POST"),
    429: (b"retry-after", b"60"),
    503: (b"retry-after", b"2"),
}


class HostedApp(FrontEnd[Exchange]):
    """Serves forms to anyone who has their address."""

    common = CommonHeaders((*security_headers.on_every_answer(framed=True), *security_headers.OF_PAGES))

    def __init__(self, runtime: Runtime, limits: RateLimits | None = None) -> None:
        self._runtime = runtime
        self._limits = limits or RateLimits()
        self._pages = PageCache()
        self._uploads = runtime.uploads
        self._tree = RouteTree(
            "",
            [
                ("GET", LOGO_PREFIX + "{studio}/{name}", self._logo),
                ("GET", PICTURE_PREFIX + "{studio}/{name}", self._picture),
                ("GET", "/f/{studio}/{form}", self._show),
                ("POST", "/f/{studio}/{form}", self._post),
                ("GET", "/f/{studio}/{form}/done", self._done),
                ("POST", "/f/{studio}/{form}/uploads", self._upload),
                ("GET", "/f/{studio}/{form}/preview", self._preview),
                ("POST", "/f/{studio}/{form}/preview", self._preview),
                ("GET", "/f/{studio}/{form}/verify", self._verify),
                ("POST", "/f/{studio}/{form}/verify", self._verify),
            ],
        )
        templating.ASSETS.read()

    def begin(self, request: Request) -> Exchange:
        return Exchange(request, "visitor")

    def refuse(self, exchange: Exchange, refusal: Refusal) -> Answer:
        reason = NoticeReason.UNSURE if exchange.outcome_is_unknown else REASONS.get(refusal.code, NoticeReason.BROKEN)
        return self._noticed(exchange.request, reason)

    def complete(self, exchange: Exchange, answer: Answer) -> Answer:
        if exchange.request.method not in READS:
            # It repeats what was typed; compressed, its length could reveal the text next to that (BREACH).
            answer = answer._replace(may_compress=False)
        further = BY_STATUS.get(answer.status)
        return answer if further is None else answer._replace(headers=(*answer.headers, further))

    def _noticed(self, request: Request, reason: NoticeReason) -> Answer:
        return pages.notice_page(request, notice(reason), embedded=is_embedded(request))

    async def answer(self, exchange: Exchange) -> Answer:
        request = exchange.request
        reading = request.method in READS
        if request.path.startswith(templating.PREFIX) or request.path == templating.EMBED:
            exchange.route = "/f/assets"
            asset = templating.find(request.path, zipped=request.takes_gzip) if reading else None
            if asset is not None:
                return asset
        match = self._tree.match(request.path)
        serve = None if match is None else match.route(request.method)
        if match is None or serve is None:
            unknown = reading or request.path.startswith((LOGO_PREFIX, PICTURE_PREFIX))
            return self._noticed(request, NoticeReason.UNKNOWN if unknown else NoticeReason.METHOD)
        exchange.route = match.template
        try:
            return await serve(exchange, *match.values)
        except NoticeError as error:
            _note_studio(exchange, error.notice.studio)
            return pages.notice_page(request, error.notice, embedded=is_embedded(request))

    async def _logo(self, exchange: Exchange, studio: str, name: str) -> Answer:
        request = exchange.request
        await self._count(request, bot_protection.LOGOS)
        if not is_slug(studio) or not is_logo_name(name):
            return self._noticed(request, NoticeReason.UNKNOWN)
        async with self._runtime.database.connection() as connection:
            found = await studios.find_logo(connection, studio, name)
        return self._noticed(request, NoticeReason.UNKNOWN) if found is None else templating.image(found)

    async def _picture(self, exchange: Exchange, studio: str, name: str) -> Answer:
        """Serve a picture from its file, without the database: its name is a hash that only its readers know. Other
        files have other names."""
        request = exchange.request
        await self._count(request, bot_protection.PICTURES)
        studio_id = parse_id(studio)
        if studio_id is None or not is_picture_name(name):
            return self._noticed(request, NoticeReason.UNKNOWN)
        if name.encode() in request.headers.get(b"if-none-match", b""):
            return Answer(304, b"", templating.of_picture(name))
        try:
            file = await in_thread(self._uploads.open, UUID(studio_id), name)
        except FileNotFoundError:
            return self._noticed(request, NoticeReason.UNKNOWN)
        return Answer(200, b"", templating.of_picture(name), OpenFile(*file))

    async def _show(self, exchange: Exchange, studio: str, form: str) -> Answer:
        opened = await self._open(exchange, studio, form)
        return pages.show_fresh(exchange.request, opened, self._pages)

    async def _open(self, exchange: Exchange, studio: str, form: str, *, sent: bool = False) -> Opened:
        async with self._runtime.database.connection() as connection:
            source = Source(connection, self._runtime.sealer)
            opened = await open_form(source, exchange.request, studio, form, sent=sent)
        _note_studio(exchange, opened.studio)
        return opened

    async def _over(self, request: Request, limit: Limit) -> bool:
        if not self._runtime.settings.rate_limit:
            return False
        return not (await self._limits.take(f"{limit.name}:{owner_of(request.address)}", limit)).allowed

    async def _count(self, request: Request, limit: Limit) -> None:
        """Count a request; raise NoticeError if the rate limit of its address is exceeded."""
        if await self._over(request, limit):
            raise NoticeError(NoticeReason.TOO_MANY)

    async def _post(self, exchange: Exchange, studio: str, form: str) -> Answer:
        request = exchange.request
        await self._count(request, bot_protection.STEPPING)
        opened = await self._open(exchange, studio, form, sent=True)
        sending = Sending(self._runtime, request, opened, lambda: self._over(request, bot_protection.UPLOADING))
        await sending.receive()
        # Steps are cheap and frequent; submissions have a rate limit of their own.
        if sending.posted.action == "send" and await self._over(request, bot_protection.SENDING):
            await sending.discard()
            return self._noticed(request, NoticeReason.TOO_MANY)
        return await sending.answer()

    async def _preview(self, exchange: Exchange, studio: str, form: str) -> Answer:
        """Show a form to somebody who edits it. What is posted to it, files included, is judged and stored nowhere."""
        request = exchange.request
        await self._count(request, bot_protection.STEPPING)
        async with self._runtime.database.connection() as connection:
            opened = await open_preview(Source(connection, self._runtime.sealer), request, studio, form)
        _note_studio(exchange, opened.studio)
        if request.method != "POST":
            return pages.show_fresh(request, opened, self._pages)
        if request.media_type == b"application/octet-stream":
            return as_json(422, {"message": "Files are not taken in a preview."})
        sending = Rehearsal(self._runtime, request, opened)
        await sending.receive()
        return await sending.answer()

    async def _upload(self, exchange: Exchange, studio: str, form: str) -> Answer:
        await self._count(exchange.request, bot_protection.UPLOADING)
        return await upload(self._runtime, exchange.request, await self._open(exchange, studio, form))

    async def _verify(self, exchange: Exchange, studio_slug: str, form_slug: str) -> Answer:
        """Serve the link of a confirmation mail: GET shows a page with a button, POST verifies the submission. Opening
        it verifies nothing, because mail scanners and previews open it too."""
        request = exchange.request
        await self._count(request, bot_protection.STEPPING)
        async with self._runtime.database.connection() as connection:
            studio, form, access = await find(Source(connection, self._runtime.sealer), studio_slug, form_slug)
        _note_studio(exchange, studio)
        text = request.filled.get("token", "")
        read = read_signed(Verification, studio.link_secret, form.id, text, form.now)
        if isinstance(read, LinkProblem):
            expired = read is LinkProblem.EXPIRED
            reason = NoticeReason.EXPIRED_VERIFICATION if expired else NoticeReason.BAD_VERIFICATION
            return pages.notice_page(request, notice(reason, studio, form))
        if request.method != "POST":
            return pages.verify_page(studio, form.title, f"{request.path}?{urlencode({'token': text})}")
        refusal = await submit.verify_from_page(self._runtime.database, access, form.id, read.submission_id)
        if refusal is None:
            return pages.notice_page(request, notice(NoticeReason.VERIFIED, studio, form))
        known = refusal.code is Code.FORM_NOT_ACCEPTING_SUBMISSIONS
        return pages.notice_page(
            request, notice(NoticeReason.ALREADY if known else NoticeReason.BAD_VERIFICATION, studio, form)
        )

    async def _done(self, exchange: Exchange, studio: str, form: str) -> Answer:
        async with self._runtime.database.connection() as connection:
            found, found_form, _ = await find(Source(connection, self._runtime.sealer), studio, form)
        _note_studio(exchange, found)
        return pages.done_page(found, found_form, embedded=is_embedded(exchange.request))


def _note_studio(exchange: Exchange, studio: PageStudio | None) -> None:
    """Name the studio in the log line."""
    if studio is not None:
        exchange.studio_id = studio.studio_id
