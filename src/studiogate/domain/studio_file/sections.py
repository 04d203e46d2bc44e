"""Every section of the file: the names and types of the API, with additions.

An absent member and a null one both mean the default. If a row already exists, the values that the system maintains
are kept (``created_at``, ``booking_source``, a membership's credits and ``state_version``); everything else is
replaced by the values in the file.
"""

from collections.abc import Iterator

from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.catalog import PRICES, PRODUCTS, PURCHASES
from studiogate.domain.studio_file.columns import CREATED_AT, ID, NAME, TEXT
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.people import LEADS, MEMBERS, MEMBERSHIPS
from studiogate.domain.studio_file.rows import Section, Values, optional, required
from studiogate.domain.studio_file.schedule import CLASS_TYPES, CLASSES, INSTRUCTORS, LOCATIONS, ROOMS, SPOTS, STUDIO
from studiogate.domain.studio_file.values import Setting

__all__ = ["PRICES", "SECTIONS", "SECTION_BY_NAME", "SPOTS", "STUDIO"]

FORMS = Section(
    "forms",
    (
        ID,
        required("title", NAME),
        required("slug", v.slug),
        optional("description", TEXT),
        optional("fields", v.form_fields, "[]"),
        optional("settings", v.form_settings, "{}"),
        optional("status", v.one_of(("draft", "published", "archived")), "draft"),
    ),
    frozenset({"version"}),
)


def _waiting(values: Values, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["status"] == BookingStatus.WAITLISTED and values["class_spot_id"] is not None:
        yield ("class_spot_id",), "must be null: a waitlisted booking holds no spot"


BOOKINGS = Section(
    "bookings",
    (
        ID,
        required("class_id", v.identifier),
        required("member_id", v.identifier),
        required("status", v.one_of(BookingStatus)),
        optional("booking_source", v.text(v.MAX_INDEXED, 1)),
        optional("membership_id", v.identifier),
        optional("class_spot_id", v.identifier),
        CREATED_AT,
    ),
    frozenset({"waitlist_position", "updated_at"}),
    _waiting,
)

SECTIONS = (
    LOCATIONS,
    ROOMS,
    CLASS_TYPES,
    INSTRUCTORS,
    CLASSES,
    PRODUCTS,
    MEMBERS,
    MEMBERSHIPS,
    PURCHASES,
    LEADS,
    FORMS,
    BOOKINGS,
)

SECTION_BY_NAME = {section.name: section for section in SECTIONS}
