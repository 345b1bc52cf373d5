package serve_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/serve"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// tab is a page in a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string // what the page's script failed with, or wrote as an error
}

// pageTimeout is how long a page may take for what is awaited.
const pageTimeout = 3 * time.Minute

// browse opens an address in a browser of its own, with a window of that width.
func browse(t *testing.T, url string, width int) *tab {
	t.Helper()
	chromium := need.Program(t, "chromium", "to show the page")
	dir := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(dir), chromedp.Env("TMPDIR="+dir), chromedp.WindowSize(width, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return newTab(t, ctx, url)
}

// another is a further tab of the browser.
func (b *tab) another(url string) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	return newTab(b.t, ctx, url)
}

// newTab opens an address. The context of the first action is that of the tab, and ends it.
func newTab(t *testing.T, ctx context.Context, url string) *tab {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx}
	b.listen()
	b.do(chromedp.Navigate(url))
	return b
}

// listen keeps what goes wrong in the page.
func (b *tab) listen() {
	keep := func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, text)
	}
	exceptions := chromedp.Events(b.ctx, runtime.ExceptionThrown)
	calls := chromedp.Events(b.ctx, runtime.ConsoleAPICalled)
	go func() {
		for e, err := range exceptions {
			if err != nil {
				return
			}
			keep(fmt.Sprintf("%+v", e.ExceptionDetails))
		}
	}()
	go func() {
		for e, err := range calls {
			if err != nil {
				return
			}
			if e.Type == "error" || e.Type == "warning" {
				keep(fmt.Sprintf("console.%s", e.Type))
			}
		}
	}()
}

// clean wants a page in which nothing went wrong.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.errors {
		b.t.Error(text)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// click clicks on what a selector finds, as soon as it can be clicked on: once more if the page has made that anew meanwhile.
func (b *tab) click(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	for {
		b.await(fmt.Sprintf("(e => e && !e.disabled && e.checkVisibility())(document.querySelector(%q))", selector))
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector)))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "Could not find node") {
			b.t.Fatal(err)
		}
	}
}

// focus puts the focus on what a selector finds.
func (b *tab) focus(selector string) {
	b.t.Helper()
	b.await(fmt.Sprintf("(e => e && (e.focus(), document.activeElement === e))(document.querySelector(%q))", selector))
}

// await waits until an expression is true in the page.
func (b *tab) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		switch {
		case err == nil && is:
			return
		case ctx.Err() != nil:
			b.t.Fatalf("waiting for %s: %v; the page says\n%s", expression, err, b.get("document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond) // from one look to the next; a page that is just loaded may not answer
	}
}

// get is the text that an expression is in the page.
func (b *tab) get(expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// picture keeps one for who looks at it.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("FENCELAB_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o666)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// turn waits until the world waits for a step, so many are done, and the picture shows
// them: before that, what is below the picture moves away from who clicks on it.
func (b *tab) turn(steps int) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.getElementById('world').dataset.phase === 'waiting' && document.querySelectorAll('#steps li').length >= %d"+
		" && document.getElementById('picture').dataset.events === document.getElementById('slider').max", steps))
}

func step(line string) string { return fmt.Sprintf("[data-step=%q]", line) }

// playMainStory plays the main story by clicks.
func (b *tab) playMainStory() {
	b.t.Helper()
	b.click("#begin")
	b.turn(0)
	b.click(step("client1: lock within 10s"))
	b.turn(1)
	b.click(step("client1: begin write key0=client1-1"))
	b.turn(2)
	b.click("[data-stop=client1]")
	b.await("document.querySelector('[data-client=client1]').innerText.includes('It believes that it holds the lock, and does not.')")
	b.turn(4)
	b.click(step("client2: lock within 10s"))
	b.turn(5)
	b.click(step("client2: write key0=client2-1"))
	b.turn(6)
	if got := b.get("document.getElementById('verdict').innerText"); got != "Verdict so far: safe" {
		b.t.Errorf("before client1 goes on: %q", got)
	}
	b.click("[data-stop=client1]")
	b.turn(7)
	b.click(step("client1: finish"))
	b.turn(8)
}

// TestPageMainStory: the main story by clicks, its verdict, the slider, a second page on
// the same world, and the end.
func TestPageMainStory(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, 1200)
	b.picture("begin-1200")
	b.playMainStory()
	if got := b.get("document.getElementById('verdict').innerText"); got != "Verdict so far: corrupted" {
		t.Errorf("after client1 has written: %q", got)
	}
	const drawn = "document.getElementById('picture').dataset.events"
	const slider = "document.getElementById('slider')"
	b.await(drawn + " === " + slider + ".max && document.querySelector('#picture .wide').textContent.includes('CORRUPTED')")
	b.picture("corrupted-1200")

	b.focus("#slider")
	b.do(chromedp.KeyEvent(kb.Home))
	b.await(slider + ".value === '1' && " + drawn + " === '1'")
	for _, want := range []int{2, 3, 4} {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.await(fmt.Sprintf("%s === '%d'", drawn, want))
	}
	if text := b.get("document.querySelector('#picture .wide').textContent"); strings.Contains(text, "CORRUPTED") || !strings.Contains(text, "client1") {
		t.Errorf("the picture of the first events: %s", text)
	}
	b.click("#now")
	b.await(drawn + " === " + slider + ".max")

	other := b.another(b.get("location.href"))
	other.turn(8)
	if mine, theirs := b.get("document.getElementById('steps').innerText"), other.get("document.getElementById('steps').innerText"); mine != theirs {
		t.Errorf("two pages on one world show %q and %q", mine, theirs)
	}
	other.click(step("client2: read key0"))
	b.turn(9)
	other.clean()

	b.click("#end")
	b.await("document.getElementById('world').dataset.phase === 'over'")
	b.await("document.getElementById('verdict').innerText === 'Verdict: corrupted'")
	b.picture("over-1200")

	before := b.get("location.pathname")
	b.click("#fenced")
	b.await("location.pathname !== " + fmt.Sprintf("%q", before))
	b.turn(0)
	b.click("#rest")
	b.turn(9)
	b.await("document.getElementById('verdict').innerText === 'Verdict so far: safe'")
	b.await(`/key0=\S+, by client2; the mark of .lock is \d+/.test(document.getElementById('storage').textContent)`)
	b.await("!document.getElementById('again').checkVisibility()")
	b.clean()
}

// TestPageChallenges: each challenge is solved by the solution that the page offers.
func TestPageChallenges(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, 1200)
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
	b := browse(t, s.URL, 1200)
	b.playMainStory()
	before := b.get("location.pathname")
	b.click("#told summary")
	b.click("[data-key='back 4']")
	b.await("location.pathname !== " + fmt.Sprintf("%q", before))
	b.turn(4)
	if got := b.get("document.getElementById('next').textContent"); got != "Next: client2: lock within 10s" {
		t.Errorf("the plan is %q", got)
	}
	b.click(step("client2: read key0"))
	b.turn(5)
	b.await("document.getElementById('plan').hidden && document.getElementById('phase').textContent.includes('no plan any more')")
	b.clean()
}

// TestPageReconnects: when gcsim is gone the page says so, and when gcsim is there again
// the page tells the story anew and says that, too.
func TestPageReconnects(t *testing.T) {
	need.Program(t, "chromium", "to show the page")
	o := options(t)
	first := open(t, o)
	address := strings.TrimPrefix(first.URL, "http://")
	b := browse(t, first.URL, 1200)
	b.playMainStory()
	steps := b.get("document.getElementById('steps').innerText")
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
	if got := b.get("document.getElementById('steps').innerText"); got != steps {
		t.Errorf("told anew: %q, before: %q", got, steps)
	}
	b.await("document.getElementById('verdict').innerText.includes('" + history.Corrupted + "')")
	b.clean()
}

// TestPageOnPhone: on a narrow screen nothing is wider than the screen, everything that
// can be used has a name, and the keyboard reaches the big button.
func TestPageOnPhone(t *testing.T) {
	s := open(t, options(t))
	b := browse(t, s.URL, 390)
	b.do(chromedp.EmulateViewport(390, 800))
	b.picture("begin-390")
	b.playMainStory()
	b.await("document.querySelector('#picture .narrow')?.checkVisibility() && !document.querySelector('#picture .wide').checkVisibility()")
	b.picture("corrupted-390")
	if got := b.get("document.documentElement.scrollWidth"); got != "390" {
		t.Errorf("the page is %s wide on a screen of 390", got)
	}
	const nameless = `[...document.querySelectorAll('button, input, select, meter, a[href]')].filter(e => !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).map(e => e.outerHTML).join('\n')`
	if got := b.get(nameless); got != "" {
		t.Errorf("these have no name:\n%s", got)
	}
	b.click("#theme")
	if got := b.get("getComputedStyle(document.body).backgroundColor"); got != "rgb(13, 17, 23)" {
		t.Errorf("the dark page is %s", got)
	}
	b.picture("dark-390")
	b.focus("[data-stop=client2]")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.turn(9)
	b.await("document.activeElement.dataset.stop === 'client2' && document.activeElement.textContent === 'GO ON'")
	b.clean()
}
