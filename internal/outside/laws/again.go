package laws

import (
	"fmt"
	"net/http"
	"strings"
)

// How many requests are shown, and for how many there are lines for a shell.
const (
	maxRequests = 12
	maxAgain    = 100
)

// again has the lines for a shell by which requests are made once more, on names that
// nobody has used, and what the storage answered.
func (j *judge) again(requests []Exchange) []string {
	if len(requests) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("URL=%s; S=again-$RANDOM", j.place.urls()[0])}
	for _, e := range requests {
		line := "curl -sS --path-as-is -w ' -> %{http_code}\\n'"
		switch e.Method {
		case http.MethodGet:
		case http.MethodHead:
			line += " -I"
		default:
			line += " -X " + e.Method
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

// came is what came of a request, in a few words on one line.
func (e Exchange) came() string {
	switch {
	case e.Error != "":
		return "no answer"
	case e.Answer == "":
		return fmt.Sprint(e.Status)
	}
	return strings.Join(strings.Fields(fmt.Sprint(e.Status, " ", e.Answer)), " ")
}

// quoted is a text for a shell, between double quotes, in which names begin with $S.
func (j *judge) quoted(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(s)
	return strings.ReplaceAll(s, j.mark, "$S")
}
