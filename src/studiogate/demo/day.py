"""The day on which the demo studio is loaded: who acts, and the rows of the studio file that they act on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.demo import moment
from studiogate.demo.forms import INTAKE
from studiogate.demo.history import LATE_CANCEL_FEE
from studiogate.demo.memberships import membership_id
from studiogate.demo.people import Person, by_name, people
from studiogate.demo.purchases import socks_id
from studiogate.demo.schedule import Session
from studiogate.demo.seed import Seed
from studiogate.demo.studio import TIMEZONE
from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection


@dataclass(frozen=True)
class Day:
    connection: Connection
    seed: Seed
    now: datetime
    desk: Access
    manager: Access
    partner: Access

    @cached_property
    def _people(self) -> dict[str, Person]:
        return by_name(people(self.seed))

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(TIMEZONE)).date()

    def id(self, kind: str, *key: object) -> UUID:
        """The id of a row of the studio file."""
        return UUID(self.seed.uuid(kind, *key))

    def member(self, name: str) -> UUID:
        return UUID(self._people[name].id)

    def intake(self, name: str) -> UUID:
        """What this person sent by the form that instructors read."""
        return self.id("submission", INTAKE, self._people[name].email)

    def membership(self, name: str) -> UUID:
        return UUID(membership_id(self.seed, self._people[name]))

    def session(self, begins: int) -> UUID:
        """The class of the day that begins so many minutes from now."""
        return UUID(moment.around(self.seed, self.now)[begins].id)

    @property
    def in_denver(self) -> UUID:
        return UUID(moment.denver_session(self.seed, self.now).id)

    def booking(self, name: str, class_id: UUID) -> UUID:
        return self.id("booking", class_id, self.member(name))

    def late_fee(self, name: str) -> UUID:
        """What leaving a past class late cost this person."""
        past: Session = moment.past(self.seed, self.now)[moment.LEFT_LATE[name]]
        return self.id("purchase", LATE_CANCEL_FEE, self.booking(name, UUID(past.id)))

    def socks(self, name: str) -> UUID:
        """This person's purchase of grip socks."""
        return UUID(socks_id(self.seed, self._people[name], self.today))


Step = Callable[[Day], Awaitable[object]]
"""One thing that somebody does; a refusal as its result says that it could not be done."""
