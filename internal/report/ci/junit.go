package ci

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/report/story"
)

type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element
}

// newElement returns an element without text, with attributes by turns of name and value.
func newElement(name string, attributes ...any) element {
	e := element{XMLName: xml.Name{Local: name}}
	for i := 0; i < len(attributes); i += 2 {
		e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: fmt.Sprint(attributes[i])}, Value: fmt.Sprint(attributes[i+1])})
	}
	return e
}

// JUnit writes what came of runs as JUnit's XML: a test suite per scenario, with
// its lock service as the package, and a test case per run. A run that did not come out as expected is a failure,
// one that could not be made, or that is undecided, an error. Where all were left out each is an error, as nothing
// was run. A message is the first sentence of the text below it. What XML cannot hold is replaced by U+FFFD.
//
// The format has no owner. This is the part on which the schemas agree that are in
// use, those of Apache Ant's task (windyroad/JUnit-Schema) and of Jenkins' xUnit
// plugin (junit-10.xsd): all of Ant's required elements and attributes, in its
// order, and nothing that one of the two does not know.
func JUnit(w io.Writer, results []story.Result) error {
	if story.CountOf(results).Runs == 0 {
		results = slices.Clone(results)
		for i, r := range results {
			results[i].Err, results[i].Skipped = errors.New("nothing was run: "+r.Skipped), ""
		}
	}
	suites := newElement("testsuites")
	for i, of := range story.Grouped(results, story.OfScenario) {
		suites.Children = append(suites.Children, newSuite(i, of))
	}
	b, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("report: JUnit: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, b); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func newSuite(id int, results []story.Result) element {
	properties := newElement("properties")
	property := func(name string, value any) {
		properties.Children = append(properties.Children, newElement("property", "name", name, "value", value))
	}
	property("title", results[0].Title)
	var cases []element
	var began time.Time
	var took time.Duration
	out := newElement("system-out")
	for _, r := range results {
		if began.IsZero() || !r.Began.IsZero() && r.Began.Before(began) {
			began = r.Began
		}
		took += r.Took
		cases = append(cases, newCase(r))
		out.Text += fmt.Sprintf("%s: %s\n", r.Name(), r.Said())
		if seed := r.Run().Seed; seed != 0 {
			property("seed of "+r.Name(), seed)
		}
	}
	c := story.CountOf(results)
	s := newElement("testsuite", "id", id, "package", cmp.Or(results[0].Service, "gcsim"), "name", results[0].Scenario, "hostname", "localhost",
		"timestamp", began.UTC().Format("2006-01-02T15:04:05"), "tests", len(results), "failures", c.Differ+c.Harmed, "errors", c.Cannot+c.Open,
		"skipped", c.Skipped, "time", junitTime(took))
	s.Children = append(append([]element{properties}, cases...), out, newElement("system-err"))
	return s
}

func newCase(r story.Result) element {
	c := newElement("testcase", "classname", strings.TrimPrefix(r.Service+"."+r.Scenario, "."), "name", r.Part(), "time", junitTime(r.Took))
	kind, what := "failure", "not as expected"
	switch {
	case r.Expected():
		return c
	case r.Skipped != "":
		c.Children = []element{newElement("skipped", "message", r.Skipped)}
		return c
	case r.Err != nil || r.Outcome.Open:
		kind, what = "error", r.Said()
	case r.Outcome.Free:
		what = r.Outcome.Name
	}
	text := strings.Join(r.Reasons(), "\n")
	line, _, _ := strings.Cut(text, "\n")
	sentence, _, _ := strings.Cut(line, ". ")
	end := newElement(kind, "type", what, "message", sentence)
	end.Text = text
	for _, v := range r.Outcome.Violations {
		end.Text += "\nviolation: " + v.Text
	}
	c.Children = []element{end}
	return c
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
