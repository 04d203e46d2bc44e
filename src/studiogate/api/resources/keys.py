"""GET /key: what the caller's key may do."""

from typing import Annotated, Literal

from fastapi import APIRouter

from studiogate.api.framework.operations import Instant, Uuid, Wire, described, operation
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.storage import keys as storage
from studiogate.web.response import Answer

Anybody = Annotated[Caller, needs()]
routes = APIRouter(route_class=LeanRoute, tags=["keys"])


class ServiceKey(Wire):
    """The key, without its secret."""

    id: str = described("The 8 characters of the key between its kind and its secret.", "3kTq8ZpA")
    object: Literal["service_key"] = "service_key"
    name: str = described("What the studio called the key.", "Booking widget")
    scopes: list[Scope | str] = described("What the key may do.", ["bookings:read", "bookings:write", "schedule:read"])
    location_ids: list[Uuid] | None = described(
        "The permitted locations; null: all of them.", ["5e0c7a3e-8f5b-5f0e-8a43-0d6d0f6f1c11"]
    )
    test: bool = described("Whether the studio is a test studio.", False)
    expires_at: Instant | None = described("Null: it does not expire.", None)


@routes.get("/key", **operation("Read your key", ServiceKey))
async def read_key(caller: Anybody) -> Answer:
    """What the key that you send is called, and what it may do."""
    return caller.found(await caller.read(storage.read_key))
