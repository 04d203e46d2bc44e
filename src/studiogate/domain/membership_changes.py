"""What staff do to a membership: pause and resume, cancel, set the renewal, adjust credits.

- A pause begins now or later, with or without an end; a planned pause is replaced by a new one. Resuming ends it now or
  at a given time, or withdraws a pause that has not begun. Bookings that exist stay as they are.
- A cancellation takes effect now or at the end of the period. A planned one can be withdrawn.
- Credits are adjusted by a number, with a reason, and never below zero. An unlimited membership has none to adjust.
- A membership that has ended (``cancelled``, ``expired``) does not change any more: another one is sold.

Every change increments ``state_version``; an action that changes nothing, because it is repeated, does not. Time and
payments change memberships by the rules of ``memberships``."""

from datetime import datetime
from typing import NamedTuple

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.fields.catalog import MAX_CREDITS
from studiogate.domain.memberships import LIVE_STATUSES, MembershipState
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff_input import fault, reason_faults, refused

CHANGEABLE = (MembershipStatus.PENDING, *LIVE_STATUSES)


class Pause(NamedTuple):
    """When a pause begins (None: now) and ends (None: when somebody resumes it)."""

    starts_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str | None = None


def pause(state: MembershipState, asked: Pause, now: datetime) -> MembershipState | Refusal:
    if state.status != MembershipStatus.ACTIVE:
        return _impossible(state, MembershipStatus.PAUSED)
    starts = asked.starts_at or now
    faults = reason_faults(asked.reason, required=False)
    if starts < now:
        faults.append(fault("starts_at", "must not be in the past"))
    if asked.ends_at is not None and asked.ends_at <= starts:
        faults.append(fault("ends_at", "must be after the start of the pause"))
    if faults:
        return refused(*faults)
    planned = {"pause_starts_at": starts, "pause_ends_at": asked.ends_at, "pause_reason": asked.reason}
    if starts > now:
        return _changed(state, **planned)
    return _changed(state, **planned, status=MembershipStatus.PAUSED, paused_at=starts)


def resume(state: MembershipState, at: datetime | None, now: datetime) -> MembershipState | Refusal:
    """Return the membership with its pause ending at this time (None: now). A pause that ends now is only marked as
    over: ``memberships.advance`` resumes it, which is the one change of the version."""
    if state.status == MembershipStatus.PAUSED:
        if at is None:
            return state._replace(pause_ends_at=now)
        return _changed(state, pause_ends_at=at) if at > now else refused(fault("at", "must not be in the past"))
    if state.status == MembershipStatus.ACTIVE and state.pause_starts_at is not None:
        if at is None:
            return _changed(state, pause_starts_at=None, pause_ends_at=None, pause_reason=None)
        if at <= state.pause_starts_at:
            return refused(fault("at", "must be after the start of the pause"))
        return _changed(state, pause_ends_at=at)
    return Refusal(Code.INVALID_TRANSITION, {"undoes": "paused", "is": state.status.value})


def cancel(
    state: MembershipState, reason: str | None, now: datetime, *, at_period_end: bool
) -> MembershipState | Refusal:
    """Return the membership cancelled now, or with a cancellation planned for the end of its period."""
    if state.status not in CHANGEABLE:
        return _impossible(state, MembershipStatus.CANCELLED)
    faults = reason_faults(reason, required=False)
    if at_period_end and state.current_period_end is None:
        faults.append(fault("membership_id", "has no end date: cancel it now"))
    if faults:
        return refused(*faults)
    if at_period_end:
        return _changed(state, cancel_at_period_end=True, cancellation_reason=reason)
    ended = {"status": MembershipStatus.CANCELLED, "cancelled_at": now, "ended_at": now}
    return _changed(state, **ended, cancellation_reason=reason)


def uncancel(state: MembershipState) -> MembershipState | Refusal:
    if state.status not in CHANGEABLE or not (state.cancel_at_period_end or state.cancel_at):
        return Refusal(Code.INVALID_TRANSITION, {"undoes": "about to be cancelled", "is": state.status.value})
    return _changed(state, cancel_at_period_end=False, cancel_at=None, cancellation_reason=None)


def set_renewal(state: MembershipState, auto_renew: bool, *, has_price: bool) -> MembershipState | Refusal:
    """Return the membership with ``auto_renew`` set; ``has_price``: there is a recurring price to renew at."""
    if state.status not in CHANGEABLE:
        return _impossible(state, MembershipStatus.ACTIVE)
    if auto_renew and not has_price:
        return refused(fault("product_id", "has no recurring price to renew at: add one (`studiogate price create`)"))
    if auto_renew and state.current_period_end is None:
        return refused(fault("membership_id", "has no end date, so it need not renew"))
    return state if state.auto_renew == auto_renew else _changed(state, auto_renew=auto_renew)


def adjust_credits(state: MembershipState, change: int, reason: str) -> MembershipState | Refusal:
    """Return the membership with so many credits more (or fewer, if negative)."""
    if state.status not in CHANGEABLE:
        return _impossible(state, MembershipStatus.ACTIVE)
    faults = reason_faults(reason)
    if state.credits_remaining is None:
        return refused(*faults, fault("membership_id", "is unlimited: it has no credits to adjust"))
    remaining = state.credits_remaining + change
    if change == 0:
        faults.append(fault("credits", "must change by at least 1"))
    if remaining < 0:
        faults.append(fault("credits", f"cannot become negative: {state.credits_remaining} are left"))
    if remaining > MAX_CREDITS:
        faults.append(fault("credits", f"cannot become more than {MAX_CREDITS}"))
    return refused(*faults) if faults else _changed(state, credits_remaining=remaining)


def _impossible(state: MembershipState, target: MembershipStatus) -> Refusal:
    return Refusal(Code.INVALID_TRANSITION, {"from": state.status.value, "to": target.value})


def _changed(state: MembershipState, **changes: object) -> MembershipState:
    changed = state._replace(**changes)  # type: ignore[arg-type]
    return state if changed == state else changed._replace(state_version=state.state_version + 1)
