"""The address of the service on a data folder: recorded by the service, read by commands that print links."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from studiogate.settings import Settings, make_data_folder
from studiogate.web.public_address import FILE, address_of, known_address, shown_host

__all__ = ["address_of", "known_address", "noted", "shown_host"]


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
