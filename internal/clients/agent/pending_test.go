package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// transactions is a lock service whose locks are transactions, which have the data, too.
type transactions struct {
	service.Client
	commits *[]error // what comes of the next ones; then all is well
	told    *said
}

// said is what a client has said, with the time when it says that it has lost a lock.
type said struct {
	bytes.Buffer
	lost chan struct{}
}

func (s *said) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(`"kind":"lost"`)) {
		close(s.lost)
	}
	return s.Buffer.Write(b)
}

func (s transactions) Lock(_ context.Context, scope, _ string) (service.Tenure, error) {
	return &transaction{Life: service.NewLife(), scope: scope, of: s}, nil
}

func (transactions) Under(t service.Tenure) (of service.Data, within bool) {
	if t == nil {
		return new(transaction), false
	}
	return t.(*transaction), true
}

// transaction is lost with the key "fail", by an error, and with "lose", right after the request.
type transaction struct {
	*service.Life
	scope string
	of    transactions
}

func (t *transaction) Do(_ context.Context, ask *history.Event) error {
	switch {
	case ask.Key == "fail" || ask.Key == "lose":
		t.End(lock.ErrLost)
		<-t.of.told.lost // before the answer
		if ask.Key == "fail" {
			return fence.Definite.New("no such row")
		}
	case ask.Op == history.OpRead:
		ask.Value = "7"
	}
	return nil
}

func (t *transaction) Unlock(context.Context) error {
	if t.End(nil); t.Err() != nil {
		return lock.ErrLost
	}
	list := *t.of.commits
	if len(list) == 0 {
		return nil
	}
	*t.of.commits = list[1:]
	return list[0]
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
		commits []error
		say     []string
		want    string // kind, op, request and value of each event after the lock's
	}{
		"committed": {nil, []string{"write k=1", "read k", "unlock"},
			"invoke write r1 1, note write r1 1, invoke read r2, note read r2 7, invoke unlock, ok write r1 1, ok read r2 7, ok unlock"},
		"refused": {[]error{lock.ErrLost}, []string{"write k=1", "read k", "unlock"},
			"invoke write r1 1, note write r1 1, invoke read r2, note read r2 7, invoke unlock, fail write r1 1, fail read r2, fail unlock"},
		"cut off": {[]error{&lock.UnknownError{Err: io.EOF}}, []string{"write k=1", "unlock"},
			"invoke write r1 1, note write r1 1, invoke unlock, unknown write r1 1, unknown unlock"},
		"an error ends it": {nil, []string{"write k=1", "write fail=2"},
			"invoke write r1 1, note write r1 1, invoke write r2 2, lost, fail write r1 1, fail write r2 2"},
		"lost": {nil, []string{"write k=1", "write lose=2"},
			"invoke write r1 1, note write r1 1, invoke write r2 2, lost, fail write r1 1, note write r2 2, fail write r2 2"},
		"without a lock": {nil, []string{"unlock", "write k=1"},
			"invoke unlock, ok unlock, invoke write r1 1, ok write r1 1"},
		"a count": {nil, []string{"unlock", "count k 1"},
			"invoke unlock, ok unlock, invoke count, invoke lock, ok lock, invoke read r1, note read r1 7, invoke write r2 8, note write r2 8, invoke unlock, ok read r1 7, ok write r2 8, ok unlock, ok count"},
		"a count that is undone": {[]error{nil, lock.ErrLost}, []string{"unlock", "count k 1"},
			"invoke unlock, ok unlock, invoke count, invoke lock, ok lock, invoke read r1, note read r1 7, invoke write r2 8, note write r2 8, invoke unlock, fail read r1, fail write r2 8, fail unlock, " +
				"invoke lock, ok lock, invoke read r3, note read r3 7, invoke write r4 8, note write r4 8, invoke unlock, ok read r3 7, ok write r4 8, ok unlock, note, ok count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &said{lost: make(chan struct{})}
			in, commands := io.Pipe()
			ended := make(chan error)
			go func() {
				ended <- Run(t.Context(), in, out, Config{
					Name: "client1", Scope: "/l", Settings: setting.Defaults(setting.Client), Locks: transactions{commits: &tt.commits, told: out}, Words: io.Discard,
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
			for in := json.NewDecoder(out); in.More(); {
				var e history.Event
				if err := in.Decode(&e); err != nil {
					t.Fatal(err)
				}
				words := fmt.Sprintln(e.Kind, e.Op, strings.Replace(e.Request, "client1-", "r", 1), e.Value)
				got = append(got, strings.Join(strings.Fields(words), " "))
			}
			got = got[1+slices.Index(got, "ok lock"):]
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
