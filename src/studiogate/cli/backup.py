"""studiogate backup | restore: a whole installation as one file."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import urlsplit, urlunsplit

import typer

from studiogate import clock
from studiogate.cli import doctor
from studiogate.cli.commands import Call
from studiogate.cli.context import CommandError, complaints, counted, database_of, print_json, run, screen
from studiogate.cli.files import progress_bars
from studiogate.cli.prepare import KEY_FILE as DEMO_KEY
from studiogate.flows import backup as flow
from studiogate.flows.backup import Content, Installation, NotEmptyError, Target
from studiogate.runtime import upload_store
from studiogate.server.postgres.programs import CLUSTER
from studiogate.server.service_account import prepared_account
from studiogate.server.stop_signals import of_this_process
from studiogate.settings import KEY_FILE, Settings, make_data_folder
from studiogate.storage import backup as rows
from studiogate.storage.backup_archive import DamagedBackupError
from studiogate.storage.db import pool
from studiogate.storage.db.pool import Connection
from studiogate.storage.private_file import PrivateFile

SECRETS = (KEY_FILE, DEMO_KEY)
BARS = ("files", "rows", "indexes")
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: studiogate-TIME.backup, in this folder.")
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Restore it on trial into a database of its own, check that, and record the result."),
]
BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="What `studiogate backup` wrote.")]


def back_up(call: Call, output: Output = None, verify: Verify = False) -> None:
    """Write the whole installation (rows, uploads, secrets) to one file, while it runs; with --verify, prove it."""
    settings = call.settings
    path = output or Path(f"studiogate-{clock.now():%Y%m%dT%H%M%SZ}.backup")
    try:
        with (
            PrivateFile(path) as file,
            progress_bars(BARS, shown=not call.as_json) as progress,
            database_of(settings) as dsn,
        ):
            content = run(_back_up(dsn, settings, file, progress))
    except flow.NothingToBackUpError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        if error.filename in (None, str(path)):
            raise CommandError(f"{path}: {error.strerror}. Name another file with -o FILE.") from None
        advice = "Run the command as the user that owns the data folder, or as root."
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}. {advice}") from None
    faults = _verify(call, path) if verify else []
    size = path.stat().st_size
    if call.as_json:
        proof = {"proven": not faults, "faults": faults} if verify else {}
        print_json(
            {"file": str(path), "bytes": size, **_facts(content), "missing_uploads": list(content.missing), **proof}
        )
    else:
        screen.print(f"{path}: {_parts(content)}, {size / 1e6:.1f} MB.", soft_wrap=True)
        screen.print("It holds people's data and the installation's keys: keep it as secret as the data folder.")
        for each, place in content.missing.items():
            where = f"not in {upload_store(settings)} (received by {place or 'an unknown machine'})"
            complaints.print(
                f"warning: the file of upload {each} is {where}; its row is in the backup.", soft_wrap=True
            )
        if verify and not faults:
            screen.print("It was restored on trial, and the checks of `doctor` found no fault.")
    if faults:
        raise typer.Exit(1)


def _verify(call: Call, path: Path) -> list[str]:
    """Restore a backup beside it and check that; return the faults. Without any, the installation keeps that it is
    proven, for `doctor` and the metrics."""
    with of_this_process().held(), _scratch_folder(path) as folder, _scratch_database(call.settings, folder) as url:
        scratch = call.settings.model_copy(
            update={"data_dir": folder / "data", "database_url": url, "uploads_url": None}
        )
        content = _load(call, path, scratch)
        findings = doctor.examine(scratch)
    faults = [f"{finding.subject}: {finding.text}" for finding in findings if finding.level == "fault"]
    if faults:
        for each in faults if not call.as_json else ():
            complaints.print(f"fault in the restored backup: {each}", soft_wrap=True)
    else:
        taken_at = datetime.fromisoformat(content.created_at)
        call.on_database(partial(rows.record_proof, taken_at=taken_at))
    return faults


@contextmanager
def _scratch_folder(path: Path) -> Iterator[Path]:
    """Create a folder beside the backup, for as long as it is needed; its name is always the same, so that what a
    process has left there that was killed is found and removed."""
    folder = path.absolute().parent / ".studiogate-verify"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = f"Another backup is being verified in {folder}. This one is complete: {path}"
        raise CommandError(text) from None
    try:
        for left in folder.iterdir():
            shutil.rmtree(left)
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


@contextmanager
def _scratch_database(settings: Settings, folder: Path) -> Iterator[str | None]:
    """Create a database on the server that is configured, for as long as it is needed, in place of one that was left
    with the same folder on this machine. None: one is embedded."""
    if settings.database_url is None:
        yield None
        return
    address = urlsplit(settings.database_url)
    whose = f"{socket.gethostname()} {folder} {settings.database_url}".encode()
    name = f"studiogate_verify_{hashlib.blake2b(whose, digest_size=8).hexdigest()}"
    try:
        run(_on_server(settings.database_url, partial(rows.create_database, name=name)))
    except rows.NoDatabaseError:
        text = "The role may not create the database in which the backup is verified"
        raise CommandError(
            f"{text}: run `alter role … createdb` on the server. The backup itself is complete."
        ) from None
    try:
        yield urlunsplit(address._replace(path=f"/{name}"))
    finally:
        asyncio.run(_on_server(settings.database_url, partial(rows.drop_database, name=name)))


async def _on_server(dsn: str, work: Callable[[Connection], Coroutine[None, None, None]]) -> None:
    connection = await pool.connect(dsn)
    try:
        await work(connection)
    finally:
        await connection.close()


async def _back_up(dsn: str, settings: Settings, file: IO[bytes], progress: flow.Progress) -> Content:
    connection, watching = await pool.connect(dsn), await pool.connect(dsn)
    try:
        keys = _key_files(settings)
        if settings.secret_key is not None:
            keys[KEY_FILE] = settings.secret_key.replace(",", "\n").encode() + b"\n"
        folder = upload_store(settings)
        return await flow.back_up(Installation(connection, watching, folder, keys, progress), file)
    finally:
        await watching.close()
        await connection.close()


def _key_files(settings: Settings) -> dict[str, bytes]:
    files = {name: settings.data_dir / name for name in SECRETS}
    return {name: path.read_bytes() for name, path in files.items() if path.exists()}


def restore(call: Call, path: BackupFile) -> None:
    """Load a backup into an empty data folder or database, then check it as `doctor` does."""
    settings = call.settings
    content = _load(call, path, settings)
    findings = doctor.examine(settings)
    faults = [finding for finding in findings if finding.level == "fault"]
    if call.as_json:
        print_json({**_facts(content), "faults": [finding.text for finding in faults]})
    else:
        screen.print(f"Restored {_parts(content)}, as of {content.created_at}.")
        doctor.print_findings(findings)
    if faults:
        raise typer.Exit(1)


def _load(call: Call, path: Path, settings: Settings) -> Content:
    with _opened(path) as file, _cleaned_up(settings), progress_bars(BARS, shown=not call.as_json) as progress:
        try:
            with database_of(settings, create=True) as dsn:
                content = run(_restore(dsn, settings, file, progress))
        except DamagedBackupError as error:
            raise CommandError(f"{path} cannot be restored: {error}. Nothing was loaded.") from None
        except NotEmptyError as error:
            raise CommandError(str(error)) from None
    prepared_account(settings)
    return content


@contextmanager
def _cleaned_up(settings: Settings) -> Iterator[None]:
    """If the restore fails, remove the cluster that it created, unless another process uses it by now: the next attempt
    would find a database that is not empty, and `up` one without a studio."""
    folder = settings.data_dir
    there = set(folder.iterdir()) if folder.is_dir() else None
    try:
        yield
    except BaseException:
        cluster = folder / CLUSTER
        if settings.database_url is None and cluster not in (there or ()) and not (cluster / "postmaster.pid").exists():
            for path in set(folder.glob("postgres*")) - (there or set()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if there is None:
                with suppress(OSError):
                    folder.rmdir()
        raise


async def _restore(dsn: str, settings: Settings, file: IO[bytes], progress: flow.Progress) -> Content:
    try:
        present = {name: secret for name, secret in _key_files(settings).items() if _is_restored(settings, name)}
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}. Name another --data folder.") from None
    connection = await pool.connect(dsn)
    try:
        content = await flow.restore(connection, Target(upload_store(settings), present), file, progress)
    finally:
        await connection.close()
    make_data_folder(settings.data_dir)
    for name in SECRETS:
        if name in content.secrets and _is_restored(settings, name):
            with PrivateFile(settings.data_dir / name) as key_file:
                key_file.write(content.secrets[name])
    return content


def _is_restored(settings: Settings, name: str) -> bool:
    """Return whether this key file is written: not the deployment's key if that is a setting."""
    return name != KEY_FILE or settings.secret_key is None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        if not file.seekable():  # It is read twice: to verify it, and to load it.
            raise CommandError(f"{path} is not a file that can be read again from its beginning: copy it to one.")
        yield file


def _facts(content: Content) -> dict[str, object]:
    return {"created_at": content.created_at, "tables": content.tables, "uploads": content.uploads}


def _parts(content: Content) -> str:
    return f"{counted(content.tables, 'table')} and {counted(content.uploads, 'upload')}"
