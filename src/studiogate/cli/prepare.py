"""Prepare the database before a service uses it; load the demo studio, like any other studio file.

`up` and `serve` import this file once the first API process is on its way: its imports take half a second, and that
process runs its own at the same time.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from importlib import resources
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import structlog

from studiogate import clock, demo
from studiogate import settings as configuration
from studiogate.cli.commands import Call
from studiogate.cli.context import START_SECONDS, CommandError, connect_when_possible, operator_of
from studiogate.cli.secrets import check_key
from studiogate.demo.activity import act
from studiogate.demo.studio import OWNER
from studiogate.domain import keys
from studiogate.domain.access import Scope, operator_access
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.tokens import link_path
from studiogate.flows import keys as key_flow
from studiogate.flows import studio as studio_flow
from studiogate.flows import studio_file
from studiogate.flows.staff import operators, roles, set_up
from studiogate.flows.staff.operators import SIGN_IN_LINK
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.studio_file import FilesBeside, Options
from studiogate.runtime import upload_store
from studiogate.settings import Settings
from studiogate.storage import keys as kept_keys
from studiogate.storage import mails, secret_key
from studiogate.storage import studio as studios
from studiogate.storage.accounts import accounts
from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import Progress
from studiogate.storage.db.pool import Connection
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import UploadStore

KEY_FILE = "demo.key"


def load(call: Call) -> None:
    """Load the demo studio: two locations, ten weeks of classes, members, staff, waitlists, leads and forms."""
    folder, uploads = call.settings.data_dir, upload_store(call.settings)

    async def work(connection: Connection) -> str:
        if await studios.find_studio(connection, demo.SLUG) is not None:
            # It may have new bookings since, which today's file would contradict.
            raise CommandError("The demo studio is loaded already. For a fresh one use another --data folder.")
        return await _create(connection, folder, uploads)

    key: str = call.on_database(work)
    call.show({"studio": demo.SLUG, "key": key}, f"The demo studio is loaded. A key for it:\n\n{key}")


async def ensure(connection: Connection, folder: Path, uploads: UploadStore | None = None) -> str | None:
    """Load the demo studio into an empty database; return a working key if there is a demo studio."""
    if not await studios.any_studio(connection):
        return await _create(connection, folder, uploads or UploadFolder(folder))
    if await studios.find_studio(connection, demo.SLUG) is None:
        return None
    return await _demo_key(connection, folder)


async def _create(connection: Connection, folder: Path, uploads: UploadStore) -> str:
    """Load the studio, make a key and let its day happen, all of it or nothing; return the key."""
    now = clock.now()
    async with connection.transaction():
        await mails.silence(connection)
        await _import(connection, uploads, now)
        studio = await studios.find_studio(connection, demo.SLUG)
        if studio is None:
            raise AssertionError("the studio was just imported")
        studio_id: UUID = studio["studio_id"]
        logo = (resources.files("studiogate.demo") / "logo.png").read_bytes()
        await studio_flow.store_logo(connection, operator_access(studio_id), logo)
        key = await _demo_key(connection, folder)
        presented = keys.parse(key)
        if presented is None:
            raise AssertionError("a key that was just made can be read")
        refused = await act(connection, studio_id, presented.credential_id, now, demo.DEFAULT_SEED)
    for step in refused:
        log.warning("a step of the demo studio's day was refused", step=step)
    return key


async def _import(connection: Connection, uploads: UploadStore, now: datetime) -> None:
    document = json.dumps(demo.demo_studio_file(now)).encode()
    with TemporaryDirectory() as beside:
        for upload_id, content in demo.demo_files().items():
            (Path(beside) / upload_id).write_bytes(content)
        files = FilesBeside(Path(beside), uploads)
        access, options = operator_access(studio_file.studio_in(BytesIO(document))), Options(files=files)
        outcome = await studio_file.import_studio_file(connection, access, BytesIO(document), options)
    if isinstance(outcome, Refusal):
        raise AssertionError("an operator may import")
    if outcome.faults:
        raise CommandError(f"The demo studio could not be loaded: {outcome.faults[0]}")


async def _demo_key(connection: Connection, folder: Path) -> str:
    """Return the demo key. It is stored in the data folder, so that every start can print the same one."""
    file = folder / KEY_FILE
    kept = file.read_text().strip() if file.exists() else ""
    presented = keys.parse(kept)
    if presented is not None:
        credential = await kept_keys.find_credential(connection, presented.credential_id)
        if isinstance(keys.check(credential, presented, clock.now()), keys.Credential):
            return kept
    wanted = key_flow.KeyRequest("Demo", [scope.value for scope in Scope], created_by="demo")
    issued = await key_flow.create(connection, demo.SLUG, wanted)

    def keep() -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(issued.key + "\n")

    await asyncio.to_thread(keep)
    return issued.key


CONSOLE = "/console/"
log = structlog.get_logger()


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Connection]:
    connection = await connect_when_possible(
        dsn, lambda problem: log.warning("waiting for the database", problem=problem, at_most_seconds=START_SECONDS)
    )
    try:
        yield connection
    finally:
        await connection.close()


async def prepare_database(settings: Settings, dsn: str, no_demo: bool) -> tuple[str | None, str]:
    """Migrate the database, and load the demo studio unless it is not wanted; return a key of it and the path of the
    console, with a link that signs in."""

    def log_waits(progress: Progress) -> None:
        if progress.problem:
            of = {"migration": progress.migration.version, "step": progress.step}
            log.warning("migration is tried again", **of, problem=progress.problem)

    async with _connected(dsn) as connection:
        await migrate.migrate(connection, report=log_waits)
        await check_key(connection, settings)
        key = None if no_demo else await ensure(connection, settings.data_dir, upload_store(settings))
        return key, await console_path(connection, Sealer(lambda: configuration.secret_keys(settings)))


async def check_database(settings: Settings, dsn: str) -> None:
    """Refuse to start on a database that is not migrated, or whose secrets this process cannot decrypt."""
    async with _connected(dsn) as connection:
        if await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
        await check_key(connection, settings)


async def console_path(connection: Connection, sealer: Sealer) -> str:
    """Return the path to print: a one-time link for the demo studio's owner, the set-up of an empty service, or the
    page to sign in."""
    if not await studios.any_studio(connection):
        sealer.use(await secret_key.key_fingerprint(connection, "share"))
        return set_up.set_up_path(sealer, clock.now())
    found = await studios.find_studio(connection, demo.SLUG)
    if found is None:
        return CONSOLE
    account = await accounts.find(connection, OWNER.email)
    if account is None:
        invitation = Invitation(OWNER.email, Grant(Role.OWNER), name=OWNER.name)
        await roles.invite(connection, operator_of(found["studio_id"]), invitation)
        account = await accounts.find(connection, OWNER.email)
    if account is None:
        return CONSOLE
    link = await operators.make_link(connection, operator_of, account, SIGN_IN_LINK, mail=False)
    return CONSOLE if isinstance(link, Refusal) else link_path(link.token)
