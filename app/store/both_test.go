package store

import (
	"os"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/store/pgtest"
)

// postgres is the server behind the tests of both databases.
var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// onBoth runs a test on SQLite and on PostgreSQL: the suite that holds both to the
// same behaviour. newSpineStore opens the one that the test's name says.
func onBoth(t *testing.T, test func(*testing.T)) {
	t.Run("sqlite", test)
	t.Run("postgres", test)
}

func onPostgres(tb testing.TB) bool { return strings.Contains(tb.Name(), "/postgres") }
