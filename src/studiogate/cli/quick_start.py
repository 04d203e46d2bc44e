"""Start the CLI, or the process of a module, with the garbage collector disabled during imports.

    python -m studiogate.cli.quick_start MODULE OPTION …

Imported modules are not garbage; checking them repeatedly takes a fifth of the start-up time of a process. The process
calls ``all_is_imported`` when it is done; objects that exist by then are never scanned again.
"""

import gc
import runpy
import signal
import sys
from importlib import import_module


def keyboard() -> None:
    """Run the `studiogate` command; this is its entry point."""
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Nothing has been started: Ctrl-C ends the process without a traceback, and no import can suppress it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module("studiogate.cli.main").main(all_is_imported)


def all_is_imported() -> None:
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    gc.disable()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
