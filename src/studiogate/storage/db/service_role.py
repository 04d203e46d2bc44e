"""The role that the service connects as to the embedded PostgreSQL, and the statements that create it."""

NAME = "studiogate"  # of the superuser and of the database
ROLE = "studiogate_app"  # the service connects as this role: owner of the database and everything in it, nothing else

# Also run on clusters of releases in which the service was the superuser. One line each, because single-user mode ends
# a statement at the end of the line. Objects of extensions and of the system remain owned by the superuser.
MAKE_ROLE = (
    f"do $$ begin if not exists (select from pg_roles where rolname = '{ROLE}') then create role {ROLE} login; end if;"
    " end $$"
)
OWN_DATABASE = f"alter database {NAME} owner to {ROLE}"
OWN_OBJECTS = (
    "do $$ declare each text; begin for each in"
    " select format('alter %s %s owner to %I', case when relkind = 'S' then 'sequence' when relkind = 'v' then 'view'"
    f" when relkind = 'm' then 'materialized view' else 'table' end, c.oid::regclass, '{ROLE}') from pg_class c"
    " where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S') and not exists"
    " (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i', 'e') and d.classid ="
    " 'pg_class'::regclass)"
    f" union all select format('alter routine %s owner to %I', p.oid::regprocedure, '{ROLE}') from pg_proc p"
    " where pronamespace = 'public'::regnamespace and not exists"
    " (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')"
    f" union all select format('alter type %s owner to %I', t.oid::regtype, '{ROLE}') from pg_type t"
    " where typnamespace = 'public'::regnamespace and typtype in ('d', 'e', 'r') and not exists"
    " (select from pg_depend d where d.objid = t.oid and d.deptype = 'e')"
    " loop execute each; end loop; end $$"
)
