package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/report/story"
)

// The JUnit format has no owner. These types are the part on which the schemas
// agree that are in use, those of Apache Ant's task (windyroad/JUnit-Schema) and
// of Jenkins' xUnit plugin (junit-10.xsd): all of Ant's required elements and
// attributes, in its order, and nothing that one of the two does not know.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID         int             `xml:"id,attr"`
		Package    string          `xml:"package,attr"`
		Name       string          `xml:"name,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // UTC, without a zone
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"` // seconds
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes what came of runs as JUnit's XML: a test suite per scenario, a
// test case per run. A run that did not come out as expected is a failure, one
// that could not be made an error. What XML cannot hold is replaced by U+FFFD.
func JUnit(w io.Writer, results []story.Result) error {
	var doc junitSuites
	for _, scenario := range byScenario(results) {
		doc.Suites = append(doc.Suites, newSuite(len(doc.Suites), scenario))
	}
	b, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("report: JUnit: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, b); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// byScenario splits results where the scenario changes.
func byScenario(results []story.Result) [][]story.Result {
	var all [][]story.Result
	for i, r := range results {
		if i == 0 || r.Scenario != results[i-1].Scenario {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], r)
	}
	return all
}

func newSuite(id int, results []story.Result) junitSuite {
	c := story.CountOf(results)
	s := junitSuite{
		ID: id, Package: "gcsim", Name: results[0].Scenario, Hostname: "localhost",
		Tests: len(results), Failures: c.Differ, Errors: c.Cannot, Skipped: c.Skipped,
		Properties: []junitProperty{{"title", results[0].Title}},
	}
	var began time.Time
	var took time.Duration
	var out strings.Builder
	for _, r := range results {
		if began.IsZero() || !r.Began.IsZero() && r.Began.Before(began) {
			began = r.Began
		}
		took += r.Took
		s.Cases = append(s.Cases, newCase(r))
		fmt.Fprintf(&out, "%s: %s\n", r.Name(), r.Said())
		if seed := r.Run().Seed; seed != 0 {
			s.Properties = append(s.Properties, junitProperty{"seed of " + r.Name(), fmt.Sprint(seed)})
		}
	}
	s.Timestamp = began.UTC().Format("2006-01-02T15:04:05")
	s.Time, s.Out = junitTime(took), out.String()
	return s
}

func newCase(r story.Result) junitCase {
	c := junitCase{Class: r.Scenario, Name: r.Part(), Time: junitTime(r.Took)}
	switch {
	case r.Skipped != "":
		c.Skipped = &junitProblem{Message: r.Skipped}
	case r.Err != nil:
		first, _, _ := strings.Cut(r.Err.Error(), "\n")
		c.Error = &junitProblem{Type: r.Said(), Message: first, Text: r.Err.Error()}
	case !r.Outcome.OK:
		var text strings.Builder
		for _, m := range r.Outcome.Mismatches {
			fmt.Fprintf(&text, "not as expected: %s\n", m)
		}
		for _, v := range r.Outcome.Violations {
			fmt.Fprintf(&text, "violation: %s\n", v.Text)
		}
		c.Failure = &junitProblem{Type: "not as expected", Message: strings.Join(r.Outcome.Mismatches, "; "), Text: text.String()}
	}
	return c
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
