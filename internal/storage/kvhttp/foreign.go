package kvhttp

import "net/http"

// Guard serves a handler that NewHandler did not make. It refuses and logs the same
// requests of web pages as NewHandler's. It uses only the options Loopback and
// Logger.
func Guard(h http.Handler, o Options) http.Handler {
	return (&handler{Options: o.withDefaults()}).add(&route{open: true, serve: func(c *call) error {
		h.ServeHTTP(c.w, c.r)
		return nil
	}})
}
