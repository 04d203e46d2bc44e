"""The entry point of the command line."""

import gc
import signal
from importlib import import_module

from studiogate.server.quick_start import all_is_imported


def run() -> None:
    """Run the `studiogate` command; this is its entry point."""
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Nothing has been started: Ctrl-C ends the process without a traceback, and no import can suppress it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module("studiogate.cli.main").main(all_is_imported)
