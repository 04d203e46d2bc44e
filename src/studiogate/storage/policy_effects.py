"""How long before the start members booked and cancelled lately, for comparing policies."""

from datetime import timedelta

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.policy import LeadTimes
from studiogate.storage.db.pool import Connection

# The newest bookings are read, so that it costs the same in a studio with a million of them.
MOST = 4_000
BY_MEMBERS = ", ".join(
    f"'{each}'" for each in (CancellationType.STANDARD, CancellationType.LATE, CancellationType.GRACED)
)
# $1 studio, $2 how long ago, $3 how many at most. {0}: a condition on the bookings; {1}: when each of them b was made
# or cancelled; {2}: what has that time; {3}: the members of the policy that a class, its type or its location may have
# of its own.
LEADS = """
    with recent as materialized (
        select b.id, b.class_id, b.start_time, b.created_at from bookings b
        where b.studio_id = $1 and {0} b.created_at > clock_timestamp() - $2::interval
        order by b.created_at desc, b.id desc limit $3)
    select coalesce(array_agg(extract(epoch from b.start_time - {1})::integer), '{{}}') as leads,
           (select count(*) from recent) = $3 as is_cut
    from recent b {2}
    join classes c on c.studio_id = $1 and c.id = b.class_id
    left join class_types t on t.studio_id = $1 and t.id = c.class_type_id
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    where not (coalesce(c.policy, '{{}}') ?| array[{3}] or coalesce(t.policy, '{{}}') ?| array[{3}]
               or coalesce(l.policy, '{{}}') ?| array[{3}])"""
CANCELLED = LEADS.format(
    "b.status = 'cancelled' and",
    "k.cancelled_at",
    f"""join booking_cancellations k
        on k.studio_id = $1 and k.booking_id = b.id and k.cancellation_type in ({BY_MEMBERS})""",
    "'cancellation_window_minutes'",
)
BOOKED = LEADS.format("", "b.created_at", "", "'booking_opens_minutes_before', 'booking_closes_minutes_before'")


FORM_TITLES = """
    select f.id, f.title from forms f where f.studio_id = $1 and (f.status = 'published' or f.id::text = (
        select s.policy ->> 'waiver_form_id' from studios s where s.studio_id = $1))
    order by lower(f.title), f.id"""


async def form_titles(connection: Connection, access: Access) -> dict[str, str]:
    """Return the titles of the forms that a policy can require, by id, and of the one that it does."""
    return {str(row["id"]): row["title"] for row in await connection.fetch(FORM_TITLES, access.studio_id)}


async def lead_times(connection: Connection, access: Access, since: timedelta) -> LeadTimes:
    cancelled, is_cut = await connection.fetchrow(CANCELLED, access.studio_id, since, MOST) or ((), False)
    booked, is_cut_too = await connection.fetchrow(BOOKED, access.studio_id, since, MOST) or ((), False)
    return LeadTimes(cancelled, booked, is_cut or is_cut_too)
