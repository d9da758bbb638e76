-- Processes keep the vectors of whom they are asked for, and ask what changed since. `stamp` of an owner and tier is changed
-- under the lock of its row by whoever changes vectors, in the same transaction (the trigger is in access.sql): so stamps
-- come in the order of commits. A vector has the stamp it came with. Those there were before have the lowest; a program of
-- the release before names none, and what it writes counts as new each time.

ALTER TABLE indexed ADD COLUMN stamp bigint NOT NULL DEFAULT 1;
ALTER TABLE indexed ADD COLUMN dropped bigint NOT NULL DEFAULT 0;  -- the stamp after which some were gone
ALTER TABLE vectors ADD COLUMN stamp bigint NOT NULL DEFAULT 0;
ALTER TABLE vectors ALTER COLUMN stamp SET DEFAULT 9223372036854775807;
CREATE INDEX vectors_by_stamp ON vectors (tenant, owner, tier, stamp) WHERE stamp > 0;
