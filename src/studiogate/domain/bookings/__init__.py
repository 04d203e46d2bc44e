"""The booking rules, as pure functions over facts: no I/O, no clock, no HTTP. A flow reads the facts while it holds
the class's lock, calls these functions, and records the decision. The docstring of each file records the decisions
behind its rules.

Booking (``decide_booking``): every failing rule, in this order; if none fails, confirmed or waitlisted.

    the class       cancelled · not visible · started · window not open (before opens_at) · closed (from closes_at)
    the member      already booked or waitlisted · suspended · waiver missing
    entitlement     an active, current membership that covers the class, is still valid at its start and has a credit:
                    unlimited first, then the credits that expire first                  (entitlement)
    the day         max_bookings_per_day counts seats held in other classes of the studio's day, not waitlist places
    overlap         half-open, with confirmed and checked-in bookings in other classes
    the spot        unknown, missing or taken, if a seat is open
    the seat        class_full, or when joining the waitlist: waitlist_not_allowed, waitlist_full"""
