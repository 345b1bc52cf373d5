package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// servers are the files of a run. They have this machine's clock.
type servers struct {
	sqlservice.Servers
	file  file
	index *os.File // the shared memory of the run's file, on which SQLite has its locks
}

func newServers(stage service.Stage, f file) *servers {
	s := &servers{file: f}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: f, Observer: s, Address: string(f), Found: found,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
	}
	return s
}

// account is the file beside a run's file that tells of its holders.
func (f file) account() file { return f + "-held.db" }

func (s *servers) Make(ctx context.Context) error {
	for _, f := range []file{s.file, s.file.account()} {
		if err := os.WriteFile(string(f), nil, 0o600); err != nil {
			return err
		}
	}
	if err := s.MakeTables(ctx, token.Dialect, statement("schema")); err != nil {
		return err
	}
	account, err := s.file.account().open(ctx)
	if err != nil {
		return err
	}
	defer account.HangUp()
	_, err = account.Run(ctx, statement("account"))
	return err
}

func (s *servers) Open(ctx context.Context) error {
	for f, to := range map[file]**sqlservice.Link{s.file: &s.Told, s.file.account(): &s.Held} {
		l, err := f.open(ctx)
		if err != nil {
			return err
		}
		*to = l.Link
	}
	if err := s.Round(ctx); err != nil { // the first read makes the shared memory
		return err
	}
	var err error
	s.index, err = os.Open(string(s.file) + "-shm")
	return err
}

// Shut closes the shared memory last: whoever closes it loses all locks that this process has on it.
func (s *servers) Shut() {
	s.Servers.Shut()
	_ = s.index.Close()
}

// goesOn asks whether a transaction goes on: it is not committed, and its process has the lock.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	var committed bool
	err = s.Told.Row(ctx, "SELECT EXISTS (SELECT * FROM finished WHERE owner = $1)", t.Owner).Scan(&committed)
	if committed || err != nil {
		return false, err
	}
	// It is the kernel that knows. 0 is nobody.
	writer, err := kernel.Writer(s.index, writeLock)
	if err != nil {
		return false, fmt.Errorf("ask who has the file's lock: %w", err)
	}
	return writer == t.Process, nil
}

// writeLock is the byte of the shared memory that who writes has locked, as SQLite's
// documentation of the WAL-index file says.
const writeLock = 120
