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
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

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
