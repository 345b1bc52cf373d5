package main

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// TestSlides: nothing of a slide is cut, each picture is there, and axe-core finds nothing wrong.
func TestSlides(t *testing.T) {
	ctx := browsertest.Start(t, 1280, 720)
	page, err := filepath.Abs("../../../" + docs.Slides)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 720), chromedp.Navigate("file://"+page)); err != nil {
		t.Fatal(err)
	}
	says := func(what, want, script string) {
		t.Helper()
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => String("+script+"))()", chromedp.EvalAwaitPromise))
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	says("slides that are cut", "", `[...document.querySelectorAll("section")].filter(s => s.scrollHeight > s.clientHeight + 1).map(s => s.id)`)
	says("their form", "1280x720", `(r => Math.round(r.width) + "x" + Math.round(r.height))(document.querySelector("section").getBoundingClientRect())`)
	says("prose in the place of code", "", `[...document.querySelectorAll(".run > code")].map(c => c.textContent).filter(c => !c.startsWith("gcsim "))`)
	says("pictures that are not there", "", `(await Promise.all([...document.querySelectorAll("image")].map(i => new Promise(done => {
		const img = new Image(); img.onload = () => done(""); img.onerror = () => done(i.href.baseVal); img.src = i.href.baseVal }))) ).filter(Boolean)`)
	note := `getComputedStyle(document.querySelector("#lesson-1 + .note")).display`
	says("a note before the key N", "none", note)
	says("slides without a note", "", `[...document.querySelectorAll("section")].filter(s => !s.nextElementSibling?.matches(".note") || !s.nextElementSibling.textContent).map(s => s.id)`)
	if err := chromedp.Do(ctx, chromedp.KeyEvent("n")); err != nil {
		t.Fatal(err)
	}
	says("a note after it", "block", note)
	says("slides that are cut beside notes", "", `[...document.querySelectorAll("section, .note")].filter(s => s.scrollHeight > s.clientHeight + 1).map(s => s.id)`)
	if wrong := browsertest.Wrong(t, ctx); wrong != "" {
		t.Error(wrong)
	}
	if err := chromedp.Do(ctx, chromedp.KeyEvent("n"), chromedp.EmulateViewport(390, 844)); err != nil {
		t.Fatal(err)
	}
	says("how far a phone scrolls to the side", "0", "document.documentElement.scrollWidth - innerWidth")
	says("what is too small on a phone", "", `[...document.querySelectorAll("section p")].filter(p => parseFloat(getComputedStyle(p).fontSize) < 16).map(p => p.textContent)`)
	says("pictures that a phone shows too small", "", `[...document.querySelectorAll("svg")].filter(s => s.checkVisibility() && s.getBoundingClientRect().width < .9 * s.viewBox.baseVal.width).map(s => s.parentElement.id)`)
}
