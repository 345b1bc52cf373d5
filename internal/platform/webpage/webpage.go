// Package webpage keeps web pages of other sites out of servers. A browser on a server's machine
// shows such pages, and by the browser they reach what only this machine can reach.
package webpage

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Error refuses a request that a web page of another site has a browser send.
type Error struct {
	Status int // of HTTP
	text   string
}

func (e *Error) Error() string { return e.text }

// Outcome returns fence.Definite.
func (e *Error) Outcome() fence.Outcome { return fence.Definite }

var crossOrigin = http.NewCrossOriginProtection()

// Check refuses requests of web pages of another origin, by an *Error. On loopback it also refuses a Host
// that is not loopback's: a page may have its own name point to 127.0.0.1, and then its origin is the same
// (DNS rebinding). Elsewhere a server has names that only those who run it know.
//
// A client that is no browser sends neither Origin nor Sec-Fetch-Site. It may leave
// out Host, which a browser never does.
func Check(r *http.Request, loopback bool) error {
	if loopback && r.Host != "" && !isLoopback(r.Host) {
		return &Error{http.StatusMisdirectedRequest, fmt.Sprintf("the host %q is not loopback's, on which alone this server listens: "+
			"ask for localhost, 127.0.0.1 or [::1]; a proxy in front must send one of these as Host", r.Host)}
	}
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin == "" && site == "" {
		return nil
	}
	// Reads are refused, too: one with a token raises the mark, and all cost something.
	asks := *r
	asks.Method = http.MethodPost
	if err := crossOrigin.Check(&asks); err != nil {
		return &Error{http.StatusForbidden, fmt.Sprintf("a web page of another origin sent this (%s), and none is obeyed: "+
			"send it by a program that is no browser, such as curl; to look at it in a browser, type the address", cmp.Or(origin, site))}
	}
	return nil
}

// isLoopback: host, with or without a port, can mean only this machine.
func isLoopback(host string) bool {
	if strings.Contains(host, ":") { // an error costs more than the rest
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// Guard is a handler on loopback that obeys no web page. A client for whom it is the proxy names
// the host that it wants: no page can make a browser do that.
func Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied := r.URL.IsAbs() || r.Method == http.MethodConnect
		if refused, is := errors.AsType[*Error](Check(r, !proxied)); is {
			http.Error(w, refused.Error(), refused.Status)
			return
		}
		next.ServeHTTP(w, r)
	})
}
