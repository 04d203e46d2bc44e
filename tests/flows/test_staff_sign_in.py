"""Signing in: what works, what is refused, how often it may be tried, and what a refusal reveals."""

import asyncio
from collections import Counter
from threading import Event

import pytest
from argon2 import PasswordHasher

from studiogate.domain.staff import Role
from studiogate.domain.staff.sign_in import LIMITS, MAX_PASSWORD, Attempt, attempt_key
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows.staff import operators, passwords, second_factor, sign_in
from studiogate.flows.staff.sessions import Started, issue_link
from studiogate.flows.staff.sign_in import Credentials
from studiogate.storage.accounts import accounts
from studiogate.storage.db.pool import OverloadedError
from tests.support import booking_studio, staff_people
from tests.support.staff_people import PASSWORD, People, Person, code_of, done, faults_of

pytestmark = pytest.mark.anyio
DEVICE, NEW = b"d" * 32, "another long password"
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people
shipped_hasher = staff_people.shipped_hasher


async def test_signing_in(people: People) -> None:
    person = await people.hire(Role.OWNER)
    visit = people.visit("192.0.2.44", "Some\nBrowser")
    started = done(await sign_in.sign_in(visit, Credentials(f" {person.email.upper()}", PASSWORD)))
    row = await people.studio.api.connection.fetchrow("select * from staff_sessions where id = $1", started.session_id)
    assert row is not None
    assert (row["address"], row["user_agent"], row["chosen_studio_id"]) == (
        "192.0.2.44",
        "Some Browser",
        people.studio.id,
    )
    assert started.token.encode() not in row["token_hash"]
    assert row["password_at"] is not None
    entry = (await people.studio.rows("audit_log", "subject_id = $2 order by id desc", person.account_id))[0]
    assert (entry["action"], entry["actor_name"], entry["address"]) == ("staff.sign_in", person.email, "192.0.2.44")


async def refusals(people: People) -> dict[str, Credentials]:
    """Every way to fail."""
    person, invited = await people.hire(Role.OWNER), await people.hire(Role.MANAGER)
    disabled, without_role = await people.hire(Role.MANAGER), await people.hire(Role.MANAGER)
    await people.sql("update staff_accounts set password_hash = null where id = $1", invited.account_id)
    await people.sql("update staff_accounts set disabled_at = now() where id = $1", disabled.account_id)
    await people.sql("update staff_roles set disabled_at = now() where account_id = $1", without_role.account_id)
    for each in (disabled, without_role):
        await people.sql("update staff_sessions set ended_at = now() where account_id = $1", each.account_id)
    return {
        "wrong password": Credentials(person.email, "correct horse battery stapler"),
        "no password": Credentials(person.email, ""),
        "too long a password": Credentials(person.email, "x" * (MAX_PASSWORD + 1)),
        "half a character": Credentials(person.email, "\ud800" * 12),
        "unknown": Credentials("nobody@example.com", PASSWORD),
        "no email": Credentials("'; drop table", PASSWORD),
        "a long email": Credentials("x" * 10_000, PASSWORD),
        "invited": Credentials(invited.email, PASSWORD),
        "disabled": Credentials(disabled.email, PASSWORD),
        "without a role": Credentials(without_role.email, PASSWORD),
    }


@pytest.mark.usefixtures("shipped_hasher")
async def test_every_cause_has_the_same_refusal_and_the_same_work(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: Counter[str] = Counter()
    real = passwords._matches

    def counted(stored: str, typed: str) -> bool:
        verified["hashes"] += 1
        verified[stored.rpartition("$")[0].rpartition("$")[0]] += 1
        return real(stored, typed)

    given = await refusals(people)
    monkeypatch.setattr(passwords, "_matches", counted)
    outcomes = {name: await sign_in.sign_in(people.visit(), each) for name, each in given.items()}
    assert {name: outcome for name, outcome in outcomes.items() if outcome != sign_in.FAILED} == {}
    assert verified["hashes"] == len(given)
    assert len(verified) == 2, "all hashes have the same parameters"
    assert not passwords.HASHER.check_needs_rehash(passwords.NOBODY)


async def test_the_text_behind_the_hash_of_nobody_signs_nobody_in() -> None:
    assert not await passwords.is_password(None, "correct horse battery")
    assert await passwords.is_password(passwords.NOBODY, "correct horse battery")


@pytest.mark.parametrize("by", ["email", "address"])
async def test_attempts_are_limited(people: People, by: str) -> None:
    person = await people.hire(Role.OWNER)
    limit = LIMITS[Attempt.SIGN_IN]
    count = limit.per_key if by == "email" else limit.per_address or 0
    await people.sql(
        "insert into staff_sign_in_attempts (id, kind, email_key, address)"
        " select gen_random_uuid(), 'sign_in', case when $1 then $2 else sha256(n::text::bytea) end,"
        " case when $1 then n::text else '2001:db8:0:1::/64' end from generate_series(1, $3) n",
        by == "email",
        sign_in_key(person),
        count - 1,
    )
    visit = people.visit("2001:db8:0:1::9" if by == "address" else None)
    wrong = Credentials(person.email, "a wrong password")
    assert await sign_in.sign_in(visit, wrong) == sign_in.FAILED
    outcome = await sign_in.sign_in(visit, Credentials(person.email, PASSWORD))
    assert code_of(outcome) == "rate_limited"
    await people.sql("update staff_sign_in_attempts set attempted_at = attempted_at - interval '16 minutes'")
    done(await sign_in.sign_in(visit, Credentials(person.email, PASSWORD)))


def sign_in_key(person: Person) -> bytes:
    return attempt_key(person.email)


async def lock_out(people: People, person: Person, address: str | None = None) -> None:
    """Fail as a stranger until the account's email is refused; each attempt comes from elsewhere, or all from one
    address, which is refused then too."""
    limit = LIMITS[Attempt.SIGN_IN]
    for number in range(limit.per_key if address is None else limit.per_address or 0):
        email = person.email if number < limit.per_key else f"person-{number}@example.org"
        await sign_in.sign_in(people.visit(address), Credentials(email, "a wrong password"))
    assert code_of(await people.sign_in(person, visit=people.visit(address))) == "rate_limited"


@pytest.mark.parametrize("address", [None, "192.0.2.66"])
async def test_strangers_lock_out_no_known_device_no_link_and_no_session(people: People, address: str | None) -> None:
    person = await people.hire(Role.OWNER)
    known = people.visit(address, device=DEVICE)
    done(await people.sign_in(person, visit=known))
    signed_in, link = await people.session(person), await sign_in_link(people, person)
    await lock_out(people, person, address)
    done(await people.sign_in(person, visit=known))
    assert code_of(await people.sign_in(person, visit=people.visit(address, device=b"o" * 32))) == "rate_limited"
    assert await sign_in.confirm_password(known, signed_in, PASSWORD) is None
    done(await sign_in.sign_in_by_link(people.visit(address), link))
    done(await passwords.change_password(known, signed_in, PASSWORD, NEW))


async def test_a_device_is_known_to_the_accounts_that_signed_in_on_it(people: People) -> None:
    person, other = await people.hire(Role.OWNER), await people.hire(Role.OWNER)
    done(await people.sign_in(other, visit=people.visit(device=DEVICE)))
    await lock_out(people, person)
    assert code_of(await people.sign_in(person, visit=people.visit(device=DEVICE))) == "rate_limited"


async def test_a_known_device_may_not_guess_either(people: People) -> None:
    person, visit = await people.hire(Role.OWNER), people.visit(device=DEVICE)
    done(await people.sign_in(person, visit=visit))
    wrong = Credentials(person.email, "a wrong password")
    for _ in range(LIMITS[Attempt.DEVICE].per_key):
        assert await sign_in.sign_in(visit, wrong) == sign_in.FAILED
    assert code_of(await people.sign_in(person, visit=visit)) == "rate_limited"
    done(await people.sign_in(person))


async def test_the_second_factor_of_a_link_may_not_be_guessed(people: People) -> None:
    person = await people.hire(Role.OWNER)
    signed_in = await people.session(person)
    offered = done(await second_factor.set_up(people.visit(), signed_in))
    await people.sql("update staff_accounts set totp_confirmed_at = now() where id = $1", person.account_id)
    assert offered.secret
    link = await sign_in_link(people, person)
    for _ in range(LIMITS[Attempt.LINK].per_key):
        assert await sign_in.sign_in_by_link(people.visit(), link, "no code") == sign_in.FAILED
    assert code_of(await sign_in.sign_in_by_link(people.visit(), link, "no code")) == "rate_limited"


async def test_attempts_at_the_same_time_count_too(people: People) -> None:
    person = await people.hire(Role.OWNER)
    limit = LIMITS[Attempt.SIGN_IN].per_key
    wrong = Credentials(person.email, "a wrong password")
    outcomes = await asyncio.gather(*(sign_in.sign_in(people.visit(), wrong) for _ in range(limit + 5)))
    codes = Counter(code_of(each) for each in outcomes)
    assert codes["sign_in_failed"] <= limit
    assert codes["rate_limited"] >= 5


async def test_refused_and_successful_attempts_do_not_count(people: People) -> None:
    """Otherwise trying on would lock an account forever, and signing in often would lock it too."""
    person = await people.hire(Role.OWNER)
    for _ in range(3):
        done(await people.sign_in(person))
    left = "select count(*) from staff_sign_in_attempts where email_key = $1"
    assert await people.value(left, sign_in_key(person)) == 0


async def test_a_flood_of_passwords_is_refused_before_it_is_hashed() -> None:
    for _ in range(passwords.AT_ONCE):
        assert passwords._places.acquire(blocking=False)
    try:
        with pytest.raises(OverloadedError):
            await passwords.is_password(None, PASSWORD)
    finally:
        passwords._places.release(passwords.AT_ONCE)
    assert not await passwords.is_password(None, PASSWORD)


async def test_a_cancelled_check_gives_its_place_back() -> None:
    """Those that wait for a thread never run."""
    goes_on = Event()
    running = [asyncio.create_task(passwords.in_a_thread(goes_on.wait)) for _ in range(passwords.AT_ONCE)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await passwords.is_password(None, PASSWORD)
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    goes_on.set()
    places = passwords.AT_ONCE - passwords.THREADS  # work that a thread has begun may not have ended yet
    again = await asyncio.gather(*(passwords.in_a_thread(lambda: True) for _ in range(places)))
    assert again == [True] * places


@pytest.mark.usefixtures("shipped_hasher")
async def test_a_hash_with_old_parameters_is_replaced(people: People) -> None:
    person = await people.hire(Role.OWNER)
    old = PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1).hash(PASSWORD)
    await people.sql("update staff_accounts set password_hash = $2 where id = $1", person.account_id, old)
    await people.session(person)
    stored = await people.value("select password_hash from staff_accounts where id = $1", person.account_id)
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    await people.session(person)


# Links.


async def sign_in_link(people: People, person: Person) -> str:
    async with people.database.connection() as connection:
        account = await accounts.find(connection, person.email)
        assert account is not None
        return done(
            await operators.make_link(
                connection, lambda _: people.studio.access, account, operators.SIGN_IN_LINK, mail=False
            )
        ).token


async def test_a_link_signs_in_once(people: People) -> None:
    person = await people.hire(Role.OWNER)
    token = await sign_in_link(people, person)
    outcomes = await asyncio.gather(*(sign_in.sign_in_by_link(people.visit(), token) for _ in range(2)))
    (started,) = [each for each in outcomes if isinstance(each, Started)]
    signed_in = done(await people.resolve(started.token))
    assert signed_in.access.staff is not None
    assert not signed_in.access.staff.password_is_recent
    assert code_of(await sign_in.sign_in_by_link(people.visit(), token)) == "link_expired"


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "\ud800"])
async def test_what_is_no_link(people: People, token: str) -> None:
    assert code_of(await sign_in.sign_in_by_link(people.visit(), token)) == "link_expired"
    assert code_of(await passwords.reset_password(people.visit(), token, PASSWORD)) == "link_expired"


async def test_a_link_has_one_purpose(people: People) -> None:
    person = await people.hire(Role.OWNER)
    token = await sign_in_link(people, person)
    assert code_of(await passwords.reset_password(people.visit(), token, PASSWORD)) == "link_expired"
    acceptance = passwords.Acceptance("A", PASSWORD)
    assert code_of(await passwords.accept_invitation(people.visit(), token, acceptance)) == "link_expired"
    done(await sign_in.sign_in_by_link(people.visit(), token))


async def test_a_disabled_account_s_link_does_not_work(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    token = await sign_in_link(people, person)
    await people.sql("update staff_roles set disabled_at = now() where account_id = $1", person.account_id)
    await people.sql("update staff_sessions set ended_at = now() where account_id = $1", person.account_id)
    assert code_of(await sign_in.sign_in_by_link(people.visit(), token)) == "sign_in_failed"


# The password again, and a new one.


async def test_dangerous_actions_need_the_password_again(people: People) -> None:
    person = await people.hire(Role.OWNER)
    token = done(await people.sign_in(person)).token
    await people.sql("update staff_sessions set password_at = now() - interval '15 minutes'")
    signed_in = done(await people.resolve(token))
    assert code_of(signed_in.refusal_without_password()) == "password_required"
    assert code_of(await sign_in.confirm_password(people.visit(), signed_in, "a wrong password")) == "sign_in_failed"
    assert code_of(done(await people.resolve(token)).refusal_without_password()) == "password_required"
    assert await sign_in.confirm_password(people.visit(), signed_in, PASSWORD) is None
    assert done(await people.resolve(token)).refusal_without_password() is None


async def test_confirming_is_limited_like_signing_in(people: People) -> None:
    person = await people.hire(Role.OWNER)
    signed_in = await people.session(person)
    for _ in range(LIMITS[Attempt.SESSION].per_key):
        assert code_of(await sign_in.confirm_password(people.visit(), signed_in, "wrong")) == "sign_in_failed"
    assert code_of(await sign_in.confirm_password(people.visit(), signed_in, PASSWORD)) == "rate_limited"
    assert code_of(await passwords.change_password(people.visit(), signed_in, PASSWORD, NEW)) == "rate_limited"


async def test_a_changed_password_ends_the_other_sessions(people: People) -> None:
    person = await people.hire(Role.OWNER)
    other, own = done(await people.sign_in(person)).token, await people.session(person)
    visit, new = people.visit(), "another long password"
    assert code_of(await passwords.change_password(visit, own, "wrong", new)) == "sign_in_failed"
    assert code_of(await passwords.change_password(visit, own, None, new)) == "sign_in_failed"
    assert faults_of(await passwords.change_password(visit, own, PASSWORD, "short")) == [
        (("password",), "string_too_short")
    ]
    token = done(await passwords.change_password(visit, own, PASSWORD, new))
    assert code_of(await people.resolve(other)) == "session_ended"
    assert code_of(await people.resolve(own.token)) == "session_ended", "who has a copy of the cookie has nothing now"
    renewed = done(await people.resolve(token))
    assert renewed.session.id == own.session.id
    assert renewed.refusal_without_password() is None
    assert code_of(await people.sign_in(person)) == "sign_in_failed"
    await people.session(Person(person.account_id, person.email, new))
    assert ("staff.change_password", person.email) in [
        (action, actor) for actor, action, _ in await people.trail(person.account_id)
    ]


async def test_a_person_who_came_by_a_link_chooses_a_first_password(people: People) -> None:
    person = await people.hire(Role.OWNER)
    await people.sql("update staff_accounts set password_hash = null where id = $1", person.account_id)
    started = done(await sign_in.sign_in_by_link(people.visit(), await sign_in_link(people, person)))
    signed_in = done(await people.resolve(started.token))
    done(await passwords.change_password(people.visit(), signed_in, None, PASSWORD))
    await people.session(person)


# Resets.


async def test_a_reset_sets_a_new_password_and_ends_everything(people: People) -> None:
    person = await people.hire(Role.OWNER)
    session, link = done(await people.sign_in(person)).token, await sign_in_link(people, person)
    token = await reset_token(people, person)
    assert faults_of(await passwords.reset_password(people.visit(), token, "short")) == [
        (("password",), "string_too_short")
    ]
    assert await passwords.reset_password(people.visit(), token, "another long password") is None
    for refused in (
        await people.resolve(session),
        await sign_in.sign_in_by_link(people.visit(), link),
        await passwords.reset_password(people.visit(), token, PASSWORD),
        await people.sign_in(person),
    ):
        assert code_of(refused) in ("session_ended", "link_expired", "sign_in_failed")
    await people.session(Person(person.account_id, person.email, "another long password"))
    assert "staff.reset_password" in [action for _, action, _ in await people.trail(person.account_id)]


async def reset_token(people: People, person: Person) -> str:
    async with people.database.transaction() as connection:
        return (await issue_link(connection, person.account_id, Purpose.RESET)).token


async def test_a_reset_is_mailed_and_nobody_learns_who_has_an_account(people: People) -> None:
    person = await people.hire(Role.OWNER)
    await people.sql("delete from mails")
    outcomes = [await passwords.request_reset(people.visit(), email) for email in (person.email, "no@example.com", "x")]
    assert outcomes == [None, None, None]
    rows = await people.studio.api.connection.fetch("select studio_id, account_id, kind, recipient from mails")
    assert [tuple(row) for row in rows] == [(people.studio.id, person.account_id, "staff_password_reset", person.email)]


async def test_resets_are_limited(people: People) -> None:
    person = await people.hire(Role.OWNER)
    for _ in range(LIMITS[Attempt.RESET].per_key):
        assert await passwords.request_reset(people.visit(), person.email) is None
    assert code_of(await passwords.request_reset(people.visit(), person.email)) == "rate_limited"
    done(await people.sign_in(person))
