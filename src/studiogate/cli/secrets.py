"""The installation's secret key: checked at every start; `studiogate secrets rotate` replaces it, and seals everything
again under the new one."""

import secrets
from typing import Annotated

import typer

from studiogate import settings as configuration
from studiogate.cli.commands import Call, Group
from studiogate.cli.context import CommandError, print_json, screen
from studiogate.domain.encryption import fingerprint
from studiogate.flows import secret_key as flow
from studiogate.flows.secret_key import Rotated
from studiogate.settings import KEY_BYTES, Settings
from studiogate.storage import secret_key
from studiogate.storage.db.pool import Connection

app = Group("The installation's secret key: replace it.")
OTHER_KEY = (
    "This machine's secret key is not the one that the database was set up with: set STUDIOGATE_SECRET_KEY, or copy "
    "secrets.key into the data folder, from a machine that works. If no machine has it any more: "
    "`studiogate secrets rotate --lost`."
)
ONE_KEY_SET = (
    "STUDIOGATE_SECRET_KEY holds one key. Make another one (openssl rand -base64 32), set STUDIOGATE_SECRET_KEY to "
    "OLD,NEW for every process, restart them, then run this again."
)


async def check_key(connection: Connection, settings: Settings) -> None:
    """Raise if this process must not use this database. A key is created only if none is known yet."""
    known = await secret_key.key_fingerprint(connection)
    if known is None:
        known = await flow.agree(connection, configuration.secret_keys(settings)[0])
    if known not in map(fingerprint, configuration.known_secret_keys(settings)):
        raise CommandError(OTHER_KEY)


@app.command("rotate")
def rotate(
    call: Call,
    prepare: Annotated[bool, typer.Option("--prepare", help="Only write the next key beside the present one.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="The present key is lost: continue without it.")] = False,
    links: Annotated[bool, typer.Option("--links", help="New secrets for form links too; present links end.")] = False,
) -> None:
    """Seal the secrets of webhooks, form links and second factors anew under a new key."""
    settings = call.settings

    def choose(known: bytes | None) -> list[bytes] | None:
        return _with_the_next(settings, known, lost=lost)

    async def work(connection: Connection) -> Rotated | None:
        if await secret_key.key_fingerprint(connection) is None:
            await flow.agree(connection, configuration.secret_keys(settings)[0])
        if prepare:
            await flow.prepare(connection, choose)
            return None
        return await flow.rotate(connection, choose, links=links)

    done: Rotated | None = call.on_database(work)
    if prepare:
        text = "The next key is ready. Copy secrets.key to every other machine, then run this without --prepare."
        call.show({"prepared": True, "rotated": False}, text)
        return
    _written(settings)
    if call.as_json:
        print_json({"prepared": True, "rotated": done is not None, **(done._asdict() if done else {})})
    else:
        _report(settings, done)


def _with_the_next(settings: Settings, known: bytes | None, *, lost: bool) -> list[bytes] | None:
    """Return all keys, the next one last, or None if the database uses it already. Both are kept until everything is
    sealed again, so that a crash at any moment leaves a key that opens what is stored."""
    keys = configuration.secret_keys(settings)
    if known is None or known not in map(fingerprint, keys):
        if not lost:
            raise CommandError(OTHER_KEY)
        return keys
    if len(keys) > 1:
        return None if fingerprint(keys[-1]) == known else keys
    if settings.secret_key is not None:
        raise CommandError(ONE_KEY_SET)
    keys.append(secrets.token_bytes(KEY_BYTES))
    configuration.write_secret_keys(settings, keys)
    return keys


def _written(settings: Settings) -> None:
    """Delete the previous key from the key file. Must run after the commit."""
    if settings.secret_key is None:
        configuration.write_secret_keys(settings, configuration.secret_keys(settings)[-1:])


def _report(settings: Settings, done: Rotated | None) -> None:
    if done is None:
        screen.print("Everything is sealed under the last key already.")
    else:
        screen.print(f"Webhook secrets sealed under the new key: {done.sealed}. Secrets of form links: {done.links}.")
    if done is not None and done.unreadable:
        screen.print(
            f"Secrets that no key here opens: {done.unreadable}. Their endpoints are not delivered to until their "
            "partners rotate them (POST /webhook-endpoints/ID/rotate-secret).",
            soft_wrap=True,
        )
    if done is not None and done.lost_second_factors:
        screen.print(
            f"Second factors of staff that no key here opens: {done.lost_second_factors}. These people cannot sign in "
            "until you remove them: `studiogate staff second-factor EMAIL --remove`.",
            soft_wrap=True,
        )
    if settings.secret_key is None:
        text = "Processes on this data folder use the new key at once. Copy secrets.key to every other machine."
    else:
        text = "Set STUDIOGATE_SECRET_KEY to the last of its keys alone at the next restart of each process."
    screen.print(text, soft_wrap=True)
