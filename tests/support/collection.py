"""How tests are collected, and in which order they run."""

import gc
from collections import Counter
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and exempt what exists then: the modules and tests stay to the end, and
    scanning them again and again takes longer than most tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files of browser tests first, which take minutes each; then those with the fewest tests, which start
    whole services and take longest per test. The others are small enough to keep all test processes busy until the
    end."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: ("browser" not in item.path.parts, tests[item.path], item.path))
