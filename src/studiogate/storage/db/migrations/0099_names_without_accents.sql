-- migrate:up

-- A text as it is compared in searches: without upper case and accents, so that "gomez" finds Gómez. Letters that Unicode
-- does not take apart are replaced. The indexes below store its results: a change of this function needs new indexes.
create function folded(written text) returns text language sql immutable parallel safe
return replace(replace(replace(
    translate(regexp_replace(normalize(lower(written), NFD), '[\u0300-\u036f]', '', 'g'), 'øłđðħıŧ', 'olddhit'),
    'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');

-- migrate:step
create index concurrently members_by_folded_last_name on members (studio_id, (folded(last_name) collate "C"), id);
-- migrate:step
create index concurrently members_by_folded_first_name on members (studio_id, (folded(first_name) collate "C"), id);
-- migrate:step
create index concurrently members_by_folded_last_part
    on members (studio_id, (folded(substring(last_name from '[^ -]+$')) collate "C"), id) where last_name ~ '[ -]';
