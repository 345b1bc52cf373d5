package clientcmd_test

import (
	"regexp"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
)

// wantTold checks what "client who" says of a lock.
func wantTold(t *testing.T, pattern string, args ...string) {
	t.Helper()
	code, stdout, stderr := status(t, append([]string{"who"}, args...)...)
	if code != 0 || !regexp.MustCompile(`^`+pattern+`$`).MatchString(stdout) {
		t.Errorf("status %d, and it says\n%s%s\nwant\n%s", code, stdout, stderr, pattern)
	}
}

func TestWho(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	wantTold(t, "/x is free\n", "/x", "--endpoints", w.Way)
	p := startExec(t, w, `echo started; cat`)
	defer p.stdin.Close()
	waiting := clienttest.Process(t, "client", w.Args("exec", "--lock", "/x", "--", "true")...)
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	w.Queue(t, "/x", 2)
	wantTold(t, `/x is held: exclusive, token \d+, (10|[89])s left, "[^"]*, sh", owner "/x/[0-9a-f]+-1"
/x is waited for: exclusive, token \d+, "[^"]*, true", owner "/x/[0-9a-f]+-1"
`, "/x", "--endpoints", w.Way)
	p.stdin.Close()
	p.wantEnd(t, 0)
	if err := waiting.Wait(); err != nil {
		t.Error(err)
	}
}

// TestWhoOfRecipes: some recipes keep no name of the holder.
func TestWhoOfRecipes(t *testing.T) {
	t.Parallel()
	s := miniredis.RunT(t)
	wantTold(t, "/x is free\nthe lock service does not know who waits for /x\n", "/x", "--service", "redis", "--by", "redislock", "--endpoints", s.Addr())
	code, stdout, stderr := status(t, "who", "/x", "--service", "redis", "--by", "set-nx-px", "--endpoints", s.Addr())
	if want := "locks of the recipe set-nx-px do not tell who holds them\n"; code != 1 || stdout != "" || !regexp.MustCompile(want).MatchString(stderr) {
		t.Errorf("status %d, and it says\n%s%s\nwant %s", code, stdout, stderr, want)
	}
}
