// Package browsertest is for tests of pages in a real browser.
package browsertest

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// Start starts a browser, which ends with the test. The first action with its context is that of a first tab, and
// ends it.
func Start(t testing.TB, width, height int) context.Context {
	t.Helper()
	chromium := need.Program(t, "chromium", "to show the page")
	dir, err := os.MkdirTemp("", "") // its path is short: the browser has a socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(dir), chromedp.Env("TMPDIR="+dir), chromedp.WindowSize(width, height))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// prefers tells pages what a screen's owner wants: dark colours, no motion.
func prefers(dark, still bool) chromedp.Action[chromedp.Void] {
	scheme, motion := "light", "no-preference"
	if dark {
		scheme = "dark"
	}
	if still {
		motion = "reduce"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
}

// Wrong is what axe-core finds wrong with a page; "" is nothing. It looks at the page as the page is now, with the
// colours that the browser's settings ask for, and also at what a finger can hit (WCAG 2.2, 2.5.8).
func Wrong(t testing.TB, ctx context.Context) string {
	t.Helper()
	script := need.Axe(t, "to look for what shuts people out of the page")
	const found = `(async () => (await axe.run({rules: {"target-size": {enabled: true}}})).violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join("; ")).join("\n"))()`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String((() => {"+script+"})())")); err != nil {
		t.Fatal(err)
	}
	wrong, err := chromedp.Run(ctx, chromedp.Evaluate[string](found, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}
