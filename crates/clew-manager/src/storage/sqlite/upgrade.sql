-- From layout 4 to layout 5. The tables that are new are those of schema.sql.
ALTER TABLE register ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
