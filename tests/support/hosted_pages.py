"""The hosted pages over real HTTP."""

from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.support.deadlines import LONG
from tests.support.site import Site, serving


@pytest.fixture(scope="session")
def site(lasting_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield one site for all tests; a test that changes a form uses one of its own."""
    with serving(Site(lasting_database(), tmp_path_factory.mktemp("data")), rate_limit=0) as served:
        yield served


@pytest.fixture
def client(site: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site.origin, timeout=LONG) as opened:
        yield opened
