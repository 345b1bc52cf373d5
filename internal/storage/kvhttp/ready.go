package kvhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
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

// checks are all that the storage needs.
func (h *handler) checks() []Check {
	return append([]Check{{"engine", h.engine.Ready}}, h.Ready...)
}

// serveHealth: the process answers.
func serveHealth(c *call) error {
	_, err := io.WriteString(c.w, "ok\n")
	return err
}

// serveReady says of everything that the storage needs whether it is there, a
// line each; status 503 where something is not.
func (h *handler) serveReady(c *call) error {
	// Who comes while others ask shares their answer: anybody may ask.
	v, _, _ := h.asking.Do("", func() (any, error) { return h.ask(c.context()), nil })
	answer := v.(readiness)
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(answer.status)
	_, err := io.WriteString(c.w, answer.text)
	return err
}

type readiness struct {
	status int
	text   string
}

func (h *handler) ask(ctx context.Context) readiness {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var text strings.Builder
	status := http.StatusOK
	for _, check := range h.checks() {
		state := "ok"
		if err := check.Ready(ctx); err != nil {
			status, state = http.StatusServiceUnavailable, "waits for "+err.Error()
		}
		fmt.Fprintf(&text, "%s: %s\n", check.Name, state)
	}
	return readiness{status, text.String()}
}
