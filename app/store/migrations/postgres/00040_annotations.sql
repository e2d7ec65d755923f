-- +goose Up

-- The set of annotations that the known run bears, and the one that was sent to it
-- without an answer; empty for none.
ALTER TABLE publications ADD COLUMN annotated  TEXT NOT NULL DEFAULT '';
ALTER TABLE publications ADD COLUMN annotating TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE publications DROP COLUMN annotating;
ALTER TABLE publications DROP COLUMN annotated;
