"""Settings that contain passwords: an invalid value is reported without the password."""

import pytest

from studiogate import settings
from studiogate.settings import SettingsError

PASSWORD = "hunter2"  # noqa: S105  everybody's


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{PASSWORD}#x@host/name",
        f"postgresql://user:{PASSWORD}/x@host:5432/name",
        f"postgresql://user:{PASSWORD}?x@host:5432/name",
        f"postgresql://user:{PASSWORD}@x@host:5432/name",
        f"postgresql://user:pass@host:{PASSWORD}/name",
        f"postgresql://user:{PASSWORD} x@host/name",
        f"mysql://user:{PASSWORD}@host/name",
        f"user:{PASSWORD}@host/name",
    ],
)
def test_a_wrong_database_url_is_reported_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings.load(database_url=url)
    assert "STUDIOGATE_DATABASE_URL" in str(raised.value)
    assert PASSWORD not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host",
        "postgres://host/name",
        "postgresql://user:p%23a%2Fb@host:5432/name?sslmode=verify-full",
        "postgresql://user@/name?host=/var/run/postgresql&port=5432",
        "postgresql://user:pass:word@[::1]:5432/name",
        "postgresql://user:pass@one:5432,two:5433/name?target_session_attrs=primary",
        "postgresql:///name",
    ],
)
def test_a_right_one_is_taken(url: str) -> None:
    assert settings.load(database_url=url).database_url == url
