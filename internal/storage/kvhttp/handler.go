// Package kvhttp serves an engine of package kv over HTTP, by two protocols that
// docs/protocol.md describes; Client speaks the newer one.
package kvhttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
	"golang.org/x/sync/singleflight"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Options may be left zero.
type Options struct {
	Limits Limits
	// Access says who may do what. Nil: everybody may do everything.
	Access *access.Policy
	// Logger gets a line per refusal at level Info, and per request at Debug. Nil: nothing is logged.
	Logger *slog.Logger
	// Metrics counts requests and serves itself as /metrics. Nil: neither.
	Metrics *Metrics
	// Bound tells the last token that was issued, as in kv.Options: a floor must not be above it either.
	Bound func(fence.Claim) (fence.Token, error)
	// Ready has what /readyz asks beside the engine.
	Ready []Check
	// Turns are those that connections take, too; see Attach. Nil: the handler has its own.
	Turns *Turns
	// EngineWaits: the engine waits for a disk or for other machines. A request then
	// gives up its turn at the processors before it asks the engine.
	EngineWaits bool
	// Loopback: only this machine can reach the listener. Requests for a host that
	// is not loopback's are refused then.
	Loopback bool
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	o.Turns = cmp.Or(o.Turns, NewTurns())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

type handler struct {
	Options
	router    *mux.Router
	engine    kv.Engine
	rates     *rates // nil: no limit
	memory    *budget
	snapshots snapshots
	asking    singleflight.Group // of serveReady
}

// NewHandler serves engine by the protocols of docs/protocol.md.
func NewHandler(engine kv.Engine, o Options) http.Handler {
	o = o.withDefaults()
	h := &handler{Options: o, engine: engine, rates: newRates(o.Limits.Rate)}
	h.memory = newBudget(o.Limits.Memory, h.client)
	if o.Metrics != nil {
		add(o.Metrics, engineMetrics{h})
	}
	h.router = h.protocol()
	return h
}

// call is a request under way.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	route *route
	who   *access.Principal // nil: nobody needs to say

	held  *holding    // of the budget; nil: nothing
	turn  *turn       // nil: it has none
	flow  *flow       // of the connection; nil: it is not known
	named string      // see id
	body  []byte      // see handler.body
	claim fence.Claim // that the engine was asked with, for the request's span

	// What most requests need is part of the call, which is used again.
	buffer [256]byte
	op     [1]kv.Op
}

// calls are those that are over: a request that makes no garbage leaves more time for others.
var calls = sync.Pool{New: func() any { return new(call) }}

// end gives back what the call has taken, and the call itself.
func (h *handler) end(c *call) {
	c.endTurn()
	c.flow.goOn()
	c.dropBody()
	h.memory.giveBack(c)
	*c = call{}
	calls.Put(c)
}

// HeaderRequestID names a request in logs, in the journal and in answers that tell of an error. A client may
// choose it; else the storage does, where the request is worth a line.
const HeaderRequestID = "X-Request-Id"

const maxRequestID = 128 // bytes

// id names the call in logs: as the client does, or by a name of its own.
func (c *call) id() string {
	c.named = cmp.Or(c.named, c.chosenID())
	if c.named == "" {
		c.named = rand.Text()
	}
	return c.named
}

// chosenID is the name that the client chose; empty where it is none that a log should carry.
func (c *call) chosenID() string {
	id := c.r.Header.Get(HeaderRequestID)
	if len(id) > maxRequestID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return id
}

// context goes with the work of the call, and has no end. A client that has sent its whole
// request and closed its sending side still reads the answer; net/http takes such a
// client for one that has left, and cancels the request's context.
func (c *call) context() context.Context { return context.WithoutCancel(c.r.Context()) }

// request is what the engine gets to know of the call.
func (c *call) request(claim fence.Claim) kv.Request {
	c.dropBody()
	if c.route.handler.EngineWaits {
		c.endTurn()
		c.flow.wait()
	}
	c.claim = claim
	return kv.Request{Claim: claim, ID: c.chosenID()}
}

// admit finds out who calls, and refuses callers that are not known or that call too often. A caller that is
// not known counts by the address, so that guesses are limited as well.
func (h *handler) admit(c *call) (err error) {
	c.who, err = h.Access.Authenticate(c.r)
	if h.rates == nil { // who it is costs more to say than the rest
		return err
	}
	return cmp.Or(h.rates.take(h.client(c)), err)
}

func (h *handler) client(c *call) client {
	if h.Access != nil && c.who != nil {
		return client{name: c.who.Name()}
	}
	return client{address: network(c.r.RemoteAddr)}
}

// ServeHTTP is the one place where errors become answers, log lines and counts.
func (at *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start, h := time.Now(), at.handler
	c := calls.Get().(*call)
	c.w, c.r, c.route = w, r, at
	if conn := connOf(r.Context()); conn != nil {
		c.flow = conn.flow
	}
	if at.waits {
		c.flow.wait()
	}
	c.flow.request()
	defer h.end(c) // after a panic, too
	err := at.do(c)
	result := outcome(err)
	if h.Metrics != nil {
		h.Metrics.count(at, r.Method, result, err, time.Since(start))
	}
	c.trace(result, err)
	if err != nil {
		h.answer(c, err)
	} else if h.Logger.Enabled(r.Context(), slog.LevelDebug) {
		traced(r.Context(), h.Logger).Debug("done", "method", r.Method, "path", r.URL.Path, "took", time.Since(start), "request", c.id())
	}
}

func (h *handler) answer(c *call, err error) {
	c.endTurn() // the client may be slow to read
	if errors.Is(err, fence.ErrDuplicate) && fence.OutcomeOf(err) == fence.Definite {
		c.w.Header().Set(fencehttp.HeaderDuplicate, "true")
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	p := newProblem(err)
	h.log(p, c, err)
	if _, told := errors.AsType[*answered](err); !told {
		c.w.Header().Set(HeaderRequestID, c.id())
		p.write(c.w, err)
	}
}

func (h *handler) log(p problem, c *call, err error) {
	log := traced(c.r.Context(), h.Logger)
	level, message := slog.LevelDebug, "failed"
	switch {
	case p.Reason != "":
		told := []any{"reason", p.Reason, "method", c.r.Method, "path", c.r.URL.Path}
		if p.Token != 0 { // the others are not known where it is missing or invalid
			told = append(told, "scope", p.Scope, "token", p.Token, "mark", max(p.Mark, p.Bound))
		}
		log.Info("refused", append(told, "client", h.client(c).String(), "request", c.id())...)
		return
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusMisdirectedRequest:
		level, message = slog.LevelInfo, "denied"
	case p.Status >= 500 && p.Limit == "":
		level = slog.LevelError
	}
	log.Log(c.r.Context(), level, message, "method", c.r.Method, "path", c.r.URL.Path, "status", p.Status,
		"client", h.client(c).String(), "request", c.id(), "err", err)
}
