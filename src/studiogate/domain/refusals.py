"""Every refusal that Studiogate can return.

A refusal is a value, not an exception: a refused booking is a result that must be stored under its idempotency key,
and an exception would roll that record back. Each front end translates refusals into its own format; the partner API
does so in ``api/framework/errors.py``, which holds the only mapping from codes to HTTP statuses.

    Refusal
    ├── authentication_error   missing_api_key · invalid_api_key · expired_api_key · revoked_api_key ·
    │                          sign_in_failed · second_factor_required · session_ended · link_expired
    ├── permission_error       insufficient_scope · permission_denied · password_required
    ├── invalid_request_error  invalid_cursor · invalid_json · invalid_http · unsupported_api_version · not_found ·
    │                          method_not_allowed · request_timeout · body_too_large · unsupported_media_type ·
    │                          validation_error
    ├── idempotency_error      idempotency_key_reused · idempotency_in_progress
    ├── booking_error          class_cancelled · class_not_bookable · class_started · booking_window_not_open ·
    │                          booking_window_closed · already_booked · already_waitlisted · member_erased ·
    │                          member_suspended · waiver_required · no_active_membership · membership_paused ·
    │                          membership_not_valid_for_class · insufficient_credits · booking_limit_reached ·
    │                          overlapping_booking · spot_required · spot_not_found · spot_taken · class_full ·
    │                          waitlist_not_allowed · waitlist_full · booking_already_cancelled
    ├── conflict_error         member_exists · slug_taken · form_not_accepting_submissions · invalid_transition ·
    │                          limit_reached · schedule_conflict · last_owner
    ├── rate_limit_error       rate_limited
    └── api_error              internal_error · overloaded · database_unavailable · storage_unavailable
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class RefusalType(StrEnum):
    AUTHENTICATION = "authentication_error"
    PERMISSION = "permission_error"
    INVALID_REQUEST = "invalid_request_error"
    IDEMPOTENCY = "idempotency_error"
    BOOKING = "booking_error"
    CONFLICT = "conflict_error"
    RATE_LIMIT = "rate_limit_error"
    API = "api_error"


class Code(StrEnum):
    """The stable codes. The order of the booking codes is the order in which the rules are reported."""

    MISSING_API_KEY = "missing_api_key"
    INVALID_API_KEY = "invalid_api_key"
    EXPIRED_API_KEY = "expired_api_key"
    REVOKED_API_KEY = "revoked_api_key"
    SIGN_IN_FAILED = "sign_in_failed"
    SECOND_FACTOR_REQUIRED = "second_factor_required"
    SESSION_ENDED = "session_ended"
    LINK_EXPIRED = "link_expired"

    INSUFFICIENT_SCOPE = "insufficient_scope"
    PERMISSION_DENIED = "permission_denied"
    PASSWORD_REQUIRED = "password_required"  # noqa: S105  # nosec B105

    INVALID_CURSOR = "invalid_cursor"
    INVALID_JSON = "invalid_json"
    INVALID_HTTP = "invalid_http"
    UNSUPPORTED_API_VERSION = "unsupported_api_version"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    VALIDATION_ERROR = "validation_error"

    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress"

    CLASS_CANCELLED = "class_cancelled"
    CLASS_NOT_BOOKABLE = "class_not_bookable"
    CLASS_STARTED = "class_started"
    BOOKING_WINDOW_NOT_OPEN = "booking_window_not_open"
    BOOKING_WINDOW_CLOSED = "booking_window_closed"
    ALREADY_BOOKED = "already_booked"
    ALREADY_WAITLISTED = "already_waitlisted"
    MEMBER_ERASED = "member_erased"
    MEMBER_SUSPENDED = "member_suspended"
    WAIVER_REQUIRED = "waiver_required"
    NO_ACTIVE_MEMBERSHIP = "no_active_membership"
    MEMBERSHIP_PAUSED = "membership_paused"
    MEMBERSHIP_NOT_VALID_FOR_CLASS = "membership_not_valid_for_class"
    INSUFFICIENT_CREDITS = "insufficient_credits"
    BOOKING_LIMIT_REACHED = "booking_limit_reached"
    OVERLAPPING_BOOKING = "overlapping_booking"
    SPOT_REQUIRED = "spot_required"
    SPOT_NOT_FOUND = "spot_not_found"
    SPOT_TAKEN = "spot_taken"
    CLASS_FULL = "class_full"
    WAITLIST_NOT_ALLOWED = "waitlist_not_allowed"
    WAITLIST_FULL = "waitlist_full"
    BOOKING_ALREADY_CANCELLED = "booking_already_cancelled"

    MEMBER_EXISTS = "member_exists"
    SLUG_TAKEN = "slug_taken"
    FORM_NOT_ACCEPTING_SUBMISSIONS = "form_not_accepting_submissions"
    INVALID_TRANSITION = "invalid_transition"
    LIMIT_REACHED = "limit_reached"
    SCHEDULE_CONFLICT = "schedule_conflict"
    LAST_OWNER = "last_owner"

    RATE_LIMITED = "rate_limited"

    INTERNAL_ERROR = "internal_error"
    OVERLOADED = "overloaded"
    DATABASE_UNAVAILABLE = "database_unavailable"
    STORAGE_UNAVAILABLE = "storage_unavailable"


MESSAGES: Mapping[Code, str] = MappingProxyType(
    {
        Code.MISSING_API_KEY: "Send your key in the X-Service-Key header.",
        Code.INVALID_API_KEY: "This key is not valid.",
        Code.EXPIRED_API_KEY: "This key has expired.",
        Code.REVOKED_API_KEY: "This key has been revoked.",
        Code.SIGN_IN_FAILED: "The email, the password or the code is wrong, or the account cannot be used. Try again.",
        Code.SECOND_FACTOR_REQUIRED: "Enter the code that your authenticator app shows.",
        Code.SESSION_ENDED: "Your session has ended. Sign in again.",
        Code.LINK_EXPIRED: "This link was used already or has expired. Ask for a new one.",
        Code.INSUFFICIENT_SCOPE: "This key lacks the scope that the request needs.",
        Code.PERMISSION_DENIED: "Your role does not permit this. Ask an owner of the studio.",
        Code.PASSWORD_REQUIRED: "Enter your password again to do this.",
        Code.INVALID_CURSOR: "This cursor does not belong to this list. Start again without a cursor.",
        Code.INVALID_JSON: "The request body is not valid JSON.",
        Code.INVALID_HTTP: "The request could not be read as HTTP.",
        Code.UNSUPPORTED_API_VERSION: "This API version is not served here.",
        Code.NOT_FOUND: "There is no such resource.",
        Code.METHOD_NOT_ALLOWED: "This path does not take this method.",
        Code.REQUEST_TIMEOUT: "The request body did not arrive in time.",
        Code.BODY_TOO_LARGE: "The request body is too large.",
        Code.UNSUPPORTED_MEDIA_TYPE: "This operation does not take a body of this media type or encoding.",
        Code.VALIDATION_ERROR: "The request has faults; detail lists all of them.",
        Code.IDEMPOTENCY_KEY_REUSED: "This Idempotency-Key was used with other parameters.",
        Code.IDEMPOTENCY_IN_PROGRESS: "The first request with this Idempotency-Key is still running.",
        Code.CLASS_CANCELLED: "This class has been cancelled.",
        Code.CLASS_NOT_BOOKABLE: "This class is not open to clients.",
        Code.CLASS_STARTED: "This class has already started.",
        Code.BOOKING_WINDOW_NOT_OPEN: "Booking for this class has not opened yet.",
        Code.BOOKING_WINDOW_CLOSED: "Booking for this class has closed.",
        Code.ALREADY_BOOKED: "The member already has a place in this class.",
        Code.ALREADY_WAITLISTED: "The member is already on this class's waitlist.",
        Code.MEMBER_ERASED: "The member was erased.",
        Code.MEMBER_SUSPENDED: "The member is suspended.",
        Code.WAIVER_REQUIRED: "The member must submit the waiver form first.",
        Code.NO_ACTIVE_MEMBERSHIP: "The member has no active membership.",
        Code.MEMBERSHIP_PAUSED: "The member's membership is paused.",
        Code.MEMBERSHIP_NOT_VALID_FOR_CLASS: "The member's membership does not cover this class.",
        Code.INSUFFICIENT_CREDITS: "The member has no credits left for this class.",
        Code.BOOKING_LIMIT_REACHED: "The member has reached the daily booking limit.",
        Code.OVERLAPPING_BOOKING: "The member has another booking at this time.",
        Code.SPOT_REQUIRED: "Choose a spot: this class requires one.",
        Code.SPOT_NOT_FOUND: "This class has no such spot.",
        Code.SPOT_TAKEN: "This spot is taken.",
        Code.CLASS_FULL: "This class is full.",
        Code.WAITLIST_NOT_ALLOWED: "This class has no waitlist.",
        Code.WAITLIST_FULL: "The waitlist of this class is full.",
        Code.BOOKING_ALREADY_CANCELLED: "This booking is already cancelled.",
        Code.MEMBER_EXISTS: "A member with this email exists.",
        Code.SLUG_TAKEN: "Another form has this slug.",
        Code.FORM_NOT_ACCEPTING_SUBMISSIONS: "This form does not take submissions now.",
        Code.INVALID_TRANSITION: "This change of state is not possible.",
        Code.LIMIT_REACHED: "A limit has been reached; details names it.",
        Code.SCHEDULE_CONFLICT: "The change has warnings; details lists them.",
        Code.LAST_OWNER: "This is the studio's last owner. Make somebody else an owner first.",
        Code.RATE_LIMITED: "Too many requests. Wait as long as Retry-After says.",
        Code.INTERNAL_ERROR: "Something went wrong on our side.",
        Code.OVERLOADED: "The service is overloaded. Retry after a moment.",
        Code.DATABASE_UNAVAILABLE: "The database cannot be reached. Retry after a moment.",
        Code.STORAGE_UNAVAILABLE: "Nothing can be stored right now. Retry later.",
    }
)


class Fault(NamedTuple):
    """One error in a request: its location, its type and a message. Never includes the value itself."""

    loc: tuple[str | int, ...]
    type: str
    msg: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal, with the details that a caller needs to act on it. A validation_error lists all its faults."""

    code: Code
    details: Mapping[str, Any] = field(default_factory=dict)
    param: str | None = None
    faults: Sequence[Fault] = ()

    @property
    def message(self) -> str:
        return MESSAGES[self.code]


NOT_FOUND = Refusal(Code.NOT_FOUND)


def faulty(*faults: Fault) -> Refusal:
    """Refuse a request for its faults; ``param`` is the value that the first one is about."""
    return Refusal(Code.VALIDATION_ERROR, param=str(faults[0].loc[-1]), faults=faults)
