-- Processes keep the words of whom they go on being asked for, too, and ask what changed since. `worded` and `unworded` are for
-- words what `stamp` and `dropped` are for vectors (0014), and a document's words have the stamp they came with. Those there
-- were before have the lowest; a program of the release before names none, and what it writes counts as new each time.

ALTER TABLE indexed ADD COLUMN worded bigint NOT NULL DEFAULT 1;
ALTER TABLE indexed ADD COLUMN unworded bigint NOT NULL DEFAULT 0;
ALTER TABLE words ADD COLUMN stamp bigint NOT NULL DEFAULT 0;
ALTER TABLE words ALTER COLUMN stamp SET DEFAULT 9223372036854775807;
CREATE INDEX words_by_stamp ON words (tenant, owner, tier, stamp) WHERE stamp > 0;

-- Both tell one thing more, and are made again in access.sql.
DROP FUNCTION IF EXISTS enter_to_ask(text, text, text, text, text);
DROP FUNCTION IF EXISTS sizes();
