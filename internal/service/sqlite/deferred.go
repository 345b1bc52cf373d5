package sqlite

import (
	"context"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

const (
	settingTooOld = "too-old"
	tooOldFails   = "fails"
	tooOldAgain   = "again"
)

var tooOld = setting.Setting{Name: settingTooOld, Default: tooOldFails, Of: []string{tooOldFails, tooOldAgain},
	About: "What it does with a write of deferred for which its first read is too old (SQLITE_BUSY_SNAPSHOT). fails: its transaction ends. again: it begins another one, and writes what it has computed from the old read."}

var rules = []sqlservice.Rule{
	{Setting: settingTooOld, Text: "%s reads nothing before it can write: leave %q out", Wrong: func(a sqlservice.Asked) bool {
		return a.By != &deferred && a.Text(settingTooOld) != tooOldFails
	}},
	{Setting: service.By, Text: `%s is a transaction that reads the data: it needs "storage: {in: service}"`, Wrong: func(a sqlservice.Asked) bool {
		return a.By == &deferred && !a.InService
	}},
}

// deferred has no lock before its first write.
var deferred = sqlservice.Recipe{
	ID: "deferred", Shows: sqlservice.NoToken,
	Text: "BEGIN, and a SELECT of the data; the holder keeps the transaction open. That keeps nobody out: the first write takes the file's lock, and fails if the file was changed since the SELECT.",
	Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
		l := conn.(*link)
		if _, err := l.Run(ctx, "BEGIN"); err != nil {
			return err
		}
		var keys int
		if err := l.Row(ctx, "SELECT COUNT(*) FROM item").Scan(&keys); err != nil {
			return err
		}
		l.begun, l.reader, l.again = true, a.Owner, a.Settings.Text(settingTooOld) == tooOldAgain
		return tell(ctx, l.file.account(), a, true)
	},
}

// HangUp also tells the account of the end of a transaction that only reads, of which the kernel says nothing.
func (l *link) HangUp() {
	l.Link.HangUp()
	if l.reader == "" {
		return
	}
	ctx := context.Background()
	if account, err := l.file.account().open(ctx); err == nil {
		defer account.Link.HangUp()
		_, _ = account.Run(ctx, "INSERT OR IGNORE INTO over VALUES ($1)", l.reader)
	}
}

// readsOn reports whether a transaction goes on that only reads: its client has not told of its end, and lives.
func (s *servers) readsOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	err = s.Held.Row(ctx, "SELECT NOT EXISTS (SELECT * FROM over WHERE owner = $1)", t.Owner).Scan(&on)
	if !on || err != nil {
		return false, err
	}
	p, err := proc.Find(t.Process)
	if err != nil {
		return false, nil // it has ended
	}
	p.Close()
	return true, nil
}

// renewed makes a change once more in a new transaction, if the read of the one before was too old for it and the
// client wants that.
func (l *link) renewed(ctx context.Context, change func() error) error {
	err := change()
	answered, is := errors.AsType[*sqlite.Error](err)
	if !is || answered.Code() != sqlite3.SQLITE_BUSY_SNAPSHOT || !l.again {
		return err
	}
	if _, err := l.Run(ctx, "ROLLBACK"); err != nil {
		return err
	}
	l.begun = false
	if err := l.beginImmediate(ctx); err != nil {
		return err
	}
	return change()
}
