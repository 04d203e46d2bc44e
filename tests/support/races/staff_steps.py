"""The steps of staff in the model test: random flows and commands, each with the audit entries that it must leave."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from studiogate.domain.access import Access, operator_access
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.membership_changes import Pause
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import memberships, purchases
from studiogate.flows.bookings import desk, staff, staff_bookings
from studiogate.flows.members import erase, merge
from studiogate.flows.members import staff as members
from studiogate.flows.schedule import classes
from studiogate.flows.schedule.rows import Given
from tests.support.races import model as booking_model
from tests.support.races.announcements import Entry, Log, Step

NUMBERS = st.integers(0, 59)
TYPED = st.sampled_from((False, False, False, True))
RARELY = st.sampled_from((*[False] * 9, True))
CREDITS_SOLD = 2
Words = Sequence[object]


def pick(rows: list[Any], number: int) -> Any:
    return rows[number % len(rows)]


def now() -> datetime:
    return datetime.now(UTC)


class DeskSteps(RuleBasedStateMachine):
    """What staff do to classes and bookings all day. A walk has a model, the application, a studio and its log."""

    model: booking_model.Studio
    app_thread: ClassVar[Any]
    log: Log
    slug: str
    studio_id: UUID
    sold_product: UUID
    sent: list[Any]

    @property
    def access(self) -> Access:
        return operator_access(self.studio_id)

    def _done(
        self, allowed: bool, flow: Callable[..., Any], arguments: Sequence[Any], typed: bool = False, words: Words = ()
    ) -> Any:
        """Run a flow, or the command for it if ``typed``; it must be done exactly if ``allowed``. Return its result."""
        if typed:
            assert self.app_thread.command(*words) is allowed, words
            return None
        done = self.app_thread.call(flow(self.app_thread.connection, self.access, *arguments))
        assert isinstance(done, Refusal) is not allowed, done
        return done

    def _left(self, allowed: bool, *entries: Entry, redacted: bool = False) -> None:
        """What was done has these audit entries and its events; what was refused has neither."""
        self.log.check(Step("staff", entries if allowed else (), redacted=redacted))

    def _class(self, number: int) -> booking_model.Class:
        chosen: booking_model.Class = pick(list(self.model.classes.values()), number)
        return chosen

    def _member(self, number: int) -> UUID:
        chosen: UUID = pick(list(self.model.suspended), number)
        return chosen

    # Classes

    @rule(class_=NUMBERS, capacity=st.integers(0, 3), typed=TYPED)
    def change_capacity(self, class_: int, capacity: int, typed: bool) -> None:
        chosen = self._class(class_)
        before = chosen.capacity, [each.status for each in self.model.in_class(chosen)]
        allowed = self.model.change_capacity(chosen, capacity, now())
        same = before == (chosen.capacity, [each.status for each in self.model.in_class(chosen)])
        words = ("class", "capacity", chosen.id, capacity)
        self._done(allowed, staff.change_capacity, (chosen.id, capacity), typed, words)
        self._left(allowed and not same, ("class.capacity", "class", chosen.id))

    @rule(class_=NUMBERS, sure=RARELY, typed=TYPED)
    def cancel_class(self, class_: int, sure: bool, typed: bool) -> None:
        if not sure:  # much happens no more once a class is cancelled
            return
        chosen = self._class(class_)
        allowed = self.model.cancel_class(chosen, now())
        self._done(allowed, staff.cancel_class, (chosen.id,), typed, ("class", "cancel", chosen.id))
        self._left(allowed, ("class.cancel", "class", chosen.id))

    # Bookings

    @precondition(lambda self: any(each.entry for each in self.model.bookings))
    @rule(booking=NUMBERS, typed=TYPED)
    def promote_by_hand(self, booking: int, typed: bool) -> None:
        chosen = pick([each for each in self.model.bookings if each.entry], booking)
        (entry,) = self.app_thread.fetch("select id from waitlist_entries where booking_id = $1", UUID(chosen.id))
        allowed = self.model.promote_by_hand(chosen, now())
        self._done(allowed, staff_bookings.promote_entry, (entry["id"],), typed, ("waitlist", "promote", entry["id"]))
        self._left(allowed, ("waitlist.promote", "waitlist_entry", entry["id"]))

    @precondition(lambda self: self.model.bookings)
    @rule(booking=NUMBERS, sure=st.sampled_from((False, False, True)), typed=TYPED)
    def cancel_by_hand(self, booking: int, sure: bool, typed: bool) -> None:
        if not sure:
            return
        chosen = pick(self.model.bookings, booking)
        allowed = self.model.cancel_by_hand(chosen, now())
        words = ("booking", "cancel", chosen.id)
        self._done(allowed, staff_bookings.cancel_booking, (UUID(chosen.id),), typed, words)
        self._left(allowed, ("booking.cancel", "booking", UUID(chosen.id)))

    @precondition(lambda self: self.model.bookings)
    @rule(booking=NUMBERS, status=st.sampled_from(("checked_in", "no_show", "confirmed")), typed=TYPED)
    def mark(self, booking: int, status: Any, typed: bool) -> None:
        chosen = pick(self.model.bookings, booking)
        before = chosen.status
        allowed = self.model.mark(chosen, status, now())
        typed = typed and (before, status) == ("confirmed", "checked_in")
        self._done(
            allowed,
            staff_bookings.mark,
            (UUID(chosen.id), status),
            typed,
            ("booking", "check-in", chosen.id),
        )
        actions = {
            ("confirmed", "checked_in"): "booking.check_in",
            ("checked_in", "confirmed"): "booking.check_in_undone",
            ("confirmed", "no_show"): "booking.no_show",
            ("no_show", "checked_in"): "booking.no_show_undone",
        }
        self._left(allowed, (actions.get((before, status), ""), "booking", UUID(chosen.id)))

    @precondition(lambda self: self.model.memberships)
    @rule(membership=NUMBERS, typed=TYPED)
    def pause_or_resume(self, membership: int, typed: bool) -> None:
        chosen = pick(list(self.model.memberships.values()), membership)
        if chosen.status == "paused":
            allowed = self.model.resume(chosen, now())
            words = ("membership", "resume", chosen.id)
            self._done(allowed, memberships.resume, (chosen.id,), typed, words)
            self._left(allowed, ("membership.resume", "membership", chosen.id))
            return
        allowed = self.model.pause(chosen, now())
        self._done(allowed, memberships.pause, (chosen.id, Pause()), typed, ("membership", "pause", chosen.id))
        self._left(allowed, ("membership.pause", "membership", chosen.id))


class StaffSteps(DeskSteps):
    """Everything else that staff do."""

    @rule(class_=NUMBERS, typed=TYPED)
    def hide_or_show(self, class_: int, typed: bool) -> None:
        chosen = self._class(class_)
        visible = not chosen.visible
        allowed = self.model.change_class(chosen, now(), visible, booking_model.minutes(0))
        words = ("class", "change", chosen.id, "--studio", self.slug, "--visible" if visible else "--hidden")
        self._done(allowed, classes.change, (chosen.id, Given({"visible": visible})), typed, words)
        self._left(allowed, ("class.change", "class", chosen.id))

    @rule(class_=NUMBERS, passed=st.sampled_from((-60, -30, 30, 120)), sure=RARELY)
    def change_time(self, class_: int, passed: int, sure: bool) -> None:
        if not sure:
            return
        chosen = self._class(class_)
        times = {"start_time": chosen.start, "end_time": chosen.end}
        given = {name: (value + booking_model.minutes(passed)).isoformat() for name, value in times.items()}
        allowed = self.model.change_class(chosen, now(), chosen.visible, booking_model.minutes(passed))
        self._done(allowed, classes.change, (chosen.id, Given(given)))
        self._left(allowed, ("class.change", "class", chosen.id))

    @rule(class_=NUMBERS, member=NUMBERS, join=st.booleans(), override=st.booleans(), typed=TYPED)
    def book_by_hand(self, class_: int, member: int, join: bool, override: bool, typed: bool) -> None:
        chosen, who = self._class(class_), self._member(member)
        made = self.model.book_by_hand(chosen, who, join, override, now())
        wanted = desk.StaffBooking(chosen.id, who, join, None, Override(override, "Asked." if override else None))
        options = [*(["--waitlist"] if join else []), *(["--override", "--reason", "Asked."] if override else [])]
        words = ("booking", "create", "--class", chosen.id, "--member", who, *options, "--json")
        done = self._done(made is not None, desk.book_for_member, (wanted,), typed, words)
        if made is not None:
            made.id = json.loads(self.app_thread.printed)["id"] if typed else done.booking["id"]
        self._left(made is not None, ("booking.create", "booking", UUID(made.id) if made else None))

    @precondition(lambda self: self.model.bookings)
    @rule(booking=NUMBERS, class_=NUMBERS, override=st.booleans())
    def move_by_hand(self, booking: int, class_: int, override: bool) -> None:
        chosen, other = pick(self.model.bookings, booking), self._class(class_)
        made = self.model.move_by_hand(chosen, other, override, now())
        wanted = desk.Move(UUID(chosen.id), other.id, False, None, Override(override, "Asked." if override else None))
        done = self._done(made is not None, desk.move_booking, (wanted,))
        if made is not None:
            made.id = done.booked.booking["id"]
        old: Entry = ("booking.move", "booking", UUID(chosen.id))
        self._left(made is not None, old, ("booking.create", "booking", UUID(made.id) if made else None))

    # Memberships and sales

    @precondition(lambda self: self.model.memberships)
    @rule(membership=NUMBERS, change=st.sampled_from((-2, -1, 0, 1, 3)), typed=TYPED)
    def adjust_credits(self, membership: int, change: int, typed: bool) -> None:
        chosen = pick(list(self.model.memberships.values()), membership)
        allowed = self.model.adjust_credits(chosen, change, now())
        sign = "--take" if change < 0 else "--add"
        words = ("membership", "credits", chosen.id, sign, abs(change), "--reason", "A gift.")
        arguments = (chosen.id, change, "A gift.")
        self._done(allowed, memberships.adjust_credits, arguments, typed and change != 0, words)
        self._left(allowed, ("membership.credits", "membership", chosen.id))

    @precondition(lambda self: self.model.memberships)
    @rule(membership=NUMBERS, sure=RARELY)
    def end_membership(self, membership: int, sure: bool) -> None:
        if not sure:
            return
        chosen = pick(list(self.model.memberships.values()), membership)
        allowed = self.model.end_membership(chosen, now())
        ends = self._at_once(memberships.cancel)
        self._done(allowed, ends, (chosen.id,))
        self._left(allowed, ("membership.cancel", "membership", chosen.id))

    @staticmethod
    def _at_once(flow: Callable[..., Any]) -> Callable[..., Any]:
        return lambda connection, access, row_id: flow(connection, access, row_id, at_period_end=False)

    @rule(member=NUMBERS, sure=st.sampled_from((False, False, True)))
    def sell(self, member: int, sure: bool) -> None:
        if not sure:
            return
        who = self._member(member)
        allowed = who not in self.model.erased
        sold = self._done(allowed, purchases.sell, (Order(who, self.sold_product),))
        if not allowed:
            self._left(False)
            return
        state = sold.sale.membership
        self.model.memberships[sold.membership_id] = booking_model.Membership(
            sold.membership_id, who, "active", CREDITS_SOLD, state.started_at, None, None
        )
        entries = [("purchase", sold.purchase_id), ("membership", sold.membership_id)]
        self._left(True, *[("membership.sell", kind, row_id) for kind, row_id in entries])

    @rule(fee=NUMBERS)
    def waive_fee(self, fee: int) -> None:
        fees = self.app_thread.fetch(
            "select id, status from purchases where studio_id = $1 and product_type = 'fee' order by id", self.studio_id
        )
        if not fees:
            return
        chosen = pick(fees, fee)
        allowed = chosen["status"] == "pending"
        self._done(allowed, purchases.waive_fee, (chosen["id"], "A mistake."))
        self._left(allowed, ("fee.waive", "purchase", chosen["id"]))

    # Members

    @rule(member=NUMBERS, suspended=st.booleans(), typed=TYPED)
    def suspend(self, member: int, suspended: bool, typed: bool) -> None:
        who = self._member(member)
        allowed = self.model.suspend(who, suspended)
        flow, verb = (members.suspend, "suspend") if suspended else (members.unsuspend, "unsuspend")
        self._done(allowed, flow, (who,), typed, ("member", verb, who))
        self._left(allowed, (f"member.{verb}", "member", who))

    @rule(member=NUMBERS, name=st.sampled_from(("Ada", "Bo", "Chi")), typed=TYPED)
    def rename(self, member: int, name: str, typed: bool) -> None:
        who = self._member(member)
        (row,) = self.app_thread.fetch(
            "select first_name from members where studio_id = $1 and id = $2", self.studio_id, who
        )
        allowed = who not in self.model.erased
        words = ("member", "change", who, "--first-name", name)
        self._done(allowed, members.change, (who, {"first_name": name}), typed, words)
        self._left(allowed and row["first_name"] != name, ("member.change", "member", who))

    @rule(member=NUMBERS, typed=TYPED)
    def note(self, member: int, typed: bool) -> None:
        who = self._member(member)
        allowed = who not in self.model.erased
        self._done(allowed, members.add_note, (who, "Bad knee."), typed, ("member", "note", who, "Bad knee."))
        self._left(allowed, ("member.note", "member", who))

    @rule(member=NUMBERS, sure=RARELY)
    def erase(self, member: int, sure: bool) -> None:
        if not sure:
            return
        who = self._member(member)
        allowed = self.model.erase(who, now())
        self._done(allowed, erase.erase, (who,))
        self._left(allowed, ("member.erase", "member", who), redacted=True)

    @precondition(lambda self: len(self.model.suspended) > 2)
    @rule(kept=NUMBERS, merged=NUMBERS, sure=RARELY)
    def merge(self, kept: int, merged: int, sure: bool) -> None:
        if not sure:
            return
        one, two = self._member(kept), self._member(merged)
        suspended, names = self.model.suspended[one], self._notes(one, two)
        allowed = self.model.merge(one, two)
        self._done(allowed, merge.merge, (one, two))
        entries: list[Entry] = [("member.merge", "member", two)]
        if allowed and (names or self.model.suspended[one] != suspended):
            entries.append(("member.merge", "member", one))
        self._left(allowed, *entries)
        if allowed:  # nothing can be sent again for somebody who is not there any more
            self.sent = [each for each in self.sent if str(two) not in str(each.body)]

    def _notes(self, one: UUID, two: UUID) -> bool:
        """Whether the kept member's row changes: by the duplicate's notes."""
        query = "select staff_notes from members where studio_id = $1 and id = $2"
        rows = self.app_thread.fetch(query, self.studio_id, two)
        return one != two and bool(rows[0]["staff_notes"])
