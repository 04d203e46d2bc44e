"""Who holds what and comes how often: the members in groups of the same situation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cohort:
    """People in the same situation. ``ends_in`` is when the current period ends, in days from today."""

    count: int
    product: str | None = None
    status: str = "active"
    months: int = 0
    days: int = 0
    ends_in: tuple[int, int] = (0, 0)
    renewals: tuple[int, int] = (0, 0)
    visits_a_week: tuple[int, int] = (0, 0)
    fortnightly: bool = False
    role: str = "member"
    suspended: bool = False
    only_at: str | None = None


# Whoever comes to classes holds something that began more than six weeks ago and lasts beyond the longest notice
# of their bookings (see bookings.py), and has more credits than six weeks of their habits can use.
# A month that has begun ends within 26 days: February is that short.
COHORTS = (
    Cohort(1, "pack-20", days=180, ends_in=(150, 150), only_at="brooklyn"),
    Cohort(42, "unlimited", months=1, ends_in=(14, 26), renewals=(2, 9), visits_a_week=(4, 6)),
    Cohort(8, "unlimited", months=12, ends_in=(60, 250), visits_a_week=(4, 6)),
    Cohort(12, "pack-20", days=180, ends_in=(100, 135), visits_a_week=(2, 2)),
    Cohort(12, "pack-10", days=180, ends_in=(100, 135), visits_a_week=(1, 1)),
    Cohort(6, "pack-5", days=180, ends_in=(100, 135), visits_a_week=(1, 1), fortnightly=True),
    Cohort(
        6, "off-peak-brooklyn", months=1, ends_in=(14, 26), renewals=(2, 5), visits_a_week=(3, 4), only_at="brooklyn"
    ),
    Cohort(9, "reformer-10", days=180, ends_in=(100, 135), visits_a_week=(1, 1)),
    Cohort(6, "intro-3", days=30, ends_in=(21, 28)),
    Cohort(3, "drop-in", days=30, ends_in=(21, 28), role="user"),
    Cohort(3, "unlimited", "pending", months=1, ends_in=(34, 38)),
    Cohort(5, "unlimited", "paused", months=1, ends_in=(8, 25), renewals=(2, 9)),
    Cohort(4, "unlimited", "past_due", months=1, ends_in=(20, 25), renewals=(1, 9)),
    Cohort(6, "unlimited", "cancelled", months=1, ends_in=(-50, -8), renewals=(1, 9)),
    Cohort(3, "pack-10", "expired", days=180, ends_in=(-60, -10)),
    Cohort(3, "intro-3", "expired", days=30, ends_in=(-60, -10)),
    Cohort(3, "unlimited", months=1, ends_in=(14, 26), renewals=(2, 5), suspended=True),
    Cohort(5, role="user"),
    Cohort(7, role="lead"),
)
