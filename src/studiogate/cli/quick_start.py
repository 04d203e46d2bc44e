"""Starts a process with the garbage collector at rest while it imports: the keyboard's, or that of a module.

    python -m studiogate.cli.quick_start MODULE OPTION …

What is imported is no garbage; finding that out again and again takes a fifth of the time in which a process starts.
The process says when it is done; what exists by then is never looked at again.
"""

import gc
import runpy
import signal
import sys
from importlib import import_module


def keyboard() -> None:
    """What `studiogate` on the command line calls."""
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Nothing has been started: Ctrl-C ends the process without a traceback, and no import can swallow it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module("studiogate.cli.main").main(all_is_imported)


def all_is_imported() -> None:
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    gc.disable()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
