"""The textbook: three of the endpoints as a good tutorial would write them, with FastAPI, SQLAlchemy's ORM and response
models. Tables and responses are the product's; idempotency, events, waitlists, limits and logs are left out.
"""

import hashlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict
from sqlalchemy import DateTime, ForeignKey, ForeignKeyConstraint, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, joinedload, mapped_column, relationship

from bench.server import serve
from studiogate.domain.keys import SECRET_LENGTH


class Base(DeclarativeBase):
    type_annotation_map = {dict[str, Any]: JSONB, datetime: DateTime(timezone=True)}  # noqa: RUF012  SQLAlchemy's own way


class Studio(Base):
    __tablename__ = "studios"
    studio_id: Mapped[UUID] = mapped_column(primary_key=True)
    policy: Mapped[dict[str, Any]]


class CredentialSecret(Base):
    __tablename__ = "credential_secrets"
    studio_id: Mapped[UUID] = mapped_column(primary_key=True)
    credential_id: Mapped[str] = mapped_column(primary_key=True)
    secret_hash: Mapped[bytes] = mapped_column(primary_key=True)


class Class(Base):
    __tablename__ = "classes"
    studio_id: Mapped[UUID] = mapped_column(ForeignKey("studios.studio_id"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    title: Mapped[str]
    description: Mapped[str | None]
    class_type_id: Mapped[UUID | None]
    location_id: Mapped[UUID | None]
    room_id: Mapped[UUID | None]
    instructor_id: Mapped[UUID | None]
    start_time: Mapped[datetime]
    end_time: Mapped[datetime]
    capacity: Mapped[int]
    booked_count: Mapped[int]
    waitlist_count: Mapped[int]
    allow_waitlist: Mapped[bool]
    spot_selection_mode: Mapped[str | None]
    class_status: Mapped[str] = mapped_column("status")
    visible: Mapped[bool]
    updated_at: Mapped[datetime]
    studio: Mapped[Studio] = relationship(lazy="raise")

    @property
    def available_count(self) -> int:
        return max(self.capacity - self.booked_count, 0)

    @property
    def status(self) -> str:
        now = datetime.now(UTC)
        if self.class_status == "cancelled" or now < self.start_time:
            return self.class_status
        return "in_progress" if now < self.end_time else "completed"

    @property
    def booking_opens_at(self) -> datetime | None:
        return self._minutes_before("booking_opens_minutes_before", None)

    @property
    def booking_closes_at(self) -> datetime | None:
        return self._minutes_before("booking_closes_minutes_before", 0)

    @property
    def cancellation_cutoff_at(self) -> datetime | None:
        return self._minutes_before("cancellation_window_minutes", 720)

    def _minutes_before(self, member: str, default: int | None) -> datetime | None:
        minutes = self.studio.policy.get(member, default)
        return None if minutes is None else self.start_time - timedelta(minutes=minutes)


class Member(Base):
    __tablename__ = "members"
    studio_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    suspended: Mapped[bool]


class Membership(Base):
    __tablename__ = "memberships"
    __table_args__ = (ForeignKeyConstraint(["studio_id", "member_id"], ["members.studio_id", "members.id"]),)
    studio_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    member_id: Mapped[UUID]
    status: Mapped[str]
    credits_remaining: Mapped[int | None]


class Booking(Base):
    __tablename__ = "bookings"
    studio_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    class_id: Mapped[UUID]
    member_id: Mapped[UUID]
    location_id: Mapped[UUID | None]
    start_time: Mapped[datetime]
    end_time: Mapped[datetime]
    status: Mapped[str]
    booking_source: Mapped[str | None]
    class_spot_id: Mapped[UUID | None]
    membership_id: Mapped[UUID | None]
    credits_taken: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(default=lambda: datetime.now(UTC))
    updated_at: Mapped[datetime] = mapped_column(default=lambda: datetime.now(UTC))


class FromOrm(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class ClassOut(FromOrm):
    id: UUID
    object: Literal["class"] = "class"
    title: str
    description: str | None
    class_type_id: UUID | None
    location_id: UUID | None
    room_id: UUID | None
    instructor_id: UUID | None
    start_time: datetime
    end_time: datetime
    capacity: int
    booked_count: int
    available_count: int
    waitlist_count: int
    allow_waitlist: bool
    spot_selection_mode: str | None
    status: str
    visible: bool
    booking_opens_at: datetime | None
    booking_closes_at: datetime | None
    cancellation_cutoff_at: datetime | None
    updated_at: datetime


class ClassList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ClassOut]
    has_more: bool
    next_cursor: UUID | None


class BookingIn(BaseModel):
    class_id: UUID
    member_id: UUID


class BookingOut(FromOrm):
    id: UUID
    object: Literal["booking"] = "booking"
    class_id: UUID
    member_id: UUID
    status: str
    booking_source: str | None
    class_spot_id: UUID | None
    waitlist_position: int | None = None
    created_at: datetime
    updated_at: datetime


app = FastAPI()


async def session(request: Request) -> AsyncIterator[AsyncSession]:
    async with request.app.state.sessions() as opened:
        yield opened


Session = Annotated[AsyncSession, Depends(session)]


async def studio_of_key(db: Session, x_service_key: Annotated[str, Header()]) -> UUID:
    """Return the key's studio, looked up on every request as tutorials do."""
    _, _, credential_id, secret = x_service_key.split("_")
    digest = hashlib.sha256(secret[:SECRET_LENGTH].encode()).digest()
    found = await db.scalar(
        select(CredentialSecret).where(
            CredentialSecret.credential_id == credential_id, CredentialSecret.secret_hash == digest
        )
    )
    if found is None:
        raise HTTPException(401, "Unknown key")
    return found.studio_id


StudioId = Annotated[UUID, Depends(studio_of_key)]


@app.get("/partner/v1/classes/{class_id}", response_model=ClassOut)
async def read_class(class_id: UUID, db: Session, studio_id: StudioId) -> Class:
    found = await db.scalar(
        select(Class).where(Class.studio_id == studio_id, Class.id == class_id).options(joinedload(Class.studio))
    )
    if found is None:
        raise HTTPException(404, "No such class")
    return found


@app.get("/partner/v1/classes", response_model=ClassList)
async def list_classes(
    db: Session, studio_id: StudioId, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> dict[str, Any]:
    query = select(Class).where(Class.studio_id == studio_id).order_by(Class.start_time, Class.id).limit(limit + 1)
    found = list(await db.scalars(query.options(joinedload(Class.studio))))
    has_more = len(found) > limit
    data = found[:limit]
    return {"data": data, "has_more": has_more, "next_cursor": data[-1].id if has_more else None}


@app.post("/partner/v1/bookings", status_code=201, response_model=BookingOut)
async def book(wanted: BookingIn, db: Session, studio_id: StudioId) -> Booking:
    class_ = await db.scalar(
        select(Class).where(Class.studio_id == studio_id, Class.id == wanted.class_id).with_for_update()
    )
    member = await db.get(Member, (studio_id, wanted.member_id))
    if class_ is None or member is None:
        raise HTTPException(404, "No such class or member")
    if member.suspended or class_.class_status != "scheduled" or class_.start_time <= datetime.now(UTC):
        raise HTTPException(409, "Not bookable")
    if class_.booked_count >= class_.capacity:
        raise HTTPException(409, "The class is full")
    twice = select(Booking.id).where(
        Booking.studio_id == studio_id,
        Booking.class_id == class_.id,
        Booking.member_id == member.id,
        Booking.status != "cancelled",
    )
    if await db.scalar(twice) is not None:
        raise HTTPException(409, "Booked already")
    paying = select(Membership).where(
        Membership.studio_id == studio_id, Membership.member_id == member.id, Membership.status == "active"
    )
    membership = await db.scalar(paying.with_for_update())
    if membership is None or not membership.credits_remaining:
        raise HTTPException(409, "No credits")
    membership.credits_remaining -= 1
    class_.booked_count += 1
    booking = Booking(
        studio_id=studio_id,
        class_id=class_.id,
        member_id=member.id,
        location_id=class_.location_id,
        start_time=class_.start_time,
        end_time=class_.end_time,
        status="confirmed",
        booking_source="partner_api",
        membership_id=membership.id,
        credits_taken=1,
    )
    db.add(booking)
    await db.commit()
    return booking


@app.get("/readyz")
async def ready() -> dict[str, str]:
    return {"status": "ok"}


def _open() -> FastAPI:
    # SQLAlchemy's driver takes the socket's folder and port from the same query parameters.
    url = os.environ["STUDIOGATE_DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1)
    engine = create_async_engine(url, pool_size=int(os.environ["STUDIOGATE_POOL_SIZE"]), max_overflow=0)
    app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
    return app


if __name__ == "__main__":
    serve(_open)
