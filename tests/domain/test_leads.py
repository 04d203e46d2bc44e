"""Submissions that are recorded in a lead's metadata."""

from datetime import UTC, datetime
from uuid import uuid4

from studiogate.domain.leads import FormSubmission, with_submissions


def test_a_submission_s_time_is_serialized_as_its_created_at() -> None:
    """The format is PostgreSQL's, without trailing zeros, because partners compare the two texts."""
    at = datetime(2026, 11, 15, 6, 18, 56, 237340, UTC)
    (entry,) = with_submissions({}, [FormSubmission(uuid4(), uuid4(), at)])["form_submissions"]
    assert entry["submitted_at"] == "2026-11-15T06:18:56.23734+00:00"


def test_submissions_are_listed_once_and_newest_last() -> None:
    """Also beside something that a caller has stored in the list."""
    form, old, new = uuid4(), uuid4(), uuid4()
    of_new = FormSubmission(form, new, datetime(2026, 11, 15, tzinfo=UTC))
    of_old = FormSubmission(form, old, datetime(2026, 11, 14, tzinfo=UTC))
    odd = [7, {"submitted_at": None}, {"submitted_at": "2026-11-16"}]
    listed = with_submissions(with_submissions({"form_submissions": odd}, [of_new]), [of_old, of_new])
    assert listed["form_submissions"][:3] == odd
    assert [entry["submission_id"] for entry in listed["form_submissions"][3:]] == [str(old), str(new)]
