"""Submissions that are recorded in a lead's metadata."""

from datetime import UTC, datetime
from uuid import uuid4

from studiogate.domain.leads import FormSubmission, with_submission


def test_a_submission_s_time_is_serialized_as_its_created_at() -> None:
    """The format is PostgreSQL's, without trailing zeros, because partners compare the two texts."""
    at = datetime(2026, 11, 15, 6, 18, 56, 237340, UTC)
    (entry,) = with_submission({}, FormSubmission(uuid4(), uuid4(), at))["form_submissions"]
    assert entry["submitted_at"] == "2026-11-15T06:18:56.23734+00:00"
