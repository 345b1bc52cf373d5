package fenceredis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

// What Redis can lose, as the package says it.

func do(ctx context.Context, client redis.UniversalClient, token fence.Token) error {
	_, err := fenceredis.Store{Client: client}.Do(ctx, fence.Claim{Scope: "/lock", Token: token}, fenceredis.Cmd("SET", "{/lock}k", token.String()))
	return err
}

// TestPersistence: what a Redis that is killed still knows.
func TestPersistence(t *testing.T) {
	for persistence, keeps := range map[string]bool{"none": false, "always": true} {
		t.Run(persistence, func(t *testing.T) {
			server := redistest.Real(t, redisproc.Settings(t.TempDir(), persistence)...)
			client := redistest.Connect(t, server)
			if err := do(t.Context(), client, 34); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
			defer cancel()
			if err := errors.Join(server.Process().Kill(), server.Restart(ctx)); err != nil {
				t.Fatal(err)
			}
			err := do(t.Context(), redistest.Connect(t, server), 33)
			if refused := errors.Is(err, fence.ErrStale); refused != keeps {
				t.Errorf("token 33 after 34: %v, want refused: %v", err, keeps)
			}
		})
	}
}

// fill writes more than there is room for.
func fill(ctx context.Context, client *redis.Client) error {
	value := strings.Repeat("x", 1<<16)
	for i := range 1000 {
		if err := client.Set(ctx, fmt.Sprint("filler", i), value, time.Hour).Err(); err != nil {
			return err
		}
	}
	return nil
}

// TestEviction: a policy "allkeys-…" takes the mark; another one leaves it, and where no
// room is left nothing is done.
func TestEviction(t *testing.T) {
	for policy, keeps := range map[string]bool{"allkeys-lru": false, "volatile-lru": true, "noeviction": true} {
		t.Run(policy, func(t *testing.T) {
			settings := append(redisproc.Settings(t.TempDir(), "none"), "--maxmemory", "8mb", "--maxmemory-policy", policy)
			client := redistest.Connect(t, redistest.Real(t, settings...))
			if err := do(t.Context(), client, 34); err != nil {
				t.Fatal(err)
			}
			if policy == "noeviction" {
				if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
					t.Fatal(err)
				}
			} else if err := fill(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			if err := do(t.Context(), client, 33); errors.Is(err, fence.ErrStale) != keeps {
				t.Errorf("token 33 after 34: %v, want refused: %v", err, keeps)
			}
			if policy != "noeviction" {
				return
			}
			for _, token := range []fence.Token{34, 35} {
				err := do(t.Context(), client, token)
				if err == nil || fence.OutcomeOf(err) != fence.Definite || !strings.Contains(err.Error(), "OOM") {
					t.Errorf("token %d without room: %v, want that nothing was done", token, err)
				}
			}
			if value, err := client.Get(t.Context(), "{/lock}k").Result(); value != "34" {
				t.Errorf("the data is %q, %v, want 34", value, err)
			}
			if m, err := (fenceredis.Store{Client: client}).Mark(t.Context(), "/lock"); err != nil || m.Token != 34 {
				t.Errorf("the mark is %+v, %v, want 34", m, err)
			}
		})
	}
}

// TestFailover: a replica that the mark had not come to is the new master.
func TestFailover(t *testing.T) {
	master := redistest.Real(t, redisproc.Settings(t.TempDir(), "none")...)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := redistest.Real(t, append(redisproc.Settings(t.TempDir(), "none"), "--replicaof", host+" "+port)...)
	old, next := redistest.Connect(t, master), redistest.Connect(t, replica)
	if err := do(t.Context(), old, 33); err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n == 0; { // until the replica has it
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
		n, err = old.Wait(ctx, 1, time.Second).Result()
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	refusesAll(t, next, fence.Claim{Scope: "/lock", Token: 33})
	// The link breaks: the replica asks where nobody listens.
	if err := next.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), old, 34); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(master.Process().Kill(), next.ReplicaOf(t.Context(), "NO", "ONE").Err()); err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), next, 33); err != nil {
		t.Errorf("token 33 after 34, which was lost in the failover: %v, want it admitted", err)
	}
}

// refusesAll holds that a replica does nothing for a claim that its mark, which may be an old one, admits, and that the
// error is its own: by that word clients look for the master.
func refusesAll(t *testing.T, replica *redis.Client, c fence.Claim) {
	t.Helper()
	store := fenceredis.Store{Client: replica}
	refuses := func(c fence.Claim, name string, args ...any) {
		var failed *fenceredis.CommandError
		_, err := store.Do(t.Context(), c, fenceredis.Cmd(name, "{/lock}k", args...))
		if !redis.HasErrorPrefix(err, "READONLY") || errors.As(err, &failed) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s with the token %d on a replica: %v, want it refused, and that nothing was done", name, c.Token, err)
		}
	}
	refuses(c, "SET", "v")
	refuses(fence.Claim{Scope: c.Scope, Token: c.Token + 1}, "SET", "v")
	commands, err := replica.Command(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	for name, command := range commands {
		if command.FirstKeyPos == 1 && !slices.Contains(command.Flags, "write") {
			refuses(c, strings.ToUpper(name))
			reads++
		}
	}
	if reads < 20 {
		t.Errorf("the replica has %d commands that read, want more of them", reads)
	}
}
