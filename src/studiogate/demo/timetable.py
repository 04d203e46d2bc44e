"""The weekly timetable: what repeats, in the local time of each location.

All times lie between 06:00 and 21:00, where no clock is ever set forward or back.
"""

from dataclasses import dataclass
from datetime import time

MON, TUE, WED, THU, FRI, SAT, SUN = range(7)


@dataclass(frozen=True)
class Slot:
    key: str
    location: str
    days: tuple[int, ...]
    starts: time
    minutes: int
    room: str
    class_type: str
    title: str
    instructor: str | None
    capacity: int
    spots: str | None = None
    description: str | None = None
    allow_waitlist: bool = True
    visible: bool = True
    # Sought after: full within days of opening, with people waiting.
    sought_after: bool = False
    # On the slot's first day of every third week the class is cancelled.
    often_cancelled: bool = False
    policy: dict[str, object] | None = None


BROOKLYN = (
    Slot("sunrise-reformer", "brooklyn", (MON, WED, FRI), time(7), 50, "bk-reformer", "reformer-flow",
         "Sunrise Reformer", "maya", 10, spots="required"),
    Slot("commuter-ride", "brooklyn", (TUE, THU), time(6, 45), 45, "bk-cycle", "cycle",
         "Commuter Ride", "dev", 12, spots="required", description="Showered and at your desk by nine."),
    Slot("lunch-mat", "brooklyn", (MON, TUE, WED, THU, FRI), time(12, 15), 45, "bk-main", "mat",
         "Lunch Hour Mat", "grace", 14),
    Slot("open-reformer", "brooklyn", (TUE,), time(14), 60, "bk-reformer", "reformer-flow",
         "Open Reformer", None, 8, spots="required", allow_waitlist=False,
         description="Self-guided practice. A member of staff is in the building, not in the room."),
    Slot("instructor-practice", "brooklyn", (THU,), time(14), 60, "bk-main", "strength",
         "Instructor Practice Hour", "imani", 12, allow_waitlist=False, visible=False),
    Slot("after-work-reformer", "brooklyn", (TUE, THU), time(18), 55, "bk-reformer", "reformer-flow",
         "After Work Reformer", "tomas", 10, spots="required", sought_after=True),
    Slot("evening-strength", "brooklyn", (MON, WED), time(18, 15), 55, "bk-main", "strength",
         "Heavy Mondays & Wednesdays", "imani", 12, often_cancelled=True),
    Slot("neon-ride", "brooklyn", (WED,), time(18, 30), 45, "bk-cycle", "cycle",
         "Neon Ride", "dev", 12, spots="optional", sought_after=True, description="Lights off, UV on, volume up."),
    Slot("candlelight", "brooklyn", (TUE, THU, SUN), time(19, 15), 60, "bk-main", "restorative",
         "Candlelight Restore", "noor", 14, allow_waitlist=False),
    Slot("friday-aerial", "brooklyn", (FRI,), time(17, 30), 60, "bk-main", "aerial",
         "Friday Aerial", "sofia", 8),
    Slot("saturday-flow", "brooklyn", (SAT,), time(8, 30), 60, "bk-main", "vinyasa",
         "Saturday Flow", "noor", 16),
    Slot("weekend-reformer", "brooklyn", (SAT,), time(10), 50, "bk-reformer", "reformer-flow",
         "Weekend Reformer", "maya", 10, spots="required", sought_after=True),
    Slot("first-reformer", "brooklyn", (SAT,), time(11, 30), 50, "bk-reformer", "reformer-foundations",
         "Your First Reformer", "tomas", 8, spots="optional", description="Never been? Start here."),
    Slot("long-ride", "brooklyn", (SUN,), time(9), 60, "bk-cycle", "cycle",
         "The Long Ride", "dev", 12, spots="optional"),
    Slot("barre-breathe", "brooklyn", (SUN,), time(10, 30), 50, "bk-main", "barre",
         "Barre & Breathe", "grace", 14),
    Slot("reformer-clinic", "brooklyn", (SUN,), time(13), 60, "bk-reformer", "reformer-foundations",
         "Reformer Clinic", "maya", 6, spots="optional", policy={"cancellation_window_minutes": 2880},
         description="Six people, one hour, your questions. Please give two days' notice if you cannot come."),
)  # fmt: skip

DENVER = (
    Slot("dawn-reformer", "denver", (TUE, THU), time(6, 30), 50, "dv-loft", "reformer-foundations",
         "Dawn Reformer", "hana", 8, spots="optional"),
    Slot("altitude-strength", "denver", (MON, WED, FRI), time(7), 50, "dv-ridge", "strength",
         "Altitude Strength", "caleb", 12),
    Slot("noon-mobility", "denver", (MON, WED, FRI), time(12), 45, "dv-ridge", "mobility",
         "Noon Reset", "priya", 14, often_cancelled=True),
    Slot("front-range-reformer", "denver", (MON, WED), time(17, 30), 50, "dv-loft", "reformer-flow",
         "Front Range Reformer", "hana", 7, spots="required", sought_after=True),
    Slot("sunset-vinyasa", "denver", (TUE, THU), time(18), 60, "dv-ridge", "vinyasa",
         "Sunset Vinyasa", "priya", 14),
    Slot("friday-unwind", "denver", (FRI,), time(17, 30), 60, "dv-ridge", "restorative",
         "Friday Unwind", "priya", 14, allow_waitlist=False),
    Slot("saturday-reformer", "denver", (SAT,), time(9), 50, "dv-loft", "reformer-flow",
         "Saturday Reformer", "hana", 7, spots="required", sought_after=True),
    Slot("mile-high-barre", "denver", (SAT,), time(10, 30), 50, "dv-ridge", "barre",
         "Mile High Barre", "willa", 14),
    Slot("slow-sunday", "denver", (SUN,), time(10), 60, "dv-ridge", "mobility",
         "Slow Sunday", "willa", 14),
)  # fmt: skip

TIMETABLE = BROOKLYN + DENVER
