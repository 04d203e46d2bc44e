"""studiogate demo: the demo studio, loaded like any other studio file."""

import asyncio
from importlib import resources
from pathlib import Path

from studiogate import clock, demo
from studiogate import settings as configuration
from studiogate.cli.context import AsJson, CommandError, DataFolder, on_database, print_json, screen
from studiogate.domain import keys
from studiogate.domain.access import Scope, operator_access
from studiogate.flows import keys as key_flow
from studiogate.flows import logos, studio_file
from studiogate.storage import keys as kept_keys
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

KEY_FILE = "demo.key"


def load(as_json: AsJson = False, data: DataFolder = None) -> None:
    """Load the demo studio: two locations, six weeks of classes, members, waitlists, leads and forms."""
    folder = configuration.load(data_dir=data).data_dir
    key = on_database(data, lambda connection: _load(connection, folder))
    if as_json:
        print_json({"studio": demo.SLUG, "key": key})
        return
    screen.print(f"The demo studio is loaded. A key for it:\n\n{key}", soft_wrap=True)


async def _load(connection: Connection, folder: Path) -> str:
    await _import(connection)
    return await _demo_key(connection, folder)


async def ensure(connection: Connection, folder: Path) -> str | None:
    """Load the demo studio into an empty database; return a working key if there is a demo studio."""
    if not await studios.any_studio(connection):
        await _import(connection)
    if await studios.find_studio(connection, demo.SLUG) is None:
        return None
    return await _demo_key(connection, folder)


async def _import(connection: Connection) -> None:
    if await studios.find_studio(connection, demo.SLUG) is not None:
        # It may have new bookings since, which today's file would contradict.
        raise CommandError("The demo studio is loaded already. For a fresh one use another --data folder.")
    outcome = await studio_file.import_document(connection, demo.demo_studio_file(clock.now()))
    if outcome.faults:
        raise CommandError(f"The demo studio could not be loaded: {outcome.faults[0]}")
    await _store_logo(connection)


async def _store_logo(connection: Connection) -> None:
    studio = await studios.find_studio(connection, demo.SLUG)
    content = (resources.files("studiogate.demo") / "logo.png").read_bytes()
    if studio is not None:
        await logos.store(connection, operator_access(studio["studio_id"]), content)


async def _demo_key(connection: Connection, folder: Path) -> str:
    """Return the demo key. It is stored in the data folder, so that every start can print the same one."""
    file = folder / KEY_FILE
    kept = file.read_text().strip() if file.exists() else ""
    if kept and await _still_works(connection, kept):
        return kept
    wanted = key_flow.KeyRequest("Demo", [scope.value for scope in Scope], created_by="demo")
    issued = await key_flow.create(connection, demo.SLUG, wanted)
    await asyncio.to_thread(_keep, file, issued.key)
    return issued.key


def _keep(file: Path, key: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(key + "\n")


async def _still_works(connection: Connection, key: str) -> bool:
    presented = keys.parse(key)
    if presented is None:
        return False
    credential = await kept_keys.find_credential(connection, presented.credential_id)
    return isinstance(keys.check(credential, presented, clock.now()), keys.Credential)
