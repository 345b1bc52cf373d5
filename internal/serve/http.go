package serve

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

//go:embed web
var web embed.FS

// mostBody is how many bytes a request can have.
const mostBody = 128 << 10

// policy is what a page may load: what this server has.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler answers a request, or returns why not.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, mostBody)
			if err := h(w, r); err != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(statusOf(err))
				_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
			}
		})
	}
	// of has a handler of a world.
	of := func(h func(w http.ResponseWriter, r *http.Request, of *world) error) handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			found, err := s.world(r.PathValue("id"))
			if err != nil {
				return err
			}
			return h(w, r, found)
		}
	}
	handle("GET /{$}", file("index.html", "text/html; charset=utf-8"))
	handle("GET /w/{id}", file("index.html", "text/html; charset=utf-8"))
	handle("GET /page.js", file("page.js", "text/javascript; charset=utf-8"))
	handle("GET /page.css", func(w http.ResponseWriter, _ *http.Request) error {
		own, err := web.ReadFile("web/page.css")
		if err != nil {
			return err
		}
		return send(w, "text/css; charset=utf-8", style(string(own)))
	})
	handle("GET /api/menu", s.menu)
	handle("POST /api/worlds", s.post)
	handle("GET /api/worlds/{id}/events", of(s.stream))
	handle("GET /api/worlds/{id}/picture", of(picture))
	handle("GET /api/worlds/{id}/history.jsonl", of(download))
	handle("GET /api/worlds/{id}/scenario.yaml", of(save))
	handle("POST /api/worlds/{id}/steps", of(step))
	handle("POST /api/worlds/{id}/rest", of(func(w http.ResponseWriter, _ *http.Request, of *world) error {
		return none(w, of.rest())
	}))
	handle("POST /api/worlds/{id}/end", of(func(w http.ResponseWriter, _ *http.Request, of *world) error {
		return none(w, of.end())
	}))
	handle("DELETE /api/worlds/{id}", of(func(w http.ResponseWriter, _ *http.Request, of *world) error {
		of.mu.Lock()
		defer of.mu.Unlock()
		of.forget(errors.New("the world was given up"))
		return none(w, nil)
	}))
	// A page of another site, or one whose name leads here, must not start processes.
	return kvhttp.Guard(withPolicy(mux), kvhttp.Options{Loopback: true})
}

// withPolicy says with each answer what a page may do with it.
func withPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func file(name, kind string) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		b, err := web.ReadFile("web/" + name)
		if err != nil {
			return err
		}
		return send(w, kind, string(b))
	}
}

// send sends the answer. Who does not read it to its end has gone away.
func send(w http.ResponseWriter, kind, text string) error {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, text)
	return nil
}

// none answers a request that brings nothing back.
func none(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func answer(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return send(w, "application/json", string(b))
}

// read reads a request's body.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return problem{http.StatusBadRequest, fmt.Sprintf("the request is not as it must be: %v", err)}
	}
	return nil
}

// post begins a world.
func (s *Server) post(w http.ResponseWriter, r *http.Request) error {
	var want wish
	if err := read(r, &want); err != nil {
		return err
	}
	b, err := s.begin(want)
	if err != nil {
		return err
	}
	opened, err := s.open(b)
	if err != nil {
		return err
	}
	return answer(w, map[string]string{"id": opened.id})
}

// step has a world do a step.
func step(w http.ResponseWriter, r *http.Request, of *world) error {
	var body struct {
		Step string `json:"step"`
	}
	if err := read(r, &body); err != nil {
		return err
	}
	return none(w, of.take(body.Step))
}

func picture(w http.ResponseWriter, r *http.Request, of *world) error {
	first, err := strconv.Atoi(r.URL.Query().Get("events"))
	if err != nil {
		return problem{http.StatusBadRequest, "want events=N: how many of the history are to be drawn"}
	}
	drawn, err := of.picture(first)
	if err != nil {
		return err
	}
	return send(w, "text/html; charset=utf-8", drawn)
}

func download(w http.ResponseWriter, _ *http.Request, of *world) error {
	of.mu.Lock()
	events := of.events
	of.mu.Unlock()
	var b strings.Builder
	if err := history.Write(&b, events); err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", "attachment")
	return send(w, "application/jsonl", b.String())
}

func save(w http.ResponseWriter, _ *http.Request, of *world) error {
	s, _ := of.state()
	if s.Story == "" {
		return problem{http.StatusConflict, "the story has no step yet"}
	}
	w.Header().Set("Content-Disposition", "attachment")
	return send(w, "application/yaml", s.Story)
}

// sign is how often a stream shows that it is alive.
const sign = 15 * time.Second

// stream tells a page how a world is, whenever that changes, by server-sent events. An
// event's ID is the version: a page that has it already is not told it again.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, of *world) error {
	of.enter()
	defer of.leave()
	known, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil {
		known = -1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	alive := time.NewTicker(sign)
	defer alive.Stop()
	for {
		now, changed := of.state()
		message := ":\n\n"
		if now.Version != known {
			b, err := json.Marshal(now)
			if err != nil {
				return err
			}
			message, known = fmt.Sprintf("id: %d\nretry: 500\ndata: %s\n\n", now.Version, b), now.Version
		}
		if _, err := io.WriteString(w, message); err != nil {
			return nil // nobody reads it
		}
		if err := control.Flush(); err != nil {
			return nil
		}
		select {
		case <-changed:
		case <-alive.C:
		case <-of.left:
			return nil
		case <-s.closing:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// menu is all that a page can offer.
type menu struct {
	Services   []menuService  `json:"services"`
	Storage    []menuSetting  `json:"storage"`
	Scenarios  []menuScenario `json:"scenarios"`
	Challenges []*Challenge   `json:"challenges"`
	Worlds     int            `json:"worlds"` // that can be open at once
}

type menuService struct {
	Name    string        `json:"name"`
	About   string        `json:"about"`
	Missing string        `json:"missing,omitempty"`
	World   []menuSetting `json:"world"`
	Client  []menuSetting `json:"client"`
}

type menuSetting struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Default string   `json:"default"`
	Of      []string `json:"of"`
}

type menuScenario struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Service  string   `json:"service"`
	Variants []string `json:"variants"`
	Control  string   `json:"control"` // the variant that fails as the scenario teaches
}

func (s *Server) menu(w http.ResponseWriter, _ *http.Request) error {
	m := menu{Challenges: Challenges, Worlds: s.Worlds, Storage: menuSettings(scenario.StorageSettings())}
	for _, of := range s.Language.Services {
		m.Services = append(m.Services, menuService{
			of.Name, of.About, s.Missing(of.Name), menuSettings(of.World), menuSettings(slices.Concat(setting.Client, of.Client)),
		})
	}
	for _, known := range s.Scenarios {
		one := menuScenario{Name: known.Name, Title: known.Title, Service: known.Variants[0].World.Service}
		for _, v := range known.Variants {
			if one.Variants = append(one.Variants, v.Name); v.Control {
				one.Control = v.Name
			}
		}
		m.Scenarios = append(m.Scenarios, one)
	}
	return answer(w, m)
}

func menuSettings(list []setting.Setting) []menuSetting {
	shown := []menuSetting{}
	for _, s := range list {
		shown = append(shown, menuSetting{s.Name, s.About, s.Default, append([]string{}, s.Of...)})
	}
	return shown
}
