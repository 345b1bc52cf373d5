package sqlservice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// told is a run that hears an account.
type told struct {
	service.Stage
	events []history.Event
}

func (s *told) Plan() service.Plan { return service.Plan{Locks: []string{"/lock"}} }

func (s *told) Tell(events ...history.Event) { s.events = append(s.events, events...) }

// TestEndWithoutLease: the end of what a connection has names no lease.
func TestEndWithoutLease(t *testing.T) {
	run := new(told)
	account := sqlservice.NewAccount("db", run, nil, func(context.Context, sqlservice.Told) (bool, error) { return false, nil })
	taken := account.Take(t.Context(), sqlservice.ToldTaken, sqlservice.Told{At: time.Now(), Lock: "/lock", Owner: "t"})
	if err := errors.Join(taken, account.Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	end := run.events[len(run.events)-1]
	if end.Kind != history.KindEnded || end.Tenure != "t" || end.Cause != "" || end.Text != "with its connection" {
		t.Errorf("the account ends with %+v", end)
	}
}

// rowless is a connection to a server that has the rows of some owners alone.
type rowless struct {
	sqlservice.Conn
	has map[string]bool
}

func (r rowless) Row(_ context.Context, _ string, args ...any) sqlservice.Row {
	return hasRow(r.has[args[0].(string)])
}

type hasRow bool

func (h hasRow) Scan(to ...any) error {
	*to[0].(*bool) = bool(h)
	return nil
}

// TestMoved: where another server leads, the tenures are over that connections had, and those of which it has no row.
func TestMoved(t *testing.T) {
	run := new(told)
	account := sqlservice.NewAccount("db", run, nil, func(context.Context, sqlservice.Told) (bool, error) { return true, nil })
	later := time.Now().Add(time.Hour).UnixMicro()
	for i, owner := range []string{"kept", "lost"} {
		row := sqlservice.Told{Owner: owner, Until: later, Table: "locks", Lock: string(rune('a' + i))}
		if err := account.Take(t.Context(), sqlservice.ToldRow, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := account.Take(t.Context(), sqlservice.ToldTaken, sqlservice.Told{At: time.Now(), Lock: "c", Owner: "session"}); err != nil {
		t.Fatal(err)
	}
	before := len(run.events)
	if err := account.Moved(t.Context(), rowless{has: map[string]bool{"kept": true}}, "it has no row"); err != nil {
		t.Fatal(err)
	}
	var over []string
	for _, e := range run.events[before:] {
		over = append(over, e.Tenure+": "+e.Text)
		if e.Kind != history.KindEnded || e.Cause != history.CauseRevoked {
			t.Errorf("it tells %+v, want an end that was no expiry", e)
		}
	}
	if want := []string{"session: ", "lost: it has no row"}; !slices.Equal(over, want) {
		t.Errorf("over are %q, want %q", over, want)
	}
}

// TestRow: a row tells of a grant, by the key of a lock, too. When it names another holder the
// tenure before has ended, and was revoked if its lease was not over.
func TestRow(t *testing.T) {
	run := new(told)
	account := sqlservice.NewAccount("db", run, nil, nil)
	later, key := time.Now().Add(time.Hour).UnixMicro(), sqlservice.KeyOf("/lock")
	for _, row := range []sqlservice.Told{
		{Owner: "a", Until: later, Token: 1}, {Owner: "a", Until: 1, Token: 1}, {Owner: "b", Until: later, Token: 2}, {},
	} {
		row.Table, row.Lock = "locks", key
		if err := account.Take(t.Context(), sqlservice.ToldRow, row); err != nil {
			t.Fatal(err)
		}
	}
	want := []history.Event{
		{Kind: history.KindGranted, Tenure: "a", Token: 1}, {Kind: history.KindEnded, Tenure: "a"},
		{Kind: history.KindGranted, Tenure: "b", Token: 2}, {Kind: history.KindEnded, Tenure: "b", Cause: history.CauseRevoked},
	}
	for i, e := range run.events {
		if i >= len(want) || e.Kind != want[i].Kind || e.Tenure != want[i].Tenure || e.Token != want[i].Token || e.Cause != want[i].Cause || e.Scope != "/lock" {
			t.Fatalf("event %d is %+v, want %+v", i+1, e, want)
		}
	}
	if len(run.events) != len(want) {
		t.Errorf("got %+v, want %+v", run.events, want)
	}
}

// TestRenewedUnread: a lease that ran out after the database was asked may have been renewed, and is no second grant then.
func TestRenewedUnread(t *testing.T) {
	run := new(told)
	account := sqlservice.NewAccount("db", run, nil, nil)
	account.Asking()
	row := sqlservice.Told{Table: "locks", Lock: "/lock", Owner: "a", Until: time.Now().Add(time.Millisecond).UnixMicro()}
	read := account.Take(t.Context(), sqlservice.ToldRow, row)
	<-time.After(time.Until(time.UnixMicro(row.Until))) // the lease runs out
	settled := account.Settle(t.Context())
	row.Until = time.Now().Add(time.Millisecond).UnixMicro()
	if err := errors.Join(read, settled, account.Take(t.Context(), sqlservice.ToldRow, row)); err != nil {
		t.Fatal(err)
	}
	if len(run.events) != 1 || run.events[0].Kind != history.KindGranted {
		t.Errorf("got %+v, want one grant", run.events)
	}
	<-time.After(time.Until(time.UnixMicro(row.Until)))
	account.Asking()
	if err := account.Settle(t.Context()); err != nil || len(run.events) != 2 || run.events[1].Kind != history.KindEnded || run.events[1].Cause != "" {
		t.Errorf("got %+v and the error %v, want a grant and its end", run.events, err)
	}
}
