-- +goose Up

-- One evaluation of one pull request at one head, with the evidence from which
-- the gate is recomputed. No code of the pull request is in it.
CREATE TABLE sessions (
    id         TEXT COLLATE "C" PRIMARY KEY, -- ULID: their order is that of time
    repo_id    BIGINT    NOT NULL,
    pull       BIGINT    NOT NULL,
    head_sha   TEXT      NOT NULL,
    status     TEXT      NOT NULL,
    body       TEXT      NOT NULL,
    newest     BOOLEAN   NOT NULL, -- of its pull request: the others go sooner
    updated_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX sessions_by_pull ON sessions (repo_id, pull, id);
CREATE INDEX sessions_failed ON sessions (id) WHERE status = 'failed';
CREATE INDEX sessions_newest ON sessions (updated_at) WHERE newest;
CREATE INDEX sessions_replaced ON sessions (updated_at) WHERE NOT newest;

-- What is remembered of a commit that checks report on.
CREATE TABLE heads (
    repo_id     BIGINT    NOT NULL,
    sha         TEXT      NOT NULL,
    seen_at     TIMESTAMPTZ NOT NULL,
    first_check TIMESTAMPTZ,
    checks      TEXT      NOT NULL DEFAULT '[]',
    rerun       BOOLEAN   NOT NULL DEFAULT FALSE,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (repo_id, sha)
);
CREATE INDEX heads_by_time ON heads (updated_at);

-- Which workflow reports which check name, learnt from every head that was read.
-- seen_at is when it was last learnt, to a day.
CREATE TABLE check_sources (
    repo_id  BIGINT NOT NULL,
    name     TEXT   NOT NULL,
    app_id   BIGINT NOT NULL,
    workflow TEXT   NOT NULL,
    seen_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (repo_id, name, app_id, workflow)
);
CREATE INDEX check_sources_by_time ON check_sources (seen_at);

-- Repositories by id, so that a subject that was woken without an event can be
-- reached.
CREATE TABLE repos (
    id           BIGINT PRIMARY KEY,
    owner        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    installation BIGINT NOT NULL
);

-- +goose Down
DROP TABLE repos;
DROP TABLE check_sources;
DROP TABLE heads;
DROP TABLE sessions;
