-- migrate:up
-- The purchase of a renewal belongs to the location of the sale; without one, the keys and the staff of that location did
-- not see it. Locks these purchases only, which nobody but staff who record a payment writes.
update purchases u set location_id = sold.location_id
from renewals r
join sales k on k.studio_id = r.studio_id and k.membership_id = r.membership_id
join purchases sold on sold.studio_id = k.studio_id and sold.id = k.purchase_id
where u.studio_id = r.studio_id and u.id = r.purchase_id
  and u.location_id is null and sold.location_id is not null;
