-- Figures by day: how often the memory was asked, what requests took, and how well sessions went.

CREATE TABLE recall_days (            -- how often it was asked; never what
  owner     INTEGER NOT NULL REFERENCES owners (row),
  day       TEXT NOT NULL,            -- in UTC
  recalls   INTEGER NOT NULL,
  abstained INTEGER NOT NULL,
  memories  INTEGER NOT NULL,         -- that were given back
  PRIMARY KEY (owner, day)
) WITHOUT ROWID;

ALTER TABLE digests ADD COLUMN health INTEGER;  -- 100 less what went wrong in the session; NULL: not computed yet
CREATE INDEX digests_scored ON digests (session, outcome, health);
CREATE INDEX digests_unscored ON digests (owner) WHERE health IS NULL;

CREATE INDEX memories_by_kind ON memories (owner, kind, occurred_at, project)
  WHERE deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL;

-- Derived: what the rows of `costs` sum up to, kept in step by the database itself, whoever writes them.
CREATE TABLE cost_days (
  owner       INTEGER NOT NULL,
  day         TEXT NOT NULL,          -- in UTC
  session     INTEGER NOT NULL,
  model       TEXT NOT NULL,
  requests    INTEGER NOT NULL,
  input       INTEGER NOT NULL,
  cache_read  INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  output      INTEGER NOT NULL,
  usd         REAL NOT NULL,
  priced      INTEGER NOT NULL,       -- requests whose price is known
  PRIMARY KEY (owner, day, session, model)
) WITHOUT ROWID;

INSERT INTO cost_days (owner, day, session, model, requests, input, cache_read, cache_write, output, usd, priced)
SELECT owner, substr(at, 1, 10), session, ifnull(model, ''), count(*), sum(input), sum(cache_read),
       sum(cache_write_5m + cache_write_1h), sum(output), ifnull(sum(usd), 0.0), count(usd)
FROM costs GROUP BY 1, 2, 3, 4;

CREATE TRIGGER cost_came AFTER INSERT ON costs BEGIN
  INSERT INTO cost_days (owner, day, session, model, requests, input, cache_read, cache_write, output, usd, priced)
  VALUES (new.owner, substr(new.at, 1, 10), new.session, ifnull(new.model, ''), 1, new.input, new.cache_read,
          new.cache_write_5m + new.cache_write_1h, new.output, ifnull(new.usd, 0.0), new.usd IS NOT NULL)
  ON CONFLICT (owner, day, session, model) DO UPDATE SET
    requests = requests + 1, input = input + excluded.input, cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, output = output + excluded.output, usd = usd + excluded.usd,
    priced = priced + excluded.priced;
END;

CREATE TRIGGER cost_went AFTER DELETE ON costs BEGIN
  UPDATE cost_days SET requests = requests - 1, input = input - old.input, cache_read = cache_read - old.cache_read,
    cache_write = cache_write - old.cache_write_5m - old.cache_write_1h, output = output - old.output,
    usd = usd - ifnull(old.usd, 0.0), priced = priced - (old.usd IS NOT NULL)
  WHERE owner = old.owner AND day = substr(old.at, 1, 10) AND session = old.session AND model = ifnull(old.model, '');
  DELETE FROM cost_days
  WHERE owner = old.owner AND day = substr(old.at, 1, 10) AND session = old.session AND model = ifnull(old.model, '')
    AND requests <= 0;
END;

CREATE TRIGGER cost_changed AFTER UPDATE ON costs BEGIN
  UPDATE cost_days SET requests = requests - 1, input = input - old.input, cache_read = cache_read - old.cache_read,
    cache_write = cache_write - old.cache_write_5m - old.cache_write_1h, output = output - old.output,
    usd = usd - ifnull(old.usd, 0.0), priced = priced - (old.usd IS NOT NULL)
  WHERE owner = old.owner AND day = substr(old.at, 1, 10) AND session = old.session AND model = ifnull(old.model, '');
  DELETE FROM cost_days
  WHERE owner = old.owner AND day = substr(old.at, 1, 10) AND session = old.session AND model = ifnull(old.model, '')
    AND requests <= 0;
  INSERT INTO cost_days (owner, day, session, model, requests, input, cache_read, cache_write, output, usd, priced)
  VALUES (new.owner, substr(new.at, 1, 10), new.session, ifnull(new.model, ''), 1, new.input, new.cache_read,
          new.cache_write_5m + new.cache_write_1h, new.output, ifnull(new.usd, 0.0), new.usd IS NOT NULL)
  ON CONFLICT (owner, day, session, model) DO UPDATE SET
    requests = requests + 1, input = input + excluded.input, cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, output = output + excluded.output, usd = usd + excluded.usd,
    priced = priced + excluded.priced;
END;
