package k8slock

import (
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestRefuses: what New cannot use, each with what to do.
func TestRefuses(t *testing.T) {
	const address = "https://127.0.0.1:6443"
	for _, tt := range []struct {
		address, namespace string
		ttl                time.Duration
		option             Option
		want               string
	}{
		{address, "default", 0, Poll(time.Second), "want whole seconds"},
		{address, "default", 1500 * time.Millisecond, Poll(time.Second), "want whole seconds"},
		{address, "default", longest + time.Second, Poll(time.Second), "want whole seconds"},
		{address, "default", time.Second, Poll(0), "want 1ms or more"},
		{address, "a/b", time.Second, Poll(time.Second), `the namespace "a/b"`},
		{"127.0.0.1:6443", "default", time.Second, Poll(time.Second), "k8slock: the address is none"},
	} {
		_, err := New(tt.address, tt.namespace, tt.ttl, tt.option)
		if err == nil || !strings.Contains(err.Error(), tt.want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %s, %v: got %v, want %q", tt.address, tt.namespace, tt.ttl, err, tt.want)
		}
	}
}

// TestParse: the holder of a Lease, whoever has taken it, and its token.
func TestParse(t *testing.T) {
	lease := func(version, annotation, holder string) string {
		return `{"metadata":{"resourceVersion":"` + version + `","annotations":{"fencelab.github.io/holder":` + annotation + `}},"spec":{"holderIdentity":"` + holder + `","leaseDurationSeconds":15}}`
	}
	for _, tt := range []struct {
		text string
		want holder
	}{
		{lease("7", `"{\"owner\":\"a\",\"words\":\"web7\"}"`, "a"), holder{"a", 7, "web7"}},
		{lease("9", `"{\"owner\":\"a\",\"token\":7}"`, "a"), holder{"a", 7, ""}},
		{lease("9", `"{\"owner\":\"a\",\"token\":7,\"words\":\"web7\"}"`, "b"), holder{"b", 0, ""}},
		{lease("9", `"none"`, "b"), holder{"b", 0, ""}},
	} {
		l, err := parse([]byte(tt.text))
		if err != nil || l.holder != tt.want || l.ttl(time.Second) != 15*time.Second {
			t.Errorf("%s: %+v, %v, want %+v", tt.text, l, err, tt.want)
		}
	}
	if l, err := parse([]byte(`{"metadata":{"resourceVersion":"7"}}`)); err != nil || l.ttl(time.Second) != time.Second {
		t.Errorf("a Lease without a duration: %+v, %v", l, err)
	}
	for _, version := range []string{"x", "0", "9223372036854775808"} {
		if _, err := parse([]byte(lease(version, `""`, "a"))); err == nil || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("version %s: %v", version, err)
		}
	}
}
