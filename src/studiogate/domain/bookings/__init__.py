"""The booking rules, as pure functions over facts: no I/O, no clock, no HTTP. A flow reads the facts while it holds
the class's lock, calls these functions, and records the decision.

    policy          the settings of a studio; studio < location < class type < class; frozen on the booking;
                    overrides are validated before they are loaded
    facts           the input of the rules: class, member, memberships, spots, request, waiting entries
    states          the states of bookings, waitlist entries and classes, and their transitions
    ../instants     minutes before a start, the studio's calendar day, overlap
    ../money        decimal strings with the currency's number of decimals

Booking (``decide_booking``): every failing rule, in this order; if none fails, confirmed or waitlisted.

    the class       cancelled · not visible · started · window not open (before opens_at) · closed (from closes_at)
    the member      already booked or waitlisted · suspended · waiver missing
    entitlement     an active, current membership that covers the class, is still valid at its start and has a credit:
                    unlimited first, then the credits that expire first                  (entitlement)
    the day         max_bookings_per_day counts seats held in other classes of the studio's day, not waitlist places
    overlap         half-open, with confirmed and checked-in bookings in other classes
    the spot        unknown, missing or taken, if a seat is open
    the seat        class_full, or when joining the waitlist: waitlist_not_allowed, waitlist_full

Waitlist (``plan_promotions``): a free seat goes to the first waiting member in join order who passes all of these
rules again except the booking window, in the transaction that frees the seat. An entry that fails stays on the
waitlist, with a skip_reason. Until the promotion cutoff, free seats are reserved for eligible waiting members
(``seats_open_to_newcomers``); after it, anybody can book them.

Cancellation (``decide_cancellation``), by the frozen policy:

    waitlisted            waitlist_left     nothing was charged
    up to the cutoff      standard          the credit is returned
    after it              late              late_action: fee, forfeited credit, both or neither
      just promoted, or
      free ones left      graced            as standard
    by the studio         studio, class_cancelled: as standard, at any time
    after the start       refused to partners

Staff (``decide_staff_booking``, ``decide_staff_promotion``) may override most rules with a reason: ``overrides``.

Attendance (``attendance_refusal``): check-in from 12 hours before the start, no-show from the start; undo at any time.

The docstring of each file records the decisions behind its rules."""
