"""What the faults of a cluster are judged by (`test_cluster.py`) notices a lost, a doubled and a late write."""

from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.ha.deployment import open_partner
from tests.support.ha.load import FormClient, Manager, Partner, mark_of, silence
from tests.support.races.client import History
from tests.support.races.studio import RaceStudio

pytestmark = pytest.mark.anyio
LOSSES = {
    "leads": "update leads set email = 'nobody@lead.example' where studio_id = $1",
    "members": "update members set email = 'nobody@member.example' where studio_id = $1",
    "submissions": "update form_submissions set submitter_email = 'nobody@submission.example' where studio_id = $1",
    "uploads": "update form_uploads set filename = 'nothing.txt' where studio_id = $1",
}


@pytest.fixture
async def partner(race_studio: RaceStudio) -> AsyncIterator[Partner]:
    """A partner who has written one of each kind. What a test then loses is there again after it."""
    made = await open_partner(race_studio.connection, race_studio.port)
    client = FormClient(race_studio.port, made.service_key, made.history)
    for write in (made.lead, made.member, made.submission, made.upload):
        assert (await client.settle(write())).status == 201
    client.close()
    assert await made.violations(race_studio.connection) == []
    damage = race_studio.connection.transaction()
    await damage.start()
    yield made
    await damage.rollback()


@pytest.mark.parametrize("kind", LOSSES)
async def test_a_lost_write_is_noticed(race_studio: RaceStudio, partner: Partner, kind: str) -> None:
    await race_studio.connection.execute(LOSSES[kind], partner.studio_id)
    [wrong] = await partner.violations(race_studio.connection)
    assert ": 0 rows of " in wrong
    assert wrong.endswith(", acknowledged 1")


async def test_a_lost_response_is_noticed(race_studio: RaceStudio, partner: Partner) -> None:
    await race_studio.connection.execute("delete from idempotency_keys where studio_id = $1", partner.studio_id)
    wrong = await partner.violations(race_studio.connection)
    assert [each.partition(": ")[2] for each in wrong] == ["acknowledged, but not stored"] * 4


async def test_a_doubled_write_is_noticed(race_studio: RaceStudio, partner: Partner) -> None:
    """The same submission under another key, as if a retry had been executed again."""
    request = next(call.request for call in partner.history.calls if call.request.path.endswith("/submissions"))
    again = FormClient(race_studio.port, partner.service_key, History())
    assert (await again.settle(request._replace(key="another-key-of-it"))).status == 201
    again.close()
    [wrong] = await partner.violations(race_studio.connection)
    assert f": 2 rows of {mark_of(request)}, acknowledged 1" in wrong


async def test_a_lost_write_of_the_staff_is_noticed(race_studio: RaceStudio, partner: Partner) -> None:
    manager = Manager(race_studio.port)
    emails = [mark_of(call.request) for call in partner.history.calls if call.request.path.endswith("/members")]
    manager.sent = {str(email): 1 for email in emails}
    assert await manager.violations(race_studio.connection, partner.studio_id) == []
    await race_studio.connection.execute(LOSSES["members"], partner.studio_id)
    assert await manager.violations(race_studio.connection, partner.studio_id) == [
        f"{emails[0]}: acknowledged 1, 0 rows"
    ]
    await manager.close()


def silent(
    acknowledged: Sequence[float], written: Sequence[float], excused: Sequence[tuple[float, float]] = ()
) -> float:
    machine: Any = SimpleNamespace(acknowledged=acknowledged, excused=list(excused))
    writer: Any = SimpleNamespace(times=written)
    return silence(machine, writer, 0.0, 30.0)


def test_only_the_silence_while_the_database_accepts_writes_counts() -> None:
    always = [each / 2 for each in range(61)]
    away = [each for each in always if not 10 < each < 20]
    acknowledged = [each for each in always if not 10 < each < 24]
    assert silent(always, always) == 0.5
    assert silent(acknowledged, always) == 14.0
    assert silent(acknowledged, away) == 4.0
    assert silent([], away) == 10.0
    assert silent(acknowledged, away, [(20.0, 23.5)]) == 0.5
    assert silent(acknowledged, always, [(15.0, 16.0)]) == 8.0
