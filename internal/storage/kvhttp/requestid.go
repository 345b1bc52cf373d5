package kvhttp

import "net/http"

// HeaderRequestID names a request in logs, in the journal and in answers that
// tell of an error. A client may choose it; else the storage does, where the
// request is worth a line.
const HeaderRequestID = "X-Request-Id"

const maxRequestID = 128 // bytes

// requestID is the one that the client chose; empty where it is none that a log
// should carry.
func requestID(r *http.Request) string {
	given := r.Header[HeaderRequestID]
	if len(given) == 0 || len(given[0]) > maxRequestID {
		return ""
	}
	id := given[0]
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return id
}
