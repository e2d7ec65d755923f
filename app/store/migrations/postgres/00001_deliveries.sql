-- +goose Up

-- What GitHub delivered and we acknowledged. The raw payload has a table of its
-- own, so that marking a delivery as recorded does not rewrite it.
CREATE TABLE deliveries (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    guid         TEXT        NOT NULL UNIQUE,
    event        TEXT        NOT NULL,
    action       TEXT        NOT NULL,
    subject_kind TEXT        NOT NULL,
    subject_key  TEXT        NOT NULL,
    repo_id      BIGINT      NOT NULL,
    received_at  TIMESTAMPTZ NOT NULL,
    body_sha256  TEXT        NOT NULL,
    hint         TEXT        NOT NULL,
    state        TEXT        NOT NULL DEFAULT 'received' CHECK (state IN ('received', 'recorded'))
);
CREATE INDEX deliveries_open ON deliveries (subject_key, seq) WHERE state = 'received';
CREATE INDEX deliveries_by_time ON deliveries (received_at);

CREATE TABLE delivery_payloads (
    seq  BIGINT PRIMARY KEY REFERENCES deliveries (seq) ON DELETE CASCADE,
    body BYTEA NOT NULL
);

-- One row per subject. want_gen counts what happened, urgent_gen is the last one
-- that must not wait, done_gen what was worked: a subject is idle exactly when
-- want_gen = done_gen. attempts counts the failures since the last success. Its row
-- is what events, turns and wakes of a subject take turns on.
CREATE TABLE subjects (
    key          TEXT COLLATE "C" PRIMARY KEY,
    kind         TEXT        NOT NULL,
    want_gen     BIGINT      NOT NULL DEFAULT 0,
    urgent_gen   BIGINT      NOT NULL DEFAULT 0,
    done_gen     BIGINT      NOT NULL DEFAULT 0,
    due_at       TIMESTAMPTZ,          -- debounce: not before, unless urgent
    settle_until TIMESTAMPTZ,          -- not before, urgent or not
    recheck_at   TIMESTAMPTZ,          -- run then, also without an event
    attempts     BIGINT      NOT NULL DEFAULT 0,
    updated_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX subjects_open ON subjects (key) WHERE want_gen > done_gen OR recheck_at IS NOT NULL;
CREATE INDEX subjects_by_time ON subjects (updated_at);

-- What we know of pull requests, to find them by head (case 61).
CREATE TABLE pulls (
    repo_id        BIGINT      NOT NULL,
    number         BIGINT      NOT NULL,
    owner          TEXT        NOT NULL,
    name           TEXT        NOT NULL,
    installation   BIGINT      NOT NULL,
    head_sha       TEXT        NOT NULL,
    base_ref       TEXT        NOT NULL,
    default_branch TEXT        NOT NULL,
    state          TEXT        NOT NULL,
    draft          BOOLEAN     NOT NULL,
    private        BOOLEAN     NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (repo_id, number)
);
CREATE INDEX pulls_by_head ON pulls (repo_id, head_sha);
CREATE INDEX pulls_ended ON pulls (updated_at) WHERE state <> 'open';

-- +goose Down
DROP TABLE pulls;
DROP TABLE subjects;
DROP TABLE delivery_payloads;
DROP TABLE deliveries;
