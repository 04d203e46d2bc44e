-- migrate:up
-- The browser that a session was started in, as the hash of its own cookie. Processes of an earlier release leave it out.
alter table staff_sessions add column device_hash bytea
    constraint staff_sessions_device_hash_check check (octet_length(device_hash) = 32);

-- migrate:step
create index concurrently staff_sessions_of_device on staff_sessions (device_hash, account_id) where device_hash is not null;

-- migrate:step
-- Known devices, links and open sessions are counted apart from strangers. What is stored has a kind of the shorter list
-- and is deleted after a day.
-- squawk-ignore ban-drop-constraint
alter table staff_sign_in_attempts drop constraint staff_sign_in_attempts_kind_check;
alter table staff_sign_in_attempts add constraint staff_sign_in_attempts_kind_check
    check (kind in ('sign_in', 'known_device', 'link', 'session', 'password_reset')) not valid;
