"""Start the CLI, or the process of a module, with the garbage collector disabled during imports.

    python -m studiogate.server.quick_start MODULE OPTION …

Imported modules are not garbage; checking them repeatedly takes a fifth of the start-up time of a process. The process
calls ``all_is_imported`` when it is done; objects that exist by then are never scanned again.

structlog imports rich, where it is installed, to format tracebacks in a way that is not used here. FastAPI asks of
every type whether it is a model of pydantic.v1. pydantic looks for plugins in the metadata of every installed package.
Processes do without all three: that is another tenth of their start-up time.
"""

import gc
import os
import runpy
import sys


def all_is_imported() -> None:
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    for unused in ("rich", "pydantic.v1"):
        sys.modules[unused] = None  # type: ignore[assignment]  # importing it now raises ImportError
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
