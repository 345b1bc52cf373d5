package report

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/tools/browsertest"
)

// TestIndexInABrowser: the page opens from the disk, finds scenarios by words and by what came of
// them, and loads pictures when somebody asks for them: the narrow form on a phone.
func TestIndexInABrowser(t *testing.T) {
	dir := t.TempDir()
	list := results(t)
	keep := func(name string, write func(io.Writer) error) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := write(f); err != nil {
			t.Fatal(err)
		}
	}
	keep("index.html", func(w io.Writer) error { return page.Index(w, list, chapter) })
	for _, r := range list[:2] {
		keep(filepath.Join(r.Dir(), "timeline.svg"), func(w io.Writer) error { return svg.Write(w, svg.Wide, r.Drawing()) })
		keep(filepath.Join(r.Dir(), "timeline-narrow.svg"), func(w io.Writer) error { return svg.Write(w, svg.Narrow, r.Drawing()) })
	}
	for name, width := range map[string]int{"timeline.svg": 1200, "timeline-narrow.svg": 600} {
		ctx, cancel := context.WithTimeout(browsertest.Start(t, width, 900), time.Minute)
		defer cancel()
		if err := chromedp.Do(ctx, chromedp.Navigate("file://"+dir+"/index.html")); err != nil {
			t.Fatal(err)
		}
		says := func(want, script string) {
			t.Helper()
			got, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => {"+script+"})()", chromedp.EvalAwaitPromise))
			if err != nil || got != want {
				t.Errorf("got %q, %v, want %q from %s", got, err, want, script)
			}
		}
		const ask = `; form.dispatchEvent(new Event("input")); return form.querySelector("output").textContent + ":" + [...document.querySelectorAll("details")].filter((d) => d.checkVisibility()).map((d) => " " + d.querySelector("small").textContent)`
		says("1 scenario: 01-paused-holder", `search.value = "HOLDER  wakes"`+ask)
		says("0 scenarios:", `search.value = "holder nowhere"`+ask)
		says("3 scenarios: 01-paused-holder, 99-faults, 21-healthy", `search.value = ""; ends.value = "corrupted"`+ask)
		says("1 scenario: 13-leader-paused", `ends.value = "left out"`+ask)
		says("6 scenarios: 01-paused-holder, 99-faults, 07-eight, 21-healthy, 13-leader-paused, 05-lease-id-token", `ends.value = ""`+ask)
		const first = `const first = document.getElementById("s1-1"), picture = first.querySelector("img"); `
		says("not loaded", first+`return picture.currentSrc || "not loaded"`)
		says(name, first+`location.hash = "s1-1"; if (!picture.complete) await new Promise((done) => { picture.onload = picture.onerror = done }); return picture.naturalWidth > 0 && first.open && picture.currentSrc.split("/").pop()`)
	}
}
