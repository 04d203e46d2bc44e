"""The address at which visitors reach the service, used for links in mails and in the output of commands."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from studiogate.domain import logos
from studiogate.domain.pictures import PREFIX
from studiogate.settings import Settings, make_data_folder

FILE = "address"  # in the data folder, written by the process that serves


def address_of(settings: Settings, port: int | None = None) -> str:
    """Return the public URL from the settings, else the listening address; ``port`` is the port actually bound."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    return f"http://{shown_host(settings.host)}:{settings.port if port is None else port}"


def with_absolute_pictures(wire: str, studio_id: UUID, settings: Settings) -> str:
    """Make the addresses of pictures in resources of a studio absolute, and that of its logo in an event. Nothing else
    matches: quotes inside JSON strings are escaped, and such a path leads to a picture wherever somebody wrote it."""
    for member in (f'"image_url":"{PREFIX}{studio_id}/', f'"logo_url":"{logos.PREFIX}'):
        if member in wire:
            wire = wire.replace(member, member.replace(':"/', f':"{known_address(settings)}/'))
    return wire


def shown_host(host: str) -> str:
    if not host.strip("0.:"):  # all addresses, of IPv4 or IPv6
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def known_address(settings: Settings) -> str:
    """Return the address for links: the public URL, else where the service listens now, else where it would listen."""
    if settings.public_url is None:
        with contextlib.suppress(OSError):
            return (settings.data_dir / FILE).read_text().strip()
    return address_of(settings)


@contextmanager
def noted(settings: Settings, address: str) -> Iterator[None]:
    """Record the address in the data folder while the block runs. A folder that is not writable is ignored: only links
    depend on the address. If two services use one folder, the last one to start is recorded."""
    path = settings.data_dir / FILE
    with contextlib.suppress(OSError):
        make_data_folder(path.parent)
        path.write_text(address + "\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_text().strip() == address:
                path.unlink()
