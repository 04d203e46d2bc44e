"""Where the service on a data folder is reached: noted by whoever serves, read by commands that print links."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from studiogate.public_address import FILE, address_of, known_address, shown_host
from studiogate.settings import Settings

__all__ = ["address_of", "known_address", "noted", "shown_host"]


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
