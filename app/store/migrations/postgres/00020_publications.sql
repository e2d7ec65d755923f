-- +goose Up

-- One row per check: what was posted, what was meant to be, and who may write.
-- Times are microseconds since 1970 UTC, 0 for none, so that claims compare as
-- numbers.
CREATE TABLE publications (
    repo_id      BIGINT  NOT NULL,
    head_sha     TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    repo         TEXT    NOT NULL,
    installation BIGINT  NOT NULL,
    check_run_id BIGINT  NOT NULL DEFAULT 0,
    external_id  TEXT    NOT NULL DEFAULT '',
    session_id   TEXT    NOT NULL DEFAULT '',
    rerun_for    TEXT    NOT NULL DEFAULT '',
    started_at   BIGINT  NOT NULL DEFAULT 0,
    creating     BOOLEAN NOT NULL DEFAULT FALSE,
    prior_run_id BIGINT  NOT NULL DEFAULT 0,
    suspect      BOOLEAN NOT NULL DEFAULT FALSE,
    status       TEXT    NOT NULL DEFAULT '',
    conclusion   TEXT    NOT NULL DEFAULT '',
    title        TEXT    NOT NULL DEFAULT '',
    digest       TEXT    NOT NULL DEFAULT '',
    intended     TEXT    NOT NULL DEFAULT '',
    waiting      BOOLEAN NOT NULL DEFAULT FALSE, -- the forge may show a run that waits
    updated_at   BIGINT  NOT NULL,
    lease_owner  TEXT    NOT NULL DEFAULT '',
    lease_until  BIGINT  NOT NULL DEFAULT 0,
    fence        BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (repo_id, head_sha, name)
);
CREATE INDEX publications_waiting ON publications (updated_at) WHERE waiting;
CREATE INDEX publications_ended ON publications (updated_at) WHERE NOT waiting;

-- What each pull request says on a key, compressed JSON. A view that no longer
-- speaks for its pull request stays, so that the checks it left open are found.
CREATE TABLE publication_views (
    repo_id    BIGINT  NOT NULL,
    head_sha   TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    pull       BIGINT  NOT NULL,
    live       BOOLEAN NOT NULL,
    view       BYTEA   NOT NULL,
    updated_at BIGINT  NOT NULL,
    PRIMARY KEY (repo_id, head_sha, name, pull),
    FOREIGN KEY (repo_id, head_sha, name) REFERENCES publications (repo_id, head_sha, name) ON DELETE CASCADE
);
CREATE INDEX publication_views_by_pull ON publication_views (repo_id, pull);

-- +goose Down
DROP TABLE publication_views;
DROP TABLE publications;
