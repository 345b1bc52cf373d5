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
	"github.com/fencelab/fencelab/internal/serve/web"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// What the page has of its own: the blocks of the shared page, and the driver of the worlds.
//
//go:embed served
var own embed.FS

const mostBody = 128 << 10

// policy is what a page may load: what this server has.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// answer is what a request gets: a text of a kind (its media type); no kind: no text.
type answer struct {
	kind, text string
	attached   bool // it is to be saved as a file
}

// send sends the answer, or why there is none. Who does not read it to its end has gone away.
func (a answer) send(w http.ResponseWriter, err error) {
	status := http.StatusOK
	switch {
	case err != nil:
		status = statusOf(err)
		a, _ = inJSON(map[string]string{"error": err.Error()})
	case a.kind == "":
		w.WriteHeader(http.StatusNoContent)
		return
	case a.attached:
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, a.text)
}

func inJSON(v any) (answer, error) {
	b, err := json.Marshal(v)
	return answer{kind: "application/json", text: string(b)}, err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(r *http.Request) (answer, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, mostBody)
			a, err := h(r)
			a.send(w, err)
		})
	}
	ofWorld := func(pattern string, h func(r *http.Request, of *world) (answer, error)) {
		handle(pattern, func(r *http.Request) (answer, error) {
			found, err := s.world(r.PathValue("id"))
			if err != nil {
				return answer{}, err
			}
			return h(r, found)
		})
	}
	handle("GET /{$}", index)
	handle("GET /w/{id}", index)
	for name, text := range web.Scripts() {
		handle("GET /"+name, func(*http.Request) (answer, error) {
			return answer{kind: "text/javascript; charset=utf-8", text: text}, nil
		})
	}
	for _, name := range []string{"served.js", "world.js", "menu.js"} {
		handle("GET /"+name, func(*http.Request) (answer, error) {
			b, err := own.ReadFile("served/" + name)
			return answer{kind: "text/javascript; charset=utf-8", text: string(b)}, err
		})
	}
	handle("GET /page.css", func(*http.Request) (answer, error) {
		return answer{kind: "text/css; charset=utf-8", text: web.Style()}, nil
	})
	handle("GET /api/menu", s.menu)
	handle("POST /api/worlds", s.post)
	mux.HandleFunc("GET /api/worlds/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		of, err := s.world(r.PathValue("id"))
		if err == nil {
			err = s.stream(w, r, of)
		}
		if err != nil {
			answer{}.send(w, err)
		}
	})
	ofWorld("GET /api/worlds/{id}/picture", picture)
	ofWorld("GET /api/worlds/{id}/history.jsonl", download)
	ofWorld("GET /api/worlds/{id}/scenario.yaml", save)
	ofWorld("POST /api/worlds/{id}/steps", step)
	ofWorld("POST /api/worlds/{id}/rest", func(_ *http.Request, of *world) (answer, error) { return answer{}, of.rest() })
	ofWorld("POST /api/worlds/{id}/end", func(_ *http.Request, of *world) (answer, error) { return answer{}, of.end() })
	ofWorld("DELETE /api/worlds/{id}", func(_ *http.Request, of *world) (answer, error) {
		of.mu.Lock()
		defer of.mu.Unlock()
		of.forget(errors.New("the world was given up"))
		return answer{}, nil
	})
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

func index(*http.Request) (a answer, err error) {
	blocks, err := own.ReadFile("served/served.html")
	if err != nil {
		return a, err
	}
	text, err := web.Page(string(blocks))
	return answer{kind: "text/html; charset=utf-8", text: text}, err
}

func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return problem{http.StatusBadRequest, fmt.Sprintf("the request is not as it must be: %v", err)}
	}
	return nil
}

func (s *Server) post(r *http.Request) (a answer, err error) {
	var want wish
	if err := read(r, &want); err != nil {
		return a, err
	}
	b, err := s.begin(want)
	if err != nil {
		return a, err
	}
	opened, err := s.open(b)
	if err != nil {
		return a, err
	}
	return inJSON(map[string]string{"id": opened.id})
}

func step(r *http.Request, of *world) (a answer, err error) {
	var body struct {
		Step string `json:"step"`
	}
	if err = read(r, &body); err == nil {
		err = of.take(body.Step)
	}
	return a, err
}

func picture(r *http.Request, of *world) (answer, error) {
	first, err := strconv.Atoi(r.URL.Query().Get("events"))
	if err != nil {
		return answer{}, problem{http.StatusBadRequest, "want events=N: how many of the history are to be drawn"}
	}
	drawn, err := of.picture(first)
	return answer{kind: "text/html; charset=utf-8", text: drawn}, err
}

func download(_ *http.Request, of *world) (answer, error) {
	of.mu.Lock()
	events := of.events
	of.mu.Unlock()
	var b strings.Builder
	err := history.Write(&b, events)
	return answer{"application/jsonl", b.String(), true}, err
}

func save(_ *http.Request, of *world) (answer, error) {
	s, _ := of.state()
	if s.Story == "" {
		return answer{}, problem{http.StatusConflict, "the story has no step yet"}
	}
	return answer{"application/yaml", s.Story, true}, nil
}

// stream tells a page of each version of a world, by server-sent events. Their IDs are the versions.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, of *world) error {
	of.enter()
	defer of.leave()
	known, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil {
		known = -1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	alive := time.NewTicker(15 * time.Second) // the stream shows that it is alive
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

type menu struct {
	Services   []menuService     `json:"services"`
	Storage    []setting.Setting `json:"storage"`
	Scenarios  []menuScenario    `json:"scenarios"`
	Challenges []*Challenge      `json:"challenges"`
	Worlds     int               `json:"worlds"` // that can be open at once
}

type menuService struct {
	Name    string            `json:"name"`
	About   string            `json:"about"`
	Missing string            `json:"missing,omitempty"`
	World   []setting.Setting `json:"world"`
	Client  []setting.Setting `json:"client"`
}

type menuScenario struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Service  string   `json:"service"`
	Variants []string `json:"variants"`
	Control  string   `json:"control"` // the variant that fails as the scenario teaches
}

func (s *Server) menu(*http.Request) (answer, error) {
	m := menu{Challenges: Challenges, Worlds: s.Worlds, Storage: scenario.StorageSettings()}
	for _, of := range s.Language.Services {
		m.Services = append(m.Services, menuService{of.Name, of.About, s.Missing(of.Name), of.World, slices.Concat(setting.Client, of.Client)})
	}
	for _, known := range s.Scenarios {
		one := menuScenario{Name: known.Name, Title: known.Title, Service: known.Variants[0].World.Service}
		for _, v := range known.HarmFirst() {
			if one.Variants = append(one.Variants, v.Name); v.Control {
				one.Control = v.Name
			}
		}
		m.Scenarios = append(m.Scenarios, one)
	}
	return inJSON(m)
}
