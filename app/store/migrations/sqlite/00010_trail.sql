-- +goose Up

-- The trail: append-only. ts is microseconds since 1970 UTC, exactly what a
-- record's hash covers. STRICT, so that a tampered cell cannot change its type
-- and break the reader that has to report it.
CREATE TABLE trail (
    id              TEXT    NOT NULL PRIMARY KEY,
    chain           TEXT    NOT NULL,
    seq             INTEGER NOT NULL CHECK (seq > 0),
    ts              INTEGER NOT NULL,
    plan_id         TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    repo            TEXT    NOT NULL,
    repo_id         INTEGER NOT NULL,
    pull            INTEGER NOT NULL,
    head_sha        TEXT    NOT NULL,
    phase           TEXT    NOT NULL,
    type            TEXT    NOT NULL,
    actor           TEXT    NOT NULL,
    policy_revision TEXT    NOT NULL,
    app_version     TEXT    NOT NULL,
    body            TEXT    NOT NULL,
    prev_hash       TEXT    NOT NULL,
    hash            TEXT    NOT NULL,
    UNIQUE (chain, seq)
) STRICT;
CREATE INDEX trail_by_session ON trail (session_id, id) WHERE session_id <> '';
CREATE INDEX trail_by_pull ON trail (repo, pull, id);
CREATE INDEX trail_by_type ON trail (type, id);

-- Where each chain ends, so that a cut end shows.
CREATE TABLE chains (
    chain TEXT    NOT NULL PRIMARY KEY,
    seq   INTEGER NOT NULL,
    hash  TEXT    NOT NULL
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER trail_no_update BEFORE UPDATE ON trail
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a row is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER trail_no_delete BEFORE DELETE ON trail
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a row is never deleted');
END;
-- +goose StatementEnd

-- INSERT OR REPLACE deletes without firing the trigger above on a connection
-- without recursive_triggers. Every key that it could replace by is refused
-- here: a row's id, its rowid, and its place in the chain, which must be the
-- next one.
-- +goose StatementBegin
CREATE TRIGGER trail_only_append BEFORE INSERT ON trail
WHEN EXISTS (SELECT 1 FROM trail WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM trail WHERE rowid = NEW.rowid)
  OR NEW.seq <> COALESCE((SELECT MAX(seq) FROM trail WHERE chain = NEW.chain), 0) + 1
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a new row follows the last one of its chain');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER chains_no_delete BEFORE DELETE ON chains
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a chain is never deleted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER chains_only_forward BEFORE UPDATE ON chains
WHEN NEW.chain <> OLD.chain OR NEW.seq <= OLD.seq
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a chain only grows');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER chains_no_replace BEFORE INSERT ON chains
WHEN EXISTS (SELECT 1 FROM chains WHERE chain = NEW.chain OR rowid = NEW.rowid)
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only: a chain is never replaced');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE chains;
DROP TABLE trail;
