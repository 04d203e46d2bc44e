"""Webhooks are delivered: signed, at least once, in time, and only to permitted endpoints."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from bench.webhook_receiver import OK, Received, Receiver, answer, receiving
from studiogate.domain.paging import PageRequest
from studiogate.domain.webhooks.deliveries import FAILING_SLOWS, MAX_REPLACED_SECRETS, Attempted
from studiogate.flows import deliveries as flow
from studiogate.flows import webhooks
from studiogate.storage.webhooks import claims, deliveries
from studiogate.worker import webhook_sender
from studiogate.worker import webhooks as worker
from studiogate.worker.webhooks import PLACES_OF_AN_ENDPOINT
from tests.support.deadlines import LONG
from tests.support.webhook_studio import WebhookStudio

pytestmark = pytest.mark.anyio


async def rows(webhook_studio: WebhookStudio, columns: str = "status, attempts") -> list[tuple[Any, ...]]:
    found = await webhook_studio.connection.fetch(
        f"select {columns} from webhook_deliveries where endpoint_id <> all($1) order by created_at, id",
        webhook_studio.studio.ids["endpoint"],
    )
    return [tuple(row) for row in found]


async def settled(webhook_studio: WebhookStudio, status: str, count: int = 1) -> None:
    async with asyncio.timeout(LONG):
        while [each[0] for each in await rows(webhook_studio)].count(status) < count:
            await asyncio.sleep(0.02)


async def attempted(webhook_studio: WebhookStudio, count: int) -> None:
    """Wait until this many attempts are recorded."""
    async with asyncio.timeout(LONG):
        while sum(each[1] for each in await rows(webhook_studio)) < count:
            await asyncio.sleep(0.02)


async def test_a_change_is_delivered_right_after_its_commit(
    webhook_studio: WebhookStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit itself leads to the delivery: nothing is polled during the test."""
    monkeypatch.setattr(worker, "POLL_SECONDS", 3600.0)
    async with receiving() as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        for number in range(1, 6):
            await webhook_studio.change()
            webhook_studio.runtime.sequencer.kick(webhook_studio.studio.studio_id)
            received = (await receiver.wait_for(number))[-1]
        assert received.signed_by(endpoint.secret)
        assert received.headers["content-type"] == "application/json"
        event = received.event
        assert event["id"] == received.id
        assert (event["type"], event["object"], event["api_version"]) == ("booking.updated", "event", "2026-08-02")
        assert event["data"]["previous_attributes"] == {"status": "confirmed"}
        await settled(webhook_studio, "succeeded", 5)


async def test_a_worker_that_ends_finishes_writing_what_came_of_attempts(
    webhook_studio: WebhookStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, settle = asyncio.Event(), flow.settle

    async def slowly(*arguments: Any) -> Any:
        writing.set()
        await asyncio.sleep(0)  # the drain begins here
        for _ in range(100):
            await webhook_studio.connection.fetchval("select 1")
        return await settle(*arguments)

    monkeypatch.setattr(flow, "settle", slowly)
    async with receiving() as receiver, webhook_studio.delivering():
        await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        await writing.wait()
    assert [each[0] for each in await rows(webhook_studio)] == ["succeeded"]


async def test_the_same_body_on_every_attempt_until_it_succeeds(webhook_studio: WebhookStudio) -> None:
    async with receiving(lambda _: answer(500, b"not now")) as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        for number in range(1, 4):
            await receiver.wait_for(number)
            await attempted(webhook_studio, number)
            if number == 3:
                receiver.reply = lambda _: OK
            await webhook_studio.no_waiting()
        await receiver.wait_for(4)
        await settled(webhook_studio, "succeeded")
        assert len({each.id for each in receiver.received}) == 1
        assert len({each.body for each in receiver.received}) == 1
        assert all(each.signed_by(endpoint.secret) for each in receiver.received)
        page = await deliveries.list_deliveries(
            webhook_studio.connection, webhook_studio.access, PageRequest(), str(endpoint.id)
        )
        (delivery,) = json.loads(page.as_json())["data"]  # type: ignore[union-attr]
        assert [each["status"] for each in delivery["attempts"]] == [500, 500, 500, 200]
        assert delivery["attempts"][0]["response"] == "not now"
        assert delivery["status"] == "succeeded"


async def test_retry_after_is_honoured(webhook_studio: WebhookStudio) -> None:
    async with receiving(lambda _: answer(429, b"", b"Retry-After: 7200")) as receiver, webhook_studio.delivering():
        await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        await attempted(webhook_studio, 1)
        ((seconds,),) = await rows(webhook_studio, "extract(epoch from due_at - now())")
        assert 7100 < seconds < 7300


async def test_both_secrets_sign_after_a_rotation(webhook_studio: WebhookStudio) -> None:
    async with receiving() as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        async with webhook_studio.connection.transaction():
            rotated = await webhooks.rotate_secret(
                webhook_studio.connection, webhook_studio.access, webhook_studio.runtime.sealer, str(endpoint.id)
            )
        new = json.loads(str(rotated))["secret"]
        await webhook_studio.change()
        await webhook_studio.number()
        (first,) = await receiver.wait_for(1)
        assert first.signed_by(endpoint.secret)
        assert first.signed_by(new)
        await webhook_studio.connection.execute("update webhook_endpoints set previous_secret_until = now()")
        await webhook_studio.change()
        await webhook_studio.number()
        second = (await receiver.wait_for(2))[1]
        assert second.signed_by(new)
        assert not second.signed_by(endpoint.secret)


async def rotate(webhook_studio: WebhookStudio, endpoint_id: UUID) -> str:
    async with webhook_studio.connection.transaction():
        rotated = await webhooks.rotate_secret(
            webhook_studio.connection, webhook_studio.access, webhook_studio.runtime.sealer, str(endpoint_id)
        )
    secret: str = json.loads(str(rotated))["secret"]
    return secret


async def delivered(webhook_studio: WebhookStudio, receiver: Receiver) -> Received:
    before = len(receiver.received)
    await webhook_studio.change(before % 3)
    await webhook_studio.number()
    return (await receiver.wait_for(before + 1))[before]


async def test_each_replaced_secret_signs_for_its_own_24_hours(webhook_studio: WebhookStudio) -> None:
    async with receiving() as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        secrets = [endpoint.secret, *[await rotate(webhook_studio, endpoint.id) for _ in range(3)]]
        received = await delivered(webhook_studio, receiver)
        assert [received.signed_by(each) for each in secrets] == [True, True, True, True]
        # The first one's time is over; a further rotation forgets it, and keeps the others.
        await webhook_studio.connection.execute(
            "update webhook_endpoints set earlier_secrets_until[2] = now() where id = $1", endpoint.id
        )
        received = await delivered(webhook_studio, receiver)
        assert [received.signed_by(each) for each in secrets] == [False, True, True, True]
        secrets.append(await rotate(webhook_studio, endpoint.id))
        received = await delivered(webhook_studio, receiver)
        assert [received.signed_by(each) for each in secrets] == [False, True, True, True, True]
        assert await kept_secrets(webhook_studio, endpoint.id) == (2, 2)
        secrets += [await rotate(webhook_studio, endpoint.id) for _ in range(MAX_REPLACED_SECRETS - 2)]
        assert await kept_secrets(webhook_studio, endpoint.id) == (29, 29)
        received = await delivered(webhook_studio, receiver)
        signed = [received.signed_by(each) for each in secrets]
        assert signed == [False, False, *[True] * (1 + MAX_REPLACED_SECRETS)]
        async with webhook_studio.connection.transaction():
            await webhooks.delete_endpoint(webhook_studio.connection, webhook_studio.access, str(endpoint.id))
        assert (await kept_secrets(webhook_studio, endpoint.id))[0] == 0


async def kept_secrets(webhook_studio: WebhookStudio, endpoint_id: UUID) -> tuple[Any, ...]:
    return tuple(
        await webhook_studio.connection.fetchrow(
            "select cardinality(earlier_secrets), cardinality(earlier_secrets_until) from webhook_endpoints"
            " where id = $1",
            endpoint_id,
        )
    )


async def test_processes_of_the_release_before_rotate_and_reseal_too(webhook_studio: WebhookStudio) -> None:
    """They know the secret and the previous one: the earlier ones stay, and one that cannot be opened hinders none."""
    async with receiving() as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        second, third = await rotate(webhook_studio, endpoint.id), await rotate(webhook_studio, endpoint.id)
        await webhook_studio.connection.execute(
            "update webhook_endpoints set previous_secret = secret, previous_secret_until = now() + interval '1 day',"
            " secret = previous_secret where id = $1",
            endpoint.id,
        )
        received = await delivered(webhook_studio, receiver)
        assert [received.signed_by(each) for each in (endpoint.secret, second, third)] == [True, True, True]
        await webhook_studio.connection.execute(
            "update webhook_endpoints set earlier_secrets[1] = 'sealed with a former key' where id = $1", endpoint.id
        )
        received = await delivered(webhook_studio, receiver)
        assert [received.signed_by(each) for each in (endpoint.secret, second, third)] == [False, True, True]


async def test_secrets_are_not_in_the_database(webhook_studio: WebhookStudio) -> None:
    endpoint = await webhook_studio.endpoint("http://127.0.0.1:1/")
    stored = await webhook_studio.connection.fetchval("select secret from webhook_endpoints where id = $1", endpoint.id)
    assert endpoint.secret.encode() not in stored
    assert endpoint.secret.removeprefix("whsec_").encode() not in stored


async def endpoint_row(webhook_studio: WebhookStudio, endpoint: Any) -> tuple[Any, ...]:
    return tuple(
        await webhook_studio.connection.fetchrow(
            "select enabled, disabled_reason, failing_since is not null from webhook_endpoints where id = $1",
            endpoint.id,
        )
    )


async def disabled_events(webhook_studio: WebhookStudio) -> list[tuple[Any, str]]:
    """Return the events about disabled endpoints; they must not contain a secret."""
    rows = await webhook_studio.connection.fetch("select * from events where type = 'webhook_endpoint.disabled'")
    assert all("secret" not in {*json.loads(row["object"])} - {"previous_secret_expires_at"} for row in rows)
    assert all(json.loads(row["previous_attributes"])["enabled"] for row in rows)
    assert all("webhooks:manage" in row["scopes"] for row in rows)
    return [(row["subject"], json.loads(row["object"])["disabled_reason"]) for row in rows]


async def test_gone_disables(webhook_studio: WebhookStudio) -> None:
    async with receiving(lambda _: answer(410)) as receiver, webhook_studio.delivering() as deliverer:
        endpoint = await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        await receiver.wait_for(1)
        await settled(webhook_studio, "failed")
        assert await endpoint_row(webhook_studio, endpoint) == (False, "gone", True)
        assert await disabled_events(webhook_studio) == [(endpoint.id, "gone")]
        await webhook_studio.change()
        await webhook_studio.number()
        await deliverer.whole_round(webhook_studio.studio.studio_id)
        assert len(receiver.received) == 1


async def test_nothing_is_claimed_for_a_disabled_endpoint(webhook_studio: WebhookStudio) -> None:
    """Also if it is disabled between the distribution of an event and the attempt."""
    connection, access = webhook_studio.connection, webhook_studio.access
    await webhook_studio.endpoint("http://127.0.0.1:1/")
    await webhook_studio.change()
    await webhook_studio.number()
    await connection.execute("update webhook_endpoints set enabled = false")
    assert await claims.claim(connection, access, {}, 4, uuid4()) == []
    await connection.execute("update webhook_endpoints set enabled = true")
    assert len(await claims.claim(connection, access, {}, 4, uuid4())) == 1


async def test_an_endpoint_that_keeps_failing_gets_one_attempt_at_a_time(webhook_studio: WebhookStudio) -> None:
    connection, access = webhook_studio.connection, webhook_studio.access
    await webhook_studio.endpoint("http://127.0.0.1:1/")
    for _ in range(5):
        await webhook_studio.change()
    await webhook_studio.number()
    for failing, attempts in ((FAILING_SLOWS - timedelta(microseconds=1), 3), (FAILING_SLOWS, 1)):
        async with connection.transaction():  # now() stands still
            await connection.execute("update webhook_endpoints set failing_since = now() - $1::interval", failing)
            assert len(await claims.claim(connection, access, {}, 3, uuid4())) == attempts


async def test_five_days_of_failure_disable_and_enabling_goes_on(webhook_studio: WebhookStudio) -> None:
    async with receiving(lambda _: answer(500)) as receiver, webhook_studio.delivering() as deliverer:
        endpoint = await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        await attempted(webhook_studio, 1)
        assert await endpoint_row(webhook_studio, endpoint) == (True, None, True)
        await webhook_studio.connection.execute(
            "update webhook_endpoints set failing_since = now() - interval '6 days'"
        )
        await webhook_studio.no_waiting()
        await attempted(webhook_studio, 2)
        assert await endpoint_row(webhook_studio, endpoint) == (False, "failing", True)
        assert await disabled_events(webhook_studio) == [(endpoint.id, "failing")]
        await webhook_studio.no_waiting()
        await deliverer.whole_round(webhook_studio.studio.studio_id)
        assert len(receiver.received) == 2
        receiver.reply = lambda _: OK
        async with webhook_studio.connection.transaction():
            await webhooks.change(webhook_studio.connection, webhook_studio.access, str(endpoint.id), {"enabled": True})
        await receiver.wait_for(3)
        await settled(webhook_studio, "succeeded")
        assert await endpoint_row(webhook_studio, endpoint) == (True, None, False)


@pytest.mark.parametrize(
    "narrowing",
    [
        "revoked_at = now()",
        "expires_at = now()",
        "scopes = array['leads:read']",
        "location_ids = array(select id from locations where studio_id = credentials.studio_id limit 1)",
    ],
)
async def test_what_a_key_may_no_longer_see_is_withheld(webhook_studio: WebhookStudio, narrowing: str) -> None:
    """The endpoint's key loses access between the commit and the attempt."""
    async with receiving() as receiver:
        await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change(2)  # a class without location
        await webhook_studio.number()
        await webhook_studio.connection.execute(f"update credentials set {narrowing}")
        async with webhook_studio.delivering():
            await settled(webhook_studio, "withheld")
        assert receiver.connections == 0


async def test_only_what_is_wanted_and_visible_is_queued(webhook_studio: WebhookStudio) -> None:
    first, second = webhook_studio.studio.ids["location"]
    wishes: list[dict[str, Any]] = [
        {"event_types": ["class.*"]},
        {"scopes": ["webhooks:manage", "leads:read"]},
        {"locations": [second]},
    ]
    for wanted in wishes:
        await webhook_studio.endpoint("http://127.0.0.1:1/", **wanted)
    seeing = [await webhook_studio.endpoint("http://127.0.0.1:1/", event_types=["booking.*"], locations=[first])]
    seeing += [await webhook_studio.endpoint("http://127.0.0.1:1/", event_types=["booking.updated"])]
    await webhook_studio.change(0)
    await webhook_studio.number()
    assert {each[0] for each in await rows(webhook_studio, "endpoint_id")} == {each.id for each in seeing}


# Hostile receivers


async def test_redirects_are_failures_and_open_no_connection(webhook_studio: WebhookStudio) -> None:
    async with receiving() as inner, receiving() as receiver, webhook_studio.delivering():
        receiver.reply = lambda _: answer(302, b"", b"Location: " + inner.url().encode())
        await webhook_studio.endpoint(receiver.url())
        await webhook_studio.change()
        await webhook_studio.number()
        await attempted(webhook_studio, 1)
        assert inner.connections == 0
        assert await rows(webhook_studio) == [("pending", 1)]


async def test_a_name_that_later_has_a_private_address_opens_no_connection(
    strict_webhook_studio: WebhookStudio,
) -> None:
    """The name is public when the endpoint is created and loopback afterwards; loopback gets no connection."""
    webhook_studio, resolver = strict_webhook_studio, strict_webhook_studio.runtime.resolver
    now: list[str] = ["8.8.8.8"]

    async def lookup(_host: str, _port: int) -> Sequence[str]:
        return list(now)

    resolver.lookup = lookup
    async with receiving() as receiver:
        url = receiver.url(host="rebinding.example")
        assert await resolver.fault_of(url) is None
        endpoint = await webhook_studio.endpoint(url)
        for private in (["127.0.0.1"], ["::ffff:127.0.0.1"], ["10.0.0.1", "127.0.0.1"], ["169.254.169.254"]):
            now[:] = private
            assert await resolver.fault_of(url) is not None
            await webhook_studio.change()
            await webhook_studio.number()
            async with webhook_studio.delivering() as deliverer:
                await webhook_studio.no_waiting()
                await deliverer.whole_round(webhook_studio.studio.studio_id)
            assert all(attempts for _, attempts in await rows(webhook_studio)), private
        assert receiver.connections == 0
        errors = await webhook_studio.connection.fetch(
            "select distinct error from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id"
            " where d.endpoint_id = $1",
            endpoint.id,
        )
        assert [row["error"] for row in errors] == ["denied_address"]


async def test_the_check_of_the_check_without_the_denied_list_it_connects(webhook_studio: WebhookStudio) -> None:
    """Verifies the test above: with loopback allowed, the listener is reached."""

    async def lookup(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    webhook_studio.runtime.resolver.lookup = lookup
    async with receiving() as receiver, webhook_studio.delivering():
        await webhook_studio.endpoint(receiver.url(host="rebinding.example"))
        await webhook_studio.change()
        await webhook_studio.number()
        (received,) = await receiver.wait_for(1)
        assert received.headers["host"] == f"rebinding.example:{receiver.port}"


async def test_hostile_receivers_delay_nobody(webhook_studio: WebhookStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tarpit, an endless body, a refused port and five good ones. Attempts have no time limit here: a delivery that
    waited for the tarpit would never arrive."""
    monkeypatch.setattr(webhook_sender, "ATTEMPT_SECONDS", None)

    async def never(_: Received) -> None:
        await asyncio.Event().wait()

    async def endless(_: Received) -> bytes:
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"x" * 65536 + b"\r\n"

    async with (
        receiving(never) as tarpit,
        receiving(endless) as flood,
        receiving() as good,
        webhook_studio.delivering(),
    ):
        for url in (tarpit.url(), flood.url(), "http://127.0.0.1:1/", *(good.url(f"/{n}") for n in range(5))):
            await webhook_studio.endpoint(url)
        for _ in range(40):
            await webhook_studio.change()
            await webhook_studio.number()
        received = await good.wait_for(200, LONG)
        assert len({(each.path, each.id) for each in received}) == 200
        assert len(await tarpit.wait_for(PLACES_OF_AN_ENDPOINT, LONG)) == PLACES_OF_AN_ENDPOINT
        kept = "select max(length(response)) from webhook_attempts"
        async with asyncio.timeout(LONG):
            while (held := await webhook_studio.connection.fetchval(kept) or 0) < 1024:
                await asyncio.sleep(0.02)
        assert held == 1024


async def test_a_test_message_reaches_also_a_disabled_endpoint(webhook_studio: WebhookStudio) -> None:
    async with receiving() as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url(), enabled=False)
        async with webhook_studio.connection.transaction():
            await webhooks.test(webhook_studio.connection, webhook_studio.access, str(endpoint.id))
        (received,) = await receiver.wait_for(1)
        assert received.event["type"] == "webhook_endpoint.test"
        assert received.signed_by(endpoint.secret)


def test_attempts_are_counted_in_few_words() -> None:
    now: Any = None
    assert {Attempted(now, 1, status=each).outcome for each in (200, 204)} == {"succeeded"}
    assert Attempted(now, 1, status=503).outcome == "5xx"
    assert Attempted(now, 1, error="timeout").outcome == "timeout"


async def test_an_attempt_that_fails_in_the_worker_frees_its_place_and_is_counted(
    webhook_studio: WebhookStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_arguments: Any) -> Attempted:
        raise RuntimeError("a mistake of ours")

    await webhook_studio.endpoint("http://127.0.0.1:1/hook")
    async with webhook_studio.delivering() as deliverer:
        monkeypatch.setattr(deliverer, "_send", fail)
        for _ in range(PLACES_OF_AN_ENDPOINT + 1):
            await webhook_studio.change()
        await webhook_studio.number()
        for _ in range(2):
            await deliverer.whole_round(webhook_studio.studio.studio_id)
        assert await rows(webhook_studio) == [("pending", 1)] * (PLACES_OF_AN_ENDPOINT + 1)
    found = await webhook_studio.connection.fetch("select error from webhook_attempts where error is not null")
    assert [row["error"] for row in found].count("internal_error") == PLACES_OF_AN_ENDPOINT + 1
