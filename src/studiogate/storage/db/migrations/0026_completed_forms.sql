-- migrate:up
-- The version of a form whose definition was stored complete: every tabulated field present, settings in one notation.
-- Null, or another version than the form's own: the definition is completed whenever it is read. An older process
-- raises the version and does not know this column, so what it writes is completed too.

alter table forms add column completed_version integer;

-- migrate:repeat
-- Events no longer hold the setting notification_emails. Those that do are from now on for keys that may write forms.
update events set scopes = array_append(scopes, 'forms:write')
where (studio_id, id) in (
    select studio_id, id from events
    where type in ('form.created', 'form.updated') and not 'forms:write' = any(scopes)
      and (object -> 'settings' -> 'notification_emails' is not null
           or previous_attributes -> 'settings' -> 'notification_emails' is not null)
    limit 500);
