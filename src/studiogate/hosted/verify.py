"""The link of a confirmation mail. GET shows a page with a button, POST verifies the submission."""

from urllib.parse import urlencode

from studiogate.domain.forms.signed_links import LinkProblem, read_verification
from studiogate.domain.refusals import Code
from studiogate.flows.forms import review
from studiogate.hosted import pages
from studiogate.hosted.messages import Notice, Reason, notice
from studiogate.hosted.open_form import Source, find
from studiogate.hosted.request import VisitorRequest
from studiogate.runtime import Runtime
from studiogate.web.response import Answer


async def verify(runtime: Runtime, request: VisitorRequest, studio_slug: str, form_slug: str) -> Answer:
    """Serve the link. Opening it verifies nothing, because mail scanners and previews open it too."""
    async with runtime.database.connection() as connection:
        found = await find(Source(connection, runtime.sealer), studio_slug, form_slug)
    if isinstance(found, Notice):
        return pages.notice_page(request, found)
    studio, form, access = found
    text = request.query.get("token", "")
    read = read_verification(studio.link_secret, form.id, text, form.now)
    if isinstance(read, LinkProblem):
        expired = read is LinkProblem.EXPIRED
        reason = Reason.EXPIRED_VERIFICATION if expired else Reason.BAD_VERIFICATION
        return pages.notice_page(request, notice(reason, studio, form))
    if request.method != "POST":
        return pages.verify_page(request, studio, form.title, f"{request.path}?{urlencode({'token': text})}")
    outcome = await review.verify_from_page(runtime.database, access, form.id, read.submission_id)
    return pages.notice_page(request, notice(_reason(outcome.code if outcome else None), studio, form))


def _reason(refused: Code | None) -> Reason:
    if refused is None:
        return Reason.VERIFIED
    return Reason.ALREADY if refused is Code.FORM_NOT_ACCEPTING_SUBMISSIONS else Reason.BAD_VERIFICATION
