"""The address under which visitors reach the service: links in mails and commands lead there."""

import contextlib

from studiogate.settings import Settings

FILE = "address"  # in the data folder, written by whoever serves (cli/address.py)


def address_of(settings: Settings, port: int | None = None) -> str:
    """The public URL of the settings, else where it listens; ``port`` is the one that it really got."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    return f"http://{shown_host(settings.host)}:{settings.port if port is None else port}"


def shown_host(host: str) -> str:
    if not host.strip("0.:"):  # every address, IPv4's or IPv6's
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def known_address(settings: Settings) -> str:
    """Where links should lead: the public URL, else where the service listens now, else where it would."""
    if settings.public_url is None:
        with contextlib.suppress(OSError):
            return (settings.data_dir / FILE).read_text().strip()
    return address_of(settings)
