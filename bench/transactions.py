"""What baseline and limit send to PostgreSQL for each request: fixed transactions, written by hand, so that a better
statement of the product does not raise the bar that it is measured against.

A write takes one round trip for each thing that a request leaves behind: the claimed key, the locks, the row, the
credit and its ledger line, the counters, the event, the audit entry, the stored answer. No rule is checked. Reads have
the product's wire columns, so that answers are equally long.

A parameter is a value of the request, a constant, or a new id (``:new_…``).
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from bench.dataset import CREDENTIAL, FORM, STUDIO_ID, id_of
from bench.request import Request
from studiogate.storage.resources import BOOKING, CLASS, class_joins

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
NEW_ID = "new_"
STUDIO, LOCATION = f"'{STUDIO_ID}'::uuid", f"'{id_of('location1-1')}'::uuid"
ID_LENGTH = 36


class Transaction(NamedTuple):
    """``answer`` is the body of the response to a write; a read is answered with the value that it selects."""

    statements: tuple[str, ...]
    constants: Mapping[str, str] = {}
    answer: bytes = b""


def transaction_of(method: str, path: str) -> Transaction | None:
    """Return the transaction of a request."""
    collection, _, last = path.rpartition("/")
    place = collection + "/" if len(last) == ID_LENGTH else path
    return _TRANSACTIONS.get(f"{method} {place.removeprefix('/partner/v1')}")


def transaction_for(request: Request) -> Transaction:
    found = transaction_of(request.method, request.path)
    assert found is not None, request
    return found


ONE_CLASS = f"""
    select row_to_json(w)::text from (
        select {CLASS.columns} from classes c {class_joins(STUDIO)}
        where c.studio_id = {STUDIO} and c.id = :id::uuid) w"""
LIMIT = ":limit::text::integer"
PAGE = f"""
    with page as (
        select {{alias}}.id, row_number() over (order by {{order}}) as number, row_to_json(w)::text as wire
        from (select * from {{rows}} order by {{order}} limit {LIMIT} + 1) {{alias}} {{joins}}
        cross join lateral (select {{columns}}) w)
    select concat('{{{{"object":"list","data":[',
                  string_agg(wire, ',' order by number) filter (where number <= {LIMIT}),
                  '],"has_more":', bool_or(number > {LIMIT}), ',"next_cursor":"',
                  max(id::text) filter (where number = {LIMIT}), '"}}}}') from page"""
CLASSES = PAGE.format(
    alias="c",
    rows=f"classes c where studio_id = {STUDIO}",
    order="c.start_time, c.id",
    joins=class_joins(STUDIO),
    columns=CLASS.columns,
)
BOOKINGS_OF_A_MEMBER = PAGE.format(
    alias="b",
    rows=f"bookings b where studio_id = {STUDIO} and member_id = :member_id::uuid",
    order="b.created_at desc, b.id desc",
    joins=BOOKING.joins,
    columns=BOOKING.columns,
)

CLAIM = f"""
    select pg_try_advisory_xact_lock(hashtextextended(:key::text, 0)),
           (select status from idempotency_keys
            where studio_id = {STUDIO} and credential_id = '{CREDENTIAL}' and key = :key::text)"""
STORE = f"""
    insert into idempotency_keys (studio_id, credential_id, key, fingerprint, status, body, completed_at)
    values ({STUDIO}, '{CREDENTIAL}', :key::text, sha256(convert_to(:key::text, 'UTF8')), 201,
            convert_to(:answer::text, 'UTF8'), clock_timestamp())"""


def _event(event_type: str, subject: str, scope: str, place: str = STUDIO) -> str:
    return f"""
    insert into events (studio_id, id, actor, type, subject, scopes, place, object, previous_attributes)
    values ({STUDIO}, :new_event::uuid, 'partner', '{event_type}', {subject}, array['{scope}'], {place}, :object::json,
            '{{}}')"""


def _audit(action: str, subject: str) -> str:
    return f"""
    insert into audit_log (studio_id, id, channel, actor_name, address, action, subject_type, subject_id, changes)
    values ({STUDIO}, :new_entry::uuid, 'partner', '{CREDENTIAL}', '127.0.0.1', '{action}',
            '{action.partition(".")[0]}', {subject}, :changes::jsonb)"""


def _write(*statements: str, answer: Mapping[str, object], wire: Mapping[str, object]) -> Transaction:
    """Return the transaction of a write; constants are the resource in its event, its audited changes, its answer."""
    body = json.dumps(answer)
    changes = {name: [None, value] for name, value in wire.items() if value is not None}
    constants = {"object": json.dumps(wire), "changes": json.dumps(changes), "answer": body}
    return Transaction(("begin", CLAIM, *statements, STORE, "commit"), constants, body.encode())


_ID, _AT = str(STUDIO_ID), "2026-11-19T01:25:07.258155+00:00"
_BOOKING = {
    "id": _ID,
    "object": "booking",
    "class_id": _ID,
    "member_id": _ID,
    "status": "confirmed",
    "booking_source": "partner_api",
    "class_spot_id": None,
    "waitlist_position": None,
    "created_at": _AT,
    "updated_at": _AT,
}
BOOK = _write(
    f"""
    select status, start_time, end_time, capacity, booked_count, policy from classes
    where studio_id = {STUDIO} and id = :class_id::uuid for no key update""",
    f"select suspended from members where studio_id = {STUDIO} and id = :member_id::uuid for no key update",
    f"""
    insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
                          membership_id, credits_taken, policy, made_by)
    select studio_id, :new_booking::uuid, id, :member_id::uuid, location_id, start_time, end_time, 'confirmed',
           'partner_api', :member_id::uuid, 1, '{{}}', '{CREDENTIAL}'
    from classes where studio_id = {STUDIO} and id = :class_id::uuid""",
    f"update classes set booked_count = booked_count + 1 where studio_id = {STUDIO} and id = :class_id::uuid",
    f"""
    update memberships set credits_remaining = credits_remaining - 1, state_version = state_version + 1
    where studio_id = {STUDIO} and id = :member_id::uuid""",
    f"""
    insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
    values ({STUDIO}, :new_line::uuid, :member_id::uuid, :new_booking::uuid, -1, 'booked')""",
    _event("booking.created", ":new_booking::uuid", "bookings:read", LOCATION),
    _audit("booking.create", ":new_booking::uuid"),
    answer=_BOOKING,
    wire=_BOOKING,
)

OF_THE_BOOKING = f"from bookings where studio_id = {STUDIO} and id = :id::uuid"
_RECEIPT = {
    "id": _ID,
    "object": "booking_cancellation",
    "booking_id": _ID,
    "class_id": _ID,
    "member_id": _ID,
    "status": "cancelled",
    "cancelled_at": _AT,
    "cancelled_by": "partner_api",
    "cancellation_type": "standard",
    "late": False,
    "cutoff_at": _AT,
    "credits_returned": 1,
    "membership_id": _ID,
    "credits_remaining": 10,
    "promoted": False,
    "policy": {
        "require_entitlement": True,
        "booking_opens_minutes_before": None,
        "booking_closes_minutes_before": 0,
        "cancellation_window_minutes": 720,
        "late_action": "forfeit_credit",
        "late_fee_amount": "0.00",
        "waitlist_mode": "auto",
        "promotion_cutoff_minutes": 60,
        "promotion_grace_minutes": 15,
    },
}
CANCEL = _write(
    f"""
    select status, start_time, end_time, capacity, booked_count, policy from classes
    where studio_id = {STUDIO} and id = (select class_id {OF_THE_BOOKING}) for no key update""",
    f"""
    select suspended from members
    where studio_id = {STUDIO} and id = (select member_id {OF_THE_BOOKING}) for no key update""",
    f"update bookings set status = 'cancelled' where studio_id = {STUDIO} and id = :id::uuid and status = 'confirmed'",
    f"""
    insert into booking_cancellations (studio_id, id, booking_id, member_id, cancelled_at, cancellation_type, late,
                                       graced_for_promotion, receipt, credits_forfeited, credits_returned, made_by)
    select {STUDIO}, :new_receipt::uuid, id, member_id, now(), 'standard', false, false, :answer::text::json, 0, 1,
           '{CREDENTIAL}' {OF_THE_BOOKING}""",
    f"""
    update classes set booked_count = booked_count - 1
    where studio_id = {STUDIO} and id = (select class_id {OF_THE_BOOKING})""",
    f"""
    update memberships set credits_remaining = credits_remaining + 1, state_version = state_version + 1
    where studio_id = {STUDIO} and id = (select membership_id {OF_THE_BOOKING})""",
    f"""
    insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
    select {STUDIO}, :new_line::uuid, membership_id, id, 1, 'returned' {OF_THE_BOOKING}""",
    _event("booking.cancelled", ":id::uuid", "bookings:read", LOCATION),
    _audit("booking.cancel", ":id::uuid"),
    answer=_RECEIPT,
    wire={**_BOOKING, "status": "cancelled"},
)


def _email_lock(email: str) -> str:
    return f"select pg_advisory_xact_lock(hashtext({STUDIO}::text), hashtext({email}::text))"


_METADATA = {"utm": {"utm_source": "newsletter"}}
LEAD = _write(
    _email_lock(":email"),
    f"select exists (select from members where studio_id = {STUDIO} and email = :email::text)",
    f"""
    insert into leads (studio_id, id, email, first_name, source, metadata)
    values ({STUDIO}, :new_lead::uuid, :email::text, 'Sam', 'partner_api', '{json.dumps(_METADATA)}')
    on conflict (studio_id, email) do nothing""",
    _event("lead.created", ":new_lead::uuid", "leads:read"),
    _audit("lead.create", ":new_lead::uuid"),
    answer={"id": _ID, "object": "lead", "created": True},
    wire={
        "id": _ID,
        "object": "lead",
        "email": "lead1000000@example.com",
        "first_name": "Sam",
        "last_name": "",
        "phone": None,
        "source": "partner_api",
        "status": "new",
        "lifecycle_stage": "lead",
        "metadata": _METADATA,
        "created_at": _AT,
        "updated_at": _AT,
    },
)

_DATA = {"goals": "Get stronger", "injured": "no"}
_SUBMISSION = {
    "id": _ID,
    "object": "form_submission",
    "form_id": _ID,
    "form_version": 1,
    "submitter_name": "Sam Lee",
    "submitter_email": "visitor1000000@example.com",
    "data": _DATA,
    "status": "pending",
    "verified": True,
    "member_id": None,
    "lead_id": None,
    "created_at": _AT,
    "updated_at": _AT,
}
FORM_ID = id_of(FORM)
SUBMIT = _write(
    f"select status, version, fields, settings from forms where studio_id = {STUDIO} and id = '{FORM_ID}' for share",
    _email_lock(":submitter_email"),
    f"""
    select (select id from members where studio_id = {STUDIO} and email = :submitter_email::text),
           (select id from leads where studio_id = {STUDIO} and email = :submitter_email::text)""",
    f"""
    insert into form_submissions (studio_id, id, form_id, form_version, submitter_name, submitter_email, data, verified)
    values ({STUDIO}, :new_submission::uuid, '{FORM_ID}', 1, 'Sam Lee', :submitter_email::text,
            '{json.dumps(_DATA)}', true)""",
    _event("form.submitted", ":new_submission::uuid", "form_submissions:read"),
    _audit("submission.create", ":new_submission::uuid"),
    answer=_SUBMISSION,
    wire=_SUBMISSION,
)

_TRANSACTIONS = {
    "GET /classes": Transaction((CLASSES,)),
    "GET /classes/": Transaction((ONE_CLASS,)),
    "GET /bookings": Transaction((BOOKINGS_OF_A_MEMBER,)),
    "POST /bookings": BOOK,
    "DELETE /bookings/": CANCEL,
    "POST /leads": LEAD,
    f"POST /forms/{FORM_ID}/submissions": SUBMIT,
}
