package kvhttp

import (
	"bytes"
	"context"
	"net"
	"net/http"
)

// Attach has srv and the connections of LimitConnections, which it needs, know of each other.
//
// Connections take turns then, with the requests of a handler that has the same turns.
//
// The answers that srv gives by itself say that nothing was done, where their status is 500 or higher: to a
// request of another version of HTTP (505), or with another encoding of its body than chunked (501). Package
// http writes such an answer to the connection while no handler serves it, and has no place where a header
// could be added. Below TLS connections see no answers.
func Attach(srv *http.Server, turns *Turns) {
	handler := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connOf(r.Context()); c != nil {
			c.own.Store(false)
		}
		handler.ServeHTTP(w, r)
	})
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = secure.NetConn()
		}
		ours, ok := c.(*limitedConn)
		if !ok {
			return ctx
		}
		ours.flow = newFlow(turns, ours.Conn)
		return context.WithValue(ctx, connKey{}, ours)
	}
	srv.ConnState = func(c net.Conn, now http.ConnState) {
		if c, ok := c.(*limitedConn); ok && (now == http.StateNew || now == http.StateIdle) {
			c.own.Store(true) // until a handler begins
		}
	}
	srv.DisableGeneralOptionsHandler = true // the answer to "OPTIONS *" is a handler's, too
}

// connKey is of a request's connection, in its context.
type connKey struct{}

// connOf is nil without Attach.
func connOf(ctx context.Context) *limitedConn {
	c, _ := ctx.Value(connKey{}).(*limitedConn)
	return c
}

var (
	ownFailure = []byte("HTTP/1.1 5")
	noOutcome  = []byte("\r\n" + HeaderOutcome + ": " + OutcomeNone)
)

// withOutcome is an answer with the header that it lacks, if it has a status from 500.
func withOutcome(answer []byte) (changed []byte, ok bool) {
	line := bytes.Index(answer, []byte("\r\n"))
	if line < 0 || !bytes.HasPrefix(answer, ownFailure) {
		return nil, false
	}
	return bytes.Join([][]byte{answer[:line], noOutcome, answer[line:]}, nil), true
}
