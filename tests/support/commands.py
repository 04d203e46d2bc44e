"""Commands of `studiogate` as processes of their own that start quickly.

Importing takes most of the time of a short command. A server process imports everything but the command line itself,
and forks a process for each command, with the command's own arguments, environment, folder, input and outputs. Tests of
how a process starts, or of which signals and broken outputs it survives, start one themselves.
"""

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.support.deadlines import LONG

SIZE = 2**20  # of a request: environment and arguments


def run_command(
    *words: str, environ: Mapping[str, str], folder: Path | None = None, stdin: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """Run ``studiogate`` with these arguments in a process of its own, and return what it wrote."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        asked = {"words": words, "environ": dict(environ), "folder": str(folder or Path.cwd())}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SIZE)
            connection.settimeout(LONG)
            connection.connect(_server())
            descriptors = [each.fileno() for each in (given, out, err)]
            socket.send_fds(connection, [json.dumps(asked).encode()], descriptors)
            status = int(connection.recv(16))
        for each in (out, err):
            each.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), err.read())


@cache
def _server() -> str:
    """Start the server of this test process; return its address."""
    folder = tempfile.TemporaryDirectory(prefix="sg-commands-")
    address = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.commands", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def stop() -> None:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(LONG)
        folder.cleanup()

    atexit.register(stop)
    assert process.stdout.readline() == b"ready\n"
    return address


def serve(address: str) -> None:
    """Run commands until standard input ends."""
    main = import_module("studiogate.cli.main")
    main.commands()
    for name in [each for each in sys.modules if each.startswith("studiogate.cli")]:
        del sys.modules[name]  # they look at the environment when they are imported
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    waiting = selectors.DefaultSelector()
    waiting.register(listening, selectors.EVENT_READ)
    waiting.register(0, selectors.EVENT_READ)
    while all(key.fileobj is listening for key, _ in waiting.select()):
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _answer(connection)
            os._exit(0)
        connection.close()


def _answer(connection: socket.socket) -> None:
    """Run the command of a connection in one more process, and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SIZE)
    message, descriptors, _, _ = socket.recv_fds(connection, SIZE, 3)
    command = os.fork()
    if command == 0:
        connection.close()
        _become(json.loads(message), descriptors)
    for each in descriptors:
        os.close(each)
    _, ended = os.waitpid(command, 0)
    connection.send(str(os.waitstatus_to_exitcode(ended)).encode())


def _become(asked: dict[str, object], descriptors: list[int]) -> None:
    """Turn this process into the command, as an interpreter that starts would."""
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["environ"])  # type: ignore[call-overload]
    os.chdir(str(asked["folder"]))
    sys.argv = ["studiogate", *asked["words"]]  # type: ignore[misc]
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    status = 0
    try:
        import_module("studiogate.cli.entry_point").run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    try:
        sys.stdout.flush()
    except OSError:
        status = 120  # as the interpreter does
    os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
