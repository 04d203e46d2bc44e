"""Send mails: claimed studio by studio, sent outside any transaction, retried at growing intervals."""

import asyncio
from urllib.parse import unquote, urlsplit
from uuid import UUID

import aiosmtplib
import structlog

from studiogate import clock, telemetry
from studiogate.flows import mails, retry
from studiogate.flows.bookings import mails as member_mails
from studiogate.flows.bookings.mail_texts import NoAddressError
from studiogate.flows.forms import mails as form_mails
from studiogate.flows.mails import ClaimedMail
from studiogate.flows.retry import for_each_studio
from studiogate.flows.staff import mails as staff_mails
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError
from studiogate.web.public_address import known_address

EVERY_SECONDS = 5.0
WITHOUT_SERVER_SECONDS = 600.0
TIMEOUT_SECONDS = 20.0
NOTE_AGAIN_SECONDS = 1.0
AT_ONCE = 10
log = structlog.get_logger()


async def mail_forever(runtime: Runtime) -> None:
    every = EVERY_SECONDS if runtime.settings.smtp_url else WITHOUT_SERVER_SECONDS
    while True:
        try:
            busy = await mail_once(runtime)
        except Exception as error:
            log.error("mailing failed", problem=telemetry.problem_of(error))
            busy = 0
        if not busy:
            await asyncio.sleep(every)


async def mail_once(runtime: Runtime) -> int:
    """Send the mails that are due; return how many were attempted."""
    url = runtime.settings.smtp_url
    if url is None:
        await member_mails.skip_old_news(runtime.database)
        return 0
    for studio_id in await retry.studios_with(runtime.database, member_mails.NEWS):
        try:
            while await member_mails.queue_news(runtime.database, studio_id):
                pass
        except Exception as error:  # stops neither the other studios nor the sending
            log.error("mails to members not queued", studio_id=str(studio_id), problem=telemetry.problem_of(error))
    due = await retry.studios_with(runtime.database, "due mails")
    return await for_each_studio(due, lambda studio_id: _send_claimed(runtime, url, studio_id))


async def _send_claimed(runtime: Runtime, url: str, studio_id: UUID) -> int:
    """Claim and send mails of one studio; return how many were attempted.

    Stops when the lease no longer covers another attempt: after it, another worker may be sending the same mails. Those
    that it did not get to are due again when the lease ends.
    """
    until = clock.monotonic() + mails.LEASE_SECONDS - TIMEOUT_SECONDS
    links = form_mails.Links(known_address(runtime.settings), runtime.sealer)
    claimed = await form_mails.claim(runtime.database, studio_id, AT_ONCE, links)
    claimed += await form_mails.claim_links(runtime.database, studio_id, AT_ONCE, links)
    claimed += await member_mails.claim(runtime.database, studio_id, AT_ONCE)
    claimed += await staff_mails.claim(runtime.database, studio_id, AT_ONCE, links.origin)
    for tried, mail in enumerate(claimed):
        if clock.monotonic() > until:
            return tried
        await _send(runtime, url, mail)
    return len(claimed)


async def _send(runtime: Runtime, url: str, mail: ClaimedMail) -> None:
    sender = runtime.settings.mail_from or f"studiogate@{urlsplit(url).hostname or 'localhost'}"
    try:
        await _deliver(url, sender, mail)
    except Exception as error:
        # No failure stops the other mails. The reason is stored without the addresses that servers repeat in it.
        problem = f"{type(error).__name__} {getattr(error, 'code', '')}".strip()
        again = await mails.settle_failed(runtime.database, mail, problem, for_good=_is_final(error))
        log.warning("mail not sent", mail_id=str(mail.id), problem=problem, attempts=mail.attempts + 1, again=again)
        return
    await _note_sent(runtime, mail)


async def _note_sent(runtime: Runtime, mail: ClaimedMail) -> None:
    """Mark a mail as sent, retrying until the lease ends: a mail that is not marked is sent again. Marking it twice is
    harmless, so a COMMIT without an answer is simply repeated."""
    until = clock.monotonic() + mails.LEASE_SECONDS
    while True:
        try:
            return await mails.settle_sent(runtime.database, mail)
        except (DatabaseUnavailableError, OverloadedError):
            if clock.monotonic() > until:
                raise
        await asyncio.sleep(NOTE_AGAIN_SECONDS)


def _is_final(error: Exception) -> bool:
    """Return whether a retry is pointless: after a 5xx about this mail or its recipient, or without an address. One
    about us (greeting, login) can be fixed."""
    if isinstance(error, NoAddressError):
        return True
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return all(each.code >= 500 for each in error.recipients)
    about_the_mail = isinstance(error, aiosmtplib.SMTPDataError)
    return about_the_mail and error.code >= 500 if isinstance(error, aiosmtplib.SMTPResponseException) else False


async def _deliver(url: str, sender: str, mail: ClaimedMail) -> None:
    """Send one mail. ``smtp://`` uses TLS if the server offers it, ``smtps://`` from the first byte. A password is
    sent over TLS only: otherwise an attacker in between would only have to remove the offer.
    """
    parts = urlsplit(url)
    await aiosmtplib.send(
        mail.message(sender, clock.now()),
        hostname=parts.hostname or "localhost",
        port=parts.port or (465 if parts.scheme == "smtps" else 25),
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        use_tls=parts.scheme == "smtps",
        start_tls=True if parts.password and parts.scheme == "smtp" else None,
        timeout=TIMEOUT_SECONDS,
    )
