"""Deliveries of webhooks: their signatures (Standard Webhooks), and when a failed one is tried again."""

import base64
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

from standardwebhooks import Webhook

SECRET_BYTES = 32


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(whsecs: Sequence[str], message_id: str, now: datetime, body: str) -> list[tuple[bytes, bytes]]:
    """Return the three headers of Standard Webhooks, with one signature per currently valid secret (``whsecs``)."""
    signatures = " ".join(Webhook(each).sign(message_id, now, body) for each in whsecs)
    return [
        (b"webhook-id", message_id.encode()),
        (b"webhook-timestamp", str(int(now.timestamp())).encode()),
        (b"webhook-signature", signatures.encode()),
    ]


ATTEMPT_SECONDS = 15.0
LEASE = timedelta(seconds=ATTEMPT_SECONDS + 10)
BOTH_SECRETS = timedelta(hours=24)
# Replaced secrets that sign at the same time, so that the header stays short: enough for a rotation per hour.
MAX_REPLACED_SECRETS = 30
FAILING_DISABLES = timedelta(days=5)
# An endpoint that keeps failing gets one attempt at a time, so that it delays little else.
FAILING_SLOWS = timedelta(seconds=30)
MAX_RETRY_AFTER = timedelta(hours=24)
MAX_ENDPOINTS = 20  # per studio
MAX_WAITING = 10_000  # deliveries per endpoint

# The delays before the first attempt and after each failed one.
DELAYS = (
    *(timedelta(seconds=each) for each in (0, 5)),
    *(timedelta(minutes=each) for each in (5, 30)),
    *(timedelta(hours=each) for each in (2, 5, 10, 14, 20, 24)),
)
JITTER = 0.1  # extends a delay by up to this share, so that retries after an outage do not arrive all at once
GONE = 410


@dataclass(frozen=True, slots=True)
class Attempted:
    """The result of one attempt: an HTTP status, or the error that prevented a response."""

    started_at: datetime
    duration_ms: int
    status: int | None = None
    error: str | None = None
    response: str | None = None
    retry_after: str | None = None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def outcome(self) -> str:
        """The result as a metrics label, which must have few distinct values."""
        if self.succeeded:
            return "succeeded"
        return f"{self.status // 100}xx" if self.status is not None else self.error or "failed"


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    status: Literal["pending", "succeeded", "failed"]
    delay: timedelta = timedelta(0)


def judge(attempted: Attempted, attempts_before: int) -> DeliveryVerdict:
    """Return the status of the delivery after this attempt, and the delay until the next one."""
    if attempted.succeeded:
        return DeliveryVerdict("succeeded")
    if attempted.status == GONE or attempts_before + 1 >= len(DELAYS):
        return DeliveryVerdict("failed")
    scheduled = DELAYS[attempts_before + 1] * (1 + random.uniform(0, JITTER))  # noqa: S311 # nosec B311 # no secret
    asked = retry_after(attempted.retry_after, attempted.started_at)
    return DeliveryVerdict("pending", max(scheduled, asked))


def retry_after(value: str | None, now: datetime) -> timedelta:
    """Return the delay in a Retry-After header, given in seconds or as a date; zero if it is missing or invalid."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return timedelta(0)
    if until.tzinfo is None:
        return timedelta(0)
    return min(max(until - now, timedelta(0)), MAX_RETRY_AFTER)
