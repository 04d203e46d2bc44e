-- migrate:up
-- Revisions as in 0057, for series and closures. The dates up to which classes were created are no change of a series.
-- A series whose flow raises the revision as well rises by two, which harms nothing.
alter table closures add column revision integer not null default 1;

-- migrate:step
create trigger raise_revision before update on closures for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on class_series for each row
    when (old.generated_until is not distinct from new.generated_until and old.* is distinct from new.*)
    execute function raise_revision();
