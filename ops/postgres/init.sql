-- Run once by the image, as its superuser, when the data directory is empty: a database, and the login that owns it.
-- `recollect database init` does the rest as that login; no service ever has the superuser's password.
\set ON_ERROR_STOP on
\getenv owner DB_USER
\getenv database DB_NAME
\set password `cat /run/secrets/db_owner_password`

CREATE ROLE :"owner" LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE :"database" OWNER :"owner";
\connect :"database"
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE EXTENSION vector;
