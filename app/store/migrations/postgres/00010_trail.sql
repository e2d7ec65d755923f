-- +goose Up

-- The trail: append-only. ts is microseconds since 1970 UTC, exactly what a
-- record's hash covers; body is TEXT and not JSON, which would be rewritten. Ids and
-- chains sort by their bytes, as the other database and the hashes have them.
CREATE TABLE trail (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    chain           TEXT COLLATE "C" NOT NULL,
    seq             BIGINT NOT NULL CHECK (seq > 0),
    ts              BIGINT NOT NULL,
    plan_id         TEXT   NOT NULL,
    session_id      TEXT   NOT NULL,
    repo            TEXT   NOT NULL,
    repo_id         BIGINT NOT NULL,
    pull            BIGINT NOT NULL,
    head_sha        TEXT   NOT NULL,
    phase           TEXT   NOT NULL,
    type            TEXT   NOT NULL,
    actor           TEXT   NOT NULL,
    policy_revision TEXT   NOT NULL,
    app_version     TEXT   NOT NULL,
    body            TEXT   NOT NULL,
    prev_hash       TEXT   NOT NULL,
    hash            TEXT   NOT NULL,
    UNIQUE (chain, seq)
);
CREATE INDEX trail_by_session ON trail (session_id, id) WHERE session_id <> '';
CREATE INDEX trail_by_pull ON trail (repo, pull, id);
CREATE INDEX trail_by_type ON trail (type, id);

-- Where each chain ends, so that a cut end shows.
CREATE TABLE chains (
    chain TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seq   BIGINT NOT NULL,
    hash  TEXT   NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION trail_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the trail is append-only: %', TG_ARGV[0];
END;
$$;
-- +goose StatementEnd

-- A new row follows the last one of its chain. Rows of the same statement are seen
-- here one after the other.
-- +goose StatementBegin
CREATE FUNCTION trail_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> COALESCE((SELECT MAX(seq) FROM trail WHERE chain = NEW.chain), 0) + 1 THEN
        RAISE EXCEPTION 'the trail is append-only: a new row follows the last one of its chain';
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION chains_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.chain <> OLD.chain OR NEW.seq <= OLD.seq THEN
        RAISE EXCEPTION 'the trail is append-only: a chain only grows';
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER trail_no_update BEFORE UPDATE ON trail FOR EACH ROW EXECUTE FUNCTION trail_refuse('a row is never changed');
CREATE TRIGGER trail_no_delete BEFORE DELETE ON trail FOR EACH ROW EXECUTE FUNCTION trail_refuse('a row is never deleted');
CREATE TRIGGER trail_no_truncate BEFORE TRUNCATE ON trail FOR EACH STATEMENT EXECUTE FUNCTION trail_refuse('a row is never deleted');
CREATE TRIGGER trail_only_append BEFORE INSERT ON trail FOR EACH ROW EXECUTE FUNCTION trail_follows();
CREATE TRIGGER chains_no_delete BEFORE DELETE ON chains FOR EACH ROW EXECUTE FUNCTION trail_refuse('a chain is never deleted');
CREATE TRIGGER chains_no_truncate BEFORE TRUNCATE ON chains FOR EACH STATEMENT EXECUTE FUNCTION trail_refuse('a chain is never deleted');
CREATE TRIGGER chains_only_forward BEFORE UPDATE ON chains FOR EACH ROW EXECUTE FUNCTION chains_grow();

-- +goose Down
DROP TABLE chains;
DROP TABLE trail;
DROP FUNCTION chains_grow();
DROP FUNCTION trail_follows();
DROP FUNCTION trail_refuse();
