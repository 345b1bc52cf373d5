package report

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

var anyResult = rapid.Custom(func(t *rapid.T) story.Result {
	d := anyDrawing.Draw(t, "drawing")
	r := story.Result{
		Scenario: anyString.Draw(t, "scenario"), Title: anyString.Draw(t, "title"), Variant: anyString.Draw(t, "variant"),
		Round: rapid.IntRange(0, 3).Draw(t, "round"), Took: time.Duration(rapid.Int64().Draw(t, "took")),
		Events: d.Events, Outcome: d.Outcome,
	}
	switch rapid.IntRange(0, 5).Draw(t, "trouble") {
	case 0:
		r.Skipped, r.Events = anyString.Draw(t, "skipped"), nil
	case 1:
		r.Err = errors.New(anyString.Draw(t, "error"))
	}
	return r
})

// elements are those that a page has, whatever is in the histories.
var elements = strings.Fields("html head meta title style body svg g defs pattern rect header h1 small button main a b span p section h2 article h3 figure line path circle text tspan div script code " +
	"nav form input select option output details summary picture source img")

func TestPageIsSafe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfN(anyResult, 1, 2).Draw(rt, "results")
		for _, write := range []write{page.Index, page.Scenario} {
			if err := checkPage(pageOf(t, write, some)); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestPageIsWhole(t *testing.T) {
	for _, write := range []write{page.Index, page.Scenario} {
		if err := checkPage(pageOf(t, write, results(t))); err != nil {
			t.Error(err)
		}
	}
}

// checkPage reports what a page must not have: elements and attributes that a
// history brought in, characters that cannot be printed, addresses elsewhere,
// the same ID twice, or a link to a place that is not there.
func checkPage(page string) error {
	if !utf8.ValidString(page) {
		return errors.New("it is not UTF-8")
	}
	for _, r := range page {
		if unicode.IsControl(r) && r != '\n' {
			return errors.New("it has a control character")
		}
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return err
	}
	var ids, links []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(elements, n.Data) {
			return errors.New("a history brought in <" + n.Data + ">")
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "src") && !strings.HasPrefix(a.Val, "./"):
				return errors.New("a history brought in " + a.Key + "=" + a.Val)
			case a.Key == "id":
				if slices.Contains(ids, a.Val) {
					return errors.New("the ID " + a.Val + " is there twice")
				}
				ids = append(ids, a.Val)
			case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
				links = append(links, a.Val[1:])
			case a.Key == "href" && !strings.HasPrefix(a.Val, "./") && !strings.HasPrefix(a.Val, "../") && !strings.HasPrefix(a.Val, chapters):
				return errors.New("a link elsewhere: " + a.Val)
			}
		}
	}
	for _, link := range links {
		if !slices.Contains(ids, link) {
			return errors.New("a link to #" + link + ", which is nowhere")
		}
	}
	return nil
}
