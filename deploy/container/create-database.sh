#!/bin/sh
# The PostgreSQL image runs this script once, as the administrator. It creates Almoner's two roles and the database.
set -eu
psql --set=ON_ERROR_STOP=1 --username=postgres \
    --set=owner_password="$(cat "$ALMONER_OWNER_PASSWORD_FILE")" \
    --set=app_password="$(cat "$ALMONER_APP_PASSWORD_FILE")" <<'SQL'
create role almoner_owner login password :'owner_password';
create role almoner_app login password :'app_password';
create database almoner owner almoner_owner;
\connect almoner
create extension if not exists pg_prewarm;
SQL
