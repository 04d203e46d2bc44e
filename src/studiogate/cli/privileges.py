"""Giving up root in the processes that serve and work.

They start as root, because the interpreter and this package may lie where only root can read (/root), and become the
account of the data folder once everything is imported. What would be imported at its first use is imported here.
"""

import argparse
import os
import pkgutil
from importlib import import_module
from pathlib import Path

from phonenumbers import PhoneMetadata

from studiogate.settings import Settings, secret_keys
from studiogate.storage import migrate
from studiogate.storage.service_account import Account, become, hand_over, let_into, make_private, service_account
from studiogate.storage.uploads import FOLDER

# Imported by libraries only when they need them.
USED_LATER = (
    *("importlib.readers", "importlib.resources.readers", "importlib.metadata"),
    *("encodings.idna", "encodings.ascii", "encodings.latin_1", "encodings.unicode_escape", "stringprep"),
    *(
        "asyncpg",
        "anyio",
        "anyio._backends._asyncio",
        "asyncio.unix_events",
        "concurrent.futures.thread",
        "email.mime.text",
        "smtplib",
        "tracemalloc",
    ),
)


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--account", help="user and group id to become, when started by root")


def enter_data_folder(settings: Settings, option: str | None) -> Settings:
    """Work in the data folder, if an account is given, and return the settings by which it is found from there.

    The way to the folder may be closed to the account. From inside it needs no way.
    """
    if option is None:
        return settings
    os.chdir(settings.data_dir)
    return settings.model_copy(update={"data_dir": Path()})


def drop(option: str | None, *packages: str) -> None:
    """Become the account, if one is given, with all modules of the packages imported."""
    if option is None:
        return
    for package in packages:
        _import_all(package)
    for name in USED_LATER:
        import_module(name)
    migrate.migrations()
    PhoneMetadata.load_all()  # One module per country.
    metrics = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if metrics is not None:
        uid, gid = map(int, option.split(":"))
        hand_over(Path(metrics), Account("", uid, gid))
    become(option)


def _import_all(package: str) -> None:
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)


def prepared_account(settings: Settings) -> Account | None:
    """The account to become, with all that it needs in the data folder handed to it. None for an ordinary user."""
    account = service_account(settings.data_dir)
    if account is None:
        return None
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    let_into(settings.data_dir, account)
    make_private(settings.data_dir / FOLDER, account)
    if settings.secret_key is None:
        secret_keys(settings)
        for path in settings.data_dir.glob("secrets.key"):
            hand_over(path, account)
    return account
