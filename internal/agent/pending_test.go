package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// transactions is a lock service whose locks are transactions, which have the data, too.
type transactions struct {
	service.Client
	commit error // of the unlock
}

func (s transactions) Lock(_ context.Context, scope, _ string) (service.Tenure, error) {
	return &transaction{Life: service.NewLife(), scope: scope, commit: s.commit}, nil
}

func (transactions) Under(t service.Tenure) (of service.Data, within bool) {
	if t == nil {
		return new(transaction), false
	}
	return t.(*transaction), true
}

// transaction is lost with the key "lose", before or after an error.
type transaction struct {
	*service.Life
	scope  string
	commit error
}

func (t *transaction) Do(_ context.Context, ask *history.Event) error {
	switch {
	case ask.Key == "fail":
		t.End(lock.ErrLost)
		return errors.New("no such row")
	case ask.Key == "lose":
		t.End(lock.ErrLost)
	case ask.Op == history.OpRead:
		ask.Value = "7"
	}
	return nil
}

func (t *transaction) Unlock(context.Context) error {
	if t.End(nil); t.Err() != nil {
		return lock.ErrLost
	}
	return t.commit
}

func (t *transaction) Grant() lock.Grant                          { return lock.Grant{Scope: t.scope, Owner: "t1"} }
func (*transaction) Name() string                                 { return "t1" }
func (*transaction) Session() string                              { return "t1" }
func (*transaction) Shown() (fence.Token, string)                 { return 0, "" }
func (*transaction) Look(context.Context, string) (string, error) { return "", nil }

// TestTransactions: what is part of a transaction is told of when that has ended, and as it has.
func TestTransactions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		commit error
		say    []string
		want   string // kind, op, request and value of each event after the lock's
	}{
		"committed": {nil, []string{"write k=1", "read k", "unlock"},
			"invoke write r1 1, note write r1 1, invoke read r2, note read r2 7, invoke unlock, ok write r1 1, ok read r2 7, ok unlock"},
		"refused": {lock.ErrLost, []string{"write k=1", "read k", "unlock"},
			"invoke write r1 1, note write r1 1, invoke read r2, note read r2 7, invoke unlock, fail write r1 1, fail read r2, fail unlock"},
		"cut off": {&lock.UnknownError{Err: io.EOF}, []string{"write k=1", "unlock"},
			"invoke write r1 1, note write r1 1, invoke unlock, unknown write r1 1, unknown unlock"},
		"an error ends it": {nil, []string{"write k=1", "write fail=2"},
			"invoke write r1 1, note write r1 1, invoke write r2 2, fail write r2 2, lost, fail write r1 1"},
		"lost": {nil, []string{"write k=1", "write lose=2"},
			"invoke write r1 1, note write r1 1, invoke write r2 2, note write r2 2, lost, fail write r1 1, fail write r2 2"},
		"without a lock": {nil, []string{"unlock", "write k=1"},
			"invoke unlock, ok unlock, invoke write r1 1, ok write r1 1"},
		"a count": {nil, []string{"unlock", "count k 1"},
			"invoke unlock, ok unlock, invoke count, invoke lock, ok lock, invoke read r1, note read r1 7, invoke write r2 8, note write r2 8, invoke unlock, ok read r1 7, ok write r2 8, ok unlock, ok count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			in, commands := io.Pipe()
			ended := make(chan error)
			go func() {
				ended <- Run(t.Context(), in, &out, Config{
					Name: "client1", Scope: "/l", Settings: setting.Defaults(setting.Client), Locks: transactions{commit: tt.commit}, Words: io.Discard,
				})
			}()
			fmt.Fprintln(commands, "lock")
			for _, line := range tt.say {
				fmt.Fprintln(commands, line)
			}
			commands.Close()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			var got []string
			for in := json.NewDecoder(&out); in.More(); {
				var e history.Event
				if err := in.Decode(&e); err != nil {
					t.Fatal(err)
				}
				words := fmt.Sprintln(e.Kind, e.Op, strings.Replace(e.Request, "client1-", "r", 1), e.Value)
				got = append(got, strings.Join(strings.Fields(words), " "))
			}
			got = got[1+slices.Index(got, "ok lock"):]
			want := strings.Split(tt.want, ", ")
			if slices.Contains(want, "lost") { // which comes at any time
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
