"""What was sold, renewed or charged stays with its member and its product. Every check selects its faults."""

_PAYS = """
    (exists (select from sales s where s.studio_id = $1 and s.purchase_id = c.id)
     or exists (select from renewals r where r.studio_id = $1 and r.purchase_id = c.id))"""

PURCHASE_MOVED = f"""
    select c.n, c.place || m.member, 'cannot change: ' || m.reason
    from change_purchases c join purchases p on p.studio_id = $1 and p.id = c.id
    cross join lateral (values
        ('.member_id', 'the purchase is the fee of a booking',
         c.member_id is distinct from p.member_id and p.booking_id is not null),
        ('.member_id', 'the purchase pays for a membership', c.member_id is distinct from p.member_id and {_PAYS}),
        ('.product_id', 'the purchase pays for a membership', c.product_id is distinct from p.product_id and {_PAYS}))
        m(member, reason, moved)
    where m.moved"""

SOLD_PRODUCT = """
    select c.n, c.place || '.product_id', 'cannot change: the membership was sold with its product'
    from change_memberships c join memberships m on m.studio_id = $1 and m.id = c.id
    where c.product_id <> m.product_id
        and exists (select from sales s where s.studio_id = $1 and s.membership_id = c.id)"""

PAYMENT_CHECKS = (PURCHASE_MOVED, SOLD_PRODUCT)
