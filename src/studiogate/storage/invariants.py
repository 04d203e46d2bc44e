"""The invariants of bookings and money, each as a query for its violations. Operators only: they read all studios.

Many are also enforced by constraints and unique indexes. They are checked all the same: a restored backup, a repaired
index or a manual change to the database can introduce what a constraint would have rejected.
"""

from studiogate.storage.doctor import Invariant
from studiogate.storage.resources import class_joins, policy_minutes
from studiogate.storage.status_lists import ATTENDABLE, RECEIVED, SEAT_HOLDING

MONEY = (
    Invariant(
        "credits",
        "no membership owes credits",
        """
        select format('membership %s of studio %s: credits_remaining %s', id, studio_id, credits_remaining)
        from memberships where credits_remaining < 0""",
    ),
    # A membership that has become unlimited has no credits to return or to forfeit.
    Invariant(
        "ledger",
        "every credit taken by a booking is in the ledger once, and settled once when it is cancelled",
        """
        select format('booking %s of studio %s is %s: credits_taken %s, ledger %s', b.id, b.studio_id, b.status,
                      b.credits_taken, array_remove(array_agg(l.reason order by l.created_at), null))
        from bookings b left join credit_ledger l on l.studio_id = b.studio_id and l.booking_id = b.id
        left join memberships m on m.studio_id = b.studio_id and m.id = b.membership_id
        group by b.studio_id, b.id, m.credits_remaining
        having count(l.id) filter (where l.delta = -1) <> b.credits_taken
            or count(l.id) filter (where l.delta <> -1)
                > case when b.status = 'cancelled' then b.credits_taken else 0 end
            or (b.status = 'cancelled' and m.credits_remaining is not null
                and count(l.id) filter (where l.delta <> -1) < b.credits_taken)
            or bool_or(l.membership_id <> b.membership_id)""",
    ),
    Invariant(
        "payments",
        "what a purchase has brought in is the sum of its payments",
        f"""
        select format('purchase %s of studio %s is %s: %s of %s refunded, payments %s', u.id, u.studio_id, u.status,
                      u.refunded_amount, u.amount_total, paid.total)
        from purchases u cross join lateral (
            select coalesce(sum(p.amount), 0) as total from purchase_payments p
            where p.studio_id = u.studio_id and p.purchase_id = u.id) paid
        where paid.total <> case when u.status in ({RECEIVED})
                                 then coalesce(u.amount_total, 0) - coalesce(u.refunded_amount, 0) else 0 end""",
    ),
    Invariant(
        "renewals",
        "a renewal's purchase is its membership's, and resets credits at most once",
        """
        select format('membership %s of studio %s: period from %s, purchase %s of member %s, credits reset %s times',
                      r.membership_id, r.studio_id, r.period_start, r.purchase_id, u.member_id, l.resets)
        from renewals r join memberships m on m.studio_id = r.studio_id and m.id = r.membership_id
        join purchases u on u.studio_id = r.studio_id and u.id = r.purchase_id
        cross join lateral (select count(*) as resets from credit_ledger l
            where l.studio_id = r.studio_id and l.membership_id = r.membership_id and l.reason = 'renewed') l
        where u.member_id <> m.member_id or u.product_id is distinct from m.product_id
           or l.resets > (select count(*) from renewals n
                          where n.studio_id = r.studio_id and n.membership_id = r.membership_id)""",
    ),
    Invariant(
        "receipts",
        "a receipt belongs to a cancelled booking and tells what became of its credit and its fee",
        """
        select format('receipt %s of studio %s: booking %s is %s, returned %s and forfeited %s of %s, fee %s of %s',
                      k.id, k.studio_id, b.id, b.status, k.credits_returned, k.credits_forfeited, l.settled,
                      coalesce(k.purchase_id::text, 'none'), coalesce(u.fees::text, 'none'))
        from booking_cancellations k join bookings b on b.studio_id = k.studio_id and b.id = k.booking_id
        cross join lateral (select array_agg(reason) as settled from credit_ledger l
            where l.studio_id = k.studio_id and l.booking_id = b.id and l.delta <> -1) l
        cross join lateral (select array_agg(u.id) as fees from purchases u
            where u.studio_id = k.studio_id and u.booking_id = b.id) u
        where b.status <> 'cancelled' or (l.settled is null) <> (k.credits_returned + k.credits_forfeited = 0)
           or ('returned' = any(l.settled)) <> (k.credits_returned = 1)
           or u.fees is distinct from case when k.purchase_id is not null then array[k.purchase_id] end""",
    ),
    Invariant(
        "fees",
        "a booking has at most one fee, and only together with its receipt",
        """
        select format('booking %s of studio %s: %s fees, receipts %s', u.booking_id, u.studio_id,
                      count(distinct u.id), count(distinct k.id))
        from purchases u left join booking_cancellations k on k.studio_id = u.studio_id and k.purchase_id = u.id
        where u.booking_id is not null
        group by u.studio_id, u.booking_id having count(distinct u.id) > 1 or count(distinct k.id) = 0""",
    ),
    # A membership that has become unlimited has no credits to explain.
    Invariant(
        "balances",
        "the lines of a membership's ledger add up to its credits",
        """
        select format('membership %s of studio %s: credits_remaining %s, the ledger says %s', m.id, m.studio_id,
                      m.credits_remaining, coalesce(l.total, 0))
        from memberships m left join (
            select studio_id, membership_id, sum(delta) as total from credit_ledger group by studio_id, membership_id) l
            on l.studio_id = m.studio_id and l.membership_id = m.id
        where m.credits_remaining is not null and m.credits_remaining <> coalesce(l.total, 0)""",
    ),
    Invariant(
        "sales",
        "a sold membership has its purchase, of the same member and product",
        """
        select format('membership %s of studio %s: purchase %s of member %s and product %s', s.membership_id,
                      s.studio_id, s.purchase_id, u.member_id, u.product_id)
        from sales s left join memberships m on m.studio_id = s.studio_id and m.id = s.membership_id
        left join purchases u on u.studio_id = s.studio_id and u.id = s.purchase_id
        where u.id is null or m.id is null or u.member_id <> m.member_id
           or u.product_id is distinct from m.product_id""",
    ),
)

INVARIANTS = (
    Invariant(
        "seats",
        "every class counts its bookings right and none is oversold",
        f"""
        select format('class %s of studio %s: booked_count %s, live bookings %s, capacity %s',
                      c.id, c.studio_id, c.booked_count, count(b.id), c.capacity)
        from classes c left join bookings b on b.studio_id = c.studio_id and b.class_id = c.id
            and b.status in ({SEAT_HOLDING})
        group by c.studio_id, c.id having count(b.id) <> c.booked_count or count(b.id) > c.capacity""",
    ),
    Invariant(
        "live bookings",
        "a member has at most one live booking in a class; in a cancelled one, only attendance is kept",
        f"""
        select format('class %s of studio %s: member %s has %s live bookings', b.class_id, b.studio_id, b.member_id,
                      count(*))
        from bookings b join classes c on c.studio_id = b.studio_id and c.id = b.class_id
        where b.status <> 'cancelled'
        group by b.studio_id, b.class_id, b.member_id, c.status having count(*) > 1
            or c.status = 'cancelled' and bool_or(b.status in ({ATTENDABLE}))""",
    ),
    Invariant(
        "spots",
        "a spot is in its class's room and has at most one live holder; waiting members hold none",
        """
        select format('class %s of studio %s: spot %s is held by bookings %s', b.class_id, b.studio_id,
                      b.class_spot_id, array_agg(b.id))
        from bookings b join classes c on c.studio_id = b.studio_id and c.id = b.class_id
        join room_spots p on p.studio_id = b.studio_id and p.id = b.class_spot_id
        where b.status <> 'cancelled'
        group by b.studio_id, b.class_id, b.class_spot_id, p.room_id, c.room_id
        having count(*) > 1 or p.room_id is distinct from c.room_id or bool_or(b.status = 'waitlisted')""",
    ),
    # An import puts its entries after the members that already wait, whatever join time the entries have.
    Invariant(
        "waitlists",
        "positions run from 1 without gaps, in join order, and are counted on the class",
        """
        select format('class %s of studio %s: positions in join order %s, waitlist_count %s', c.id, c.studio_id,
                      array_agg(w.position order by w.created_at, w.position), c.waitlist_count)
        from classes c
        left join waitlist_entries w on w.studio_id = c.studio_id and w.class_id = c.id and w.status = 'waiting'
        left join bookings b on b.studio_id = w.studio_id and b.id = w.booking_id
        group by c.studio_id, c.id
        having count(w.id) <> c.waitlist_count or (count(w.id) > 0 and (
            array_agg(w.position order by w.position)
                <> (select array_agg(n::integer) from generate_series(1, count(w.id)) n)
            or (bool_and(b.policy is not null) and array_agg(w.position order by w.created_at, w.position)
                <> array_agg(w.position order by w.position))))""",
    ),
    Invariant(
        "waitlist entries",
        "a booking is waitlisted exactly while its entry waits, and was promoted only if its entry was converted",
        """
        select format('booking %s of studio %s is %s, promoted %s, its entry %s', b.id, b.studio_id, b.status,
                      coalesce(b.promoted_at::text, 'never'), coalesce(w.status, 'missing'))
        from bookings b left join waitlist_entries w on w.studio_id = b.studio_id and w.booking_id = b.id
        where (b.status = 'waitlisted') is distinct from coalesce(w.status = 'waiting', false)
           or (b.promoted_at is not null and w.status is distinct from 'converted')
           or (w.promoted_at is not null) <> (w.status = 'converted')""",
    ),
    *MONEY,
    Invariant(
        "owners",
        "memberships, waitlist entries, receipts and fees of a booking are its own member's",
        """
        select format('booking %s of studio %s: its %s is another member''s or another class''s', b.id, b.studio_id,
                      o.kind)
        from bookings b join (
            select 'membership' as kind, b.studio_id, b.id as booking_id, m.member_id, b.class_id
            from bookings b join memberships m on m.studio_id = b.studio_id and m.id = b.membership_id
            union all select 'waitlist entry', studio_id, booking_id, member_id, class_id from waitlist_entries
            union all select 'receipt', studio_id, booking_id, member_id, null from booking_cancellations
            union all select 'fee', studio_id, booking_id, member_id, null from purchases where booking_id is not null
        ) o on o.studio_id = b.studio_id and o.booking_id = b.id
        where o.member_id <> b.member_id or o.class_id <> b.class_id""",
    ),
    Invariant(
        "event log",
        "every studio's numbers run without gaps up to its head",
        """
        select format('studio %s: %s events numbered %s to %s, head %s', h.studio_id, count(v.id), min(v.sequence),
                      max(v.sequence), h.sequence)
        from event_heads h left join events v on v.studio_id = h.studio_id and v.sequence is not null
        group by h.studio_id having count(v.id) > 0
            and (max(v.sequence) <> h.sequence or count(v.id) <> max(v.sequence) - min(v.sequence) + 1)""",
    ),
    Invariant(
        "places and times of bookings",
        "bookings and waitlist entries carry their class's location and times",
        """
        select format('%s of studio %s is filed under another place or time than its class', b.id, b.studio_id)
        from (select studio_id, id, class_id, location_id, start_time, end_time from bookings
              union all select studio_id, id, class_id, location_id, null, null from waitlist_entries) b
        join classes c on c.studio_id = b.studio_id and c.id = b.class_id
        where b.location_id is distinct from c.location_id
           or b.start_time <> c.start_time or b.end_time <> c.end_time""",
    ),
    # All other references to rows are foreign keys that include the studio.
    Invariant(
        "places of keys",
        "a key is restricted to locations of its own studio only",
        """
        select format('key %s of studio %s: location %s is not the studio''s', k.id, k.studio_id, p.location_id)
        from credentials k cross join unnest(k.location_ids) p(location_id)
        where not exists (select from locations l where l.studio_id = k.studio_id and l.id = p.location_id)""",
    ),
    Invariant(
        "waivers",
        "a policy asks for a form of its own studio only",
        """
        select format('%s %s of studio %s: there is no form %s', p.kind, p.id, p.studio_id, p.form_id)
        from (select 'studio' as kind, studio_id, studio_id as id, policy->>'waiver_form_id' as form_id from studios
              union all select 'location', studio_id, id, policy->>'waiver_form_id' from locations
              union all select 'class type', studio_id, id, policy->>'waiver_form_id' from class_types
              union all select 'class', studio_id, id, policy->>'waiver_form_id' from classes) p
        where p.form_id is not null
          and not exists (select from forms f where f.studio_id = p.studio_id and f.id::text = lower(p.form_id))""",
    ),
    Invariant(
        "leads",
        "an email address is one lead's",
        """
        select format('studio %s: %s leads have one email: %s', studio_id, count(*), array_agg(id))
        from leads group by studio_id, lower(btrim(email)) having count(*) > 1""",
    ),
    Invariant(
        "mail cursors",
        "no studio's mails are ahead of its events",
        """
        select format('studio %s: its mails are at event %s, its log ends at %s', k.studio_id, k.sequence, h.sequence)
        from mail_cursors k left join event_heads h on h.studio_id = k.studio_id
        where k.sequence > coalesce(h.sequence, 0)""",
    ),
    Invariant(
        "first results",
        "every remembered key has its answer",
        """
        select format('key of credential %s of studio %s has no answer', credential_id, studio_id)
        from idempotency_keys where status is null or body is null or completed_at is null""",
    ),
    Invariant(
        "ended waitlists",
        "nobody waits for a class that has begun",
        """
        select format('class %s of studio %s began at %s and %s still wait: is the worker running?',
                      id, studio_id, start_time, waitlist_count)
        from classes where waitlist_count > 0 and start_time <= clock_timestamp()""",
        level="warning",
    ),
    # An entry that was found not eligible has a skip_reason. Only the domain rules can tell whether it still applies.
    Invariant(
        "promised seats",
        "no seat is free while somebody waits who was not even looked at",
        f"""
        select format('class %s of studio %s: %s seats are free and %s wait: is the worker running?',
                      c.id, c.studio_id, c.capacity - c.booked_count, c.waitlist_count)
        from classes c {class_joins("c.studio_id")}
        where c.status = 'scheduled' and c.waitlist_count > 0 and c.booked_count < c.capacity
          and coalesce(c.policy->>'waitlist_mode', class_type.policy->>'waitlist_mode',
                       location.policy->>'waitlist_mode', studio.policy->>'waitlist_mode', 'auto') = 'auto'
          and clock_timestamp() <= c.start_time - {policy_minutes("promotion_cutoff_minutes")}
          and exists (select from waitlist_entries w where w.studio_id = c.studio_id and w.class_id = c.id
                      and w.status = 'waiting' and w.skip_reason is null)""",
        level="warning",
    ),
)
