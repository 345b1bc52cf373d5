package fenceredis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// store is the smallest store on the package. Its keys are below a prefix of its own, so
// that one Redis serves many.
type store struct {
	fenceredis.Store
}

func (s store) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.Do(ctx, c, fenceredis.Cmd("SET", s.Prefix+key, value))
	return err
}

func (s store) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.Do(ctx, c, fenceredis.Cmd("DEL", s.Prefix+key))
	return err
}

func (s store) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token == 0 {
		value, err := s.Client.Get(ctx, s.Prefix+key).Result()
		if errors.Is(err, redis.Nil) {
			return "", false, nil
		}
		return value, err == nil, err
	}
	answers, err := s.Do(ctx, c, fenceredis.Cmd("GET", s.Prefix+key))
	if err != nil || answers[0] == nil {
		return "", false, err
	}
	return answers[0].(string), true, nil
}

// fail is a write whose command is none for the value that is there already.
func fail(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	at := s.(store).Prefix + key
	_, err := s.(store).Do(ctx, c, fenceredis.Cmd("SET", at, value), fenceredis.Cmd("LPUSH", at, "no list"))
	return err
}

// connecting makes clients of a server.
type connecting func(*testing.T, *redisproc.Server) redis.UniversalClient

// connect makes a client that has a request of its own for each call.
func connect(t *testing.T, s *redisproc.Server) redis.UniversalClient { return redistest.Connect(t, s) }

// pipelined makes a client whose concurrent calls share requests.
func pipelined(t *testing.T, s *redisproc.Server) redis.UniversalClient {
	client, err := redistest.Connect(t, s).AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// subject makes stores on a server.
func subject(t *testing.T, server *redisproc.Server, connect connecting) fencetest.Subject {
	return subjectBy(func() redis.UniversalClient { return connect(t, server) })
}

// subjectBy makes stores by clients of some sort. The keys of a store are in one slot, if it is in a cluster.
func subjectBy(connect func() redis.UniversalClient) fencetest.Subject {
	client, stores := connect(), 0
	open := func(bound func(fence.Claim) (fence.Token, error)) store {
		stores++
		return store{fenceredis.Store{Client: client, Prefix: fmt.Sprintf("{store%d}:", stores), Bound: bound}}
	}
	again := func(s fencetest.Store) store {
		return store{fenceredis.Store{Client: connect(), Prefix: s.(store).Prefix}}
	}
	return fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) { return open(nil), nil },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(func(fence.Claim) (fence.Token, error) { return bound, nil }), nil
		},
		Second: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) { return again(s), nil },
		Fail:   fail,
		Idle:   time.Second,
	}
}

// TestLaws: with "appendfsync always" a Redis that is killed keeps what it answered.
func TestLaws(t *testing.T) {
	for name, connect := range map[string]connecting{"a request a call": connect, "pipelined": pipelined} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Real(t, redisproc.Settings(t.TempDir(), "always")...)
			s := subject(t, server, connect)
			s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
				if err := errors.Join(server.Process().Kill(), server.Restart(ctx)); err != nil {
					return nil, err
				}
				return store{fenceredis.Store{Client: connect(t, server), Prefix: old.(store).Prefix}}, nil
			}
			fencetest.Run(t, s)
		})
	}
}

// TestLawsEmbedded: the embedded Redis keeps nothing, and has the same script.
func TestLawsEmbedded(t *testing.T) {
	need.Night(t, "to check all laws on the embedded server, too")
	s := subject(t, redistest.Embedded(t), connect)
	s.Marks = 100 // it compiles the script each time
	fencetest.Run(t, s)
}

// TestFailedCommand: those before it stay, and so does the mark.
func TestFailedCommand(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := fenceredis.Store{Client: redistest.Connect(t, server(t))}
			claim := fence.Claim{Scope: "/lock", Token: 7, Sequence: 3}
			set, push := fenceredis.Cmd("SET", "k", "v"), fenceredis.Cmd("LPUSH", "k", "w")
			answers, err := s.Do(t.Context(), claim, set, push, fenceredis.Cmd("SET", "k", "never"))
			var failed *fenceredis.CommandError
			if !errors.As(err, &failed) || failed.Command != "LPUSH" || failed.Done != 1 || len(answers) != 1 {
				t.Fatalf("got %v, %v, want the error of LPUSH after one answer", answers, err)
			}
			if !strings.HasPrefix(failed.Err.Error(), "WRONGTYPE") || fence.OutcomeOf(err) != fence.Unknown {
				t.Errorf("got %v, outcome %v, want Redis's own words, and unknown", err, fence.OutcomeOf(err))
			}
			if m, err := s.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{Token: 7}) {
				t.Errorf("the mark is %+v, %v, want that of token 7 without a sequence", m, err)
			}
			if got, err := s.Client.Get(t.Context(), "k").Result(); got != "v" {
				t.Errorf("k is %q, %v, want what was set before the error", got, err)
			}
			if _, err := s.Do(t.Context(), claim, push); fence.OutcomeOf(err) != fence.Definite {
				t.Errorf("a single command failed: %v, outcome %v, want definite", err, fence.OutcomeOf(err))
			}
		})
	}
}

// TestManyArguments: a command has as many as the package says. Where one has more, nothing is
// done.
func TestManyArguments(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := fenceredis.Store{Client: redistest.Connect(t, server(t))}
			claim := fence.Claim{Scope: "/lock", Token: 7, Sequence: 1}
			_, err := s.Do(t.Context(), claim, fenceredis.Cmd("SET", "k", "v"), fenceredis.Cmd("RPUSH", "list", numbers(4001)...))
			if err == nil || fence.OutcomeOf(err) != fence.Definite || s.Client.Exists(t.Context(), "k").Val() != 0 {
				t.Errorf("4001 arguments: %v, outcome %v, want an error, and that nothing was done", err, fence.OutcomeOf(err))
			}
			answers, err := s.Do(t.Context(), claim, fenceredis.Cmd("RPUSH", "list", numbers(4000)...))
			if got, want := fmt.Sprint(answers), "[4000]"; err != nil || got != want {
				t.Errorf("4000 arguments: got %s, %v, want %s", got, err, want)
			}
		})
	}
}

func numbers(n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = i
	}
	return args
}

// TestAnswers: as go-redis has them, nothing among them.
func TestAnswers(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := fenceredis.Store{Client: redistest.Connect(t, server(t))}
			answers, err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 1},
				fenceredis.Cmd("GET", "none"), fenceredis.Cmd("RPUSH", "list", "a", []byte("b"), 3), fenceredis.Cmd("LRANGE", "list", 0, -1), fenceredis.Cmd("SET", "k", "v"))
			if got, want := fmt.Sprint(answers), "[<nil> 3 [a b 3] OK]"; err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

// TestDamagedMark: nothing is done under a mark that cannot be read.
func TestDamagedMark(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := fenceredis.Store{Client: redistest.Connect(t, server(t))}
			const mark = "fence.mark:{/lock}"
			for _, value := range []string{"-1", "01", "x", "99999999999999999999", "", "7 1", "7 01 0", "7 1 0 0", "7 1 0 ", "7  0"} {
				if err := s.Client.Set(t.Context(), mark, value, 0).Err(); err != nil {
					t.Fatal(err)
				}
				_, err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 7}, fenceredis.Cmd("SET", "k", "v"))
				if err == nil || !strings.Contains(err.Error(), "fence.mark:{/lock} is damaged") || fence.OutcomeOf(err) != fence.Definite {
					t.Errorf("%q: got %v, want that the mark is damaged, definite", value, err)
				}
				if m, err := s.Mark(t.Context(), "/lock"); value != "01" && value != "7 01 0" && (err == nil || !strings.Contains(err.Error(), "the mark is damaged")) {
					t.Errorf("%q: Mark returns %+v, %v, want that it is damaged", value, m, err)
				}
			}
			if err := errors.Join(s.Client.Del(t.Context(), mark).Err(), s.Client.RPush(t.Context(), mark, "x").Err()); err != nil {
				t.Fatal(err)
			}
			_, err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 7}, fenceredis.Cmd("SET", "k", "v"))
			if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || fence.OutcomeOf(err) != fence.Definite {
				t.Errorf("a list: got %v, want that it is no mark, definite", err)
			}
			if n := s.Client.Exists(t.Context(), "k").Val(); n != 0 {
				t.Error("k is set")
			}
		})
	}
}

// TestMarkInRedis: a mark has no more than refuses something. An exclusive claim leaves nothing
// of the shared claims that it is above.
func TestMarkInRedis(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := fenceredis.Store{Client: redistest.Connect(t, server(t))}
			for _, step := range []struct {
				claim fence.Claim
				want  string
			}{
				{fence.Claim{Token: 7, Mode: fence.Shared}, "0 0 7"},
				{fence.Claim{Token: 8}, "8"},
				{fence.Claim{Token: 8, Mode: fence.Shared}, "8"},
				{fence.Claim{Token: 8, Sequence: 3}, "8 3 0"},
				{fence.Claim{Token: 8}, "8 3 0"},
				{fence.Claim{Token: 9, Mode: fence.Shared}, "8 3 9"},
				{fence.Claim{Token: 8, Mode: fence.Shared}, "8 3 9"},
				{fence.Claim{Token: 9, Sequence: 1}, "9 1 0"},
				{fence.Claim{Token: 10}, "10"},
			} {
				step.claim.Scope = "/lock"
				if _, err := s.Do(t.Context(), step.claim); err != nil {
					t.Fatal(err)
				}
				if got, err := s.Client.Get(t.Context(), "fence.mark:{/lock}").Result(); got != step.want || err != nil {
					t.Errorf("after %+v: Redis has %q, %v, want %q", step.claim, got, err, step.want)
				}
			}
		})
	}
}

// TestUnknown: where the connection breaks nobody knows.
func TestUnknown(t *testing.T) {
	server := redistest.Embedded(t)
	s := fenceredis.Store{Client: redistest.Connect(t, server)}
	if err := server.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 7}, fenceredis.Cmd("SET", "k", "v"))
	if err == nil || fence.OutcomeOf(err) != fence.Unknown || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("got %v, want an unknown outcome", err)
	}
}

// TestDoneBefore: with a context that is done before, nothing is sent.
func TestDoneBefore(t *testing.T) {
	server := redistest.Embedded(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, connect := range map[string]connecting{"a request a call": connect, "pipelined": pipelined} {
		s := fenceredis.Store{Client: connect(t, server)}
		_, err := s.Do(done, fence.Claim{Scope: "/lock", Token: 7})
		if !errors.Is(err, context.Canceled) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s: got %v, outcome %v, want that the context is done, definite", name, err, fence.OutcomeOf(err))
		}
		if m, err := s.Mark(t.Context(), "/lock"); err != nil || m.Token != 0 {
			t.Errorf("%s: the mark is %+v, %v, want none", name, m, err)
		}
	}
}

// TestScopesKeepApart: names that would be one, were they not escaped.
func TestScopesKeepApart(t *testing.T) {
	seen := make(map[string]string)
	for _, scope := range []string{"a", "a}b", "a}c", "{a", "{a}", "%7Ba", "}a", "%", "%25"} {
		tag := fenceredis.Tag(scope)
		if other, double := seen[tag]; double {
			t.Errorf("%q and %q have the tag %s", scope, other, tag)
		}
		seen[tag] = scope
		if inner := strings.Trim(tag, "{}"); inner == "" || strings.ContainsAny(inner, "{}") || len(inner) != len(tag)-2 {
			t.Errorf("the tag of %q is %s, want braces around something without braces", scope, tag)
		}
	}
}
