"""Every section of the file: the names and types of the API, with additions.

A row is a patch: a stored row keeps what the file does not give, and a new row gets the default. Null stands for the
default too. ``docs/studio-file.md`` describes every member.
"""

from studiogate.domain.fields.catalog import PRICES, PRODUCTS, PURCHASES
from studiogate.domain.fields.forms import FILES, FORMS, SUBMISSIONS, VERSIONS
from studiogate.domain.fields.history import BOOKINGS, CANCELLATIONS, LEDGER, RENEWALS, SALES, WAITLIST
from studiogate.domain.fields.people import EXTERNAL_IDS, LEADS, MEMBERS, MEMBERSHIPS, MERGED_PEOPLE
from studiogate.domain.fields.schedule import (
    CLASS_TYPES,
    CLASSES,
    CLOSURES,
    INSTRUCTORS,
    LOCATIONS,
    ROOMS,
    SERIES,
    SPOTS,
    STUDIO,
)

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
