#!/bin/sh
# Run once by the image of PostgreSQL, when its volume is new: the service's role owns its database and is no superuser.
# It may create databases, because `backup --verify` restores into one.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --set "password=$SERVICE_PASSWORD" --set "database=$POSTGRES_DB" \
    --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role studiogate_app login createdb password :'password';
alter database :"database" owner to studiogate_app;
SQL
