-- A run may also give back what was merged into something that does not say it any more.

ALTER TABLE consolidation_steps DROP CONSTRAINT consolidation_steps_kind_check;
ALTER TABLE consolidation_steps ADD CONSTRAINT consolidation_steps_kind_check
  CHECK (kind IN ('merge', 'demote', 'release', 'relate', 'rollup'));
