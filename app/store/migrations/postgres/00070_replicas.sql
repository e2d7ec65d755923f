-- +goose Up

-- The processes that share this database, each with the end of its lease by the
-- database's clock: what one leaves behind whose lease has ended, others take over.
CREATE TABLE replicas (
    name        TEXT PRIMARY KEY,
    lease_until TIMESTAMPTZ NOT NULL
);

-- +goose Down
DROP TABLE replicas;
