package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/report/frames"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/serve"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is its own lock services, storages, clients and janitors.
func TestMain(m *testing.M) {
	proctest.Play(lab.Roles(all.List)...)
	proctest.SideBySide(8)
	os.Exit(proctest.NoFiles{M: m}.Run())
}

var language = lab.Language(all.List)

// judged is as gcsim judges.
func judged(events []history.Event, err error) story.Result {
	r := story.Result{Events: events, Err: err}
	if err != nil {
		return r
	}
	j, err := judge.Judge(events)
	if r.Err = err; err == nil {
		r.Outcome = story.Outcome{Name: j.Name, OK: j.OK(), Violations: j.Violations, Noted: j.Noted()}
	}
	return r
}

func options(t testing.TB) serve.Options {
	return serve.Options{
		Language: language, Scenarios: labtest.Shipped(t, language), Judge: judged,
		Chapter: func(name string) string { return "http://chapters.example/" + name },
		Missing: func(string) string { return "" },
		Lab: func(*scenario.Variant) (lab.Options, error) {
			return lab.Options{Exe: os.Args[0], Services: all.List}, nil
		},
	}
}

// site is a server and its address.
type site struct {
	*serve.Server
	t    testing.TB
	http *httptest.Server
	URL  string
}

// open serves until the end of the test.
func open(t testing.TB, o serve.Options) *site {
	t.Helper()
	s := serve.New(o)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return &site{s, t, h, h.URL}
}

// ask sends a request, and returns status and body of the answer.
func (s *site) ask(method, path string, body any, header ...string) (int, string) {
	s.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			s.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// must is ask that wants a status.
func (s *site) must(status int, method, path string, body any, header ...string) string {
	s.t.Helper()
	got, text := s.ask(method, path, body, header...)
	if got != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	return text
}

type wish map[string]any

// begin begins a world and returns its path.
func (s *site) begin(w wish) string {
	s.t.Helper()
	var begun struct{ ID string }
	if err := json.Unmarshal([]byte(s.must(200, "POST", "/api/worlds", w)), &begun); err != nil {
		s.t.Fatal(err)
	}
	return "/api/worlds/" + begun.ID
}

// shown is what a page is told of a world.
type shown struct {
	Version        int
	Phase, Trouble string
	Steps, Plan    []string
	Back           *struct{ Play int }
	Guide          *struct {
		Step  string
		Waits bool
	}
	Refused   []string
	Choices   []struct{ Step string }
	Frames    []frames.Frame
	Events    int
	Verdict   struct{ Name string }
	Story     string
	Challenge *struct{ Solved bool }
}

// reader is a page that shows a world.
type reader struct {
	t     testing.TB
	body  io.ReadCloser
	lines *bufio.Scanner
	last  shown
}

// watch shows a world until the reader is closed.
func (s *site) watch(world string, header ...string) *reader {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.URL+world+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		s.t.Fatalf("watch %s: %s", world, resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	r := &reader{t: s.t, body: resp.Body, lines: lines}
	s.t.Cleanup(func() { resp.Body.Close() })
	return r
}

// await reads until the world is such.
func (r *reader) await(what string, such func(shown) bool) shown {
	r.t.Helper()
	if r.last.Version > 0 && such(r.last) {
		return r.last
	}
	for r.lines.Scan() {
		data, is := strings.CutPrefix(r.lines.Text(), "data: ")
		if !is {
			continue
		}
		r.last = shown{}
		if err := json.Unmarshal([]byte(data), &r.last); err != nil {
			r.t.Fatal(err)
		}
		if such(r.last) {
			return r.last
		}
		if r.last.Phase == "failed" {
			break
		}
	}
	r.t.Fatalf("waiting for %s: %v; the last state is %+v", what, r.lines.Err(), r.last)
	return shown{}
}

// turn waits until the world waits for a step and has done so many.
func (r *reader) turn(steps int) shown {
	r.t.Helper()
	return r.await(fmt.Sprintf("step %d", steps+1), func(s shown) bool { return s.Phase == "waiting" && len(s.Steps) >= steps })
}

var mainSetup = wish{"setup": wish{"service": "etcd", "clients": 2, "locks": 1, "storage": wish{"fencing": "off"}, "settings": wish{"ttl": "1s"}}}

// TestMainStory: a person tells the main story. That client1's lease has run out becomes
// a step by itself. The verdict is there as soon as client1 has written, the story is
// judged at its end, and what is saved runs and comes out the same.
func TestMainStory(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	world := s.begin(mainSetup)
	page := s.watch(world)
	do := func(step string) {
		t.Helper()
		n := len(page.turn(0).Steps)
		s.must(204, "POST", world+"/steps", wish{"step": step})
		page.turn(n + 1)
	}
	first := page.turn(0)
	if len(first.Plan) != 8 || len(first.Steps) != 0 {
		t.Errorf("it begins with the steps %q and the plan %q", first.Steps, first.Plan)
	}
	do("client1: trylock")
	do("client1: begin write key0=from-client-1")
	do("gcsim: pause client1")
	page.await("the end of client1's lease", func(s shown) bool {
		return slices.Contains(s.Steps, "etcd: await expiry of client1") && s.Phase == "waiting"
	})
	if c := page.last.Frames[len(page.last.Frames)-1].Clients[0]; c.State != "paused" || c.Holds > 0 || c.Believes == 0 {
		t.Errorf("client1 is %+v", c)
	}
	do("client2: lock within 10s")
	do("client2: write key0=from-client-2")
	if page.last.Verdict.Name != history.Safe {
		t.Errorf("the verdict is %s before any harm", page.last.Verdict.Name)
	}
	do("gcsim: resume client1")
	do("client1: finish")
	if page.last.Verdict.Name != history.Corrupted {
		t.Errorf("the verdict is %s", page.last.Verdict.Name)
	}
	if status, text := s.ask("POST", world+"/steps", wish{"step": "client1: finish"}); status != 409 || !strings.Contains(text, "client1 has begun nothing here") {
		t.Errorf("a step that cannot be: %d %s", status, text)
	}
	for _, want := range []string{"CORRUPTED", "key0=from-client-1"} {
		if drawn := s.must(200, "GET", fmt.Sprintf("%s/picture?events=%d", world, page.last.Events), nil); !strings.Contains(drawn, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	if early := s.must(200, "GET", world+"/picture?events=3", nil); strings.Contains(early, "CORRUPTED") || !strings.Contains(early, "client1") {
		t.Error("the picture of the beginning tells the end")
	}
	s.must(204, "POST", world+"/end", nil)
	over := page.await("the end", func(s shown) bool { return s.Phase == "over" })
	events, err := history.Read(strings.NewReader(s.must(200, "GET", world+"/history.jsonl", nil)))
	if err != nil {
		t.Fatal(err)
	}
	if r := judged(events, nil); r.Err != nil || r.Outcome.Name != history.Corrupted {
		t.Errorf("the history that was downloaded: %v %s", r.Err, r.Outcome.Name)
	}
	if want := events[0].Run.Expect; !want.IsNone() {
		t.Errorf("of a story by hand is expected: %+v", want)
	}
	saved := s.must(200, "GET", world+"/scenario.yaml", nil)
	if saved != over.Story {
		t.Errorf("saved\n%s\nshown\n%s", saved, over.Story)
	}
	again, err := language.Parse("saved.yaml", "saved", []byte(saved))
	if err != nil {
		t.Fatal(err)
	}
	events, err = lab.Run(t.Context(), again, &again.Variants[0], lab.Options{Exe: os.Args[0], Services: all.List})
	if r := judged(events, err); r.Err != nil || !r.Outcome.OK {
		t.Errorf("told again: %v, %+v", r.Err, r.Outcome)
	}
}

// TestForkAndLink: a world that begins with a story and a number of steps has done these,
// and plans the others; another step than the planned one ends the plan.
func TestForkAndLink(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	first := s.begin(mainSetup)
	story := s.watch(first).turn(0).Story
	fork := s.begin(wish{"story": story, "variant": "by-hand", "play": 3})
	page := s.watch(fork)
	now := page.turn(3)
	if len(now.Steps) < 3 || len(now.Steps)+len(now.Plan) != 8 || now.Back != nil {
		t.Errorf("steps %q, plan %q, back to %v", now.Steps, now.Plan, now.Back)
	}
	page.await("the end of client1's lease", func(s shown) bool { return len(s.Plan) == 4 && s.Phase == "waiting" })
	s.must(204, "POST", fork+"/steps", wish{"step": "client2: read key0"})
	if now = page.turn(5); len(now.Plan) != 0 || now.Back == nil || now.Back.Play != 4 {
		t.Errorf("the plan is still %q, and leads back to %v", now.Plan, now.Back)
	}
	rest := s.begin(wish{"story": story})
	s.must(204, "POST", rest+"/rest", nil)
	if now = s.watch(rest).turn(8); now.Verdict.Name != history.Corrupted {
		t.Errorf("the whole plan: %s", now.Verdict.Name)
	}
}

// TestChallenges: each is solved by its solution, and not before client1 goes on.
func TestChallenges(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Worlds = 2 * len(serve.Challenges)
	s := open(t, o)
	for _, c := range serve.Challenges {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			s := &site{s.Server, t, s.http, s.URL}
			now := s.solved(c.ID)
			for n := 1; now.Back != nil && n < 5; n++ { // a busy machine let a lease run out
				now = s.solved(c.ID)
			}
			if !now.Challenge.Solved {
				t.Errorf("it is not solved: %+v", now)
			}
			empty := s.begin(wish{"challenge": c.ID})
			if now := s.watch(empty).turn(0); len(now.Plan) > 0 || now.Challenge.Solved {
				t.Errorf("without its solution it begins with %+v", now)
			}
			s.must(204, "DELETE", empty, nil)
		})
	}
}

// solved carries out the solution of a challenge, and returns what the page shows then.
func (s *site) solved(challenge string) shown {
	s.t.Helper()
	world := s.begin(wish{"challenge": challenge, "solution": true})
	defer s.must(204, "DELETE", world, nil)
	page := s.watch(world)
	now := page.turn(0)
	plan := now.Plan
	for i, step := range plan {
		if now.Challenge.Solved && i <= slices.Index(plan, "client1: finish") {
			s.t.Errorf("it is solved before %q", step)
		}
		if !strings.Contains(step, "await expiry") { // a lease runs out by itself, on a busy machine also another one
			s.must(204, "POST", world+"/steps", wish{"step": step})
		}
		now = page.await(step, func(s shown) bool { return s.Phase == "waiting" && slices.Contains(s.Steps, step) })
	}
	return now
}

// TestReconnect: a page that has the newest state is not told it again; one that has an
// older one is told the newest.
func TestReconnect(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	world := s.begin(mainSetup)
	page := s.watch(world)
	known := page.turn(0).Version
	page.body.Close()
	again := s.watch(world, "Last-Event-ID", fmt.Sprint(known))
	s.must(204, "POST", world+"/steps", wish{"step": "client1: lock"})
	again.await("something new", func(shown) bool { return true })
	if again.last.Version <= known {
		t.Errorf("version %d is told again to who has %d", again.last.Version, known)
	}
	late := s.watch(world, "Last-Event-ID", "1")
	if now := late.turn(1); len(now.Steps) != 1 {
		t.Errorf("who comes back is told %+v", now)
	}
}

// TestForeignPagesReachNothing: a page of another site can neither begin a world nor look
// at one, nor can a page whose name leads to loopback.
func TestForeignPagesReachNothing(t *testing.T) {
	s := open(t, options(t))
	world := s.begin(mainSetup)
	for _, foreign := range []struct {
		status int
		header []string
	}{
		{403, []string{"Origin", "http://evil.example"}},
		{403, []string{"Origin", "null"}},
		{403, []string{"Sec-Fetch-Site", "cross-site"}},
		{403, []string{"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:1"}},
		{421, []string{"Host", "evil.example"}},
	} {
		for _, asked := range []struct{ method, path string }{
			{"POST", "/api/worlds"}, {"POST", world + "/steps"}, {"DELETE", world}, {"GET", world + "/events"}, {"GET", "/api/menu"},
		} {
			if status, text := s.ask(asked.method, asked.path, mainSetup, foreign.header...); status != foreign.status {
				t.Errorf("%s %s with %q: %d %s", asked.method, asked.path, foreign.header, status, text)
			}
		}
	}
	if now := s.watch(world).turn(0); len(now.Steps) != 0 {
		t.Errorf("a foreign page has done %q", now.Steps)
	}
	own := s.must(200, "GET", "/", nil, "Sec-Fetch-Site", "none")
	if !strings.Contains(own, "<title>fencelab") {
		t.Error("the page is not there")
	}
	for _, name := range []string{"localhost", "127.0.0.1", "[::1]:80"} {
		s.must(200, "GET", "/", nil, "Host", name)
	}
}

// TestBadWishes: what cannot be is refused, and says why.
func TestBadWishes(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	setup := func(change wish) wish {
		w := wish{"service": "etcd", "clients": 2, "locks": 1}
		for name, value := range change {
			w[name] = value
		}
		return wish{"setup": w}
	}
	for _, bad := range []struct {
		wish wish
		want string
	}{
		{wish{}, "want a challenge"},
		{wish{"challenge": "none"}, `no challenge \"none\"`},
		{wish{"scenario": "none"}, `no scenario \"none\"`},
		{wish{"scenario": "01-gc-pause", "variant": "none"}, `no variant \"none\"`},
		{wish{"scenario": "01-gc-pause", "play": 9}, "9 steps cannot be done: the story has 8"},
		{wish{"story": "title: x"}, "is missing"},
		{wish{"story": "title: x\nclients:\n  client1: {lock: /lock, command: [touch, pwned]}\nsteps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"}, "a page does not start"},
		{wish{"setup": wish{"service": "etcd", "clients": 2, "locks": 1, "settings": wish{"command": "touch"}}}, "command"},
		{wish{"story": "title: x\nworld:\n  storage: {command: 'touch pwned {addr}'}\nclients:\n  client1: {lock: /lock}\nsteps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"}, "a page does not start"},
		{setup(wish{"storage": wish{"command": "touch pwned {addr}"}}), "a page does not start"},
		{wish{"unknown": 1}, "unknown field"},
		{setup(wish{"clients": 1}), "2 to 6 clients"},
		{setup(wish{"locks": 3}), "1 to 2 locks"},
		{setup(wish{"service": "none"}), `no lock service \"none\"`},
		{setup(wish{"settings": wish{"ttl": "1"}}), "ttl"},
		{setup(wish{"settings": wish{"ttl": "1s}, client9: {lock: /x"}}), "ttl"},
		{setup(wish{"servers": wish{"members": "2"}}), "members"},
		{setup(wish{"storage": wish{"fencing": "maybe"}}), "fencing"},
	} {
		status, text := s.ask("POST", "/api/worlds", bad.wish)
		if _, set := bad.wish["setup"]; set && strings.Contains(text, "\\n") {
			t.Errorf("%v: %s shows a text that nobody has written", bad.wish, text)
		}
		if status != 400 || !strings.Contains(text, bad.want) {
			t.Errorf("%v: %d %s, want %q", bad.wish, status, text, bad.want)
		}
	}
	if status, text := s.ask("GET", "/api/worlds/none/events", nil); status != 404 || !strings.Contains(text, "no world") {
		t.Errorf("a world that is not there: %d %s", status, text)
	}
}

// TestLimit: so many worlds can be open at once, and no more, which is said. A story that
// has ended makes room, though its page is still there.
func TestLimit(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Worlds = 2
	s := open(t, o)
	first := s.begin(mainSetup)
	s.begin(mainSetup)
	if status, text := s.ask("POST", "/api/worlds", mainSetup); status != 503 || !strings.Contains(text, "2 worlds are open") {
		t.Errorf("one more: %d %s", status, text)
	}
	page := s.watch(first)
	page.turn(0)
	s.must(204, "POST", first+"/end", nil)
	page.await("the end", func(s shown) bool { return s.Phase == "over" })
	s.begin(mainSetup)
}

// TestWorldsEnd: a world ends that no page shows any more, and one in which nobody does
// anything; of the second one the page says so.
func TestWorldsEnd(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Alone, o.Idle = 50*time.Millisecond, time.Second
	s := open(t, o)
	world := s.begin(mainSetup)
	page := s.watch(world)
	failed := page.await("the idle limit", func(s shown) bool { return s.Phase == "failed" })
	if !strings.Contains(failed.Trouble, "nobody did anything for 1s") {
		t.Errorf("it ended because of %q", failed.Trouble)
	}
	page.body.Close()
	gone := func() bool { status, _ := s.ask("GET", world+"/picture?events=0", nil); return status == 404 }
	for deadline := time.Now().Add(2 * time.Minute); !gone(); {
		if time.Now().After(deadline) {
			t.Fatal("a world without a page stays")
		}
		time.Sleep(10 * time.Millisecond) // from one look to the next
	}
}

// TestLabThatCannot: why a world cannot be is said.
func TestLabThatCannot(t *testing.T) {
	o := options(t)
	o.Lab = func(*scenario.Variant) (lab.Options, error) { return lab.Options{}, errors.New("it is missing") }
	s := open(t, o)
	if status, text := s.ask("POST", "/api/worlds", mainSetup); status != 409 || !strings.Contains(text, "it is missing") {
		t.Errorf("%d %s", status, text)
	}
}

// TestNothingIsLeft: of 50 worlds that are opened and closed, one after the other, no
// process, no descriptor, no goroutine and no file is left.
func TestNothingIsLeft(t *testing.T) {
	worlds := 11
	if need.Long() {
		worlds = 51
	}
	o := options(t)
	o.Alone = time.Millisecond
	s := open(t, o)
	var descriptors, processes int
	var running goleak.Option
	for i := range worlds {
		world := s.begin(mainSetup)
		page := s.watch(world)
		page.turn(0)
		s.must(204, "POST", world+"/steps", wish{"step": "client1: lock"})
		if i%2 == 0 {
			page.turn(1)
		}
		page.body.Close()
		for s.begun(world) {
			time.Sleep(5 * time.Millisecond) // from one look to the next
		}
		http.DefaultClient.CloseIdleConnections()
		if i == 0 { // what is made once is there now
			running = goleak.IgnoreCurrent()
			descriptors, processes = len(openFiles(t)), children(t)
		}
	}
	deadline := time.Now().Add(2 * time.Minute)
	for err := goleak.Find(running); err != nil; err = goleak.Find(running) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if now := children(t); now > processes {
		t.Errorf("%d processes are left, and %d were there after the first world", now, processes)
	}
	for len(openFiles(t)) > descriptors {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors were open after the first world, and now these are:\n%s", descriptors, strings.Join(openFiles(t), "\n"))
		}
		http.DefaultClient.CloseIdleConnections() // one that an answer came by is idle a moment later
		time.Sleep(10 * time.Millisecond)         // from one look to the next
	}
}

// begun reports whether a world is there.
func (s *site) begun(world string) bool {
	status, _ := s.ask("GET", world+"/picture?events=0", nil)
	return status == 200
}

// openFiles are what this process has open, without the sockets by which package ports
// keeps blocks of ports for the process.
func openFiles(t *testing.T) (list []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	named, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string]bool)
	for line := range strings.Lines(string(named)) {
		if fields := strings.Fields(line); strings.Contains(line, "@fencelab-ports-") {
			blocks["socket:["+fields[len(fields)-2]+"]"] = true
		}
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && !blocks[to] { // else it was closed meanwhile
			list = append(list, to)
		}
	}
	return list
}

// children is how many processes this one has started that are still there.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		n += len(bytes.Fields(list))
	}
	return n
}

// TestPlanOutlivesExpiry: a lease that runs out while a person thinks does not end the plan.
func TestPlanOutlivesExpiry(t *testing.T) {
	s := open(t, options(t))
	world := s.begin(wish{"setup": wish{"service": "redis", "clients": 2, "locks": 1, "storage": wish{"fencing": "off"}, "settings": wish{"ttl": "1s", "by": "set-nx-px"}}})
	page := s.watch(world)
	plan := page.turn(0).Plan
	s.must(204, "POST", world+"/steps", wish{"step": plan[0]})
	after := page.await("the end of client1's lease", func(s shown) bool {
		return slices.Contains(s.Steps, "redis: await expiry of client1") && s.Phase == "waiting"
	})
	if !slices.Equal(after.Plan, plan[1:]) || after.Back != nil {
		t.Errorf("the plan is %q, back to %v, want %q", after.Plan, after.Back, plan[1:])
	}
}

// TestPlannedLockWaitsInTheQueue: a client that would wait for its planned lock queues for it instead, and keeps nobody
// back. The plan goes on as soon as the lock is its own.
func TestPlannedLockWaitsInTheQueue(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	story := "title: x\nclients:\n  client1: {lock: /lock, ttl: 5s}\n  client2: {lock: /lock}\nsteps:\n" +
		"  - client1: lock\n  - gcsim: pause client1\n  - client2: lock within 30s\n  - client2: read key0\nvariants:\n  v: {expect: {verdict: safe}}\n"
	world := s.begin(wish{"story": story, "play": 2})
	page := s.watch(world)
	if g := page.turn(2).Guide; g == nil || g.Step != "client2: queue" || g.Waits {
		t.Fatalf("the guide leads to %+v", g)
	}
	s.must(204, "POST", world+"/steps", wish{"step": "client2: queue"})
	waits := page.turn(3)
	if waits.Guide == nil || !waits.Guide.Waits || len(waits.Plan) != 2 {
		t.Errorf("in the queue it has the plan %q, and the guide %+v", waits.Plan, waits.Guide)
	}
	holds := page.await("the lock", func(s shown) bool {
		return s.Phase == "waiting" && slices.Contains(s.Steps, "client2: lock within 30s")
	})
	if len(holds.Plan) != 1 || holds.Back != nil || holds.Guide == nil || holds.Guide.Step != "client2: read key0" {
		t.Errorf("with the lock it has the plan %q, the guide %+v, and leads back to %v", holds.Plan, holds.Guide, holds.Back)
	}
}

// TestRefused: it is said at once that a storage wants tokens, and clients have none.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	for fencing, want := range map[string][]string{"on": {"client1", "client2"}, "off": nil} {
		world := s.begin(wish{"setup": wish{"service": "redis", "clients": 2, "locks": 1, "storage": wish{"fencing": fencing}, "settings": wish{"by": "set-nx-px"}}})
		if got := s.watch(world).turn(0).Refused; !slices.Equal(got, want) {
			t.Errorf("fencing %s: %q are refused, want %q", fencing, got, want)
		}
	}
	if got := s.watch(s.begin(wish{"scenario": "01-gc-pause", "variant": "fenced"})).turn(0).Refused; got != nil {
		t.Errorf("%q are refused, and have tokens", got)
	}
}

// TestWithFencing: a story is told once more with a storage that checks tokens.
func TestWithFencing(t *testing.T) {
	s := open(t, options(t))
	for fenced, want := range map[bool]string{false: history.Corrupted, true: history.Safe} {
		world := s.begin(wish{"scenario": "01-gc-pause", "variant": "unfenced", "fenced": fenced})
		page := s.watch(world)
		page.turn(0)
		s.must(204, "POST", world+"/rest", nil)
		if last := page.turn(8); last.Verdict.Name != want {
			t.Errorf("fenced %t: the verdict is %s, want %s", fenced, last.Verdict.Name, want)
		}
	}
}
