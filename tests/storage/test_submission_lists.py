"""The inbox of submissions and the list of forms run on indexes in a large studio."""

from datetime import timedelta
from itertools import product
from uuid import UUID

import pytest

from studiogate import clock
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.storage.forms import inbox
from studiogate.storage.forms.inbox import SubmissionFilters
from tests.support import large_studio
from tests.support.large_studio import LargeStudio

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
large = large_studio.medium
LIMIT = 50
A_DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("of_form", "status", "since"), [*product((False, True), (None, *SubmissionStatus), (None, A_DAY))], ids=str
)
async def test_the_inbox(
    large: LargeStudio, of_form: bool, status: SubmissionStatus | None, since: timedelta | None
) -> None:
    form = await large.value("select id from forms where studio_id = $1")
    filters = SubmissionFilters(form if of_form else None, status, None if since is None else clock.now() - since)
    for read in (inbox.list_submissions, inbox.page_of_answers):
        first = await read(large.recorder, large.access(), filters, None, LIMIT)
        assert all(each["status"] == (status or each["status"]) for each in first.rows)
        if first.next is not None:
            second = await read(large.recorder, large.access(), filters, UUID(first.next), LIMIT)
            assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
        assert large.faults(ranges=len(SubmissionStatus)) == []


async def test_forms_and_what_waits(large: LargeStudio) -> None:
    access = large.access()
    found = await inbox.list_forms(large.recorder, access, None, None, LIMIT, drafts=True)
    assert await inbox.count_waiting(large.recorder, access) == inbox.MAX_WAITING
    # Counting stops at a limit.
    assert large.faults(ranges=200) == []
    (form,) = found.rows
    assert form["submissions"] == inbox.MAX_COUNTED
