-- migrate:up
-- migrate:repeat
-- The purchase of a renewal belongs to the location of the sale; without one, the keys and the staff of that location did
-- not see it. Locks these purchases only, which nobody but staff who record a payment writes.
update purchases u set location_id = found.location_id
from (
    select r.studio_id, r.purchase_id, sold.location_id
    from renewals r
    join purchases p on p.studio_id = r.studio_id and p.id = r.purchase_id
    join sales k on k.studio_id = r.studio_id and k.membership_id = r.membership_id
    join purchases sold on sold.studio_id = k.studio_id and sold.id = k.purchase_id
    where p.location_id is null and sold.location_id is not null
    limit 500) found
where u.studio_id = found.studio_id and u.id = found.purchase_id;
