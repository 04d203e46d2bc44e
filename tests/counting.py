"""Work counted instead of timed: the same on a slow machine, a busy one and a fast one."""

import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest


class Count:
    """Bytecodes executed in this thread, and characters squared that were handed to Unicode normalization (which is
    C code, and takes quadratic time in the worst case)."""

    def __init__(self) -> None:
        self.bytecodes = 0
        self.normalizing = 0


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Count]:
    """Count what this thread does inside."""
    count = Count()
    normalize = unicodedata.normalize

    def counting_normalize(form: Any, text: str) -> str:
        count.normalizing += len(text) ** 2
        return normalize(form, text)

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count.bytecodes += event == "opcode"
        return trace

    before = sys.gettrace()
    with monkeypatch.context() as patched:
        patched.setattr(unicodedata, "normalize", counting_normalize)
        sys.settrace(trace)
        try:
            yield count
        finally:
            sys.settrace(before)
