"""Every refusal that Studiogate can return.

A refusal is a value, not an exception: a refused booking is a result that must be stored under its idempotency key,
and an exception would roll that record back. Each front end translates refusals into its own format; the partner API
does so in ``api/framework``, whose ``texts/errors`` hold the only mapping from codes to HTTP statuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
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
    """The stable codes, by type, each with the sentence that people read."""

    _value_: str
    message: str

    def __new__(cls, value: str, message: str = "") -> "Code":
        code = str.__new__(cls, value)
        code._value_, code.message = value, message
        return code

    # authentication_error
    MISSING_API_KEY = "missing_api_key", "Send your key in the X-Service-Key header."
    INVALID_API_KEY = "invalid_api_key", "This key is not valid."
    EXPIRED_API_KEY = "expired_api_key", "This key has expired."
    REVOKED_API_KEY = "revoked_api_key", "This key has been revoked."
    SIGN_IN_FAILED = (
        "sign_in_failed",
        "The email, the password or the code is wrong, or the account cannot be used. Try again.",
    )
    SECOND_FACTOR_REQUIRED = "second_factor_required", "Enter the code that your authenticator app shows."
    SESSION_ENDED = "session_ended", "Your session has ended. Sign in again."
    LINK_EXPIRED = "link_expired", "This link was used already or has expired. Ask for a new one."
    # permission_error
    INSUFFICIENT_SCOPE = "insufficient_scope", "This key lacks the scope that the request needs."
    HTTPS_REQUIRED = "https_required", "This key was sent without encryption. Rotate it, and use https."
    PERMISSION_DENIED = "permission_denied", "Your role does not permit this. Ask an owner of the studio."
    PASSWORD_REQUIRED = "password_required", "Enter your password again to do this."
    # invalid_request_error
    INVALID_CURSOR = "invalid_cursor", "This cursor does not belong to this list. Start again without a cursor."
    INVALID_JSON = "invalid_json", "The request body is not valid JSON."
    INVALID_HTTP = "invalid_http", "The request could not be read as HTTP."
    UNSUPPORTED_API_VERSION = "unsupported_api_version", "This API version is not served here."
    NOT_FOUND = "not_found", "There is no such resource."
    METHOD_NOT_ALLOWED = "method_not_allowed", "This path does not take this method."
    REQUEST_TIMEOUT = "request_timeout", "The request body did not arrive in time."
    BODY_TOO_LARGE = "body_too_large", "The request body is too large."
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        "This operation does not take a body of this media type or encoding.",
    )
    VALIDATION_ERROR = "validation_error", "The request has faults; detail lists all of them."
    # idempotency_error
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused", "This Idempotency-Key was used with other parameters."
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress", "The first request with this Idempotency-Key is still running."
    # booking_error, in the order in which the rules are reported
    CLASS_CANCELLED = "class_cancelled", "This class has been cancelled."
    CLASS_NOT_BOOKABLE = "class_not_bookable", "This class is not open to clients."
    CLASS_STARTED = "class_started", "This class has already started."
    BOOKING_WINDOW_NOT_OPEN = "booking_window_not_open", "Booking for this class has not opened yet."
    BOOKING_WINDOW_CLOSED = "booking_window_closed", "Booking for this class has closed."
    ALREADY_BOOKED = "already_booked", "The member already has a place in this class."
    ALREADY_WAITLISTED = "already_waitlisted", "The member is already on this class's waitlist."
    MEMBER_ERASED = "member_erased", "The member was erased."
    MEMBER_SUSPENDED = "member_suspended", "The member is suspended."
    WAIVER_REQUIRED = "waiver_required", "The member must submit the waiver form first."
    NO_ACTIVE_MEMBERSHIP = "no_active_membership", "The member has no active membership."
    MEMBERSHIP_PAUSED = "membership_paused", "The member's membership is paused."
    MEMBERSHIP_NOT_VALID_FOR_CLASS = (
        "membership_not_valid_for_class",
        "The member's membership does not cover this class.",
    )
    INSUFFICIENT_CREDITS = "insufficient_credits", "The member has no credits left for this class."
    BOOKING_LIMIT_REACHED = "booking_limit_reached", "The member has reached the daily booking limit."
    OVERLAPPING_BOOKING = "overlapping_booking", "The member has another booking at this time."
    SPOT_REQUIRED = "spot_required", "Choose a spot: this class requires one."
    SPOT_NOT_FOUND = "spot_not_found", "This class has no such spot."
    SPOT_TAKEN = "spot_taken", "This spot is taken."
    CLASS_FULL = "class_full", "This class is full."
    WAITLIST_NOT_ALLOWED = "waitlist_not_allowed", "This class has no waitlist."
    WAITLIST_FULL = "waitlist_full", "The waitlist of this class is full."
    BOOKING_ALREADY_CANCELLED = "booking_already_cancelled", "This booking is already cancelled."
    # conflict_error
    MEMBER_EXISTS = "member_exists", "A member with this email exists."
    SLUG_TAKEN = "slug_taken", "Another form has this slug."
    FORM_NOT_ACCEPTING_SUBMISSIONS = "form_not_accepting_submissions", "This form does not take submissions now."
    INVALID_TRANSITION = "invalid_transition", "This change of state is not possible."
    LIMIT_REACHED = "limit_reached", "A limit has been reached; details names it."
    SCHEDULE_CONFLICT = "schedule_conflict", "The change has warnings; details lists them."
    LAST_OWNER = "last_owner", "This is the studio's last owner. Make somebody else an owner first."
    CHECK_IN_STOPPED = "check_in_stopped", "Something has to be settled before this check-in."
    # rate_limit_error
    RATE_LIMITED = "rate_limited", "Too many requests. Wait as long as Retry-After says."
    # api_error
    INTERNAL_ERROR = "internal_error", "Something went wrong on our side."
    OVERLOADED = "overloaded", "The service is overloaded. Retry after a moment."
    DATABASE_UNAVAILABLE = "database_unavailable", "The database cannot be reached. Retry after a moment."
    STORAGE_UNAVAILABLE = "storage_unavailable", "Nothing can be stored right now. Retry later."


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
        return self.code.message


NOT_FOUND = Refusal(Code.NOT_FOUND)


def faulty(*faults: Fault) -> Refusal:
    """Refuse a request for its faults; ``param`` is the value that the first one is about."""
    return Refusal(Code.VALIDATION_ERROR, param=str(faults[0].loc[-1]), faults=faults)
