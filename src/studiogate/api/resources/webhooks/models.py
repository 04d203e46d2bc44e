"""Request and response bodies of /webhook-endpoints."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from studiogate import clock
from studiogate.api.framework.idempotency import Partial
from studiogate.api.framework.operations import Instant, Uuid, Wire
from studiogate.api.framework.params import DateTime, Text
from studiogate.api.framework.route import Caller, JudgedByStudio
from studiogate.api.resources.events import Pattern
from studiogate.domain.events import EVERYTHING, types_of
from studiogate.domain.refusals import Fault
from studiogate.storage.webhooks.deliveries import ReplayedEvents

_EXAMPLE_ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
_EXAMPLE_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"  # noqa: S105 # nosec B105 # Standard Webhooks' own


Url = Annotated[Text, StringConstraints(min_length=1, max_length=2048)]
EventTypes = Annotated[
    list[Pattern], Field(min_length=1, max_length=50), AfterValidator(lambda value: list(dict.fromkeys(value)))
]
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
    url: Url = Field(description="https only.", examples=["https://partner.example/studiogate"])
    event_types: EventTypes = Field([EVERYTHING], examples=[["booking.*", "class.cancelled"]])
    description: Description | None = Field(None, examples=["Production"])
    enabled: bool = Field(True, strict=True)


class WebhookEndpointUpdate(Partial, WithUrl):
    """At least one field; an absent one stays."""

    url: Url = Field(default_factory=str, examples=["https://partner.example/studiogate"])
    event_types: EventTypes = Field(default_factory=list, examples=[["booking.*"]])
    description: Description | None = Field(None, examples=["Production"])
    enabled: bool = Field(default_factory=bool, strict=True, description="True also forgets why it was disabled.")


class WebhookReplayRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    since: DateTime = Field(examples=["2026-11-15T08:00:00Z"])
    until: DateTime | None = Field(None, description="Now, where it is absent.", examples=["2026-11-15T09:00:00Z"])
    types: EventTypes | None = Field(
        None, description="What the endpoint subscribes to, where it is absent.", examples=[["booking.*"]]
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
    id: Uuid = Field(examples=[_EXAMPLE_ID])
    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    url: str = Field(examples=["https://partner.example/studiogate"])
    event_types: list[str] = Field(examples=[["booking.*"]])
    description: str | None = Field(examples=["Production"])
    enabled: bool = Field(examples=[True])
    disabled_reason: Literal["gone", "failing"] | None = Field(
        description="`gone`: it answered 410. `failing`: it failed for five days.", examples=[None]
    )
    disabled_at: Instant | None = Field(examples=[None])
    failing_since: Instant | None = Field(description="No success since.", examples=[None])
    previous_secret_expires_at: Instant | None = Field(
        description="Until then the secret before the rotation signs too.", examples=[None]
    )
    created_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class WebhookEndpointWithSecret(WebhookEndpoint):
    """The endpoint with its signing secret, which is shown this once."""

    secret: str = Field(description="Standard Webhooks; keep it.", examples=[_EXAMPLE_SECRET])


class WebhookAttempt(Wire):
    number: int = Field(examples=[1])
    attempted_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])
    duration_ms: int = Field(examples=[87])
    status: int | None = Field(description="Null where there was no answer.", examples=[503])
    error: str | None = Field(description="Why there was none.", examples=[None])
    response: str | None = Field(description="The first bytes of the answer.", examples=["busy"])


class WebhookDelivery(Wire):
    id: Uuid = Field(examples=[_EXAMPLE_ID])
    object: Literal["webhook_delivery"] = "webhook_delivery"
    endpoint_id: Uuid = Field(examples=[_EXAMPLE_ID])
    event_id: Uuid | None = Field(description="Null for a test.", examples=[_EXAMPLE_ID])
    event_type: str = Field(examples=["booking.created"])
    status: Literal["pending", "succeeded", "failed", "withheld"] = Field(
        description="`withheld`: the endpoint's key may no longer see the event.", examples=["pending"]
    )
    next_attempt_at: Instant | None = Field(examples=["2026-11-15T08:05:00+00:00"])
    attempts: list[WebhookAttempt]
    created_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class WebhookReplay(Wire):
    """How many deliveries were made."""

    object: Literal["webhook_replay"] = "webhook_replay"
    endpoint_id: Uuid = Field(examples=[_EXAMPLE_ID])
    deliveries: int = Field(examples=[42])
    has_more: bool = Field(
        description="Whether the limit of one replay was reached: about 1,000 events, or the free part of the queue.",
        examples=[False],
    )
    next_since: Instant | None = Field(
        description="The `since` of the next replay, if there may be more.", examples=[None]
    )


class EventRedelivery(Wire):
    """How many endpoints get the event again."""

    object: Literal["event_redelivery"] = "event_redelivery"
    event_id: Uuid = Field(examples=[_EXAMPLE_ID])
    deliveries: int = Field(examples=[1])
