package serve_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/report/hand"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/serve"
	"github.com/fencelab/fencelab/internal/serve/web"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc/natstest"
	"github.com/fencelab/fencelab/internal/tools/browsertest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func step(line string) string { return fmt.Sprintf("[data-step=%q]", line) }

// mainStory is its plan.
var mainStory = []string{
	"client1: lock", "client1: begin write key0=from-client-1", "gcsim: pause client1", "etcd: await expiry of client1",
	"client2: lock", "client2: write key0=from-client-2", "gcsim: resume client1", "client1: finish",
}

// loud counts the buttons on stage and beside the guide that are filled with another colour than the page's.
const loud = "[...document.querySelectorAll('#scene button, #lead button')].filter(e => e.checkVisibility() && getComputedStyle(e).color === 'rgb(255, 255, 255)').length"

// faces are those on stage that do not smile, each with what became of its work, in words.
const faces = `[...document.querySelectorAll('#scene .client')].filter(c => getComputedStyle(c.querySelector('.smile')).visibility === 'hidden'
	&& getComputedStyle(c.querySelector(c.matches('.did') ? '.aghast' : '.sad')).visibility === 'visible').map(c => c.dataset.client + ': ' + c.querySelector('.fate').innerText).join('; ')`

// playMainStory plays the main story by the button that the guide shows, the only one at a time. press presses it.
func (b tab) playMainStory(press func(selector string)) {
	press("#begin")
	b.turn(0)
	for i, line := range mainStory {
		if strings.Contains(line, "await expiry") {
			b.Await("document.querySelectorAll('button.next').length === 0")
			b.Await("/its lease is over/.test(document.querySelector('#scene [data-client=client1]').innerText)")
			b.Await("/only believes/.test(document.querySelector('#scene [data-client=client1] .badge').innerText)")
		} else {
			b.Await(fmt.Sprintf("document.querySelectorAll('button.next').length === 1 && document.querySelector('button.next').dataset.step === %q", line))
			if got := b.Get(loud); got != "1" {
				b.Errorf("before %q the next step's is one of %s buttons that are filled", line, got)
			}
			press("button.next")
		}
		b.turn(i + 1)
		const says = "[document.getElementById('verdict').innerText, document.querySelector('#picture .verdict').textContent].map(text => text.trim().toLowerCase())"
		if got, want := b.Get(says), "safe so far,safe so far"; i < 7 && got != want {
			b.Errorf("after %q the page and its picture say %q, want %q", line, got, want)
		}
	}
	b.Await("document.getElementById('pill').textContent === 'corrupted' && document.getElementById('fate').textContent === \"client2's write is lost\"")
	b.Await("(c => c.className === 'bad' && /from-client-1.*; then: /.test(c.textContent))(document.getElementById('caption'))")
	b.Await(faces + " === 'client1: has done harm; client2: harm was done to it'")
}

// TestPageMainStory: the main story by clicks, on a desktop and a phone, dark and light. All of its end is in view at once.
func TestPageMainStory(t *testing.T) {
	s := open(t, options(t))
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone, browsertest.Desktop.Night(), browsertest.Phone.Night()} {
		t.Run(on.String(), func(t *testing.T) {
			b := browse(t, s.URL, on)
			b.Picture("begin-" + on.String())
			b.playMainStory(b.Click)
			b.Picture("corrupted-" + on.String())
			b.InView("pill", "fate", "guide", "end", "scene", "caption", "controls")
			if got := b.Get("document.documentElement.scrollWidth"); got != fmt.Sprint(on.Width) {
				t.Errorf("the page is %s wide", got)
			}
			want := "from-client-2 by client2 is gone"
			if got := b.Get("document.querySelector('#scene .storage .lost').textContent"); got != want {
				t.Errorf("the storage shows %q, want %q", got, want)
			}
			if got := b.Get("document.getAnimations().length > 0"); got == "true" && on.Still {
				t.Error("something moves, and its owner wants no motion")
			}
			b.Click("#again")
			b.Await("document.getElementById('about').textContent.includes('checks tokens')")
			b.turn(0)
			b.Click("#rest")
			b.Await("document.getElementById('fate').textContent === \"client2's write is safe\"")
			b.turn(8)
			b.Await("document.querySelector('.message.refused')")
			b.Await("(c => c.className === 'shield' && /refused/i.test(c.textContent))(document.getElementById('caption'))")
			b.InView("pill", "fate", "guide", "end", "scene", "caption", "controls")
			b.Picture("fenced-" + on.String())
			b.Clean()
		})
	}
}

// TestPageAccessible: axe-core finds nothing wrong, dark or light, whatever is open.
func TestPageAccessible(t *testing.T) {
	s := open(t, options(t))
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone.Night()} {
		b := browse(t, s.URL, on)
		b.Accessible("the beginning")
		b.playMainStory(b.Click)
		b.Accessible("the end")
		b.Click("#earlier")
		b.Await("document.getElementById('scene').classList.contains('past')")
		b.Get("document.querySelectorAll('details').forEach(d => { d.open = true })")
		b.Accessible("with all open, in the past")
		b.Clean()
	}
}

// TestPageByKeys: the main story by the keyboard alone. The focus never falls away.
func TestPageByKeys(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.playMainStory(b.Press)
	b.Press("#end")
	b.Await("document.getElementById('world').dataset.phase === 'over'")
	b.Clean()
}

// TestPageTime: the slider takes the stage and the picture back in time, and nothing can be done there. Play brings
// them to what is now. A second page shows the same, and what it does shows in the first.
func TestPageTime(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.playMainStory(b.Click)
	const frame = "document.getElementById('scene').dataset.frame"
	b.Focus("#slider")
	b.Do(chromedp.KeyEvent(kb.Home))
	b.Await(frame + " === '0' && document.querySelectorAll('#picture .future').length === document.querySelectorAll('#picture .event').length")
	for _, want := range []int{1, 2, 3} {
		b.Do(chromedp.KeyEvent(kb.ArrowRight))
		b.Await(fmt.Sprintf("%s === '%d'", frame, want))
	}
	b.Await("document.querySelector('#scene .client.paused.holds') && document.querySelector('#scene .storage .empty') && document.querySelectorAll('#picture .present').length === 1")
	b.Await("[...document.querySelectorAll('#scene .hand button')].every(b => b.ariaDisabled === 'true')")
	b.Click("#play")
	b.Await(frame + " === document.getElementById('slider').max && !document.getElementById('scene').classList.contains('past') && document.querySelector('#scene .storage .lost')")

	other := tab{b.Another(b.Get("location.href"))}
	other.turn(8)
	if mine, theirs := b.Get("document.getElementById('steps').textContent"), other.Get("document.getElementById('steps').textContent"); mine != theirs {
		t.Errorf("two pages on one world show %q and %q", mine, theirs)
	}
	other.Click("#scene [data-client=client2] .acts " + step("client2: write key0=client2-2"))
	b.turn(9)
	other.Clean()
	b.Click("#end")
	b.Await("document.getElementById('world').dataset.phase === 'over' && document.getElementById('pill').textContent === 'corrupted'")
	b.Await("document.querySelector('#scene .hand').hidden")
	b.Clean()
}

// TestPageStopsWhileAnotherWaits: a client that waits for its lock keeps back nothing but itself. When the lock is its
// own, that becomes a step. Who leaves the plan is told so, and comes back by one click.
func TestPageStopsWhileAnotherWaits(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.Click("#begin")
	b.turn(0)
	b.Click("#scene [data-client=client1] .acts .next")
	b.turn(1)
	b.Click("#scene [data-client=client2] .acts button")
	b.turn(2)
	b.Await("document.querySelector('#scene .client.waits').dataset.client === 'client2' && document.querySelector('#scene .queue').textContent === 'client2 waits'")
	b.Await("document.getElementById('say').textContent.includes('left the plan')")
	b.Click("[data-stop=client1]")
	b.Await("document.querySelector('#scene .client.paused').dataset.client === 'client1' && document.querySelector('#scene .client.waits')")
	b.turn(5)
	want := "client1: lock,client2: queue,gcsim: pause client1,etcd: await expiry of client1,client2: lock within 10s"
	if got := b.Get("[...document.querySelectorAll('#steps code')].map(c => c.textContent)"); got != want {
		t.Errorf("the steps are %s, want %s", got, want)
	}
	b.Click("#back")
	b.Await("document.getElementById('world').dataset.steps === '1' && document.querySelector('button.next')?.dataset.step === 'client1: begin write key0=from-client-1'")
	b.Clean()
}

// TestPageFaults: all that is done to a client at a time is on stage, and in words.
func TestPageFaults(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.Click("#begin")
	b.turn(0)
	b.Get("document.querySelector('#scene [data-client=client1] .more').open = true")
	for i, selector := range []string{step("gcsim: partition client1 from etcd"), step("gcsim: delay client1 to storage"), "[data-stop=client1]"} {
		b.Click(selector)
		b.turn(i + 1)
	}
	const shown = "[...document.querySelectorAll('#scene [data-client=client1] .face :is(.closed, .fault)')].filter(e => getComputedStyle(e).visibility === 'visible').map(e => e.getAttribute('class')).join()"
	b.Await(shown + " === 'closed,fault partition,fault delay'")
	b.Await("document.querySelector('#scene [data-client=client1] .note').textContent === 'client1 stands still; its network is cut; what it sends waits in the network'")
	b.Await("document.getElementById('caption').checkVisibility({visibilityProperty: true})")
	for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone.Night()} {
		b.Show(on)
		b.Picture("faults-" + on.String())
	}
	b.Clean()
}

// load loads a scenario by its name.
func (b tab) load(scenario string) {
	b.Await("!document.getElementById('begin').disabled")
	b.Get("document.getElementById('load').open = true")
	b.Get(fmt.Sprintf("(e => { e.value = %q; e.dispatchEvent(new Event('change')) })(document.getElementById('name'))", scenario))
	b.Click("#scenario button")
	b.turn(0)
}

// TestPageNodes: of three members, which are real, the page shows which one leads, and which one stands still.
func TestPageNodes(t *testing.T) {
	for scenario, needs := range map[string]func(*testing.T){"13-leader-paused": func(*testing.T) {}, "05-leader-lost": natstest.Need} {
		t.Run(scenario, func(t *testing.T) {
			needs(t)
			b := browse(t, open(t, options(t)).URL, browsertest.Desktop)
			b.load(scenario)
			const leader = "document.querySelector('#scene .nodes .leads b')?.textContent"
			b.Await("document.querySelectorAll('#scene .nodes .running').length === 3")
			b.Await(leader)
			old := b.Get(leader)
			for i, line := range []string{"client1: lock", "gcsim: pause leader"} {
				b.Await(fmt.Sprintf("document.querySelector('button.next')?.dataset.step === %q", line))
				b.Click("button.next")
				b.turn(i + 1)
			}
			b.Await("document.querySelector('#scene .nodes .paused:not(.leads) b')?.textContent === '" + old + "'")
			b.Await(leader + " !== '" + old + "'")
			b.Picture("nodes-" + scenario)
			b.Clean()
		})
	}
}

// TestPageSharedNodes: members that serve several worlds are on stage in each of them.
func TestPageSharedNodes(t *testing.T) {
	javatest.Need(t)
	o, shared := options(t), labtest.Share(t)
	o.Lab = func(*scenario.Variant) (lab.Options, error) {
		return lab.Options{Exe: os.Args[0], Services: all.List, Shared: shared}, nil
	}
	s := open(t, o)
	for range 2 {
		b := browse(t, s.URL, browsertest.Desktop)
		b.load("01-paused-holder")
		b.Await("[...document.querySelectorAll('#scene .nodes .running b')].map(b => b.textContent).join() === 'hazelcast1,hazelcast2,hazelcast3'")
		b.Clean()
	}
}

// TestPageSaysWhatIsWrong: where the hand is, in red.
func TestPageSaysWhatIsWrong(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.Click("#begin")
	b.turn(0)
	b.Get("(e => { e.dataset.step = 'client2: finish'; e.click() })(document.querySelector('#scene [data-client=client2] .acts button'))")
	const trouble = "document.querySelector('#scene [data-client=client2] .trouble')"
	b.Await(trouble + ".checkVisibility() && " + trouble + ".textContent.includes('client2 has begun nothing here')")
	if got := b.Get("getComputedStyle(" + trouble + ").color"); got != "rgb(207, 34, 46)" {
		t.Errorf("it is said in %s", got)
	}
	b.Clean()
}

// TestPageDoubleClick: it begins one world, and is one step.
func TestPageDoubleClick(t *testing.T) {
	o := options(t)
	o.Worlds = 1
	s := open(t, o)
	b := browse(t, s.URL, browsertest.Desktop)
	b.Await("!document.getElementById('begin').disabled")
	b.Get("(e => { e.click(); e.click() })(document.getElementById('begin'))")
	b.turn(0)
	b.Await("document.getElementById('begin-trouble').textContent === ''")
	b.Click("#scene [data-client=client1] .acts .next")
	b.turn(1)
	b.Get("document.querySelector('#scene [data-client=client1] .more').open = true")
	read := chromedp.CSS(step("client1: read key0"))
	b.Do(chromedp.Click(read), chromedp.DoubleClick(read)) // the second one is the second click of a double click
	b.turn(2)
	b.Click("#scene [data-client=client1] .acts button")
	b.turn(3)
	if got := b.Get("document.querySelectorAll('#steps li').length"); got != "3" {
		t.Errorf("it has done %s steps, want 3", got)
	}
	b.Clean()
}

// TestPageChallenges: each challenge is solved by the solution that the page offers.
func TestPageChallenges(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	for _, c := range serve.Challenges {
		b.Click("#challenges summary")
		b.Click("[data-challenge=" + c.ID + "]")
		b.Await(fmt.Sprintf("document.getElementById('title').textContent === %q", "Challenge: "+c.Title))
		b.turn(0)
		b.Click("#challenge details:last-of-type summary")
		b.Click("#solution")
		b.Click("#rest")
		b.Await("document.getElementById('solved').checkVisibility()")
		b.turn(8)
		b.Picture("challenge-" + c.ID)
	}
	b.Clean()
}

// TestPageForks: going back to before a step tells the story anew until there.
func TestPageForks(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Desktop)
	b.playMainStory(b.Click)
	before := b.Get("location.pathname")
	b.Click("#told summary")
	b.Click("[data-back='4']")
	b.Await("location.pathname !== " + fmt.Sprintf("%q", before))
	b.turn(4)
	b.Await("document.querySelector('button.next')?.dataset.step === 'client2: lock'")
	b.Clean()
}

// TestPageReconnects: when gcsim is gone the page says so, and when gcsim is there again
// the page tells the story anew and says that, too.
func TestPageReconnects(t *testing.T) {
	need.Program(t, "chromium", "to show the page")
	o := options(t)
	first := open(t, o)
	address := strings.TrimPrefix(first.URL, "http://")
	b := browse(t, first.URL, browsertest.Desktop)
	b.playMainStory(b.Click)
	steps := b.Get("document.getElementById('steps').textContent")
	first.Close()
	first.http.Close()
	b.Await("document.getElementById('message').textContent.includes('gcsim does not answer')")

	again := serve.New(o)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: again}
	go server.Serve(listener) // it ends with Close
	t.Cleanup(func() { again.Close(); server.Close() })
	b.Await("document.getElementById('message').textContent.includes('told anew')")
	b.turn(8)
	if got := b.Get("document.getElementById('steps').textContent"); got != steps {
		t.Errorf("told anew: %q, before: %q", got, steps)
	}
	b.Await("document.getElementById('pill').textContent === '" + history.Corrupted + "'")
	b.Clean()
}

// TestDocsSayWhatThePageSays: each button that docs/serve.md names is there, by this name.
func TestDocsSayWhatThePageSays(t *testing.T) {
	s := open(t, options(t))
	says := []string{s.must(200, "GET", "/", nil), s.must(200, "GET", "/served.js", nil)}
	says = slices.AppendSeq(says, maps.Values(web.Scripts()))
	for _, line := range mainStory {
		says = append(says, ">"+hand.New(line, "client1", "", "write key0=from-client-1").Words)
	}
	doc, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\*\*?([^*|]+)\*\*?`).FindAllStringSubmatch(string(doc), -1)
	if len(names) < 15 {
		t.Fatalf("docs/serve.md names %d buttons, want more: the test looks for something else", len(names))
	}
	for _, name := range names {
		if !slices.ContainsFunc(says, func(text string) bool {
			return strings.Contains(text, ">"+name[1]) || strings.Contains(text, `"`+name[1])
		}) {
			t.Errorf("docs/serve.md says %q, and the page does not", name[1])
		}
	}
}

// TestPageChangesItsLook: dark where the system is light, by the button.
func TestPageChangesItsLook(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, browsertest.Phone)
	b.Click("#theme")
	if got := b.Get("getComputedStyle(document.body).backgroundColor"); got != "rgb(13, 17, 23)" {
		t.Errorf("the dark page is %s", got)
	}
	b.Clean()
}
