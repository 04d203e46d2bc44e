"""Where the service on a data folder is reached: noted by whoever serves, read by commands that print links."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from studiogate.settings import Settings

FILE = "address"


def address_of(settings: Settings, port: int | None = None) -> str:
    """The public URL of the settings, else where it listens; ``port`` is the one that it really got."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    return f"http://{shown_host(settings.host)}:{settings.port if port is None else port}"


def shown_host(host: str) -> str:
    if not host.strip("0.:"):  # every address, IPv4's or IPv6's
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


@contextmanager
def noted(settings: Settings, address: str) -> Iterator[None]:
    """Kept in the data folder while we serve, where that can be written: only links depend on it. Of two that serve
    on one folder the last one is known."""
    path = settings.data_dir / FILE
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(address + "\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_text().strip() == address:
                path.unlink()


def known_address(settings: Settings) -> str:
    """Where links should lead: the public URL, else where the service listens now, else where it would."""
    if settings.public_url is None:
        with contextlib.suppress(OSError):
            return (settings.data_dir / FILE).read_text().strip()
    return address_of(settings)
