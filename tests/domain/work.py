"""Counts the work that a call does: its bytecodes, and the comparisons of texts that no bytecode shows."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def bytecodes(call: Callable[[], object]) -> int:
    """Return how many bytecodes a call executes, in every Python function that it reaches."""
    executed = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal executed
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return executed


class CountedText(str):
    """A text that counts how often it is compared or searched, also by the loops inside of ``in``."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        CountedText.compared += 1
        return str.__eq__(self, other)

    def __contains__(self, part: object) -> bool:
        CountedText.compared += 1
        return str.__contains__(self, str(part))

    __hash__ = str.__hash__


def comparisons(call: Callable[[], object]) -> int:
    CountedText.compared = 0
    call()
    return CountedText.compared
