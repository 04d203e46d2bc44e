"""Request and response bodies of /webhook-endpoints."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from studiogate import clock
from studiogate.api.framework.idempotency import Partial
from studiogate.api.framework.operations import Instant, Uuid, Wire, described, open_enum
from studiogate.api.framework.params import DateTime, Text
from studiogate.api.framework.route import Caller, JudgedByStudio
from studiogate.api.resources.events import EVENT_PATTERNS, Pattern
from studiogate.domain.events import EVERYTHING, EventType, types_of
from studiogate.domain.refusals import Fault
from studiogate.storage.webhooks.deliveries import ReplayedEvents

_EXAMPLE_ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
_EXAMPLE_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"  # noqa: S105 # nosec B105 # Standard Webhooks' own


Url = Annotated[Text, StringConstraints(min_length=1, max_length=2048)]
EventTypes = Annotated[
    list[Pattern], Field(min_length=1, max_length=50), AfterValidator(lambda value: list(dict.fromkeys(value)))
]
KnownPattern = Annotated[str, open_enum(*EVENT_PATTERNS)]
DisabledReason = Annotated[str, open_enum("DisabledReason", "gone", "failing")]
DeliveryStatus = Annotated[str, open_enum("DeliveryStatus", "pending", "succeeded", "failed", "withheld")]
EVENT_TYPES_TEXT = (
    "Which events are sent: types, families such as `booking.*`, or `*` for all. The key must have the scope that each "
    "of them needs."
)
Description = Annotated[Text, StringConstraints(max_length=500)]


class WithUrl(JudgedByStudio):
    """A body with a URL, which only the rules of this installation and a resolver can tell right from wrong."""

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, object], body: object) -> list[Fault]:
        url = body.get("url") if isinstance(body, dict) else None
        return await url_faults(caller, url) if isinstance(url, str) else []


async def url_faults(caller: Caller, url: str) -> list[Fault]:
    """Return why this URL cannot be called, or nothing if it can."""
    fault = await caller.runtime.resolver.fault_of(url)
    return [] if fault is None else [Fault(("body", "url"), "webhook_url", f"The URL {fault}")]


class WebhookEndpointCreate(WithUrl):
    """An endpoint to create."""

    url: Url = described("Where events are sent: https only.", "https://partner.example/studiogate")
    event_types: EventTypes = Field(
        [EVERYTHING], description=EVENT_TYPES_TEXT, examples=[["booking.*", "class.cancelled"]]
    )
    description: Description | None = Field(None, description="Your own note.", examples=["Production"])
    enabled: bool = Field(True, strict=True, description="Whether events are sent.")


class WebhookEndpointUpdate(Partial, WithUrl):
    """At least one field; an absent one stays."""

    url: Url = Field(
        default_factory=str,
        description="Where events are sent: https only.",
        examples=["https://partner.example/studiogate"],
    )
    event_types: EventTypes = Field(default_factory=list, description=EVENT_TYPES_TEXT, examples=[["booking.*"]])
    description: Description | None = Field(None, description="Your own note.", examples=["Production"])
    enabled: bool = Field(
        default_factory=bool, strict=True, description="Whether events are sent. True also forgets why it was disabled."
    )


class WebhookReplayRequest(BaseModel):
    """Which events to deliver again."""

    model_config = ConfigDict(extra="forbid")

    since: DateTime = described("Events from this instant on, inclusive.", "2026-11-15T08:00:00Z")
    until: DateTime | None = Field(
        None, description="Events before this instant; until now where it is absent.", examples=["2026-11-15T09:00:00Z"]
    )
    types: EventTypes | None = Field(
        None,
        description="Which types; those that the endpoint subscribes to where it is absent.",
        examples=[["booking.*"]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> "WebhookReplayRequest":
        if self.until is not None and self.since > self.until:
            raise PydanticCustomError("time_order", "since should not be after until")
        return self

    def wanted(self) -> ReplayedEvents:
        types = None if self.types is None else [each.value for each in types_of(self.types)]
        until = self.until or clock.now() + timedelta(minutes=1)
        return ReplayedEvents(self.since, until, types)


class WebhookEndpoint(Wire):
    """A URL to which events are sent."""

    id: Uuid = Field(examples=[_EXAMPLE_ID])
    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    url: str = described("Where events are sent.", "https://partner.example/studiogate")
    event_types: list[KnownPattern] = described("Which events are sent.", ["booking.*"])
    description: str | None = described("Your own note.", "Production")
    enabled: bool = described("Whether events are sent.", True)
    disabled_reason: DisabledReason | None = described(
        "`gone`: it answered 410. `failing`: it failed for five days.", None
    )
    disabled_at: Instant | None = described("When it was disabled.", None)
    failing_since: Instant | None = described("No success since.", None)
    previous_secret_expires_at: Instant | None = described("Until then the secret before the rotation signs too.", None)
    created_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class WebhookEndpointWithSecret(WebhookEndpoint):
    """The endpoint with its signing secret, which is shown this once."""

    secret: str = described("Standard Webhooks; keep it.", _EXAMPLE_SECRET)


class WebhookAttempt(Wire):
    """One attempt to deliver."""

    number: int = described("1 for the first attempt.", 1)
    attempted_at: Instant = described("When it began.", "2026-11-15T08:00:00+00:00")
    duration_ms: int = described("How long it took, in milliseconds.", 87)
    status: int | None = described("The HTTP status; null where there was no answer.", 503)
    error: str | None = described("Why there was no answer.", None)
    response: str | None = described("The first bytes of the answer.", "busy")


class WebhookDelivery(Wire):
    """An event on its way to an endpoint."""

    id: Uuid = Field(examples=[_EXAMPLE_ID])
    object: Literal["webhook_delivery"] = "webhook_delivery"
    endpoint_id: Uuid = described("The endpoint.", _EXAMPLE_ID)
    event_id: Uuid | None = described("The event; null for a test.", _EXAMPLE_ID)
    event_type: EventType | str = described("The event's type.", "booking.created")
    status: DeliveryStatus = described("`withheld`: the endpoint's key may no longer see the event.", "pending")
    next_attempt_at: Instant | None = described(
        "When it is tried next; null once it is over.", "2026-11-15T08:05:00+00:00"
    )
    attempts: list[WebhookAttempt] = Field(description="All attempts so far.")
    created_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class WebhookReplay(Wire):
    """How many deliveries were made."""

    object: Literal["webhook_replay"] = "webhook_replay"
    endpoint_id: Uuid = described("The endpoint.", _EXAMPLE_ID)
    deliveries: int = described("How many events are delivered again.", 42)
    has_more: bool = described(
        "Whether the limit of one replay was reached: about 1,000 events, or the free part of the queue.", False
    )
    next_since: Instant | None = described("The `since` of the next replay, if there may be more.", None)


class EventRedelivery(Wire):
    """How many endpoints get the event again."""

    object: Literal["event_redelivery"] = "event_redelivery"
    event_id: Uuid = described("The event.", _EXAMPLE_ID)
    deliveries: int = described("To how many endpoints.", 1)
