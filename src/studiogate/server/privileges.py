"""Drop root privileges in the API and worker processes.

They start as root, because the interpreter and this package may be where only root can read (/root), and switch to the
account of the data folder once everything is imported. Modules that load on first use are imported here.
"""

import argparse
import os
import pkgutil
from importlib import import_module
from pathlib import Path

from phonenumbers import PhoneMetadata

from studiogate.server.service_account import Account, become, change_owner
from studiogate.settings import Settings
from studiogate.storage.db import migrate

# Modules that libraries import on first use.
USED_LATER = (
    *("importlib.readers", "importlib.resources.readers", "importlib.metadata"),
    *("encodings.idna", "encodings.punycode", "stringprep", "idna.uts46data"),
    *("encodings.ascii", "encodings.latin_1", "encodings.unicode_escape", "encodings.cp1252", "encodings.utf_8_sig"),
    *("encodings.utf_16", "encodings.utf_16_le", "encodings.utf_16_be"),
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
    """Change to the data folder, if an account is given, and return settings with a path relative to it.

    The account may not be allowed to traverse the folder's parents; from inside, it does not need to.
    """
    if option is None:
        return settings
    os.chdir(settings.data_dir)
    return settings.model_copy(update={"data_dir": Path()})


def drop(option: str | None, *packages: str) -> None:
    """Switch to the account, if one is given, after importing all modules of the packages."""
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
        change_owner(Path(metrics), Account("", uid, gid))
    become(option)


def _import_all(package: str) -> None:
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
