package serve_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/serve"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func step(line string) string { return fmt.Sprintf("[data-step=%q]", line) }

// mainStory is its plan.
var mainStory = []string{
	"client1: lock", "client1: begin write key0=from-client-1", "gcsim: pause client1", "etcd: await expiry of client1",
	"client2: lock", "client2: write key0=from-client-2", "gcsim: resume client1", "client1: finish",
}

// playMainStory plays the main story by the button that the guide shows, the only one at a time. press presses it.
func (b *tab) playMainStory(press func(selector string)) {
	b.t.Helper()
	press("#begin")
	b.turn(0)
	for i, line := range mainStory {
		if strings.Contains(line, "await expiry") {
			b.await("document.querySelectorAll('button.next').length === 0")
			b.await("/its lease is over/.test(document.querySelector('#scene [data-client=client1]').innerText)")
			b.await("/only believes/.test(document.querySelector('#scene [data-client=client1] .badge').innerText)")
		} else {
			b.await(fmt.Sprintf("document.querySelectorAll('button.next').length === 1 && document.querySelector('button.next').dataset.step === %q", line))
			press("button.next")
		}
		b.turn(i + 1)
		if got, want := b.get("document.getElementById('verdict').innerText.trim().toLowerCase()"), "safe so far"; i < 7 && got != want {
			b.t.Errorf("after %q: %q, want %q", line, got, want)
		}
	}
	b.await("document.getElementById('pill').textContent === 'corrupted' && document.getElementById('fate').textContent === \"client2's write is lost\"")
}

// inView wants parts of the page to be on the screen, without scrolling.
func (b *tab) inView(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		const where = "(r => [scrollY, r.top >= 0, r.bottom <= innerHeight, r.left >= 0, r.right <= innerWidth, r.height > 0].join())(document.getElementById(%q).getBoundingClientRect())"
		if got := b.get(fmt.Sprintf(where, id)); got != "0,true,true,true,true,true" {
			b.t.Errorf("%s is not in view: %s", id, got)
		}
	}
}

// TestPageMainStory: the main story by clicks, on a desktop and a phone, dark and light. All of its end is in view at once.
func TestPageMainStory(t *testing.T) {
	s := open(t, options(t))
	for _, on := range []screen{desktop, phone, {width: 1400, height: 900, dark: true, still: true}, {width: 390, height: 844, dark: true, still: true}} {
		t.Run(on.String(), func(t *testing.T) {
			b := browse(t, s.URL, on)
			b.picture("begin-" + on.String())
			b.playMainStory(b.click)
			b.picture("corrupted-" + on.String())
			b.inView("pill", "fate", "guide", "scene", "caption", "controls")
			if got := b.get("document.documentElement.scrollWidth"); got != fmt.Sprint(on.width) {
				t.Errorf("the page is %s wide", got)
			}
			want := "from-client-2 by client2 is gone"
			if got := b.get("document.querySelector('#scene .storage .lost').textContent"); got != want {
				t.Errorf("the storage shows %q, want %q", got, want)
			}
			if got := b.get("document.getAnimations().length > 0"); got == "true" && on.still {
				t.Error("something moves, and its owner wants no motion")
			}
			b.click("#again")
			b.await("document.getElementById('about').textContent.includes('checks tokens')")
			b.turn(0)
			b.click("#rest")
			b.await("document.getElementById('fate').textContent === \"client2's write is safe\"")
			b.turn(8)
			b.await("document.querySelector('.message.refused')")
			b.inView("pill", "fate", "guide", "scene", "caption", "controls")
			b.picture("fenced-" + on.String())
			b.clean()
		})
	}
}

// TestPageAccessible: axe-core finds nothing wrong, dark or light, whatever is open.
func TestPageAccessible(t *testing.T) {
	s := open(t, options(t))
	for _, on := range []screen{desktop, {width: 390, height: 844, dark: true}} {
		b := browse(t, s.URL, on)
		b.accessible("the beginning")
		b.playMainStory(b.click)
		b.accessible("the end")
		b.click("#earlier")
		b.await("document.getElementById('scene').classList.contains('past')")
		b.get("document.querySelectorAll('details').forEach(d => { d.open = true })")
		b.accessible("with all open, in the past")
		b.clean()
	}
}

// TestPageByKeys: the main story by the keyboard alone. The focus never falls away.
func TestPageByKeys(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	b.playMainStory(func(selector string) {
		for range 60 {
			if b.get(fmt.Sprintf("document.activeElement.matches(%q)", selector)) == "true" {
				break
			}
			b.do(chromedp.KeyEvent(kb.Tab))
		}
		b.await(fmt.Sprintf("document.activeElement.matches(%q)", selector))
		b.do(chromedp.KeyEvent(kb.Enter))
		b.await("document.activeElement !== document.body")
	})
	b.await("document.activeElement !== document.body")
	b.clean()
}

// TestPageTime: the slider takes the stage and the picture back in time, and nothing can be done there. Play brings
// them to what is now. A second page shows the same, and what it does shows in the first.
func TestPageTime(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	b.playMainStory(b.click)
	const frame = "document.getElementById('scene').dataset.frame"
	b.focus("#slider")
	b.do(chromedp.KeyEvent(kb.Home))
	b.await(frame + " === '0' && document.querySelectorAll('#picture .future').length === document.querySelectorAll('#picture .event').length")
	for _, want := range []int{1, 2, 3} {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.await(fmt.Sprintf("%s === '%d'", frame, want))
	}
	b.await("document.querySelector('#scene .client.paused.holds') && document.querySelector('#scene .storage .empty') && document.querySelectorAll('#picture .present').length === 1")
	b.await("[...document.querySelectorAll('#scene .hand button')].every(b => b.ariaDisabled === 'true')")
	b.click("#play")
	b.await(frame + " === document.getElementById('slider').max && !document.getElementById('scene').classList.contains('past') && document.querySelector('#scene .storage .lost')")

	other := b.another(b.get("location.href"))
	other.turn(8)
	if mine, theirs := b.get("document.getElementById('steps').textContent"), other.get("document.getElementById('steps').textContent"); mine != theirs {
		t.Errorf("two pages on one world show %q and %q", mine, theirs)
	}
	other.click("#scene [data-client=client2] .acts " + step("client2: write key0=client2-2"))
	b.turn(9)
	other.clean()
	b.click("#end")
	b.await("document.getElementById('world').dataset.phase === 'over' && document.getElementById('pill').textContent === 'corrupted'")
	b.await("document.querySelector('#scene .hand').hidden")
	b.clean()
}

// TestPageStopsWhileAnotherWaits: a client that waits for its lock keeps back nothing but itself. When the lock is its
// own, that becomes a step. Who leaves the plan is told so, and comes back by one click.
func TestPageStopsWhileAnotherWaits(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	b.click("#begin")
	b.turn(0)
	b.click("#scene [data-client=client1] .acts .next")
	b.turn(1)
	b.click("#scene [data-client=client2] .acts button")
	b.turn(2)
	b.await("document.querySelector('#scene .client.waits').dataset.client === 'client2' && document.querySelector('#scene .queue').textContent === 'client2 waits'")
	b.await("document.getElementById('say').textContent.includes('left the plan')")
	b.click("[data-stop=client1]")
	b.await("document.querySelector('#scene .client.paused').dataset.client === 'client1' && document.querySelector('#scene .client.waits')")
	b.turn(5)
	want := "client1: lock,client2: queue,gcsim: pause client1,etcd: await expiry of client1,client2: lock within 10s"
	if got := b.get("[...document.querySelectorAll('#steps code')].map(c => c.textContent)"); got != want {
		t.Errorf("the steps are %s, want %s", got, want)
	}
	b.click("#back")
	b.await("document.getElementById('world').dataset.steps === '1' && document.querySelector('button.next')?.dataset.step === 'client1: begin write key0=from-client-1'")
	b.clean()
}

// TestPageSaysWhatIsWrong: where the hand is, in red.
func TestPageSaysWhatIsWrong(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	b.click("#begin")
	b.turn(0)
	b.get("(e => { e.dataset.step = 'client2: finish'; e.click() })(document.querySelector('#scene [data-client=client2] .acts button'))")
	const trouble = "document.querySelector('#scene [data-client=client2] .trouble')"
	b.await(trouble + ".checkVisibility() && " + trouble + ".textContent.includes('client2 has begun nothing here')")
	if got := b.get("getComputedStyle(" + trouble + ").color"); got != "rgb(207, 34, 46)" {
		t.Errorf("it is said in %s", got)
	}
	b.clean()
}

// TestPageDoubleClick: it begins one world, and is one step.
func TestPageDoubleClick(t *testing.T) {
	o := options(t)
	o.Worlds = 1
	s := open(t, o)
	b := browse(t, s.URL, desktop)
	b.await("!document.getElementById('begin').disabled")
	b.get("(e => { e.click(); e.click() })(document.getElementById('begin'))")
	b.turn(0)
	b.await("document.getElementById('begin-trouble').textContent === ''")
	b.click("#scene [data-client=client1] .acts .next")
	b.turn(1)
	b.get("document.querySelector('#scene [data-client=client1] .more').open = true")
	read := chromedp.CSS(step("client1: read key0"))
	b.do(chromedp.Click(read), chromedp.DoubleClick(read)) // the second one is the second click of a double click
	b.turn(2)
	b.click("#scene [data-client=client1] .acts button")
	b.turn(3)
	if got := b.get("document.querySelectorAll('#steps li').length"); got != "3" {
		t.Errorf("it has done %s steps, want 3", got)
	}
	b.clean()
}

// TestPageChallenges: each challenge is solved by the solution that the page offers.
func TestPageChallenges(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	for _, c := range serve.Challenges {
		b.click("#challenges summary")
		b.click("[data-challenge=" + c.ID + "]")
		b.await(fmt.Sprintf("document.getElementById('title').textContent === %q", "Challenge: "+c.Title))
		b.turn(0)
		b.click("#challenge details:last-of-type summary")
		b.click("#solution")
		b.click("#rest")
		b.await("document.getElementById('solved').checkVisibility()")
		b.turn(8)
		b.picture("challenge-" + c.ID)
	}
	b.clean()
}

// TestPageForks: going back to before a step tells the story anew until there.
func TestPageForks(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, desktop)
	b.playMainStory(b.click)
	before := b.get("location.pathname")
	b.click("#told summary")
	b.click("[data-back='4']")
	b.await("location.pathname !== " + fmt.Sprintf("%q", before))
	b.turn(4)
	b.await("document.querySelector('button.next')?.dataset.step === 'client2: lock'")
	b.clean()
}

// TestPageReconnects: when gcsim is gone the page says so, and when gcsim is there again
// the page tells the story anew and says that, too.
func TestPageReconnects(t *testing.T) {
	need.Program(t, "chromium", "to show the page")
	o := options(t)
	first := open(t, o)
	address := strings.TrimPrefix(first.URL, "http://")
	b := browse(t, first.URL, desktop)
	b.playMainStory(b.click)
	steps := b.get("document.getElementById('steps').textContent")
	first.Close()
	first.http.Close()
	b.await("document.getElementById('message').textContent.includes('gcsim does not answer')")

	again := serve.New(o)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: again}
	go server.Serve(listener) // it ends with Close
	t.Cleanup(func() { again.Close(); server.Close() })
	b.await("document.getElementById('message').textContent.includes('told anew')")
	b.turn(8)
	if got := b.get("document.getElementById('steps').textContent"); got != steps {
		t.Errorf("told anew: %q, before: %q", got, steps)
	}
	b.await("document.getElementById('pill').textContent === '" + history.Corrupted + "'")
	b.clean()
}

// TestPageChangesItsLook: dark where the system is light, by the button.
func TestPageChangesItsLook(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, phone)
	b.click("#theme")
	if got := b.get("getComputedStyle(document.body).backgroundColor"); got != "rgb(13, 17, 23)" {
		t.Errorf("the dark page is %s", got)
	}
	b.clean()
}
