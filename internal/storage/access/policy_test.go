package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// logged is a log at level Debug, for a test to read.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// write replaces a file in one step.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func tokensFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	write(t, name, text)
	return name
}

func one(name, hash string) string {
	return fmt.Sprintf("tokens:\n  - {name: %s, sha256: %q, rights: [read]}\n", name, hash)
}

func asks(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v1/kv/key", nil)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}

func TestGenerate(t *testing.T) {
	secret, hash := Generate()
	other, _ := Generate()
	sum := sha256.Sum256([]byte(secret))
	if hash != hex.EncodeToString(sum[:]) || secret == other || len(secret) != 43 {
		t.Errorf("secret %d characters, equal to another: %v, hash %s", len(secret), secret == other, hash)
	}
	if got, err := bearer(http.Header{"Authorization": {"Bearer " + secret}}); got != secret || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAuthenticate(t *testing.T) {
	secret, hash := Generate()
	second, hash2 := Generate()
	unknown, _ := Generate()
	policy, err := Load(tokensFile(t, fmt.Sprintf(`
tokens:
  - name: orders-service
    sha256: [%s, %s]
    rights: [read, write]
    scopes: ["/orders/"]
    keys: ["orders/"]
  - name: ops
    sha256: %s
    rights: [admin]
`, hash, strings.ToUpper(hash2), strings.Repeat("0", 64))), nil)
	if err != nil {
		t.Fatal(err)
	}
	const (
		plain   = `Bearer realm="storage"`
		invalid = plain + `, error="invalid_token"`
	)
	for _, c := range []struct {
		name      string
		request   *http.Request
		challenge string // "": it is known
	}{
		{"known", asks("Bearer " + secret), ""},
		{"its second secret", asks("Bearer " + second), ""},
		{"scheme in other letters, more spaces", asks("bEARER   " + secret), ""},
		{"none", asks(), plain},
		{"unknown", asks("Bearer " + unknown), invalid},
		{"hash instead of secret", asks("Bearer " + hash), invalid},
		{"secret cut", asks("Bearer " + secret[:42]), invalid},
		{"secret and more", asks("Bearer " + secret + "="), invalid},
		{"two", asks("Bearer "+secret, "Bearer "+secret), invalid},
		{"two in one", asks("Bearer " + secret + ", Bearer " + secret), invalid},
		{"empty secret", asks("Bearer "), invalid},
		{"scheme only", asks("Bearer"), invalid},
		{"= only", asks("Bearer ="), invalid},
		{"not ASCII", asks("Bearer ä"), invalid},
		{"empty header", asks(""), plain},
		{"another scheme", asks("Basic " + secret), plain},
		{"no scheme", asks(secret), plain},
		{"in the URL", httptest.NewRequest(http.MethodGet, "/?access_token="+secret, nil), plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			who, err := policy.Authenticate(c.request)
			if c.challenge == "" {
				if err != nil || who.Name() != "orders-service" {
					t.Fatalf("got %v, %v", who.Name(), err)
				}
				return
			}
			if who != nil || !errors.Is(err, ErrUnauthenticated) || Challenge(err) != c.challenge {
				t.Fatalf("got %v, %v, challenge %s", who, err, Challenge(err))
			}
		})
	}
	who, err := policy.Authenticate(asks("Bearer " + secret))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(who.May(Read, "/orders/1", "orders/1"), who.May(Write, "/orders/1", "orders/1")); err != nil {
		t.Error(err)
	}
	for _, err := range []error{who.May(Admin, ""), who.May(Write, "/users/1", "orders/1"), who.May(Write, "/orders/1", "users/1")} {
		if !errors.Is(err, ErrForbidden) {
			t.Errorf("got %v, want an ErrForbidden", err)
		}
	}
}

func TestNoPolicyAllowsAll(t *testing.T) {
	var policy *Policy
	who, err := policy.Authenticate(asks("Bearer whatever"))
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range rights {
		if err := who.May(right, "/any", "key"); err != nil {
			t.Error(err)
		}
	}
}

// TestFindComparesAll: as many comparisons, wherever the match is.
func TestFindComparesAll(t *testing.T) {
	const n = 5
	var list []entry
	for i := range n {
		list = append(list, entry{sha256.Sum256([]byte{byte(i)}), &Principal{name: fmt.Sprint(i)}})
	}
	for i := range n + 1 { // the last is unknown
		compared := 0
		who := find(list, sha256.Sum256([]byte{byte(i)}), func(a, b []byte) int {
			compared++
			if len(a) != sha256.Size || len(b) != sha256.Size {
				t.Errorf("compares %d with %d bytes", len(a), len(b))
			}
			return subtle.ConstantTimeCompare(a, b)
		})
		want := fmt.Sprint(i)
		if i == n {
			want = "nobody"
		}
		if compared != n || who.Name() != want {
			t.Errorf("entry %d: %d comparisons, found %s", i, compared, who.Name())
		}
	}
}

func TestTokensAreReadAgain(t *testing.T) {
	secretA, hashA := Generate()
	secretB, hashB := Generate()
	name := tokensFile(t, one("a", hashA))
	var log logged
	synctest.Test(t, func(t *testing.T) { // so a second passes at once
		policy, err := Load(name, log.logger())
		if err != nil {
			t.Fatal(err)
		}
		in := func(secret string) bool {
			_, err := policy.Authenticate(asks("Bearer " + secret))
			return err == nil
		}
		want := func(when string, a, b bool) {
			t.Helper()
			if gotA, gotB := in(secretA), in(secretB); gotA != a || gotB != b {
				t.Errorf("%s: a gets in %v, b %v; want %v, %v\n%s", when, gotA, gotB, a, b, log.String())
			}
		}
		want("at first", true, false)
		write(t, name, one("b", hashB))
		want("within the second", true, false)
		time.Sleep(checkEvery)
		want("after it", false, true)
		write(t, name, "tokens: [")
		time.Sleep(checkEvery)
		want("with a broken file", false, true)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkEvery)
		want("without a file", false, true)
		for range 5 { // told once
			time.Sleep(checkEvery)
			want("still without", false, true)
		}
		write(t, name, one("a", hashA))
		time.Sleep(checkEvery)
		want("with a good file again", true, false)
		// In place, with the size and the time that it had.
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(name, []byte(one("b", hashB)), 0o600), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkEvery)
		want("with another content of the same size and time", false, true)
	})
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
		t.Errorf("%d errors logged, want 2, for the broken file and the missing one:\n%s", n, log.String())
	}
	if n := strings.Count(log.String(), "level=INFO"); n != 3 {
		t.Errorf("%d changes logged, want 3:\n%s", n, log.String())
	}
}

// TestReloadUnderLoad is for the race detector, and for a reader that would see
// neither the old policy nor the new one.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	secret, hash := Generate()
	name := tokensFile(t, one("a", hash))
	policy, err := Load(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := policy.Authenticate(asks("Bearer " + secret)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 2 {
		renamed := fmt.Sprintf("a%d", i)
		write(t, name, one(renamed, hash))
		eventually(t, "the new file is in force", func() bool {
			who, err := policy.Authenticate(asks("Bearer " + secret))
			return err == nil && who.Name() == renamed
		})
	}
	cancel()
	wg.Wait()
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// FuzzAuthorization: whatever the header holds, the answer is a secret that RFC
// 6750 allows or an ErrUnauthenticated that does not repeat the header.
func FuzzAuthorization(f *testing.F) {
	for _, s := range []string{"Bearer abc", "bearer  a.b-c_d~e+f/g==", "Basic x", "Bearer", "", "Bearer a b", "Bearer \x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		secret, err := bearer(http.Header{"Authorization": {header}})
		if err != nil {
			if secret != "" || !errors.Is(err, ErrUnauthenticated) || Challenge(err) == "" {
				t.Fatalf("%q, %v", secret, err)
			}
			return
		}
		if secret == "" || strings.ContainsAny(secret, " \t\r\n,\"\x00") || !strings.HasSuffix(header, secret) || !strings.EqualFold(header[:7], "bearer ") {
			t.Fatalf("%q gave %q", header, secret)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		var text strings.Builder
		text.WriteString("tokens:\n")
		var secret string
		for i := range n {
			s, hash := Generate()
			secret = s
			fmt.Fprintf(&text, "  - {name: n%d, sha256: %q, rights: [read]}\n", i, hash)
		}
		name := filepath.Join(b.TempDir(), "tokens.yaml")
		if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
		policy, err := Load(name, nil)
		if err != nil {
			b.Fatal(err)
		}
		r := asks("Bearer " + secret)
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := policy.Authenticate(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
