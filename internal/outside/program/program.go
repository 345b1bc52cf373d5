// Package program runs a user's storage or lock service, which can be killed and started on the same data.
package program

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// What stands in a command for what Start chooses.
const (
	argAddr = "{addr}" // where to listen, such as 127.0.0.1:10000
	argPort = "{port}" // of that address
	argDir  = "{dir}"  // the directory for its files
)

// startDeadline is for how long a server may take until it listens.
const startDeadline = 30 * time.Second

// Server is a storage or a lock service that a command runs.
type Server struct {
	Name    string // in errors
	Command string // for a shell
	Dir     string // for its files; every Start gets the same
	Stays   bool   // every Start gets the same address, too
	// Listen begins to read what a process of it says on standard output. nil: nobody wants to know.
	Listen func(*proc.Process)
	// Says is a file to which its standard output is added. "": it goes to Listen.
	Says string

	group   *proc.Group
	process *proc.Process
	addr    string
}

// New returns a server that does not run yet. Its directory is made.
func New(g *proc.Group, name, command, dir string) (*Server, error) {
	if !strings.Contains(command, argAddr) && !strings.Contains(command, argPort) {
		return nil, fmt.Errorf("the command %q names neither %s nor %s: it must listen where it is told to", command, argAddr, argPort)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Server{Name: name, Command: command, Dir: dir, group: g}, nil
}

// Addr is where it listens. A Start changes it, unless it stays.
func (s *Server) Addr() string { return s.addr }

func (s *Server) URL() string { return "http://" + s.addr }

// Process is the one that runs, or ran last.
func (s *Server) Process() *proc.Process { return s.process }

// Start starts it on a port that is free, or its own, and returns when it takes connections.
func (s *Server) Start(ctx context.Context) error {
	if s.addr == "" || !s.Stays {
		addrs, err := ports.Free(1)
		if err != nil {
			return err
		}
		s.addr = addrs[0]
	}
	start := s.group.StartLine
	if s.Says != "" {
		start = func(name, line string) (*proc.Process, error) { return s.group.StartLineTo(name, line, s.Says) }
	}
	var err error
	if s.process, err = start(s.Name, s.Line(s.Dir)); err != nil {
		return err
	}
	if s.Listen != nil {
		s.Listen(s.process)
	} else {
		go io.Copy(io.Discard, s.process.Stdout) // a full pipe would stop it
	}
	within, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it does not listen on %s after %v", s.addr, startDeadline))
	defer cancel()
	if err := s.process.Await(within, s.listens); err != nil {
		if within.Err() != nil {
			err = errors.Join(err, context.Cause(within))
		}
		return err
	}
	return nil
}

// Line is the command with the server's address, and a directory.
func (s *Server) Line(dir string) string {
	_, port, _ := strings.Cut(s.addr, ":") // of 127.0.0.1
	return strings.NewReplacer(argAddr, s.addr, argPort, port, argDir, dir).Replace(s.Command)
}

func (s *Server) listens(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Kill ends the server's process group by SIGKILL, if it has not ended, and returns when nobody listens.
func (s *Server) Kill() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	within, cancel := context.WithTimeout(context.Background(), startDeadline)
	defer cancel()
	if s.listens(within) == nil {
		return fmt.Errorf("%s was killed, and still takes connections on %s: its command %q leaves its process group, and has to stay in the foreground", s.Name, s.addr, s.Command)
	}
	return nil
}

// Ended says how it ended; nil where it still runs when until comes.
func (s *Server) Ended(until <-chan time.Time) error {
	select {
	case <-s.process.Done():
		return s.process.Ended()
	case <-until:
		return nil
	}
}

// What a storage may cost who asks it.
const (
	MaxAnswer  = 1 << 20  // bytes of a body
	MaxHeaders = 64 << 10 // bytes of the headers
	MaxShown   = 200      // bytes of a body that are shown to people
)

// NewTransport sends requests to a storage that is not ours, without a proxy and by HTTP/1.1, each on its own
// connection: so several can ask a server that serves one at a time.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.DisableKeepAlives, t.DisableCompression = nil, true, true
	t.MaxResponseHeaderBytes = MaxHeaders
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	return t
}

type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// OK reports whether the answer says that the request was done.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Refused reports whether the answer says that the request was not done and will not be.
func (a Answer) Refused() bool { return a.Status >= 400 && a.Status < 500 }

// Stale is the refusal of a stale token that the answer tells of in full; nil: it tells of none.
func (a Answer) Stale() *fence.StaleError {
	var p fencehttp.Problem
	if json.Unmarshal([]byte(a.Body), &p) != nil {
		return nil
	}
	stale, _ := errors.AsType[*fence.StaleError](p.Err())
	return stale
}

func (a Answer) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
	if said := strings.TrimSpace(Shown(a.Body)); said != "" {
		text += ": " + said
	}
	return text
}

var errTooLarge = fmt.Errorf("the answer has more than %d bytes", MaxAnswer)

// Read reads a whole answer of MaxAnswer bytes at most.
func Read(resp *http.Response) (Answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err == nil && len(body) > MaxAnswer {
		err = errTooLarge
	}
	return Answer{resp.StatusCode, resp.Header, string(body)}, err
}

// Did says what a storage did that gave no whole answer within a time.
func Did(err error, within time.Duration) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "was not waited for"
	case isNet && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("gave no whole answer within %v", within)
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("answered with more than %d bytes", MaxAnswer)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "takes no connections"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ended its answer before the end that it had announced"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed the connection without an answer"
	}
	return fmt.Sprintf("gave no answer that is HTTP (%v)", err)
}

func Shown(s string) string {
	if len(s) > MaxShown {
		return strings.ToValidUTF8(s[:MaxShown], "") + "…"
	}
	return s
}
