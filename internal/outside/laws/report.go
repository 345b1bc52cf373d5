package laws

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/report/story"
)

// OK reports whether at least one law holds and none fails or could not be judged.
func (r Report) OK() bool { return r.Count(Holds) > 0 && r.Count(Fails)+r.Count(NotJudged) == 0 }

func (r Report) JSON(w io.Writer) error {
	r.Results = append([]Result{}, r.Results...) // [] where there is none, not null
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		OK      bool   `json:"ok"`
		Summary string `json:"summary"`
		Report
	}{r.OK(), r.Summary(), r})
}

// subject is what the report is about.
func (r Report) subject() string { return cmp.Or(r.Storage, r.LockService) }

// Begin writes the first lines of a report as text.
func (r Report) Begin(w io.Writer) error {
	says := r.Says
	if r.LockService == "" {
		says = r.Speaks.String()
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n\n", r.subject(), says)
	return err
}

// Text writes what came of a law: a row of the table, and what shows that it is broken.
func (r Result) Text(w io.Writer) error {
	var out strings.Builder
	outcome, says := r.Outcome, r.Doc
	switch outcome {
	case Fails:
		outcome = "FAILS"
	case LeftOut:
		says = r.Why
	}
	law := r.Law
	if len(law) > 27 {
		law += fmt.Sprintf("\n%11s", "")
	}
	fmt.Fprintf(&out, "%-10s %-27s %s\n", outcome, law, says)
	if r.Why != says && r.Why != "" {
		fmt.Fprintf(&out, "%11s%s\n", "", strings.ReplaceAll(r.Why, "\n", "\n           "))
	}
	if r.Racers > 0 {
		fmt.Fprintf(&out, "%11s%d wrote at the same moment\n", "", r.Racers)
	}
	if len(r.Requests)+len(r.Lines) > 0 {
		fmt.Fprintf(&out, "%11sthe last requests:\n", "")
	}
	for _, e := range r.Requests {
		body := ""
		if e.Body != "" {
			body = fmt.Sprintf(" %q", e.Body)
		}
		fmt.Fprintf(&out, "%13s%s%s -> %s\n", "", e.asked(), body, e.came())
	}
	for _, line := range r.Lines {
		fmt.Fprintf(&out, "%13s%s\n", "", line)
	}
	if len(r.Again) > 0 {
		fmt.Fprintf(&out, "%11sto see it again:\n%13s%s\n", "", "", strings.Join(r.Again, "\n             "))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Story is the same for reports that are about many runs. In the place of a scenario's name it has "laws".
func (r Report) Story() []story.Result {
	var list []story.Result
	for _, law := range r.Results {
		result := story.Result{Scenario: "laws", Title: r.subject(), Variant: law.Law, Began: law.Began, Took: law.Took}
		switch law.Outcome {
		case LeftOut:
			result.Skipped = law.Why
		case NotJudged:
			result.Err = errors.New(law.Why)
		default:
			result.Outcome = story.Outcome{Name: law.Outcome, OK: law.Outcome == Holds}
		}
		if law.Outcome == Fails {
			result.Outcome.Mismatches = append([]string{law.Why, "The law: " + law.Doc}, law.Again...)
		}
		list = append(list, result)
	}
	if r.Error != "" {
		list = append(list, story.Result{Scenario: "laws", Title: r.subject(), Began: time.Now(), Err: errors.New(r.Error)})
	}
	return list
}

// How many requests are shown, and for how many there are lines for a shell.
const (
	MaxRequests = 12
	maxAgain    = 100
)

// again has lines for a shell that make requests once more, on unused names, and the storage's answers.
func (j *judge) again(requests []Exchange) []string {
	if len(requests) == 0 {
		return nil
	}
	lines := append(j.starts(j.mark+"-again"), fmt.Sprintf("URL=%s; S=again-$RANDOM", j.urls()[0]))
	for _, e := range requests {
		line := "curl -sS --path-as-is -w ' -> %{http_code}\\n'"
		switch e.Method {
		case http.MethodGet:
		case http.MethodHead:
			line += " -I"
		default:
			line += " -X " + e.Method
		}
		if e.Form != "" {
			line += " " + e.Form
		}
		for _, h := range e.Header {
			name, value, _ := strings.Cut(h, ": ")
			if value == "" {
				line += fmt.Sprintf(` -H "%s;"`, name) // how curl sends one that is empty
				continue
			}
			line += fmt.Sprintf(` -H "%s"`, j.quoted(h))
		}
		if e.Body != "" || e.Method == http.MethodPut || e.Method == http.MethodPost {
			line += fmt.Sprintf(` --data-binary "%s"`, j.quoted(e.Body))
		}
		line += fmt.Sprintf(` "$URL%s"`, j.quoted(e.Path))
		lines = append(lines, line+"   # "+e.came())
	}
	return lines
}

func (e Exchange) came() string {
	switch {
	case e.Error != "":
		return "no answer"
	case e.Answer == "":
		return fmt.Sprint(e.Status)
	}
	return strings.Join(strings.Fields(fmt.Sprint(e.Status, " ", e.Answer)), " ")
}

// untyped reports whether no line for a shell makes such a request.
func untyped(e Exchange) bool {
	return e.Late || e.Kept || !utf8.ValidString(e.Body) || strings.ContainsFunc(e.Path+strings.Join(e.Header, ""), unicode.IsControl)
}

// quoted is a text for a shell, between double quotes, in which names begin with $S.
func (j *judge) quoted(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(s)
	return strings.ReplaceAll(s, j.mark, "$S")
}
