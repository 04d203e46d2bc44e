"""One studio with nearly all rows of a database, consistent in every invariant, to try `doctor` and `restore` on.

Every statistic of a column ``studio_id`` says that one value has nearly all rows, so a plan that joins by it alone
compares every row of the studio with every other one.
"""

import asyncpg

from studiogate.storage import backup

FILL = """
    set session_replication_role = replica;
    create temp table size as
    select md5('s' || s)::uuid as studio_id, s, case s when 0 then {bookings} else 200 end as bookings
    from generate_series(0, 20) s;
    insert into studios (studio_id, name, slug, timezone, currency, country)
    select studio_id, 's' || s, 's' || s, 'UTC', 'USD', 'US' from size;
    insert into products (studio_id, id, key, name, product_type)
    select studio_id, md5('d' || s)::uuid, 'k', 'n', 'package' from size;
    insert into members (studio_id, id, first_name, last_name, email)
    select studio_id, md5('m' || s || '-' || n)::uuid, 'First' || n, 'Last' || n, 'person' || n || '@example.com'
    from size, generate_series(1, bookings / 10) n;
    insert into memberships (studio_id, id, member_id, product_id, status, credits_granted, credits_remaining)
    select studio_id, md5('ms' || s || '-' || n)::uuid,
           md5('m' || s || '-' || 1 + (n / 2 + n / 2 / (bookings / 20)) % (bookings / 10))::uuid,
           md5('d' || s)::uuid, 'active', 10, 9 + n % 2
    from size, generate_series(1, bookings) n;
    insert into classes (studio_id, id, title, start_time, end_time, capacity, booked_count, announced_status)
    select studio_id, md5('c' || s || '-' || n)::uuid, 'class', t, t + interval '1 hour', 20, 10, 'completed'
    from size, generate_series(0, bookings / 20 - 1) n,
         lateral (select timestamptz '2026-01-01' - n * interval '1 hour') x(t);
    insert into bookings (studio_id, id, class_id, member_id, membership_id, start_time, end_time, status,
                          credits_taken)
    select size.studio_id, md5('b' || s || '-' || n)::uuid, md5('c' || s || '-' || n / 2 % (bookings / 20))::uuid,
           m.member_id, m.id, t, t + interval '1 hour', case n % 2 when 0 then 'checked_in' else 'cancelled' end, 1
    from size cross join generate_series(1, bookings) n
    cross join lateral (select timestamptz '2026-01-01' - n / 2 % (bookings / 20) * interval '1 hour') x(t)
    join memberships m on m.id = md5('ms' || s || '-' || n)::uuid;
    insert into booking_cancellations (studio_id, id, booking_id, member_id, cancelled_at, cancellation_type, late,
                                       graced_for_promotion, credits_forfeited, credits_returned, receipt)
    select studio_id, id, id, member_id, start_time, 'standard', false, false, 0, 1, '{{}}'
    from bookings where status = 'cancelled';
    insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
    select studio_id, gen_random_uuid(), id, null, 10, 'granted' from memberships
    union all select studio_id, gen_random_uuid(), membership_id, id, -1, 'booked' from bookings
    union all select studio_id, gen_random_uuid(), membership_id, id, 1, 'returned' from bookings
    where status = 'cancelled';
    insert into events (studio_id, id, sequence, type, subject, scopes, place, object, previous_attributes, actor)
    select studio_id, gen_random_uuid(), n, 'booking.created', md5('b' || s || '-' || n)::uuid, '{{bookings:read}}',
           studio_id, '{{}}', '{{}}', case n % 10 when 0 then 'staff' else 'partner' end
    from size, generate_series(1, bookings) n;
    insert into event_heads (studio_id, sequence) select studio_id, bookings from size;
    update events set transaction_id = sequence::text::xid8;
    insert into audit_log (studio_id, id, channel, actor_name, action, subject_type, subject_id, transaction_id)
    select studio_id, gen_random_uuid(), 'console', 'a', 'booking.create', 'booking', subject, transaction_id
    from events;
    set session_replication_role = default;
"""


async def fill(connection: asyncpg.Connection, bookings: int) -> None:
    """Fill a migrated database: so many bookings in one studio, with two and a half times as many lines in the ledger;
    200 in each of 20 others."""
    derived = await backup.remove_derived(connection)
    await connection.execute(FILL.format(bookings=bookings))
    for definition in derived:
        await backup.create_derived(connection, definition)
