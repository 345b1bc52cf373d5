package kvhttp

import (
	"context"
	"net/http"
	"time"
)

// Check is something without which the storage cannot serve.
type Check struct {
	Name string
	// Ready returns an error that says what is waited for.
	Ready func(context.Context) error
}

// checkTimeout is how long a Check may take.
const checkTimeout = 2 * time.Second

// ask asks all that the storage needs, and tells what each waits for; nil: it is there.
func (h *handler) ask(ctx context.Context, tell func(check string, waits error)) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, check := range append([]Check{{"engine", h.engine.Ready}}, h.Ready...) {
		tell(check.Name, check.Ready(ctx))
	}
}

// serveHealth: the process answers.
func serveHealth(c *call) error { return c.send(http.StatusOK, plainText, "ok\n") }

const plainText = "text/plain; charset=utf-8"

// serveReady says of everything that the storage needs whether it is there, a
// line each; status 503 where something is not.
func (h *handler) serveReady(c *call) error {
	// Who comes while others ask shares their answer: anybody may ask.
	text, lacks, _ := h.asking.Do("", func() (text any, lacks error) {
		said := ""
		h.ask(c.context(), func(check string, waits error) {
			state := "ok"
			if waits != nil {
				state, lacks = "waits for "+waits.Error(), waits
			}
			said += check + ": " + state + "\n"
		})
		return said, lacks
	})
	status := http.StatusOK
	if lacks != nil {
		status = http.StatusServiceUnavailable
	}
	return c.send(status, plainText, text.(string))
}
