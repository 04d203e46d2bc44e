"""What staff may change in a key, and what that does for its partner."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows import keys
from studiogate.flows.keys import KeyRequest
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff import person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
END = datetime(2031, 1, 1, tzinfo=UTC)


async def issued(studio: BookingStudio) -> keys.IssuedKey:
    made = await studio.staff(keys.issue, KeyRequest("Partner", ["studio:read", "schedule:read"], rate_limit=7))
    assert isinstance(made, keys.IssuedKey)
    return made


async def stored(studio: BookingStudio, credential_id: str) -> dict[str, Any]:
    (row,) = await studio.rows("credentials", "id = $2", credential_id)
    return {name: value for name, value in row.items() if name != "updated_at"}


async def refused(studio: BookingStudio, flow: Any, *arguments: Any) -> Refusal:
    done = await flow(studio.api.connection, studio.access, *arguments)
    assert isinstance(done, Refusal)
    return done


async def test_only_the_given_limits_change(studio: BookingStudio) -> None:
    key = await issued(studio)
    before = await stored(studio, key.id)
    given = {"rate_limit": None, "scopes": ["studio:read"], "expires_at": END, "location_ids": [studio.location]}
    await studio.staff(keys.change_key, key.id, given)
    after = await stored(studio, key.id)
    assert {name: after[name] for name in after if after[name] != before[name]} == {
        "rate_limit": None,
        "scopes": ["studio:read"],
        "expires_at": END,
        "location_ids": [studio.location],
    }
    (entry,) = await studio.rows("audit_log", "action = 'key.change'")
    assert json.loads(entry["changes"]) == {
        "key": [key.id, key.id],
        "rate_limit": [7, None],
        "scopes": [["schedule:read", "studio:read"], ["studio:read"]],
        "expires_at": [None, "2031-01-01T00:00:00+00:00"],
        "location_ids": [None, [str(studio.location)]],
    }


async def test_a_change_to_the_same_leaves_no_entry(studio: BookingStudio) -> None:
    key = await issued(studio)
    assert await studio.staff(keys.change_key, key.id, {"rate_limit": 7, "name": " Partner "}) == {}
    assert await studio.rows("audit_log", "action = 'key.change'") == []


async def test_all_faults_are_listed(studio: BookingStudio) -> None:
    key = await issued(studio)
    elsewhere = str(uuid4())
    given = {"rate_limit": 0, "scopes": ["everything"], "name": "", "location_ids": [elsewhere], "secret": "x"}
    refusal = await refused(studio, keys.change_key, key.id, given)
    assert {fault.loc[0] for fault in refusal.faults} == set(given)
    assert (await stored(studio, key.id))["rate_limit"] == 7


async def test_keys_of_other_studios_do_not_exist(studio: BookingStudio, studio_factory: StudioFactory) -> None:
    theirs = await issued(await studio_factory.new_studio())
    for flow, more in (
        (keys.change_key, ({"rate_limit": 5},)),
        (keys.rotate_key, (timedelta(hours=1),)),
        (keys.revoke_key, ()),
    ):
        assert (await refused(studio, flow, theirs.id, *more)).code is Code.NOT_FOUND


async def test_a_revoked_key_stays_as_it_is(studio: BookingStudio) -> None:
    key = await issued(studio)
    assert await studio.staff(keys.revoke_key, key.id) is True
    assert await studio.staff(keys.revoke_key, key.id) is False
    for flow, more in ((keys.change_key, {"rate_limit": 5}), (keys.rotate_key, timedelta(hours=1))):
        assert (await refused(studio, flow, key.id, more)).code is Code.INVALID_TRANSITION


async def test_nobody_gets_a_key_for_more_than_they_may_do(studio: BookingStudio) -> None:
    """A developer sees no people's data: not by widening a key, and not by the new secret of another's."""
    connection, developer = studio.api.connection, person(studio, Role.DEVELOPER)
    key, people = await issued(studio), KeyRequest("People", ["studio:read", "members:read"])
    partners = await studio.staff(keys.issue, people)
    widened = await keys.change_key(connection, developer, key.id, {"scopes": people.scopes})
    rotated = await keys.rotate_key(connection, developer, partners.id, timedelta(hours=1))
    denied = Refusal(Code.PERMISSION_DENIED, {"required_permission": "members"})
    assert (widened, rotated) == (denied, denied)
    assert sorted((await stored(studio, key.id))["scopes"]) == ["schedule:read", "studio:read"]


async def test_what_a_developer_may_do_with_keys(studio: BookingStudio) -> None:
    connection, developer = studio.api.connection, person(studio, Role.DEVELOPER)
    key = await issued(studio)
    partners = await studio.staff(keys.issue, KeyRequest("People", ["studio:read", "members:read"]))
    for done in (
        await keys.change_key(connection, developer, key.id, {"scopes": ["studio:read", "events:read"]}),
        await keys.rotate_key(connection, developer, key.id, timedelta(hours=1)),
        await keys.change_key(connection, developer, partners.id, {"scopes": ["members:read"], "rate_limit": 5}),
        await keys.revoke_key(connection, developer, partners.id),
    ):
        assert not isinstance(done, Refusal)
