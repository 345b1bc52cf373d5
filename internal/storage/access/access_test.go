package access

import (
	"errors"
	"strings"
	"testing"
)

func TestPrefixCovers(t *testing.T) {
	for _, c := range []struct {
		prefix, name string
		want         bool
	}{
		{"/orders/", "/orders/7", true},
		{"/orders/", "/orders/", true},
		{"/orders/", "/orders", false},
		{"/orders/", "/ordersX", false},
		{"/orders", "/orders", true},
		{"/orders", "/orders/7", true},
		{"/orders", "/ordersX", false},
		{"/orders", "/orders-eu", false},
		{"/orders", "/order", false},
		{"orders:", "orders:7", true},
		{"orders:", "ordersX", false},
		{"shard-", "shard-7", true},
		{"shard7", "shard70", false},
		{"bestellung-ä", "bestellung-äö", false},
		{"/", "/orders", true},
		{"/", "orders", false},
		{"/orders/", "", false},
		{"/orders/", "/Orders/7", false},
		{"/orders/", "/x/../orders/7", false},
	} {
		if got := covers(c.prefix, c.name); got != c.want {
			t.Errorf("%q covers %q: %v, want %v", c.prefix, c.name, got, c.want)
		}
	}
}

// TestEachRightStandsAlone asks, with every set of rights, for every right.
func TestEachRightStandsAlone(t *testing.T) {
	for set := range 1 << len(rights) {
		p := &Principal{name: "p"}
		for i, r := range rights {
			if set&(1<<i) != 0 {
				p.rights = append(p.rights, r)
			}
		}
		for i, r := range rights {
			err := p.May(r, "/lock", "key")
			if has := set&(1<<i) != 0; has != (err == nil) {
				t.Errorf("rights %q: May(%s) is %v", p.rights, r, err)
			}
			if err != nil && !errors.Is(err, ErrForbidden) {
				t.Errorf("%v is no ErrForbidden", err)
			}
		}
		if err := p.May("", "/lock", "key"); err == nil {
			t.Errorf("rights %q allow a right that there is not", p.rights)
		}
	}
}

func TestScopesAndKeys(t *testing.T) {
	limited := &Principal{name: "orders-service", rights: rights, scopes: []string{"/orders/", "/jobs"}, keys: []string{"orders/"}}
	free := &Principal{name: "free", rights: rights}
	for _, c := range []struct {
		name  string
		who   *Principal
		right Right
		scope string
		keys  []string
		want  string // part of the error; "" for none
	}{
		{"its scope and key", limited, Write, "/orders/7", []string{"orders/7"}, ""},
		{"its other scope", limited, Write, "/jobs", []string{"orders/7"}, ""},
		{"another scope", limited, Write, "/users/7", []string{"orders/7"}, `scope "/users/7" is none of its scopes`},
		{"another key", limited, Write, "/orders/7", []string{"users/7"}, `key "users/7" is none of its keys`},
		{"one key of a batch", limited, Write, "/orders/7", []string{"orders/1", "users/7", "orders/2"}, `key "users/7"`},
		{"the key as scope", limited, Write, "orders/7", []string{"orders/7"}, `scope "orders/7"`},
		{"a write without scope", limited, Write, "", []string{"orders/7"}, `scope ""`},
		{"a read without scope", limited, Read, "", []string{"orders/7"}, ""},
		{"a read of another key", limited, Read, "", []string{"users/7"}, `key "users/7"`},
		{"a read of a mark", limited, Read, "/orders/7", nil, ""},
		{"a read of another mark", limited, Read, "/users/7", nil, `scope "/users/7"`},
		{"admin without scope", limited, Admin, "", nil, ""},
		{"admin of another scope", limited, Admin, "/users/7", nil, `scope "/users/7"`},
		{"the empty key", limited, Write, "/orders/7", []string{""}, `key ""`},
		{"no limits", free, Write, "anything", []string{"at", "all"}, ""},
		{"nobody", nil, Read, "", nil, "nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.who.May(c.right, c.scope, c.keys...)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, ErrForbidden) || errors.Is(err, ErrUnauthenticated) {
				t.Fatalf("got %v, want an ErrForbidden", err)
			}
			for _, part := range []string{c.want, c.who.Name(), string(c.right)} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if got := Challenge(err); got != `Bearer realm="storage", error="insufficient_scope"` {
				t.Errorf("challenge %s", got)
			}
		})
	}
	if got := Challenge(errors.New("other")); got != "" {
		t.Errorf("another error has the challenge %s", got)
	}
	if err := limited.May(Read, "", strings.Repeat("ä", 10_000)); len(err.Error()) > 300 {
		t.Errorf("a long key makes an error of %d bytes", len(err.Error()))
	}
}
