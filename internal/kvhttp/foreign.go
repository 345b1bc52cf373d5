package kvhttp

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// foreignError refuses a request that a web page of another site has a browser send.
// By the browser the page reaches what only the browser's machine can reach.
type foreignError struct {
	status int
	text   string
}

func (e *foreignError) Error() string { return e.text }

var crossOrigin = http.NewCrossOriginProtection()

// checkForeign refuses requests of web pages of another origin. On loopback it
// also refuses a Host that is not loopback's: a page may have its own name point to
// 127.0.0.1, and then its origin is the same (DNS rebinding). Elsewhere a storage
// has names that only those who run it know.
//
// A client that is no browser sends neither Origin nor Sec-Fetch-Site. It may leave
// out Host, which a browser never does.
func checkForeign(r *http.Request, loopback bool) error {
	if loopback && r.Host != "" && !isLoopback(r.Host) {
		return &foreignError{http.StatusMisdirectedRequest, fmt.Sprintf("the host %q is not loopback's, on which alone this server listens: "+
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
		return &foreignError{http.StatusForbidden, fmt.Sprintf("a web page of another origin sent this (%s), and none is obeyed: "+
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

// Guard serves a handler that NewHandler did not make. It refuses and logs the same
// requests of web pages as NewHandler's. It uses only the options Loopback and
// Logger.
func Guard(h http.Handler, o Options) http.Handler {
	return (&handler{Options: o.withDefaults()}).add(&route{open: true, serve: func(c *call) error {
		h.ServeHTTP(c.w, c.r)
		return nil
	}})
}
