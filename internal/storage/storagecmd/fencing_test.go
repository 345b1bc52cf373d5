package storagecmd_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

// deadline is how long a storage runs at the most.
const deadline = 2 * time.Minute

// serve runs the command until the end of the test, and returns its address and
// what it warned of.
func serve(t *testing.T, args ...string) (url, warned string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	said, stderr := io.Pipe()
	cmd := storagecmd.Command()
	cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	cmd.SetOut(io.Discard)
	cmd.SetErr(stderr)
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() {
		defer stderr.Close()
		if err := cmd.ExecuteContext(ctx); err != nil {
			t.Error(err)
		}
	})
	lines := make(chan string, 2)
	running.Go(func() {
		defer close(lines)
		serves := regexp.MustCompile(`url=(http://\S+)`)
		for s := bufio.NewScanner(said); s.Scan(); { // to the end: else it could not log
			if found := serves.FindStringSubmatch(s.Text()); found != nil && s.Scan() {
				lines <- found[1]
				lines <- s.Text() // the warning follows
			}
		}
	})
	return <-lines, <-lines
}

// TestFlaws: each flag has its flaw, which no other has, and says so.
func TestFlaws(t *testing.T) {
	for _, tt := range []struct {
		fencing, warning         string
		stale, newer, afterwards int // of a stale write, a newer one, a stale one after a delete
	}{
		{"off", "fencing is off", 204, 204, 204},
		{"observe", "fencing only observes", 204, 204, 204},
		{"differs", "newer tokens are refused", 412, 412, 412},
		{"forgetful", "a delete drops the mark", 412, 204, 204},
	} {
		url, warned := serve(t, "--fencing", tt.fencing)
		if !strings.Contains(warned, tt.warning) {
			t.Errorf("%s: warned of %q, want %q", tt.fencing, warned, tt.warning)
		}
		ask := func(method, token string, want int) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, url+"/v1/kv/key0", strings.NewReader("value"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Fencing-Token", token)
			req.Close = true
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: %s with token %s: %d, want %d", tt.fencing, method, token, resp.StatusCode, want)
			}
		}
		ask("PUT", "34", 204)
		ask("PUT", "33", tt.stale)
		ask("PUT", "35", tt.newer)
		ask("DELETE", "35", tt.newer)
		ask("PUT", "33", tt.afterwards)
	}
}

func TestFencingFlag(t *testing.T) {
	for args, want := range map[string]string{
		"--fencing perhaps": `want "on" or "off"`,
		"--fencing differs --engine bolt --data " + t.TempDir():        "--fencing differs is for --engine memory alone",
		"--fencing observe --engine bolt --data " + t.TempDir():        "--fencing observe is for --engine memory alone",
		"--fencing forgetful --engine etcd --endpoints 127.0.0.1:2379": "--fencing forgetful is for --engine memory alone",
	} {
		cmd := storagecmd.Command()
		cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, strings.Fields(args)...))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		if err := cmd.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("storage %s: %v, want %q", args, err, want)
		}
	}
}
