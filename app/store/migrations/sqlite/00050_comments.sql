-- +goose Up

-- One row per pull request that got a review: the plan that is under way, as
-- compressed JSON where it has parts, and who may write. Times are microseconds
-- since 1970 UTC, 0 for none, so that claims compare as numbers.
CREATE TABLE postings (
    repo_id      BIGINT  NOT NULL,
    pull         BIGINT  NOT NULL,
    owner        TEXT    NOT NULL,
    repo         TEXT    NOT NULL,
    installation BIGINT  NOT NULL,
    stage        TEXT    NOT NULL DEFAULT '',
    seq          BIGINT  NOT NULL DEFAULT 0,
    session_id   TEXT    NOT NULL DEFAULT '',
    head_sha     TEXT    NOT NULL DEFAULT '',
    digest       TEXT    NOT NULL DEFAULT '',
    parts        BLOB,
    apart        BOOLEAN NOT NULL DEFAULT FALSE,
    review_id    BIGINT  NOT NULL DEFAULT 0,
    review_node  TEXT    NOT NULL DEFAULT '',
    updated_at   BIGINT  NOT NULL,
    lease_owner  TEXT    NOT NULL DEFAULT '',
    lease_until  BIGINT  NOT NULL DEFAULT 0,
    fence        BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (repo_id, pull)
);
CREATE INDEX postings_by_time ON postings (updated_at);

-- The findings that people were shown, each once for its pull request.
CREATE TABLE comments (
    repo_id     BIGINT NOT NULL,
    pull        BIGINT NOT NULL,
    finding_key TEXT   NOT NULL,
    state       TEXT   NOT NULL CHECK (state IN ('posted', 'refused', 'fixed', 'moved')),
    rule        TEXT   NOT NULL,
    source      TEXT   NOT NULL,
    path        TEXT   NOT NULL,
    severity    TEXT   NOT NULL,
    likeness    TEXT   NOT NULL,
    marker      TEXT   NOT NULL,
    review_id   BIGINT NOT NULL,
    thread_id   TEXT   NOT NULL,
    comment_id  BIGINT NOT NULL,
    head_sha    TEXT   NOT NULL,
    posted_at   BIGINT NOT NULL,
    fixed_sha   TEXT   NOT NULL,
    fixed_at    BIGINT NOT NULL,
    PRIMARY KEY (repo_id, pull, finding_key),
    FOREIGN KEY (repo_id, pull) REFERENCES postings (repo_id, pull) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE comments;
DROP TABLE postings;
