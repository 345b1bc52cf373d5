// Package peer has a client take its locks by a library as it is, in another language or in Go. The client is two
// processes: gcsim's own agent, which knows what a client does in a scenario, and its child, which does what needs the
// library: it takes, renews and releases locks, sends what the client asks of the storage, and collects its garbage. So
// what stops the child stops the client between a look at the lock and the write, as it does where a client is one
// process.
//
// Both speak by lines, each of them a form as a web page has it. A line to the child has an id, an
// op, and what the op is about. The answer has the id, an end, and what was learned:
//
//	end      it is done?
//	ok       yes
//	no       no, and it will not be; text says why
//	over     no: the tenure was over before
//	unknown  nobody knows
//
// The op cancel has no answer: it interrupts another one, which is answered then. A line with
// the field lost names a tenure whose loss the library tells of. Times are in nanoseconds.
// The times of events are the agent's: the client knows of a grant when the agent does.
package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

type process struct {
	language string
	cmd      *exec.Cmd
	gone     chan struct{} // closed when it has ended; then err says how
	err      error

	mu      sync.Mutex
	in      io.WriteCloser
	asked   int                        // the id of the last line
	answers map[string]chan url.Values // by the id of what was asked
	tenures map[string]*service.Life
}

// start starts a process, which dies with this process, and is in its process group: what stops or
// kills the group stops or kills both at once, and the library's threads with them.
func start(language string, command, env []string) (*process, error) {
	p := &process{
		language: language, cmd: exec.Command(command[0], command[1:]...), gone: make(chan struct{}),
		answers: make(map[string]chan url.Values), tenures: make(map[string]*service.Life),
	}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = kernel.Dying(false)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the parent that a child dies with is the thread that started it
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(p.gone)
		for lines := bufio.NewReader(out); err == nil; {
			err = p.read(lines)
		}
		if !errors.Is(err, io.EOF) {
			_ = p.cmd.Process.Kill() // it is none of ours, and may go on; one that has ended is as good
		}
		p.err = fmt.Errorf("its process in %s has ended: %w", language, errors.Join(err, p.cmd.Wait()))
	}()
	return p, <-started
}

func (p *process) read(lines *bufio.Reader) error {
	line, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	said, err := url.ParseQuery(line[:len(line)-1])
	if err != nil {
		return fmt.Errorf("it says %.200q: %w", line, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if life := p.tenures[said.Get("lost")]; life != nil {
		life.End(lock.ErrLost)
	}
	if answer := p.answers[said.Get("id")]; answer != nil {
		answer <- said
	}
	return nil
}

// ask has the process do op, and returns what it has learned: see Ask.
func (p *process) ask(ctx context.Context, op string, fields url.Values, patience time.Duration) (url.Values, error) {
	said, err := p.Ask(ctx, op, fields, patience)
	if err != nil {
		return nil, err
	}
	return learned(said)
}

// Ask has the process do op, and returns the line that it answers. A question of which the process knows the
// deadline of ctx ends by itself: it is given patience. It is interrupted where that does not
// help, and at once where ctx is cancelled.
func (p *process) Ask(ctx context.Context, op string, fields url.Values, patience time.Duration) (url.Values, error) {
	answer := make(chan url.Values, 1)
	p.mu.Lock()
	p.asked++
	id := strconv.Itoa(p.asked)
	p.answers[id] = answer
	fields.Set("id", id)
	fields.Set("op", op)
	p.tell(fields)
	p.mu.Unlock()
	defer p.forget(id)
	var over <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case said := <-answer:
			return said, nil
		case <-p.gone:
			return nil, p.err
		case <-done:
			done, over = nil, time.After(patience)
			if errors.Is(ctx.Err(), context.Canceled) {
				p.cancel(id)
			}
		case <-over:
			p.cancel(id)
			return nil, ctx.Err()
		}
	}
}

// tell writes a line. A process that has ended gets none: p.err says why. The caller holds p.mu.
func (p *process) tell(fields url.Values) { _, _ = io.WriteString(p.in, fields.Encode()+"\n") }

func (p *process) cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(url.Values{"op": {"cancel"}, "of": {id}})
}

func (p *process) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.answers, id)
}

func learned(answer url.Values) (url.Values, error) {
	switch text := answer.Get("text"); answer.Get("end") {
	case "ok":
		return answer, nil
	case "no":
		return nil, fence.Definite.New(text)
	case "over":
		return nil, fence.Definite.New("that tenure is over: " + text)
	default:
		return nil, errors.New(text)
	}
}

// PID is the process's own.
func (p *process) PID() int { return p.cmd.Process.Pid }

func (p *process) While(ctx context.Context) context.Context {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		<-p.gone
		stop(p.err)
	}()
	return ctx
}

func (p *process) Ended() error {
	if service.IsClosed(p.gone) {
		return p.err
	}
	return nil
}

// endTime is for how long the library may take to close its connections.
const endTime = 5 * time.Second

// end ends the process, by the end of its input, or else by force.
func (p *process) end() {
	p.in.Close()
	select {
	case <-p.gone:
	case <-time.After(endTime):
		_ = p.cmd.Process.Kill() // one that has ended is as good
		<-p.gone
	}
}

// collects is an error where the client cannot be told to collect its garbage.
func (c *Client) collects() error {
	if c.program.Collects {
		return nil
	}
	return fmt.Errorf("no collection of %s stops a client for long", c.language)
}

func (c *Client) Load(ctx context.Context, want time.Duration) (took time.Duration, said string, err error) {
	if err := c.collects(); err != nil {
		return 0, "", err
	}
	answer, err := c.ask(ctx, "load", url.Values{"want": {nanoseconds(want)}}, 0)
	if err != nil {
		return 0, "", err
	}
	c.stops = answer.Get("stops") == "true"
	if took, err = tookOf(answer); err != nil {
		return 0, "", err
	}
	said = fmt.Sprintf("a collection of %s MiB stops it for %.2f s", answer.Get("mebibytes"), took.Seconds())
	if took < want {
		said += fmt.Sprintf(", not for %v: its collector does most of its work while it runs", want)
	}
	return took, said, nil
}

// Collect tells of the pause first if the collector stops the program. Else it is known only at the end
// when the program stood still.
func (c *Client) Collect(ctx context.Context, say func(history.Event)) error {
	if err := c.collects(); err != nil {
		return err
	}
	pause := func() { say(history.Event{Kind: history.KindPause, Cause: history.CauseGC}) }
	if c.stops {
		pause()
	} else {
		say(history.Event{Kind: history.KindNote, Text: "its collector works, and the program goes on meanwhile"})
	}
	answer, err := c.ask(ctx, "gc", url.Values{}, 0)
	if err != nil {
		return err
	}
	took, err := tookOf(answer)
	if !c.stops {
		pause()
	}
	say(history.Event{Kind: history.KindResume, Cause: history.CauseGC, Took: took})
	say(history.Event{Kind: history.KindNote, Text: "the log of its JVM says: " + answer.Get("words")})
	return err
}

func tookOf(answer url.Values) (time.Duration, error) {
	took, err := strconv.ParseInt(answer.Get("took"), 10, 64)
	return time.Duration(took), err
}

type web struct {
	of    *process
	alone bool
}

// Transport sends requests from the process, each alone over a connection of its own, or not.
func (c *Client) Transport(alone bool) http.RoundTripper { return web{c.process, alone} }

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	fields := url.Values{"method": {r.Method}, "url": {r.URL.String()}}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
		fields.Set("body", string(body))
	}
	if w.alone {
		fields.Set("alone", "true")
	}
	for name := range r.Header {
		fields.Add("header", name+": "+r.Header.Get(name))
	}
	said, err := w.of.ask(r.Context(), "send", fields, 0)
	if err != nil {
		return nil, err
	}
	if text := said.Get("refused"); text != "" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(text)}
	}
	status, err := strconv.Atoi(said.Get("status"))
	if err != nil {
		return nil, fmt.Errorf("its process in %s answers %q: %w", w.of.language, said, err)
	}
	answer := &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(said.Get("body"))), ContentLength: int64(len(said.Get("body"))), Request: r,
	}
	for _, header := range said["header"] {
		name, value, _ := strings.Cut(header, ": ")
		answer.Header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return answer, nil
}
