"""The address at which visitors reach the service, used for links in mails and in the output of commands."""

import contextlib

from studiogate.settings import Settings

FILE = "address"  # in the data folder, written by the process that serves (server/address_file.py)


def address_of(settings: Settings, port: int | None = None) -> str:
    """Return the public URL from the settings, else the listening address; ``port`` is the port actually bound."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    return f"http://{shown_host(settings.host)}:{settings.port if port is None else port}"


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
