package stage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/browsertest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// program is the model, compiled once for all tests.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "play.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/fencelab/fencelab/internal/explore/play/wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(file)
})

// policy is a strict one, as a site can have it.
const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"

// tab is the page in a real browser.
type tab struct{ *browsertest.Tab }

// open opens the page of the model, which lies below a path of a site. at is a fragment.
func open(t *testing.T, at string, on browsertest.Screen) tab {
	t.Helper()
	need.Program(t, "chromium", "to show the page")
	wasm, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Write(filepath.Join(dir, "stage"), wasm); err != nil {
		t.Fatal(err)
	}
	files := http.StripPrefix("/some/where/", http.FileServer(http.Dir(dir)))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b := tab{browsertest.Open(t, site.URL+"/some/where/stage/"+at, on)}
	t.Cleanup(func() {
		for _, url := range b.Requests() {
			if !strings.HasPrefix(url, site.URL+"/some/where/stage/") && !strings.HasPrefix(url, "about:") && !strings.HasPrefix(url, "blob:"+site.URL) {
				t.Errorf("the page asks for %s", url)
			}
		}
	})
	return b
}

// turn waits until so many steps are done, and stage and picture show them.
func (b tab) turn(steps int) {
	b.Await(fmt.Sprintf("(w => w.steps === '%d' && (w.steps === '0' || document.getElementById('picture').dataset.events === w.events))(document.getElementById('world').dataset)"+
		" && document.getElementById('scene').dataset.frame === document.getElementById('slider').max", steps))
}

// mainStory is the plan of the first world.
var mainStory = []string{
	"client1: lock", "client1: begin write key0=from-client1", "gcsim: pause client1", "etcd: await expiry of client1",
	"client2: lock", "client2: write key0=from-client2", "gcsim: resume client1", "client1: finish",
}

// playMainStory plays the main story by the button that the guide shows, the only one at a time. press presses it.
func (b tab) playMainStory(press func(selector string)) {
	press("#begin")
	b.turn(0)
	for i, line := range mainStory {
		b.Await(fmt.Sprintf("document.querySelectorAll('button.next').length === 1 && document.querySelector('button.next').dataset.step === %q", line))
		press("button.next")
		b.turn(i + 1)
		if says := b.Get("document.getElementById('caption').textContent"); strings.Contains(says, "numbers can be left out") != (line == "client2: lock") {
			b.Errorf("after %q the page says %q", line, says)
		}
		if red := b.Get("document.getElementById('caption').className === 'bad'"); red != fmt.Sprint(line == "client1: finish") {
			b.Errorf("after %q it is %s that the page says harm in red", line, red)
		}
	}
	b.corrupted()
}

// whole wants to see all of the arrows, also where their letters have little room.
func (b tab) whole() {
	b.Helper()
	const covered = "[...document.querySelectorAll('#scene .message')].filter(m => (([shaft, letter]) => letter.left < shaft.right + 3 && letter.bottom - letter.top > shaft.bottom - shaft.top - 20)" +
		"(['.shaft', '.letter rect'].map(part => m.querySelector(part).getBoundingClientRect()))).map(m => m.textContent)"
	if got := b.Get(covered); got != "" {
		b.Errorf("the arrow is covered of %s", got)
	}
}

// faces are those on stage that do not smile, each with what became of its work, in words.
const faces = `[...document.querySelectorAll('#scene .client')].filter(c => getComputedStyle(c.querySelector('.smile')).visibility === 'hidden'
	&& getComputedStyle(c.querySelector(c.matches('.did') ? '.aghast' : '.sad')).visibility === 'visible').map(c => c.dataset.client + ': ' + c.querySelector('.fate').innerText).join('; ')`

// corrupted wants the end of the main story.
func (b tab) corrupted() {
	b.Await("document.getElementById('pill').textContent === 'corrupted' && document.getElementById('fate').textContent === \"client2's write is lost\"")
	const lost = "document.querySelector('#scene .storage .lost')"
	b.Await(lost + ".textContent === 'from-client2 by client2 is gone'")
	if got := b.Get("(lost => lost.offsetTop > lost.parentElement.firstChild.offsetTop && lost.offsetHeight < 32)(" + lost + ")"); got != "true" {
		b.Error("what is lost has no line of its own in the storage")
	}
	b.Await(faces + " === 'client1: has done harm; client2: harm was done to it'")
	b.Await("document.getElementById('findings').textContent.startsWith('client2 took /lock after client1, and wrote key0=from-client2.')")
}

// TestMainStory: the main story by clicks, on a desktop and a phone, dark and light. All of its end is in view at once.
func TestMainStory(t *testing.T) {
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone, browsertest.Desktop.Night(), browsertest.Phone.Night()} {
		t.Run(on.String(), func(t *testing.T) {
			b := open(t, "", on)
			b.Await("!document.getElementById('begin').disabled")
			b.Picture("model-begin-" + on.String())
			b.playMainStory(b.Click)
			b.Picture("model-corrupted-" + on.String())
			b.InView("pill", "fate", "guide", "search", "scene", "caption", "controls")
			b.whole()
			if got := b.Get("document.documentElement.scrollWidth"); got != fmt.Sprint(on.Width) {
				t.Errorf("the page is %s wide", got)
			}
			b.Click("#earlier")
			b.Await("document.getElementById('place').textContent === 'event 6 of 7'")
			b.InView("now", "earlier", "speed")
			b.Click("#now")
			if got := b.Get("document.querySelector('h1 small').checkVisibility() && document.querySelector('h1 small').textContent"); !strings.HasPrefix(got, "a model") {
				t.Errorf("the page says that it is %s", got)
			}
			b.Await("document.getElementById('say').textContent === 'What helps here: the storage checks tokens.'")
			b.Click("#again")
			b.Await("location.hash === '#01-gc-pause/fenced'")
			b.turn(0)
			b.Click("#rest")
			b.Await("document.getElementById('fate').textContent === \"client2's write is safe\"")
			b.turn(8)
			b.Await("document.getElementById('pill').textContent === 'safe' && document.querySelector('#picture .verdict').textContent.trim().toLowerCase() === 'safe'")
			b.Await("document.querySelector('.message.refused') && /refused so far: 1$/.test(document.querySelector('#scene .gate').textContent)")
			b.whole()
			b.InView("pill", "fate", "guide", "search", "scene", "caption", "controls")
			b.Picture("model-fenced-" + on.String())
			b.Clean()
		})
	}
}

// TestKeys: the main story by the keyboard alone. The focus never falls away.
func TestKeys(t *testing.T) {
	b := open(t, "", browsertest.Desktop)
	b.playMainStory(func(selector string) {
		b.Await(fmt.Sprintf("!document.querySelector(%q).disabled", selector))
		b.Press(selector)
	})
	b.Clean()
}

// TestFindsTheStory: the smallest story that does harm is found and played. Its address tells it again in another tab, and
// its file is a scenario. Where there is none, the page says how far it looked.
func TestFindsTheStory(t *testing.T) {
	b := open(t, "#01-gc-pause/unfenced", browsertest.Desktop)
	b.turn(0)
	b.Click("#find")
	b.turn(7)
	b.Await("document.getElementById('pill').textContent === 'corrupted' && /needs fewer/.test(document.getElementById('found').textContent)")
	b.Picture("model-found")
	b.InView("pill", "guide", "search", "scene", "caption", "controls")
	b.Click("#real summary")
	file := b.Get("document.getElementById('file').textContent")
	told, err := lab.Language(all.List).Parse("told.yaml", "told", []byte(file))
	if err != nil || len(told.Variants[0].Steps) != 7 || told.Variants[0].Expect.WantedVerdict() != "corrupted" {
		t.Errorf("%v in the file\n%s", err, file)
	}
	if saved := b.Get("new URL(document.getElementById('yaml').href).protocol"); saved != "blob:" {
		t.Errorf("the file is at %s", saved)
	}

	again := tab{b.Another(b.Get("location.href"))}
	again.turn(7)
	const steps = "[...document.querySelectorAll('#steps code')].map(c => c.textContent)"
	if mine, theirs := b.Get(steps), again.Get(steps); mine != theirs || mine == "" {
		t.Errorf("the address of %s tells %s", mine, theirs)
	}
	again.Clean()

	b.Get("(location.hash = '#01-gc-pause/fenced', 0)")
	b.turn(0)
	b.Click("#find")
	b.Await("document.getElementById('found').textContent === 'No story that goes on from here does harm, however long it is.'")
	b.Picture("model-none")
	b.Clean()
}

// TestMarks: each next step says whether it leads to harm. Leaving the plan is said, and coming back is one click; the
// browser's own way back undoes a step.
func TestMarks(t *testing.T) {
	b := open(t, "#01-gc-pause/unfenced;client1:+lock;client1:+begin+write+key0=from-client1;gcsim:+pause+client1", browsertest.Desktop)
	if got := b.Get("document.getElementById('intro').hidden"); got != "true" {
		b.Error("who opens a link to a story is asked to begin another one")
	}
	b.turn(3)
	b.Await("document.getElementById('loading').hidden")
	b.Click("#marks")
	b.Await("document.querySelector('#lead button.next small')?.textContent === 'harm in 5'")
	b.Await("document.querySelector('[data-stop=client1] small')")
	b.Picture("model-marks")
	b.Show(browsertest.Phone)
	if got := b.Get("[...document.querySelectorAll('.hand small, #lead small')].filter(e => e.getClientRects().length > 1).length"); got != "0" {
		t.Errorf("%s marks are broken into two lines on a phone", got)
	}
	b.Show(browsertest.Desktop)
	b.Click("#nexts summary")
	b.Await("document.querySelector('#coming li:first-child .bad').textContent === 'harm in 5'")
	b.Click("#scene [data-client=client2] .acts button")
	b.turn(4)
	b.Await("/left the plan/.test(document.getElementById('say').textContent) && document.querySelector('#scene .hand small')")
	b.Click("#back")
	b.turn(3)
	b.Get("(history.back(), 0)")
	b.turn(4)
	b.Get("(history.back(), 0)")
	b.turn(3)
	b.Clean()
}

// TestLegend: what marks say is one click away, and needs no room until then.
func TestLegend(t *testing.T) {
	const height, said = "document.getElementById('search').offsetHeight", "document.querySelector('#legend p').checkVisibility()"
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone} {
		b := open(t, "#01-gc-pause/unfenced;client1:+lock", on)
		b.turn(1)
		b.Await("document.getElementById('loading').hidden")
		before := b.Get(height)
		b.Click("#marks")
		b.Await("document.querySelector('#scene .hand small') && document.getElementById('progress').textContent === ''")
		b.Picture("model-legend-" + on.String())
		if got := b.Get(height); got != before || b.Get(said) != "false" {
			t.Errorf("%s: with marks the search is %s high, want %s", on, got, before)
		}
		b.InView("pill", "guide", "search", "legend", "scene", "caption", "controls")
		b.Click("#legend summary")
		b.Await(said)
		b.Picture("model-legend-open-" + on.String())
		b.Clean()
	}
}

// nodes are those on the stage, in words.
const nodes = "[...document.querySelectorAll('#scene .nodes li')].map(li => li.textContent.trim()).join('; ')"

// TestNodes: a lock service of several nodes shows what each does, also on a phone, where all is in view. One of a single
// node shows none. No button of one world stays in the next.
func TestNodes(t *testing.T) {
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone.Night()} {
		b := open(t, "#16-node-restart/at-once;gcsim:+kill+redis3", on)
		b.turn(1)
		b.Await(nodes + " === 'redis1; redis2; redis3 is dead'")
		b.InView("pill", "guide", "search", "scene", "caption", "controls")
		b.Accessible("a node is dead, " + on.String())
		b.Picture("model-nodes-" + on.String())
		b.Get("(location.hash = '#13-failover/lost', 0)")
		b.Await(nodes + " === 'redis1 leads; redis2'")
		b.Click("#rest")
		b.Await(nodes + " === 'redis1 is dead; redis2 leads'")
		b.Await("document.getElementById('pill').textContent === 'corrupted' && document.getElementById('scene').dataset.frame === document.getElementById('slider').max")
		b.InView("pill", "fate", "guide", "search", "scene", "caption", "controls")
		b.Picture("model-nodes-end-" + on.String())
		b.Get("(location.hash = '#01-gc-pause/unfenced', 0)")
		b.Await("document.querySelector('#scene .nodes').hidden && document.querySelector('#scene .stop').checkVisibility()")
		b.Get("(location.hash = '#16-node-restart/at-once', 0)")
		b.Await(nodes + " === 'redis1; redis2; redis3'")
		b.turn(0)
		b.Await("![...document.querySelectorAll('#scene .stop')].some(e => e.checkVisibility())") // nobody can be stopped there
		b.Clean()
	}
}

// TestStops: a long search holds up nothing, and can be stopped; then the page answers as before.
func TestStops(t *testing.T) {
	b := open(t, "#14-snapshot-restore/bumped", browsertest.Desktop)
	b.turn(0)
	b.Click("#find")
	b.Await("/state/.test(document.getElementById('progress').textContent)")
	b.Click("#rest")
	b.Await("document.getElementById('halt').hidden")
	b.Click("#find")
	b.Await("/state/.test(document.getElementById('progress').textContent)")
	b.Click("#halt")
	b.Await("/was stopped/.test(document.getElementById('found').textContent)")
	b.Clean()
}

// TestSaysWhatIsWrong: an address that names no world, or a step that cannot come, is said in red.
func TestSaysWhatIsWrong(t *testing.T) {
	for at, want := range map[string]string{
		"#no-such/world": "no world no-such/world", "#01-gc-pause/unfenced;client1:+finish": "cannot come there",
	} {
		b := open(t, at, browsertest.Phone)
		b.Await(fmt.Sprintf("document.getElementById('message').checkVisibility() && document.getElementById('message').textContent.includes(%q)", want))
		b.Await("document.getElementById('intro').checkVisibility() && document.getElementById('loading').hidden")
		b.Clean()
	}
}

// TestAccessible: axe-core finds nothing wrong, dark or light, whatever is open.
func TestAccessible(t *testing.T) {
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone.Night()} {
		b := open(t, "", on)
		b.Accessible("the beginning")
		b.playMainStory(b.Click)
		b.Click("#marks")
		b.Await("document.querySelector('#scene .hand small')")
		b.Accessible("the end, with marks")
		b.Get("document.querySelectorAll('details').forEach(d => { d.open = true })")
		b.Accessible("with all open")
		if got := b.Get("document.documentElement.scrollWidth"); got != fmt.Sprint(on.Width) {
			t.Errorf("the page with all open is %s wide", got)
		}
		b.Picture("model-open-" + on.String())
		b.Clean()
	}
}
