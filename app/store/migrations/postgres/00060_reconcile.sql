-- +goose Up

-- Times are microseconds since 1970 UTC, 0 for none.

-- One row per installation; the one with id 0 is the App itself, whose list is that
-- of installations. A lease lets one process at a time make a call for it.
CREATE TABLE reconcile_installations (
    id          BIGINT PRIMARY KEY,
    list_at     BIGINT NOT NULL,            -- when its list is read next
    list_page   BIGINT NOT NULL DEFAULT 1,  -- the page to read
    list_began  BIGINT NOT NULL DEFAULT 0,  -- when the reading under way began
    listed_at   BIGINT NOT NULL DEFAULT 0,  -- when the App's list last named it
    call_at     BIGINT NOT NULL DEFAULT 0,  -- no call before
    rest_until  BIGINT NOT NULL DEFAULT 0,  -- limited, or it fails: no call and no wake before
    suspended   BOOLEAN NOT NULL DEFAULT FALSE, -- neither, until the App's list or an event says otherwise
    wake_at     BIGINT NOT NULL DEFAULT 0,  -- no wake before
    failures    BIGINT NOT NULL DEFAULT 0,  -- in a row
    lease_owner TEXT   NOT NULL DEFAULT '',
    lease_until BIGINT NOT NULL DEFAULT 0,
    fence       BIGINT NOT NULL DEFAULT 0
);

-- When each repository is looked at next, and where a look under way goes on.
CREATE TABLE reconcile_repos (
    id           BIGINT PRIMARY KEY,
    installation BIGINT NOT NULL,
    owner        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    due_at       BIGINT NOT NULL,
    looked_at    BIGINT NOT NULL DEFAULT 0, -- when the last whole look began
    began_at     BIGINT NOT NULL DEFAULT 0, -- when the one under way began
    after_cursor TEXT   NOT NULL DEFAULT '',
    listed_at    BIGINT NOT NULL
);
CREATE INDEX reconcile_repos_due ON reconcile_repos (installation, due_at);

-- What was found and is not dealt with, or was not long ago: one row per pull
-- request.
CREATE TABLE reconcile_findings (
    repo_id      BIGINT NOT NULL,
    pull         BIGINT NOT NULL,
    installation BIGINT NOT NULL,
    owner        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    head_sha     TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    seen         TEXT   NOT NULL,
    pulled_at    BIGINT NOT NULL,           -- the pull request's newest change
    found_at     BIGINT NOT NULL,
    state        TEXT   NOT NULL CHECK (state IN ('waiting', 'woken', 'settled')),
    tries        BIGINT NOT NULL DEFAULT 0, -- how often the same was found before
    retry_at     BIGINT NOT NULL,           -- the same is not found again before
    PRIMARY KEY (repo_id, pull)
);
CREATE INDEX reconcile_findings_waiting ON reconcile_findings (pulled_at) WHERE state = 'waiting';
CREATE INDEX reconcile_findings_settled ON reconcile_findings (found_at) WHERE state = 'settled';

-- Which processes were there lately: what happened while none was is lost.
CREATE TABLE reconcile_alive (
    owner    TEXT PRIMARY KEY,
    alive_at BIGINT NOT NULL
);

-- When a list last showed the pull request as open.
ALTER TABLE pulls ADD COLUMN listed_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE pulls DROP COLUMN listed_at;
DROP TABLE reconcile_alive;
DROP TABLE reconcile_findings;
DROP TABLE reconcile_repos;
DROP TABLE reconcile_installations;
