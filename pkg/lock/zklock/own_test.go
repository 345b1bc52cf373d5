package zklock

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestEmptyScope: no resource takes a claim without a scope. Nothing is asked.
func TestEmptyScope(t *testing.T) {
	b, err := New([]string{"127.0.0.1:1"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for call, err := range map[string]error{
		"lock":    second(b.Lock(ctx, "")),
		"trylock": second(b.TryLock(ctx, "")),
		"rlock":   second(b.RLock(ctx, "")),
		"inspect": second(b.Inspect(ctx, "")),
	} {
		if !errors.Is(err, fence.ErrInvalidScope) || fence.OutcomeOf(err) != fence.Definite || b.session != nil {
			t.Errorf("%s: got %v, session %v, want ErrInvalidScope", call, err, b.session)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPath: a path stays as it is, and no two scopes share one.
func TestPath(t *testing.T) {
	scopes := map[string]string{
		"/lock":                   "/lock",
		"/locks/orders.1":         "/locks/orders.1",
		"/locks/a b":              "/locks/a%20b",
		"/locks/a%20b":            "/locks/a%2520b",
		"/a/":                     "/a/%",
		"/a//":                    "/a/%/%",
		"/":                       "/%",
		"/%":                      "/%25",
		"/.":                      "/%2E",
		"/a/..":                   "/a/%2E.",
		"/zookeeper":              "/%7Aookeeper",
		"/a/zookeeper":            "/a/zookeeper",
		"/a/block-0000000001":     "/a/%62lock-0000000001",
		"/a/lock--000000001":      "/a/%6Cock--000000001",
		"/a/x__READ__0000000001":  "/a/%78__READ__0000000001",
		"/\x00\xff":               "/%00%FF",
		"lock":                    "/%scopes/lock",
		"":                        "/%scopes/%",
		"/%scopes/lock":           "/%25scopes/lock",
		"a/lock-0000000001/":      "/%scopes/a/%6Cock-0000000001/%",
		"/lock-00000000001/ü\t\n": "/lock-00000000001/%C3%BC%09%0A",
	}
	known := make(map[string]string)
	for scope, want := range scopes {
		path := Path(scope)
		if path != want {
			t.Errorf("%q is at %s, want %s", scope, path, want)
		}
		if other, twice := known[path]; twice {
			t.Errorf("%q and %q are at %s", scope, other, path)
		}
		known[path] = scope
	}
}

// TestQueueWraps: after the highest number comes the lowest.
func TestQueueWraps(t *testing.T) {
	for _, want := range [][]string{
		{"lock-2147483646", "lock-2147483647", "lock--2147483648", "lock--2147483647"},
		{"lock--1000000000", "lock--999999999", "lock--999999998", "lock--999999997"},
		{"lock--000000002", "lock--000000001", "lock-0000000000", "lock-0000000001"},
	} {
		if names := queue([]string{want[2], want[0], want[3], want[1]}); !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	}
}

// TestServers: a chroot stands after the last server.
func TestServers(t *testing.T) {
	for _, c := range []struct {
		servers    []string
		root, want string // the chroot, or what the error says
	}{
		{[]string{"a:1", "b:2"}, "", ""},
		{[]string{"a:1", "b:2/app/locks"}, "/app/locks", ""},
		{[]string{"a:1/app", "b:2"}, "", `the server "a:1/app"`},
		{[]string{"a:1", ""}, "", `the server ""`},
		{[]string{"a:1/"}, "", `the chroot "/"`},
		{[]string{"a:1/app/"}, "", `the chroot "/app/"`},
		{[]string{"a:1//app"}, "", `the chroot "//app"`},
		{nil, "", "no server"},
	} {
		b, err := New(c.servers, time.Second)
		switch {
		case c.want == "" && (err != nil || b.options.root != c.root || strings.Contains(b.options.servers[len(c.servers)-1], "/")):
			t.Errorf("%q: %v, chroot %q, servers %q", c.servers, err, b.options.root, b.options.servers)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || fence.OutcomeOf(err) != fence.Definite):
			t.Errorf("%q: got %v, want %s, and that it is definite", c.servers, err, c.want)
		}
	}
}

// TestQueue: nodes are in the order of their numbers, whatever else there is; a writer waits
// for the last before its own, a reader for the last writer's.
func TestQueue(t *testing.T) {
	names := queue([]string{
		"_c_b-__READ__0000000012", "x", "_c_d-__WRIT__0000000003", "lock-0000000100",
		"_c_a-__READ__0000000011", "_c_c-lock-0000000009", "other-0000000001",
	})
	want := []string{
		"_c_d-__WRIT__0000000003", "_c_c-lock-0000000009", "_c_a-__READ__0000000011",
		"_c_b-__READ__0000000012", "lock-0000000100",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("the queue is %q, want %q", names, want)
	}
	for _, tt := range []struct {
		place int
		mode  fence.Mode
		want  string
	}{
		{0, fence.Exclusive, ""},
		{0, fence.Shared, ""},
		{1, fence.Exclusive, want[0]},
		{3, fence.Exclusive, want[2]},
		{3, fence.Shared, want[1]},
		{4, fence.Shared, want[1]},
	} {
		if got := lastExcluding(names[:tt.place], tt.mode); got != tt.want {
			t.Errorf("the one in place %d, %v, waits for %q, want %q", tt.place, tt.mode, got, tt.want)
		}
	}
	if ModeOf("/lock/"+want[2]) != fence.Shared || ModeOf("/lock/"+want[0]) != fence.Exclusive {
		t.Error("the modes of nodes are others")
	}
}

// TestGranted: the timeout that a server grants is read in its first answer, in whatever
// pieces that comes.
func TestGranted(t *testing.T) {
	answer := []byte{0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0x01, 0xf4, 1, 2, 3, 4}
	for piece := 1; piece <= len(answer); piece++ {
		client, server := net.Pipe()
		var granted []time.Duration
		l := &link{Conn: client, granted: func(d time.Duration) { granted = append(granted, d) }}
		go func() {
			_, _ = server.Write(answer)
			server.Close()
		}()
		b := make([]byte, piece)
		for {
			if _, err := l.Read(b); err != nil {
				break
			}
		}
		if !slices.Equal(granted, []time.Duration{500 * time.Millisecond}) {
			t.Errorf("in pieces of %d bytes it is granted %v, want 500ms", piece, granted)
		}
	}
}
