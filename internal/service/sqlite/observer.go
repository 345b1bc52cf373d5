package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/kernel"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// watch is what the rounds of the observer need.
type watch struct {
	account *sqlservice.Account
	log     *sqlservice.Log
	data    *sqlservice.DataLog[*link]
	locks   *link    // the run's file
	held    *link    // the file that tells of holders of the run's file
	index   *os.File // the shared memory of the run's file, on which SQLite has its locks
	last    int64    // the number of the last holder that was told
}

// Observe implements service.Servers. The file has this machine's clock.
func (s *servers) Observe(ctx context.Context) error {
	w := &watch{
		account: sqlservice.NewAccount(Name, s.stage), log: &sqlservice.Log{Locks: s.stage.Plan().Locks},
		data: &sqlservice.DataLog[*link]{DataAccount: sqlservice.NewDataAccount(Name, s.stage, recipes)},
	}
	if err := w.open(ctx, s.file); err != nil {
		w.close()
		return fmt.Errorf("observer: %w", err)
	}
	sqlservice.Follow(ctx, s.stage, nil, w.account, w.round, w.close)
	return nil
}

func (w *watch) open(ctx context.Context, f file) (err error) {
	if w.locks, err = f.Connect(ctx, ""); err != nil {
		return err
	}
	if w.held, err = f.account().Connect(ctx, ""); err != nil {
		return err
	}
	if err = w.log.Take(ctx, w.locks, w.account); err != nil { // the first read makes the shared memory
		return err
	}
	w.index, err = os.Open(string(f) + "-shm")
	return err
}

// close closes the shared memory last: whoever closes it loses all locks that this process has
// on it.
func (w *watch) close() {
	for _, l := range []*link{w.locks, w.held} {
		if l != nil {
			_ = l.Close()
		}
	}
	_ = w.index.Close()
}

// round takes in what happened since the last one. The data is read first: the grant under which
// something happened to the data is then there, too.
func (w *watch) round(ctx context.Context) error {
	data, err := w.data.Read(ctx, w.locks, 0)
	if err != nil {
		return err
	}
	holders, err := w.newHolders(ctx)
	if err != nil {
		return err
	}
	if err := w.log.Round(ctx, w.locks, w.account, holders, w.goesOn(ctx)); err != nil {
		return err
	}
	w.data.TakeAll(data)
	return nil
}

// newHolders are those that have had the file's lock since the last round.
func (w *watch) newHolders(ctx context.Context) (list []sqlservice.Holder, err error) {
	rows, err := w.held.QueryContext(ctx, "SELECT number, name, owner, at, process FROM held WHERE number > ? ORDER BY number", w.last)
	if err != nil {
		return nil, fmt.Errorf("read who has had the file's lock: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var h sqlservice.Holder
		var at int64
		if err := rows.Scan(&w.last, &h.Lock, &h.Owner, &at, &h.Process); err != nil {
			return nil, fmt.Errorf("read who has had the file's lock: %w", err)
		}
		h.At = time.UnixMicro(at)
		list = append(list, h)
	}
	return list, rows.Err()
}

// goesOn asks whether a transaction goes on: it is not committed, and its process has the lock.
func (w *watch) goesOn(ctx context.Context) func(sqlservice.Holder) (bool, error) {
	return func(h sqlservice.Holder) (on bool, err error) {
		var committed bool
		err = w.locks.QueryRowContext(ctx, "SELECT EXISTS (SELECT * FROM finished WHERE owner = ?)", h.Owner).Scan(&committed)
		if committed || err != nil {
			return false, err
		}
		writer, err := w.writer()
		return writer == h.Process, err
	}
}

// writeLock is the byte of the shared memory that who writes has locked, as SQLite's
// documentation of the WAL-index file says.
const writeLock = 120

// writer is the process that has the file's lock; 0 is none. It is the kernel that knows.
func (w *watch) writer() (process int, err error) {
	if process, err = kernel.Writer(w.index, writeLock); err != nil {
		return 0, fmt.Errorf("ask who has the file's lock: %w", err)
	}
	return process, nil
}
