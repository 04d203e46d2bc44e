"""Every section of the file: the names and types of the API, with additions.

A row is a patch: a stored row keeps what the file does not give, and a new row gets the default. Null stands for the
default too. ``docs/studio-file.md`` describes every member.
"""

from collections.abc import Iterator, Mapping

from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.catalog import PRICES, PRODUCTS, PURCHASES
from studiogate.domain.studio_file.columns import ID, RECORD
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.forms import FILES, FORMS, SUBMISSIONS, VERSIONS
from studiogate.domain.studio_file.history import CANCELLATIONS, LEDGER, RENEWALS, SALES, WAITLIST
from studiogate.domain.studio_file.people import EXTERNAL_IDS, LEADS, MEMBERS, MEMBERSHIPS, MERGED_PEOPLE
from studiogate.domain.studio_file.rows import Rule, Section, optional, required
from studiogate.domain.studio_file.schedule import CLASS_TYPES, CLASSES, INSTRUCTORS, LOCATIONS, ROOMS, SPOTS, STUDIO
from studiogate.domain.studio_file.series import CLOSURES, SERIES
from studiogate.domain.studio_file.values import Setting

__all__ = [
    "EVERY_SECTION",
    "EXTERNAL_IDS",
    "FILES",
    "PRICES",
    "SECTIONS",
    "SECTION_BY_NAME",
    "SPOTS",
    "STUDIO",
    "VERSIONS",
]


def _waiting(values: Mapping[str, object], _setting: Setting) -> Iterator[tuple[Loc, str]]:
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
        # History, like that of ``history.py``.
        optional("credits_taken", v.whole(0, 1), 0),
        optional("policy", documents.json_object),
        optional("promoted_at", v.instant),
        *RECORD,
    ),
    frozenset({"waitlist_position", "updated_at"}),
    (Rule(("status", "class_spot_id"), _waiting),),
)

SECTIONS = (
    LOCATIONS,
    ROOMS,
    CLASS_TYPES,
    INSTRUCTORS,
    SERIES,
    CLOSURES,
    CLASSES,
    PRODUCTS,
    MEMBERS,
    MEMBERSHIPS,
    PURCHASES,
    LEADS,
    FORMS,
    SUBMISSIONS,
    BOOKINGS,
    WAITLIST,
    LEDGER,
    CANCELLATIONS,
    SALES,
    RENEWALS,
    MERGED_PEOPLE,
    EXTERNAL_IDS,
)

SECTION_BY_NAME = {section.name: section for section in SECTIONS}
# By name: the sections and those nested in them, without the studio.
EVERY_SECTION = SECTION_BY_NAME | {each.name: each for section in SECTIONS for each in section.nested}
