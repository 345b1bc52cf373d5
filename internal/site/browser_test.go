package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// served is the address of the site, in several parts.
func served(t *testing.T) string {
	t.Helper()
	built(t)
	server := httptest.NewServer(http.StripPrefix("/x/y", http.FileServer(http.Dir(root))))
	t.Cleanup(server.Close)
	return server.URL + "/x/y/"
}

// kinds is a page of each kind. The stage has tests of its own.
var kinds = []string{
	"index.html", "docs/01-gc-pause.html", "docs/index.html", "docs/locks.html", "docs/serve.html", "docs/course/lesson-01.html",
	"docs/course/slides.html", "search.html?q=watchdog",
}

// TestKindsOfPages: on a desktop and a phone, dark and light, axe-core finds nothing wrong, nothing scrolls to the side
// but what is wide by itself, and no picture is missing. No page asks another site for anything.
func TestKindsOfPages(t *testing.T) {
	site := served(t)
	b := browsertest.Open(t, site, browsertest.Desktop)
	for _, kind := range kinds {
		b.Do(chromedp.Navigate(site + kind))
		for _, on := range []browsertest.Screen{browsertest.Desktop, browsertest.Phone, browsertest.Desktop.Night(), browsertest.Phone.Night()} {
			b.Show(on)
			where := fmt.Sprintf("%s, %s", kind, on)
			b.Accessible(where)
			says := func(what, want, expression string) {
				t.Helper()
				if got := b.Get(expression); got != want {
					t.Errorf("%s: %s: %s, want %q", where, what, got, want)
				}
			}
			says("how far it scrolls to the side", "0", "document.documentElement.scrollWidth - innerWidth")
			says("the style is there", "0px", "getComputedStyle(document.body).margin")
			says("missing pictures", "", `[...document.images].filter(i => i.complete && !i.naturalWidth && i.loading !== "lazy").map(i => i.currentSrc)`)
			b.Picture(strings.NewReplacer("/", "-", "?", "-", " ", "-", ",", "").Replace(where))
		}
	}
	b.Clean()
	for _, address := range b.Requests() {
		icon := strings.HasSuffix(address, "/favicon.ico") // the slides have none, and the browser looks for one
		if !strings.HasPrefix(address, site) && address != "about:blank" && !icon {
			t.Errorf("a page asked for %s", address)
		}
	}
}

// TestPhone: on a phone the list of all pages is one click away at the top of a page, a table of three columns is as wide
// as the page, and a swipe turns the slides, each of which is one screen.
func TestPhone(t *testing.T) {
	site := served(t)
	b := browsertest.Open(t, site+"docs/index.html", browsertest.Phone)
	const cell = `document.querySelector("td[data-head='what helps']")`
	if got := b.Get(cell + ".clientWidth > 300 && getComputedStyle(" + cell + `, "::before").content`); got != `"what helps: "` {
		t.Errorf("the cell of what helps is narrow, or does not say what it is: %s", got)
	}
	const close = `[...document.querySelectorAll("body > header nav a")].filter((a, i, all) => ((r, next) =>
		r.height < 24 || next && next.top < r.bottom && next.left - r.right < 12)(a.getBoundingClientRect(), all[i + 1]?.getBoundingClientRect())).map(a => a.textContent)`
	if got := b.Get(close); got != "" {
		t.Errorf("a finger misses %s: it is small, or the next one is close", got)
	}
	b.Click(".pages")
	b.Await(`document.querySelector("#pages [aria-current]").checkVisibility()`)
	b.Accessible("the list of all pages")
	b.Picture("pages-390")
	b.Click(`#pages a[href="07-read-before-fence.html"]`)
	b.Await(`location.pathname.endsWith("/07-read-before-fence.html") && !document.querySelector(".side").checkVisibility()`)
	b.Do(chromedp.Navigate(site + "docs/course/slides.html"))
	if got := b.Get("document.documentElement.scrollHeight"); got != "844" {
		t.Errorf("the slides are %s high", got)
	}
	const at = "[...document.querySelectorAll('section')].findIndex(s => Math.abs(s.getBoundingClientRect().left) < 1)"
	for _, next := range []string{"1", "2"} {
		b.Get("(document.querySelector('main').scrollBy(350, 0), 0)") // a swipe that ends short of the slide
		b.Await(at + " === " + next)
	}
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.Await(at + " === 3")
	b.Do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	b.Await(at + " === 1")
	b.Accessible("slides side by side")
	b.Clean()
}

// TestSearch: by the keyboard alone somebody finds a word from any page, and is told where there is none. The site does
// the same where it is opened from the disk.
func TestSearch(t *testing.T) {
	b := browsertest.Open(t, "about:blank", browsertest.Desktop)
	for _, site := range []string{served(t), "file://" + root + "/"} {
		b.Do(chromedp.Navigate(site+"docs/locks.html"), chromedp.KeyEvent("/"), chromedp.KeyEvent("watchdog\r"))
		b.Await(`location.pathname.endsWith("/search.html") && document.querySelectorAll("#results a").length > 3`)
		if got := b.Get(`document.getElementById("said").textContent`); !strings.HasSuffix(got, "places for watchdog.") {
			t.Errorf("the search says %q", got)
		}
		if got := b.Get(`document.querySelector("#results li").textContent`); !strings.Contains(strings.ToLower(got), "watchdog") {
			t.Errorf("the first result is %q", got)
		}
		b.Focus("input[type=search]")
		b.Do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent("\r"))
		b.Await(`document.querySelector("main h1") && !location.pathname.endsWith("/search.html") && /watchdog/i.test(document.body.textContent)`)
		b.Do(chromedp.Navigate(site + "search.html?q=watchdog+zzyzx"))
		if got := b.Get(`document.getElementById("said").textContent`); got != "Nothing is found for watchdog zzyzx. Try another word, or fewer." {
			t.Errorf("of two words, one of which is nowhere, the search says %q", got)
		}
	}
}
