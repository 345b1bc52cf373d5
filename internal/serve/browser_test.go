package serve_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// tab is a page in a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	screen

	mu     sync.Mutex
	errors []string // what the page's script failed with, or wrote as an error
}

// pageTimeout is how long a page may take for what is awaited.
const pageTimeout = 3 * time.Minute

// screen is what a page is shown on.
type screen struct {
	width, height int64
	dark, still   bool // what its owner wants
}

var (
	desktop = screen{width: 1400, height: 900}
	phone   = screen{width: 390, height: 844}
)

func (s screen) String() string {
	name := fmt.Sprint(s.width)
	if s.dark {
		name += " dark"
	}
	return name
}

// browse opens an address in a browser of its own.
func browse(t *testing.T, url string, on screen) *tab {
	t.Helper()
	return newTab(t, browsertest.Start(t, int(on.width), int(on.height)), url, on)
}

// another is a further tab of the browser.
func (b *tab) another(url string) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	return newTab(b.t, ctx, url, b.screen)
}

// newTab opens an address. The context of the first action is that of the tab, and ends it.
func newTab(t *testing.T, ctx context.Context, url string, on screen) *tab {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, screen: on}
	b.listen()
	b.do(chromedp.EmulateViewport(on.width, on.height), on.emulate(), chromedp.Navigate(url))
	return b
}

// emulate tells the page what the screen's owner wants.
func (s screen) emulate() chromedp.Action[chromedp.Void] {
	scheme, motion := "light", "no-preference"
	if s.dark {
		scheme = "dark"
	}
	if s.still {
		motion = "reduce"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
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
		b.await(fmt.Sprintf("(e => e && !e.disabled && e.ariaDisabled !== 'true' && e.checkVisibility())(document.querySelector(%q))", selector))
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

// turn waits until the world waits for a step, so many are done, and stage and picture show them.
func (b *tab) turn(steps int) {
	b.t.Helper()
	b.await(fmt.Sprintf("(w => w.phase === 'waiting' && w.steps >= %d && document.getElementById('picture').dataset.events === w.events)(document.getElementById('world').dataset)"+
		" && document.getElementById('scene').dataset.frame === document.getElementById('slider').max", steps))
}

// accessible wants nothing on the page that axe-core finds wrong.
func (b *tab) accessible(where string) {
	b.t.Helper()
	if wrong := browsertest.Wrong(b.t, b.ctx); wrong != "" {
		b.t.Errorf("%s: axe-core finds\n%s", where, wrong)
	}
}
