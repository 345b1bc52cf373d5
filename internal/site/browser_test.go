package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// tab is a page in a browser.
type tab struct {
	*testing.T
	ctx  context.Context
	site string // its address
}

// browse starts a browser, and serves the site below an address of several parts.
func browse(t *testing.T) *tab {
	t.Helper()
	built(t)
	server := httptest.NewServer(http.StripPrefix("/x/y", http.FileServer(http.Dir(root))))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(browsertest.Start(t, 1400, 900), 3*time.Minute)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	return &tab{t, ctx, server.URL + "/x/y/"}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// says wants an expression in the page to be a text.
func (b *tab) says(what, want, expression string) {
	b.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("(async () => String("+expression+"))()", chromedp.EvalAwaitPromise))
	if err != nil || got != want {
		b.Errorf("%s: %q, %v, want %q", what, got, err, want)
	}
}

// picture keeps one for who looks at it.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("FENCELAB_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o666)
	}
	if err != nil {
		b.Error(err)
	}
}

// kinds is a page of each kind.
var kinds = []string{
	"index.html", "readme.html", "docs/01-gc-pause.html", "docs/index.html", "docs/locks.html", "docs/performance.html",
	"docs/course/lesson-01.html", "docs/course/slides.html", "search.html?q=watchdog",
}

// TestKindsOfPages: on a desktop and a phone, dark and light, axe-core finds nothing wrong, nothing scrolls to the side
// but what is wide by itself, and no picture is missing.
func TestKindsOfPages(t *testing.T) {
	b := browse(t)
	for _, kind := range kinds {
		b.do(chromedp.Navigate(b.site + kind))
		for _, width := range []int64{1400, 390} {
			for _, dark := range []bool{false, true} {
				b.do(chromedp.EmulateViewport(width, 900), browsertest.Prefers(dark, true))
				where := fmt.Sprintf("%s, %d, dark %t", kind, width, dark)
				if wrong := browsertest.Wrong(b, b.ctx); wrong != "" {
					b.Errorf("%s: axe-core finds\n%s", where, wrong)
				}
				b.says(where+": how far it scrolls to the side", "0", "document.documentElement.scrollWidth - innerWidth")
				b.says(where+": the style is there", "true", `getComputedStyle(document.body).margin === "0px"`)
				b.says(where+": missing pictures", "", `[...document.images].filter(i => i.complete && !i.naturalWidth && i.loading !== "lazy").map(i => i.currentSrc)`)
				b.picture(fmt.Sprintf("%s-%d-%t", strings.NewReplacer("/", "-", "?", "-").Replace(kind), width, dark))
			}
		}
	}
}

// TestSearch: by the keyboard alone somebody finds a word from any page, and says so where there is none. The site does
// the same where it is opened from the disk.
func TestSearch(t *testing.T) {
	b := browse(t)
	for _, site := range []string{b.site, "file://" + root + "/"} {
		b.do(chromedp.Navigate(site+"docs/locks.html"), chromedp.KeyEvent("/"))
		b.do(chromedp.KeyEvent("watchdog\r"))
		b.await(`location.pathname.endsWith("/search.html") && document.querySelectorAll("#results a").length > 3`)
		b.says("the number of results", "true", `document.getElementById("said").textContent.endsWith("places for watchdog.")`)
		b.says("the first result has the word", "true", `/watchdog/i.test(document.querySelector("#results li").textContent)`)
		b.do(chromedp.Focus(chromedp.CSS("input[type=search]")), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent("\r"))
		b.await(`document.querySelector("main h1") && !location.pathname.endsWith("/search.html")`)
		b.says("the page that it leads to has the word", "true", `/watchdog/i.test(document.body.textContent)`)
		b.do(chromedp.Navigate(site + "search.html?q=zzyzx"))
		b.says("nothing is found", "Nothing is found for zzyzx. Try another word, or fewer.", `document.getElementById("said").textContent`)
	}
}

// await waits until an expression is true in the page.
func (b *tab) await(expression string) {
	b.Helper()
	for {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && is {
			return
		}
		if b.ctx.Err() != nil {
			b.Fatalf("waiting for %s: %v", expression, err)
		}
		time.Sleep(20 * time.Millisecond) // from one look to the next; a page that is just loaded may not answer
	}
}
