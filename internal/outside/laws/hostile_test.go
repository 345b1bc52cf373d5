package laws_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// hostile are ways not to answer, and what is to be said of each.
var hostile = []struct {
	name string
	say  func(w net.Conn)
	did  string
}{
	{"garbage", func(w net.Conn) { io.WriteString(w, "\x00\xff SSH-2.0-no storage\r\n\r\n") }, "no answer that is HTTP"},
	{"nothing", func(net.Conn) {}, "closed the connection without an answer"},
	{"half a status line", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 20") }, "gave no answer that is HTTP"},
	{"half a header", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Le") }, "no answer that is HTTP"},
	{"a length that lies", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nvalue") }, "ended its answer before the end"},
	{"a length below zero", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nvalue") }, "no answer that is HTTP"},
	{"two lengths", func(w net.Conn) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nvalue")
	}, "no answer that is HTTP"},
	{"100 MB", func(w net.Conn) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
		flood(w, 100)
	}, "answered with more than 1048576 bytes"},
	{"headers without an end", func(w net.Conn) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nX: ")
		flood(w, 100)
	}, "no answer that is HTTP"},
	{"silence", func(w net.Conn) { io.Copy(io.Discard, w) }, "gave no whole answer within"},
	{"a body without an end", func(w net.Conn) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nva")
		io.Copy(io.Discard, w)
	}, "gave no whole answer within"},
	{"500", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") }, "answered 500"},
	{"a redirect", func(w net.Conn) { io.WriteString(w, "HTTP/1.1 307 No\r\nLocation: /\r\nContent-Length: 0\r\n\r\n") }, "answered 307"},
}

// flood sends so many MB, as long as somebody takes them.
func flood(w io.Writer, mb int) {
	for range mb {
		if _, err := w.Write(make([]byte, 1_000_000)); err != nil {
			return
		}
	}
}

// judgeHostile judges a storage at a URL. Only those that keep who asks them waiting are
// not waited for: the others may be slow on a busy machine.
func judgeHostile(t *testing.T, url, did string, patience time.Duration) (laws.Report, error) {
	t.Helper()
	if !strings.Contains(did, "within") {
		patience = time.Minute
	}
	return laws.Judge(t.Context(), laws.Options{URLs: []string{url}, Timeout: patience})
}

// TestStoragesThatDoNotAnswer: what they did is said, with their URL, and nothing is
// judged.
func TestStoragesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			url := serveConns(t, func(conn net.Conn) {
				conn.Read(make([]byte, 4096))
				tt.say(conn)
			})
			r, err := judgeHostile(t, url, tt.did, 200*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), tt.did) || !strings.Contains(err.Error(), strings.TrimPrefix(url, "http://")) {
				t.Errorf("got error %v, want that the storage at %s %s", err, url, tt.did)
			}
			if n := len(r.Results); n != 0 {
				t.Errorf("%d laws were judged", n)
			}
		})
	}
}

// TestStoragesThatStopToAnswer: they are right until they stop. From then on no law holds,
// and soon none is tried.
func TestStoragesThatStopToAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range hostile {
		if tt.name == "a redirect" {
			continue // which is an answer
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			right := newTiny(nil)
			var asked atomic.Int64
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) <= 30 {
					right.ServeHTTP(w, r)
					return
				}
				io.Copy(io.Discard, r.Body)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				tt.say(conn)
			}))[0]
			r, err := judgeHostile(t, url, tt.did, 2*time.Second) // until it stops it must not be too slow
			if err != nil {
				t.Fatal(err)
			}
			if r.OK() || r.Count(laws.Fails) > 0 {
				t.Errorf("%s, want that it could not be judged", r.Summary())
			}
			judged, stopped := 0, false
			for _, law := range r.Results {
				switch law.Outcome {
				case laws.NotJudged:
					stopped = true
					if !strings.Contains(law.Why, tt.did) && !strings.Contains(law.Why, "did not answer in the 3 laws before") {
						t.Errorf("%s: %s, want that the storage %s", law.Law, law.Why, tt.did)
					}
				case laws.Holds:
					if judged++; stopped {
						t.Errorf("%s holds of a storage that does not answer any more", law.Law)
					}
				}
			}
			if judged == 0 || !stopped {
				t.Errorf("%d laws hold; a law could not be judged: %v", judged, stopped)
			}
			if n := asked.Load(); n > 100 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

// TestUnansweredRequestBreaksTheLaw: a storage that answers other requests must answer
// this one too.
func TestUnansweredRequestBreaksTheLaw(t *testing.T) {
	t.Parallel()
	right := newTiny(nil)
	r := report(t, laws.Options{Only: []string{"OnlyNumbersAreTokens", "NewerTokenReplaces"}, URLs: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fencing-Token") == "abc" {
			panic(http.ErrAbortHandler)
		}
		right.ServeHTTP(w, r)
	}))})
	for _, law := range r.Results {
		if law.Law == "NewerTokenReplaces" {
			if law.Outcome != laws.Holds {
				t.Errorf("%s %s: %s", law.Law, law.Outcome, law.Why)
			}
			continue
		}
		if law.Outcome != laws.Fails || !strings.Contains(law.Why, `token "abc": the storage at http://`) || !strings.Contains(law.Why, "closed the connection") {
			t.Errorf("%s %s: %s", law.Law, law.Outcome, law.Why)
		}
	}
}

// TestCommandThatEnds: its end, and its last words, are the reason; the next law has a new
// process.
func TestCommandThatEnds(t *testing.T) {
	r := report(t, laws.Options{Only: []string{"OnlyNumbersAreTokens", "NewerTokenReplaces"}, Commands: []string{command(t, "it ends at a bad token")}})
	for _, law := range r.Results {
		want, says := laws.Holds, ""
		if law.Law == "OnlyNumbersAreTokens" {
			want, says = laws.NotJudged, "ended (exit status 7); it last said:\nwhat is that"
		}
		if law.Outcome != want || !strings.Contains(law.Why, says) {
			t.Errorf("%s %s: %s, want that it %s", law.Law, law.Outcome, law.Why, want)
		}
	}
}

func endAtBadToken(s *tiny) {
	right := s.token
	s.token = func(text string) (uint64, bool) {
		token, ok := right(text)
		if !ok {
			fmt.Fprintln(os.Stderr, "what is that")
			os.Exit(7)
		}
		return token, ok
	}
}

func TestCommandsThatCannotBeStarted(t *testing.T) {
	need.Program(t, "sh", "to start commands")
	for command, want := range map[string]string{
		"no-such-program --listen {addr}": "not found",
		"exit 3 # {addr}":                 "exit status 127", // it is no program
		"sleep 1000":                      "names neither {addr} nor {port}",
	} {
		_, err := laws.Judge(t.Context(), laws.Options{Commands: []string{command}, Exe: os.Args[0], Timeout: time.Second})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strings.Fields(command)[0]) {
			t.Errorf("%q: %v, want %q", command, err, want)
		}
	}
}

func TestJudgeIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err := laws.Judge(ctx, laws.Options{URLs: serve(t, newTiny(nil)), Timeout: time.Second, Tell: func(laws.Report, laws.Result) {
		if told++; told == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || told != 2 {
		t.Errorf("got %v after %d laws", err, told)
	}
}

func TestUnknownLaw(t *testing.T) {
	_, err := laws.Judge(t.Context(), laws.Options{URLs: []string{"http://127.0.0.1:1"}, Only: []string{"Murphy"}})
	if err == nil || !strings.Contains(err.Error(), `no law "Murphy"`) {
		t.Errorf("got %v", err)
	}
}
