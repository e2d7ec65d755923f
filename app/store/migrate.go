package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// Migrations are numbered in blocks: 1 deliveries, subjects and pulls; 10 the
// trail; 20 publications; 30 sessions. What changes a table later takes the next
// number from 40 on: none may be below one that a database already has. Each dialect
// has its own folder with equal numbers.
//
//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// migrate brings our tables up, then River's. River's migrations would deadlock
// inside goose on a single connection, so they are a step of their own; the
// lock file keeps a second process out of both.
func (s *Store) migrate(ctx context.Context) error {
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return fmt.Errorf("read embedded migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.db, dir)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	have, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > known {
		return fmt.Errorf("it was written by a newer Countersign (schema %d, this one knows %d); run that version, or restore the backup from before the upgrade", have, known)
	}
	done, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	for _, r := range done {
		s.logger.Info().Int64("migration", r.Source.Version).Dur("took", r.Duration).Msg("migration applied")
	}
	m, err := rivermigrate.New(riversqlite.New(s.db), nil)
	if err != nil {
		return fmt.Errorf("prepare the job tables: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the job tables: %w", err)
	}
	return nil
}
