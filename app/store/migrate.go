package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// Migrations are numbered in blocks: 1 deliveries, subjects and pulls; 10 the
// trail; 20 publications; 30 sessions. What changes a table later takes the next
// number from 40 on: none may be below one that a database already has. Each dialect
// has its own folder with equal numbers.
//
//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

// migrate brings our tables up, then River's. River's migrations would deadlock
// inside goose on a single connection, so they are a step of their own; a lock keeps
// a second process out of both.
func (s *Store) migrate(ctx context.Context) error {
	p, err := s.migrator()
	if err != nil {
		return err
	}
	if err := notNewer(ctx, p); err != nil {
		return err
	}
	done, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	for _, r := range done {
		s.logger.Info().Int64("migration", r.Source.Version).Dur("took", r.Duration).Msg("migration applied")
	}
	var driver riverdriver.Driver[*sql.Tx] = riversqlite.New(s.db)
	if s.Postgres() {
		driver = riverdatabasesql.New(s.db)
	}
	m, err := rivermigrate.New(driver, nil)
	if err != nil {
		return fmt.Errorf("prepare the job tables: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the job tables: %w", err)
	}
	return nil
}

func (s *Store) migrator() (*goose.Provider, error) {
	folder, dialect := "migrations/sqlite", goose.DialectSQLite3
	if s.Postgres() {
		folder, dialect = "migrations/postgres", goose.DialectPostgres
	}
	dir, err := fs.Sub(migrations, folder)
	if err != nil {
		return nil, fmt.Errorf("read embedded migrations: %w", err)
	}
	p, err := goose.NewProvider(dialect, s.db, dir)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return p, nil
}

func notNewer(ctx context.Context, p *goose.Provider) error {
	have, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return newer(have, known)
}

func newer(have, known int64) error {
	if have > known {
		return fmt.Errorf("it was written by a newer Countersign (schema %d, this one knows %d); run that version, or restore the backup from before the upgrade", have, known)
	}
	return nil
}

// refuseNewer is notNewer without goose, which would write its own table.
func (s *Store) refuseNewer(ctx context.Context) error {
	have, err := s.schema(ctx)
	if err != nil {
		return err
	}
	known, err := knownSchema()
	if err != nil {
		return err
	}
	return newer(have, known)
}
