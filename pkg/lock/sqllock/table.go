package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// format is how locks stand in a table.
type format struct {
	prefix string      // of its statements' names
	first  fence.Token // of a row that is new
	words  bool        // a row has room for those of its holder
	owner  func() string
	key    func(scope string) (string, error)
	values func(t ticket, ttl time.Duration) values
}

// values are those of a statement's parameters, by name. They are so few that a map would be slower.
type values []struct {
	name string
	is   any
}

// ticket is what an attempt asks for.
type ticket struct {
	scope string
	key   string // of the row
	owner string
	words string
}

// table has the locks. Its statements are transactions of their own. Those that change a row
// say so by the number of rows or, if an UPDATE of MySQL may leave the row as it was, by
// LAST_INSERT_ID. take also says the token: by a row of its result or, in MySQL, by LAST_INSERT_ID.
type table struct {
	db      database
	dialect Dialect
	format  format
	poll    time.Duration

	take  statement // the row, if the lock is free
	enter statement // a new row, which is taken, if there is none
	look  statement // how many ms the lease lasts
	renew statement // the lease, if it is the owner's
	free  statement // the row, if it is the owner's
	token statement // the token, if the row is the owner's; of MySQL

	holder statement // the owner, the token, and how many ms the lease lasts, if the lock is held
	says   statement // the words of the owner, if the row is the owner's
	words  statement // as they were kept

	autocommit statement   // whether a session commits each statement; of MySQL
	commits    atomic.Bool // the sessions do
}

func newTable(db *sql.DB, d Dialect, f format, o options) (*table, error) {
	t := &table{db: db, dialect: d, format: f, poll: o.poll}
	if d == SQLite {
		t.db = &prepared{DB: db}
	}
	statements := map[string]*statement{"take": &t.take, "enter": &t.enter, "look": &t.look, "renew": &t.renew, "free": &t.free, "holder": &t.holder}
	if f.words {
		statements["say"], statements["words"] = &t.says, &t.words
	}
	if d == MySQL && f.first > 0 {
		statements["token"] = &t.token
	}
	if o.listen != nil {
		delete(statements, "free")
		statements["freenotify"] = &t.free
	}
	for name, s := range statements {
		var err error
		if *s, err = d.statement(f.prefix+name, o.table); err != nil {
			return nil, err
		}
	}
	t.commits.Store(d != MySQL) // the others always do
	if d == MySQL {
		var err error
		if t.autocommit, err = d.statement("autocommit", o.table); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// answer is what the database says to an attempt.
type answer struct {
	granted bool
	token   fence.Token
	left    time.Duration // of the lease of the holder, where it is not granted
}

// checkCommits refuses sessions that do not commit each statement: a grant would not be seen by
// others, and be rolled back in the end. It asks once: all sessions of a pool have one setting.
func (t *table) checkCommits(ctx context.Context, one ticket) error {
	if t.commits.Load() {
		return nil
	}
	on, _, err := t.insist(ctx, t.query, t.autocommit, one, 0)
	switch {
	case err != nil:
		return fence.Definite.Wrap(fmt.Errorf("whether the database commits each statement: %w", err))
	case on == 0:
		return errNoCommit
	}
	t.commits.Store(true)
	return nil
}

var errNoCommit = fence.Definite.New("the sessions of the database do not commit (autocommit=0), so that nobody else would see who has the lock: open the database with autocommit=1")

// ask takes the lock if it is free.
func (t *table) ask(ctx context.Context, one ticket, ttl time.Duration) (answer, error) {
	if err := t.checkCommits(ctx, one); err != nil {
		return answer{}, err
	}
	take := t.query
	if t.dialect == MySQL {
		take = t.exec
	}
	token, taken, err := t.insist(ctx, take, t.take, one, ttl)
	if taken && fence.Token(token) < t.format.first {
		return t.read(ctx, one)
	}
	if err != nil || taken {
		return answer{granted: taken, token: fence.Token(token)}, err
	}
	left, there, err := t.lookAt(ctx, one)
	if err != nil || there {
		return answer{left: left}, err
	}
	entered, err := t.change(ctx, t.enter, one, ttl)
	return answer{granted: entered, token: t.format.first}, err
}

// read reads the token of a lock that was taken just now. MySQL's answer to the UPDATE has no
// number if the table has a trigger. Where the row has another owner by now, the lock is gone.
func (t *table) read(ctx context.Context, one ticket) (answer, error) {
	token, granted, err := t.insist(ctx, t.query, t.token, one, 0)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errNoNumber, err)
	}
	return answer{granted: granted, token: fence.Token(token)}, nil
}

var errNoNumber = fence.Unknown.New("the lock was taken, and its token cannot be read")

// lookAt says how long the lease lasts, which is nothing where the lock is free, and whether
// there is a row. It changes nothing, so that its errors are definite.
func (t *table) lookAt(ctx context.Context, one ticket) (left time.Duration, there bool, err error) {
	ms, there, err := t.insist(ctx, t.query, t.look, one, 0)
	if err != nil {
		err = fence.Definite.Wrap(err)
	}
	return time.Duration(max(ms, 0)) * time.Millisecond, there, err
}

// change runs a statement that changes a row, and reports whether it did.
func (t *table) change(ctx context.Context, s statement, one ticket, ttl time.Duration) (changed bool, err error) {
	_, changed, err = t.insist(ctx, t.exec, s, one, ttl)
	return changed, err
}

// own runs a statement on the row of an owner. If the other side has closed a connection, it may have closed all of the pool,
// and each says so by its next statement: own asks again as often as there may be such a connection. doubt is the error of the
// first one, whose statement may have been done.
func (t *table) own(ctx context.Context, s statement, one ticket, ttl time.Duration) (changed bool, doubt, err error) {
	changed, err = t.change(ctx, s, one, ttl)
	for n := t.connections(err); n > 0 && closed(err) && ctx.Err() == nil; n-- {
		doubt = cmp.Or(doubt, err)
		changed, err = t.change(ctx, s, one, ttl)
	}
	return changed, doubt, err
}

// connections is how many connections of the pool, and a new one, can be asked after one was closed; 0: none was.
func (t *table) connections(err error) int {
	if !closed(err) {
		return 0
	}
	return t.db.Stats().OpenConnections + 1
}

// sender sends a statement, and returns a number and whether there is a row.
type sender func(context.Context, statement, ticket, time.Duration) (int64, bool, error)

// insist sends a statement until the database has done it, or refused it for good.
func (t *table) insist(ctx context.Context, send sender, s statement, one ticket, ttl time.Duration) (int64, bool, error) {
	if t.dialect == SQLite {
		send = inTime(send)
	}
	for {
		number, row, err := send(ctx, s, one, ttl)
		if err == nil {
			return number, row, nil
		}
		said := answerIn(err)
		again := said.again()
		if again && attempt.Sleep(ctx, t.pause()) == nil {
			continue
		}
		if again || said.refused() || unsent(err) {
			err = fence.Definite.Wrap(err)
		}
		return 0, false, err
	}
}

// inTime returns when ctx is done. While another connection has the lock of the file, the
// driver of SQLite does not: it waits for as long as busy_timeout says.
func inTime(send sender) sender {
	return func(ctx context.Context, s statement, one ticket, ttl time.Duration) (int64, bool, error) {
		var (
			number int64
			row    bool
			err    error
			came   = make(chan struct{})
		)
		go func() {
			defer close(came)
			number, row, err = send(ctx, s, one, ttl)
		}()
		select {
		case <-came:
			return number, row, err
		case <-ctx.Done():
			return 0, false, ctx.Err()
		}
	}
}

// query reads the first number of the first row. It reads all rows: only then are the errors
// of the commit told.
func (t *table) query(ctx context.Context, s statement, one ticket, ttl time.Duration) (number int64, found bool, err error) {
	rows, err := t.db.QueryContext(ctx, s.text, t.args(s, one, ttl)...)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	for rows.Next() {
		found = true
		if err := rows.Scan(&number); err != nil {
			return 0, false, err
		}
	}
	return number, found, rows.Err()
}

func (t *table) exec(ctx context.Context, s statement, one ticket, ttl time.Duration) (number int64, changed bool, err error) {
	result, err := t.db.ExecContext(ctx, s.text, t.args(s, one, ttl)...)
	if err != nil {
		return 0, false, err
	}
	rows, err := result.RowsAffected()
	if err != nil || t.dialect != MySQL {
		return 0, rows > 0, err
	}
	number, err = result.LastInsertId()
	return number, number > 0 || rows > 0, err
}

func (t *table) args(s statement, one ticket, ttl time.Duration) []any {
	args := make([]any, len(s.names))
	given := t.format.values(one, ttl)
	for i, name := range s.names {
		for _, value := range given {
			if value.name == name {
				args[i] = value.is
			}
		}
	}
	return args
}

// pause is random, so that those who wait do not ask together for ever.
func (t *table) pause() time.Duration { return t.poll/2 + rand.N(t.poll) }
