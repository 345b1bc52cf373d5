package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// byHand is a fence as it is often written: it reads the mark by a query of its own, judges,
// and then updates mark and data.
type byHand struct {
	store
	lock string // ends the query
}

func (s byHand) Write(ctx context.Context, c fence.Claim, key, value string) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var before fence.Mark
	err = tx.QueryRowContext(ctx, in(s.Dialect, "SELECT token FROM fence_marks WHERE scope = ?"+s.lock), []byte(c.Scope)).Scan(&before.Token)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	after, refused := before.Admit(c)
	if refused != nil {
		return refused
	}
	mark := "INSERT INTO fence_marks (token, sequence, shared, scope) VALUES (?, 0, 0, ?)"
	if err == nil {
		mark = "UPDATE fence_marks SET token = ? WHERE scope = ?"
	}
	if _, err := tx.ExecContext(ctx, in(s.Dialect, mark), int64(after.Token), []byte(c.Scope)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, put(s.Dialect), key, value); err != nil {
		return err
	}
	return tx.Commit()
}

// collated is a store whose scopes are texts, which MariaDB compares as people do.
func collated(ctx context.Context, s store) error {
	_, err := s.DB.ExecContext(ctx, "ALTER TABLE fence_marks MODIFY scope VARCHAR(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	return err
}

// lawOf is the law of a name.
func lawOf(t *testing.T, name string) fencetest.Law {
	t.Helper()
	for _, law := range fencetest.Laws {
		if law.Name == name {
			return law
		}
	}
	t.Fatalf("there is no law %s", name)
	return fencetest.Law{}
}

// TestBroken: the laws catch what is wrong with fences in databases.
func TestBroken(t *testing.T) {
	for name, database := range map[string]func(testing.TB) *sqltest.Database{
		"postgres": sqltest.Databases()["postgres"], "mariadb": sqltest.Databases()["mariadb"],
	} {
		t.Run(name, func(t *testing.T) {
			server := database(t)
			caught(t, "CheckAndWriteAreOneStep", server, "", nil)
			holds(t, "CheckAndWriteAreOneStep", server)
			if name == "mariadb" {
				caught(t, "ScopesAreNotConfused", server, forUpdate, collated)
			}
			holds(t, "ScopesAreNotConfused", server)
		})
	}
}

const forUpdate = " FOR UPDATE"

// check is a law's of a store by hand.
func check(t *testing.T, law string, server *sqltest.Database, lock string, prepare func(context.Context, store) error) error {
	t.Helper()
	return lawOf(t, law).Check(t.Context(), fencetest.Subject{
		Again: fencesql.Again,
		Open: func(ctx context.Context) (fencetest.Store, error) {
			s, err := empty(ctx, server)
			if err == nil && prepare != nil {
				err = prepare(ctx, s)
			}
			return byHand{s, lock}, err
		},
	})
}

func caught(t *testing.T, law string, server *sqltest.Database, lock string, prepare func(context.Context, store) error) {
	t.Helper()
	if err := check(t, law, server, lock, prepare); err == nil {
		t.Errorf("%s does not catch a store with the lock %q", law, lock)
	}
}

// holds: the same store with the lock is in order.
func holds(t *testing.T, law string, server *sqltest.Database) {
	t.Helper()
	if err := check(t, law, server, forUpdate, nil); err != nil {
		t.Errorf("%s: %v", law, err)
	}
}
