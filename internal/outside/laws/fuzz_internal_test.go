package laws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// FuzzAnswer: whatever bytes a storage sends, a request succeeds only by a whole answer that
// says so, and what is kept of the answer is bounded.
func FuzzAnswer(f *testing.F) {
	const stale = `{"status":412,"reason":"` + string(fencehttp.ReasonStale) + `","scope":"asked","token":"33","mark":"34"}`
	for _, text := range []string{
		"",
		"SSH-2.0-no storage\r\n\r\n",
		"HTTP/1.1 20",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvalue",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nvalue",
		"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nvalue",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nvalue\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nvalue",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nvalue",
		"HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 412 Precondition Failed\r\n\r\n" + stale,
		"HTTP/1.1 412 Precondition Failed\r\n\r\n\xff{",
		"HTTP/1.1 500 Internal Server Error\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n" + `{"val":"value","version":34,"err":""}`,
		"HTTP/1.1 200 OK\r\n\r\n" + `{"val":"","version":34,"err":"given version (33) is different from the existing version (34)"}`,
		"HTTP/1.1 200 OK\r\n\r\n" + `{"val":"value","version":1e99,"err":null}`,
		"HTTP/1.1 200 OK\r\n\r\n" + `{"val":"value","version":34}`,
		"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 2*program.MaxShown),
		"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", program.MaxAnswer+1),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := toldBy(text)
		a, err := c.ask(t.Context(), storageURL, Exchange{Method: http.MethodPut, Path: "/"})
		whole := err == nil
		wantNamed(t, "a request", whole, err)
		if whole && (len(a.Body) > program.MaxAnswer || cutOff(a)) {
			t.Errorf("an answer of %d bytes was taken for whole; its headers: %v", len(a.Body), a.Header)
		}
		v := view{client: c, base: storageURL}
		fuzzV1(t, v1{v}, a, whole)
		fuzzContrib(t, contrib{v}, a, whole)
		log, _ := c.logged()
		for _, e := range log {
			if len(e.Answer) > program.MaxShown+len("…") {
				t.Errorf("%d bytes of an answer were kept", len(e.Answer))
			}
		}
	})
}

// storageURL is where the storage of FuzzAnswer seems to be.
const storageURL = "http://storage.test"

// toldBy asks a storage that answers every request by the same bytes and ends the connection.
func toldBy(text []byte) *client {
	c := newClient(time.Minute)
	c.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			there.Read(make([]byte, 4096)) // an answer that comes before the request is none
			go io.Copy(io.Discard, there)
			there.Write(text)
		}()
		return here, nil
	}
	return c
}

// cutOff reports whether an answer announced more than came. To 101, 204 and 304 no body
// belongs, whatever was announced.
func cutOff(a program.Answer) bool {
	announced, err := strconv.Atoi(a.Header.Get("Content-Length"))
	bodiless := []int{http.StatusSwitchingProtocols, http.StatusNoContent, http.StatusNotModified}
	return err == nil && announced > len(a.Body) && !slices.Contains(bodiless, a.Status)
}

// wantNamed wants an error that names the storage where there was no whole answer.
func wantNamed(t *testing.T, what string, whole bool, err error) {
	t.Helper()
	if whole {
		return
	}
	var unanswered *UnansweredError
	if !errors.As(err, &unanswered) || unanswered.Storage != storageURL || unanswered.Did == "" {
		t.Errorf("%s without a whole answer: %v, want an error that names the storage and what it did", what, err)
	}
}

func fuzzV1(t *testing.T, s v1, a program.Answer, whole bool) {
	ctx, claim := t.Context(), fence.Claim{Scope: asked, Token: 33}
	gone := a.Status == http.StatusNotFound
	err := s.Write(ctx, claim, asked, "value")
	wantOutcome(t, "a write", a, whole, a.OK(), err)
	err = s.Delete(ctx, claim, asked)
	wantOutcome(t, "a delete", a, whole, a.OK() || gone, err)
	value, ok, err := s.Read(ctx, claim, asked)
	wantOutcome(t, "a read", a, whole, a.OK() || gone, err)
	if ok != (whole && a.OK()) || ok && value != a.Body {
		t.Errorf("a read answered by %v: %q, %v", a, value, ok)
	}
}

func fuzzContrib(t *testing.T, s contrib, a program.Answer, whole bool) {
	said, err := program.ParseContrib(a)
	formed := whole && err == nil
	err = s.Write(t.Context(), fence.Claim{Scope: asked, Token: 33}, asked, "value")
	wantNamed(t, "a write to contrib/lock", formed, err)
	if done := formed && a.OK() && *said.Err == ""; done != (err == nil) {
		t.Errorf("a write to contrib/lock answered by %v: %v", a, err)
	}
	_, _, err = s.Read(t.Context(), fence.Claim{Scope: asked}, asked)
	wantNamed(t, "a read from contrib/lock", formed, err)
	if done := formed && a.OK(); done != (err == nil) {
		t.Errorf("a read from contrib/lock answered by %v: %v", a, err)
	}
}

// wantOutcome wants success by a whole answer that says so, and by no other; a refusal as
// stale by 412 alone; and an open outcome of an answer that leaves it open.
func wantOutcome(t *testing.T, what string, a program.Answer, whole, done bool, err error) {
	t.Helper()
	wantNamed(t, what, whole && a.Status < 500, err)
	said := fmt.Sprintf("%s answered by %v (whole: %v)", what, a, whole)
	if (whole && done) != (err == nil) {
		t.Errorf("%s: %v", said, err)
	}
	if stale := whole && a.Status == http.StatusPreconditionFailed; stale != errors.Is(err, fence.ErrStale) {
		t.Errorf("%s: %v, stale: %v", said, err, stale)
	}
}
