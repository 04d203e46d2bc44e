"""The invariants of credits, payments and fees, each as a query for its violations. Operators only, all studios."""

from studiogate.storage.invariant_type import Invariant

MONEY_PROMISES = (
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
