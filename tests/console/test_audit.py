"""The audit log: filters, pages and the export."""

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.console.audit import KINDS
from studiogate.domain.staff import Role
from studiogate.storage import audit, audit_list
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio
PATH = "/console/audit"


async def test_every_kind_has_a_word() -> None:
    assert audit.TABLES.keys() <= KINDS.keys()


async def write(console: Console, count: int = 1, **columns: Any) -> list[UUID]:
    """Add entries, each a second before the one before it."""
    ids = [uuid4() for _ in range(count)]
    given = {"channel": "console", "actor_name": "desk@example.com", "action": "member.note", "subject_type": "member",
             "reason": None, "account_id": None, **columns}  # fmt: skip
    for number, each in enumerate(ids):
        await console.people.sql(
            "insert into audit_log (studio_id, id, occurred_at, channel, actor_name, action, subject_type, subject_id,"
            " changes, reason, account_id) values ($1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9, $10, $11)",
            console.studio.id, each, given.get("at", await console.studio.now()) - timedelta(seconds=number),
            given["channel"], given["actor_name"], given["action"], given["subject_type"],
            given.get("subject", uuid4()), json.dumps(given.get("changes", {})), given["reason"], given["account_id"],
        )  # fmt: skip
    return ids


async def reasons(console: Console, query: str) -> list[str]:
    """The reasons of all entries that a filter shows, through all pages."""
    found: list[str] = []
    path: str | None = f"{PATH}?{query}"
    while path is not None:
        page = (await console.get(path)).text
        found += [unescape(each) for each in re.findall("<p>“(.*?)”</p>", page)]
        more = re.search(r'class="more"><a class="button" href="([^"]+)"', page)
        path = unescape(more[1]) if more else None
    return found


async def exported(console: Console, query: str) -> list[dict[str, str]]:
    answer = await console.get(f"{PATH}/export?{query}")
    assert answer.headers["content-disposition"].startswith("attachment")
    return list(csv.DictReader(io.StringIO(answer.text)))


async def test_each_filter_shows_its_entries_on_the_page_and_in_the_file(console: Console) -> None:
    assert console.person is not None
    member, now = await console.studio.new_member(), await console.studio.now()
    await write(console, reason="mine", account_id=console.person.account_id)
    await write(console, reason="of a key", channel="partner", action="booking.create", subject_type="booking")
    await write(console, reason="of a member", subject=member)
    await write(console, reason="long ago", at=now - timedelta(days=40))
    day = f"{now - timedelta(days=40):%Y-%m-%d}"
    for query, expected in (
        (f"person={console.person.account_id}", ["mine"]),
        ("person=partner", ["of a key"]),
        ("kind=booking", ["of a key"]),
        (f"subject={member}", ["of a member"]),
        (f"to={now - timedelta(days=30):%Y-%m-%d}", ["long ago"]),
        (f"from={day}&to={day[:8]}01&kind=member", [] if day[8:] != "01" else ["long ago"]),
        (f"person={uuid4()}", []),
        ("kind=nonsense&person=x&subject=x&from=x", ["of a member", "of a key", "mine", "long ago"]),
    ):
        assert await reasons(console, query) == expected, query
        assert [row["reason"] for row in await exported(console, query) if row["reason"]] == expected, query


async def test_a_file_that_would_not_have_all_entries_is_refused(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.console.audit.MAX_EXPORTED", 3)
    for reason in ("one", "two", "three", "four"):
        await write(console, reason=reason, subject_type="closure", action="closure.create")
    refused = await console.get(f"{PATH}/export?kind=closure")
    assert (refused.status_code, refused.headers["content-type"]) == (422, "text/html; charset=utf-8")
    assert "Choose fewer days." in texts(refused)


async def test_every_entry_is_reached_however_rare(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page reads only so many entries: those that fit may be behind many that do not."""
    monkeypatch.setattr(audit_list, "SCANNED", 20)
    now = await console.studio.now()
    await write(console, 70, action="booking.create", subject_type="booking", reason="common")
    for days in (1, 2):
        await write(console, reason="rare", subject_type="closure", at=now - timedelta(days=days))
    assert await reasons(console, "kind=closure") == ["rare", "rare"]
    assert await reasons(console, "kind=booking") == ["common"] * 70
    assert "Older entries may fit" in texts(await console.get(f"{PATH}?kind=closure"))
    assert [row["reason"] for row in await exported(console, "kind=closure")] == ["rare", "rare"]


async def test_words_instead_of_codes_and_ids(console: Console) -> None:
    member = await console.studio.new_member(first_name="Ada", last_name="Moss")
    key = (await console.studio.rows("credentials", "true"))[0]
    await write(console, channel="partner", actor_name=key["id"], subject=member, action="member.change",
                changes={"status": ["active", "paused"], "first_name": ["•••", "•••"]})  # fmt: skip
    await write(console, channel="partner", actor_name="gone", reason="by a deleted key")
    page = await console.get(PATH)
    assert f"Member: change Ada Moss by {key['name']} (Partners, with a key)" in texts(page)
    assert f'href="/console/members/{member}"' in page.text
    assert "status: active → paused first name changed" in texts(page)
    assert "by A deleted key" in texts(page)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"members": {"created": 3, "updated": 0}}, "members: 3 created"),
        ({"weekdays": [None, [1, 3]]}, "weekdays: Monday, Wednesday"),
        ({"policy": [{"a_b": 1, "c": 2}, {"a_b": 5, "c": 2}]}, "policy: a b: 1 → 5"),
        ({"policy": [{"a": 1}, {"a": 1}]}, ""),
        ({"policy": [None, {"late_action": None}]}, ""),
        ({"fields": [[{"key": "friend"}], [{"key": "guest"}]]}, "fields changed"),
        ({"fields": [None, [{"key": "friend", "max": None}]]}, ""),
    ],
)
async def test_what_is_nested_is_worded(console: Console, changes: dict[str, Any], shown: str) -> None:
    await write(console, changes=changes)
    page = await console.get(f"{PATH}?kind=member")
    found = re.search(r'audit-changes">(.*?)</p>', page.text)
    assert (re.sub("<[^>]*>", "", unescape(found[1])).strip() if found else "") == shown


async def test_a_file_holds_no_formula(console: Console) -> None:
    for text in ("=1+1", "+1", "-1", "@x", "\tx"):
        await write(console, reason=text)
    rows = await exported(console, "kind=member")
    assert {row["reason"] for row in rows} == {"'=1+1", "+1", "-1", "'@x", "'\tx"}, "numbers stay numbers"


async def test_entries_of_another_studio_are_not_shown(console: Console) -> None:
    other = await console.studio.api.connection.fetchval("select gen_random_uuid()")
    await console.people.sql(
        "insert into studios (studio_id, name, slug, timezone, currency, country)"
        " values ($1, 'Other', 'other', 'UTC', 'EUR', 'DE')", other,
    )  # fmt: skip
    (entry,) = await write(console, reason="theirs")
    await console.people.sql("update audit_log set studio_id = $1 where id = $2", other, entry)
    assert "theirs" not in await reasons(console, "")
    assert (await console.get(f"{PATH}?after={entry}")).status_code == 200


async def test_only_owners_read_it(console: Console) -> None:
    for role in (Role.MANAGER, Role.FRONT_DESK, Role.DEVELOPER):
        person = await console.as_role(role)
        assert [(await person.get(each)).status_code for each in (PATH, f"{PATH}/export")] == [403, 403]
