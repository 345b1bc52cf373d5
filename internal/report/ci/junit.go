package ci

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
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
// one that could not be made, or that is undecided, an error. What XML cannot hold is replaced by U+FFFD.
//
// The format has no owner. This is the part on which the schemas agree that are in
// use, those of Apache Ant's task (windyroad/JUnit-Schema) and of Jenkins' xUnit
// plugin (junit-10.xsd): all of Ant's required elements and attributes, in its
// order, and nothing that one of the two does not know.
func JUnit(w io.Writer, results []story.Result) error {
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
	var end element
	switch {
	case r.Skipped != "":
		end = newElement("skipped", "message", r.Skipped)
	case r.Err != nil:
		first, _, _ := strings.Cut(r.Err.Error(), "\n")
		end = newElement("error", "type", r.Said(), "message", first)
		end.Text = r.Err.Error()
	case r.Outcome.OK:
		return c
	case r.Outcome.Open:
		end = newElement("error", "type", r.Said(), "message", strings.Join(r.Outcome.Mismatches, "; "))
	default:
		kind := "not as expected"
		if r.Outcome.Free {
			kind = r.Outcome.Name
		}
		end = newElement("failure", "type", kind, "message", strings.Join(r.Outcome.Mismatches, "; "))
		for _, m := range r.Outcome.Mismatches {
			end.Text += fmt.Sprintf("not as expected: %s\n", m)
		}
		for _, v := range r.Outcome.Violations {
			end.Text += fmt.Sprintf("violation: %s\n", v.Text)
		}
	}
	c.Children = []element{end}
	return c
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
