"""The commands `studiogate webhook …` and `studiogate key change | requests`, as an operator uses them."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.flows import webhooks
from studiogate.storage import keys as storage
from studiogate.storage.db.pool import TransactionConflictError
from tests.cli import test_staff
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio
from tests.support.webhook_studio import SECRET_KEY

url, command_line = test_staff.url, test_staff.command_line


async def with_endpoint(studio: BookingStudio) -> tuple[str, UUID, str]:
    """Return the studio's slug, an endpoint of its key, and the key's id."""
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    details = {"url": "https://example.com/", "event_types": ["booking.*"], "description": None, "enabled": True}
    async with studio.database.transaction() as connection:
        made = await webhooks.create(connection, access, studio.api.app._runtime.sealer, details)
    assert isinstance(made, str)
    await studio.api.get("/studio", studio.key)
    await studio.api.get("/nothing", studio.key)
    await studio.api.app.request_log.flush()
    slug = await studio.api.connection.fetchval("select slug from studios where studio_id = $1", studio.id)
    return slug, UUID(json.loads(made)["id"]), access.credential_id


@pytest.fixture
def endpoint(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> tuple[str, UUID, str]:
    monkeypatch.setenv("STUDIOGATE_SECRET_KEY", SECRET_KEY)
    _, made = command_line.studio(with_endpoint)
    slug, endpoint_id, key_id = made
    return slug, endpoint_id, key_id


def test_an_endpoint_is_looked_after(command_line: CommandLine, endpoint: tuple[str, UUID, str]) -> None:
    slug, endpoint_id, _ = endpoint

    def typed(verb: str, *words: object) -> Any:
        said = command_line.type("webhook", verb, endpoint_id, "--studio", slug, *words)
        assert (said.status, said.err) == (0, ""), said
        return said

    (listed,) = command_line.type("webhook", "list", "--studio", slug, "--json").json
    assert (listed["id"], listed["enabled"], "secret" in listed) == (str(endpoint_id), True, False)
    assert typed("disable").out == "The endpoint is disabled.\n"
    assert typed("enable", "--json").json["enabled"] is True
    sent = typed("test", "--json").json
    assert [each["id"] for each in typed("deliveries", "--json").json] == [sent["id"]]
    assert "webhook_endpoint.test" in typed("deliveries").out
    assert typed("rotate-secret", "--json").json["secret"].startswith("whsec_")
    assert "whsec_" in typed("rotate-secret").out
    assert typed("delete").out == "The endpoint is deleted.\n"
    assert command_line.type("webhook", "list", "--studio", slug).out == "Nothing found.\n"
    query = "select array_agg(action order by occurred_at) from audit_log where subject_id = $1 and channel = 'command'"
    did = [action.removeprefix("webhook_endpoint.") for action in command_line.look(query, endpoint_id)]
    assert did == ["create", "change", "change", "test", "rotate_secret", "rotate_secret", "delete"]


@pytest.mark.parametrize("verb", ["deliveries", "enable", "disable", "delete", "rotate-secret", "test"])
def test_an_unknown_endpoint(command_line: CommandLine, endpoint: tuple[str, UUID, str], verb: str) -> None:
    said = command_line.type("webhook", verb, uuid4(), "--studio", endpoint[0])
    assert said.status == 1
    assert "`studiogate webhook list --studio SLUG` shows them." in said.err


def test_the_limits_of_a_key_change(command_line: CommandLine, endpoint: tuple[str, UUID, str]) -> None:
    _, _, key_id = endpoint
    said = command_line.type("key", "change", key_id, "--rate-limit", 5, "--scope", "studio:read")
    assert (said.status, said.out) == (0, f"Key {key_id}: scopes, rate_limit changed.\n")
    changed = command_line.type("key", "change", key_id, "--clear", "rate_limit", "--expires", "90d", "--json").json
    assert (changed["changed"]["rate_limit"], set(changed["changed"])) == (None, {"rate_limit", "expires_at"})
    assert command_line.type("key", "change", key_id, "--clear", "rate-limit").out == "The key is like this already.\n"
    stored = "select (scopes, rate_limit, expires_at > now())::text from credentials where id = $1"
    assert command_line.look(stored, key_id) == "({studio:read},,t)"
    wrong = command_line.type("key", "change", key_id, "--location", uuid4(), "--clear", "scopes")
    assert (wrong.status, "is not in this studio" in wrong.err, "scopes" in wrong.err) == (1, True, True)
    assert command_line.type("key", "change", "AAAAAAAA", "--rate-limit", 5).status == 1


def test_the_limits_of_a_new_key(command_line: CommandLine, endpoint: tuple[str, UUID, str]) -> None:
    slug, *_ = endpoint
    words = ("key", "create", "--studio", slug, "--name", "n", "--all-scopes")
    said = command_line.type(*words, "--rate-limit", 99_999_999_999_999)
    assert (said.status, said.err) == (
        1,
        "error: The rate limit must be a number from 1 to 2147483647, or null for the default.\n",
    )
    elsewhere = uuid4()
    said = command_line.type(*words, "--location", elsewhere)
    listed = "`studiogate location list --studio SLUG` shows them"
    assert (said.status, said.err) == (1, f"error: The location {elsewhere} is not in this studio: {listed}.\n")
    location = command_line.type("location", "list", "--studio", slug, "--json").json[0]["id"]
    made = command_line.type(*words, "--location", location, "--location", location, "--json").json
    stored = "select location_ids::text from credentials where id = $1"
    assert (made["location_ids"], command_line.look(stored, made["id"])) == ([location], f"{{{location}}}")


@pytest.mark.parametrize("words", [("change", "--name", "z"), ("rotate",)], ids=lambda words: words[0])
def test_a_revoked_key_is_not_changed(
    command_line: CommandLine, endpoint: tuple[str, UUID, str], words: tuple[str, ...]
) -> None:
    _, _, key_id = endpoint
    verb, *options = words
    for _ in range(2):
        said = command_line.type("key", "revoke", key_id)
        assert (said.status, said.out) == (0, f"Key {key_id} is revoked.\n")
    said = command_line.type("key", verb, key_id, *options, "--json")
    expected = "error: The key is revoked: make a new one with `studiogate key create`.\n"
    assert (said.status, said.err) == (1, expected)
    assert said.json["error"]["code"] == "invalid_transition"


def test_an_overlap_out_of_bounds(command_line: CommandLine, endpoint: tuple[str, UUID, str]) -> None:
    _, _, key_id = endpoint
    said = command_line.type("key", "rotate", key_id, "--overlap", "8d", "--json")
    assert (said.status, said.err) == (1, "error: The overlap must be between 0 and 7d.\n")
    error = said.json["error"]
    assert (error["code"], error["faults"]) == (
        "validation_error",
        [{"loc": ["overlap"], "message": "must be between 0 and 7d"}],
    )


COMMANDS_ON_A_KEY = {"change": ("--name", "z"), "rotate": (), "revoke": (), "requests": ()}


@pytest.mark.parametrize("verb", COMMANDS_ON_A_KEY)
def test_a_key_that_does_not_exist(command_line: CommandLine, verb: str) -> None:
    options = (*COMMANDS_ON_A_KEY[verb], "--json")
    said = command_line.type("key", verb, "AAAAAAAA", *options)
    assert (said.status, said.json["error"]["code"]) == (1, "not_found")
    assert said.err == "error: There is no key 'AAAAAAAA': `studiogate key list` shows them.\n"
    whole = command_line.type("key", verb, "sgk_live_AAAAAAAA_secret", *options)
    assert (whole.status, whole.json["error"]["code"]) == (1, "not_found")
    assert "That is a whole key." in whole.err
    assert "secret" not in whole.out + whole.err


@pytest.mark.parametrize(("verb", "column"), [("rotate_secret", "key"), ("revoke", "revoked")])
def test_a_command_on_a_key_is_repeated_after_a_conflict(
    command_line: CommandLine,
    endpoint: tuple[str, UUID, str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    column: str,
) -> None:
    _, _, key_id = endpoint
    real, calls = getattr(storage, verb), list[int]()

    async def conflicting_once(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise TransactionConflictError("a deadlock")
        return await real(*arguments)

    monkeypatch.setattr(storage, verb, conflicting_once)
    said = command_line.type("key", verb.removesuffix("_secret"), key_id, "--json")
    assert (said.status, len(calls)) == (0, 2), said.err
    assert column in said.json


def test_the_requests_of_a_key(command_line: CommandLine, endpoint: tuple[str, UUID, str]) -> None:
    _, _, key_id = endpoint
    rows = command_line.type("key", "requests", key_id, "--json").json
    assert [(row["route"], row["status"], row["code"]) for row in rows] == [
        ("none", 404, "not_found"),
        ("/partner/v1/studio", 200, None),
    ]
    assert [row["status"] for row in command_line.type("key", "requests", key_id, "--errors", "--json").json] == [404]
    assert "/partner/v1/studio" in command_line.type("key", "requests", key_id).out
    unknown = command_line.type("key", "requests", "AAAAAAAA")
    assert (unknown.status, "`studiogate key list` shows them." in unknown.err) == (1, True)


def test_the_whole_audit_log_is_exported(
    command_line: CommandLine, endpoint: tuple[str, UUID, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug, _, key_id = endpoint
    monkeypatch.setattr("studiogate.cli.events.ENTRIES_AT_ONCE", 2)
    for rate in range(1, 6):
        command_line.type("key", "change", key_id, "--rate-limit", rate)
    listed = command_line.type("audit", "list", "--studio", slug, "--json").json
    said = command_line.type("audit", "export", "--studio", slug, "-o", tmp_path / "audit.jsonl")
    assert said.out == f"Wrote {len(listed)} entries to {tmp_path / 'audit.jsonl'}.\n"
    assert [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()] == listed
    assert len(listed) == 6
