package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Tab is a page in a real browser.
type Tab struct {
	testing.TB
	ctx context.Context
	Screen

	mu       sync.Mutex
	errors   []string // what the page's script failed with, or wrote as an error
	requests []string
}

// pageTimeout is how long a page may take for what is awaited.
const pageTimeout = 3 * time.Minute

// Screen is what a page is shown on.
type Screen struct {
	Width, Height int64
	Dark, Still   bool // what its owner wants
}

var (
	Desktop = Screen{Width: 1400, Height: 900}
	Phone   = Screen{Width: 390, Height: 844}
)

// Night is the screen of somebody who wants it dark, and nothing that moves.
func (s Screen) Night() Screen {
	s.Dark, s.Still = true, true
	return s
}

func (s Screen) String() string {
	name := fmt.Sprint(s.Width)
	if s.Dark {
		name += " dark"
	}
	return name
}

// Open opens an address in a browser of its own.
func Open(t testing.TB, url string, on Screen) *Tab {
	t.Helper()
	return newTab(t, Start(t, int(on.Width), int(on.Height)), url, on)
}

// Another is a further tab of the browser.
func (b *Tab) Another(url string) *Tab {
	b.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.Cleanup(cancel)
	return newTab(b.TB, ctx, url, b.Screen)
}

// newTab opens an address. A tab ends with the context of its first action, so this action has no time limit.
func newTab(t testing.TB, ctx context.Context, url string, on Screen) *Tab {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	b := &Tab{TB: t, ctx: ctx}
	b.listen()
	b.Show(on)
	b.Do(chromedp.Navigate(url))
	return b
}

// Show has the page be on a screen.
func (b *Tab) Show(on Screen) {
	b.Helper()
	b.Screen = on
	b.Do(chromedp.EmulateViewport(on.Width, on.Height), prefers(on.Dark, on.Still))
}

// listen keeps what goes wrong in the page.
func (b *Tab) listen() {
	keep := func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, text)
	}
	each(b.ctx, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) { keep(fmt.Sprintf("%+v", e.ExceptionDetails)) })
	each(b.ctx, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		if e.Type == "error" || e.Type == "warning" {
			keep(fmt.Sprintf("console.%s", e.Type))
		}
	})
	each(b.ctx, log.EntryAdded, func(e log.EventEntryAdded) {
		if e.Entry.Source == "security" { // what the page's policy forbids
			keep(e.Entry.Text)
		}
	})
	each(b.ctx, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.requests = append(b.requests, e.Request.URL)
	})
}

// each hears of all events of a kind, until the tab is closed.
func each[E any](ctx context.Context, kind cdp.Event[E], hear func(E)) {
	events := chromedp.Events(ctx, kind)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			hear(e)
		}
	}()
}

// Requests are the addresses that the page has asked for so far.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// Clean wants a page in which nothing went wrong.
func (b *Tab) Clean() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.errors {
		b.Error(text)
	}
}

func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// Click clicks on what a selector finds, as soon as it can be clicked on: once more if the page has made that anew meanwhile.
func (b *Tab) Click(selector string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	for {
		b.Await(fmt.Sprintf("(e => e && !e.disabled && e.ariaDisabled !== 'true' && e.checkVisibility())(document.querySelector(%q))", selector))
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector)))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "Could not find node") {
			b.Fatal(err)
		}
	}
}

// Press goes by the Tab key to what a selector finds, and presses Enter there. The focus must not fall away by that.
func (b *Tab) Press(selector string) {
	b.Helper()
	there := fmt.Sprintf("document.activeElement.matches(%q)", selector)
	for range 60 {
		if b.Get(there) == "true" {
			break
		}
		b.Do(chromedp.KeyEvent(kb.Tab))
	}
	b.Await(there)
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Await("document.activeElement !== document.body")
}

// Focus puts the focus on what a selector finds.
func (b *Tab) Focus(selector string) {
	b.Helper()
	b.Await(fmt.Sprintf("(e => e && (e.focus(), document.activeElement === e))(document.querySelector(%q))", selector))
}

// Await waits until an expression is true in the page.
func (b *Tab) Await(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		switch {
		case err == nil && is:
			return
		case ctx.Err() != nil:
			b.Fatalf("waiting for %s: %v; the page says\n%s", expression, err, b.Get("document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond) // from one look to the next; a page that is just loaded may not answer
	}
}

// Get is the text that an expression is in the page.
func (b *Tab) Get(expression string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return text
}

// Picture keeps one for who looks at it.
func (b *Tab) Picture(name string) {
	b.Helper()
	dir := os.Getenv("FENCELAB_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o666)
	}
	if err != nil {
		b.Error(err)
	}
}

// Accessible wants nothing on the page that axe-core finds wrong, or on a phone a field whose text is so small that the
// phone makes the whole page larger when somebody writes there.
func (b *Tab) Accessible(where string) {
	b.Helper()
	if wrong := Wrong(b.TB, b.ctx); wrong != "" {
		b.Errorf("%s: axe-core finds\n%s", where, wrong)
	}
	const small = "[...document.querySelectorAll('select, textarea, input:not([type=range])')].filter(e => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 16).map(e => e.outerHTML).join('; ')"
	if fields := b.Get(small); b.Width == Phone.Width && fields != "" {
		b.Errorf("%s: a phone zooms in to %s", where, fields)
	}
}

// InView wants parts of the page to be on the screen, without scrolling.
func (b *Tab) InView(ids ...string) {
	b.Helper()
	for _, id := range ids {
		const where = "(r => [scrollY, r.top >= 0, r.bottom <= innerHeight, r.left >= 0, r.right <= innerWidth, r.height > 0].join())(document.getElementById(%q).getBoundingClientRect())"
		if got := b.Get(fmt.Sprintf(where, id)); got != "0,true,true,true,true,true" {
			b.Errorf("%s is not in view: %s", id, got)
		}
	}
}
