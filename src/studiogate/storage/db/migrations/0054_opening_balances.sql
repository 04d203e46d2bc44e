-- migrate:up
alter table credit_ledger validate constraint credit_ledger_delta_of_reason;

-- migrate:step
-- One line for each membership that existed before its credits were in the ledger. All rows are read at one moment, and
-- a booking changes credits and ledger in one transaction, so what bookings do meanwhile is in both or in neither.
insert into credit_ledger (studio_id, id, membership_id, delta, reason)
select m.studio_id, gen_random_uuid(), m.id, m.credits_remaining - coalesce(l.total, 0), 'opening'
from memberships m
left join (select studio_id, membership_id, sum(delta) as total from credit_ledger group by studio_id, membership_id) l
    on l.studio_id = m.studio_id and l.membership_id = m.id
where m.credits_remaining is not null and m.credits_remaining <> coalesce(l.total, 0);
