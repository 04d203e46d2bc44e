"""The people who work at the demo studio: every role, some at one location only.

None of them has a password: whoever runs the demo signs in by a one-time link.
"""

from typing import NamedTuple

from studiogate.domain.staff import Role


class Colleague(NamedTuple):
    """``instructor`` is the key of the instructor that an instructor's account belongs to."""

    name: str
    email: str
    role: Role
    locations: tuple[str, ...] = ()
    instructor: str | None = None


OWNER = Colleague("Rosa Lindqvist", "owner@demo.example", Role.OWNER)
MANAGER = Colleague("Theo Marchand", "theo@demo.example", Role.MANAGER)
FRONT_DESK = Colleague("Imogen Clarke", "imogen@demo.example", Role.FRONT_DESK, ("brooklyn",))
STAFF = (
    OWNER,
    MANAGER,
    FRONT_DESK,
    Colleague("Luis Arellano", "luis@demo.example", Role.FRONT_DESK, ("denver",)),
    Colleague("Ana Reyes", "ana@demo.example", Role.INSTRUCTOR, instructor="ana"),
    Colleague("Dele Martin", "dele@demo.example", Role.INSTRUCTOR, instructor="dele"),
    Colleague("Sanjay Rao", "sanjay@demo.example", Role.DEVELOPER),
)
