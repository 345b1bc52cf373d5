package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// report is what a run found, for people.
type report struct {
	machine []string // one line each
	goals   []goal
	parts   []*table
}

// table is a part of the report. Without columns it has the note alone.
type table struct {
	title, note string
	columns     []string
	rows        [][]string
}

func (r *report) table(title, note string, columns ...string) *table {
	t := &table{title: title, note: note, columns: columns}
	r.parts = append(r.parts, t)
	return t
}

func (r *report) note(title, note string) { r.table(title, note) }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// compare adds a row for each result, with its ratios to the reference.
func (t *table) compare(conns int, results []result, reference result) {
	for _, r := range results {
		t.add(strconv.Itoa(conns), r.name, rate(r.rates), ratios(r.rates, reference.rates).String(),
			ratios(reference.used(), r.used()).String(), micros(r.server)+", "+micros(r.client))
	}
}

// compareTimes adds a row for each result, with the time an operation as a part of the
// reference's: by the clock, and by the processor time of server and client.
func (t *table) compareTimes(clients int, results []result, reference result) {
	for _, r := range results {
		t.add(strconv.Itoa(clients), r.name, rate(r.rates), ratios(reference.rates, r.rates).String(),
			ratios(r.used(), reference.used()).String(), micros(r.server)+", "+micros(r.client))
	}
}

// compareClock adds a row for each result of a database, with the time an operation as a
// part of the reference's. What the database's processes take is not known.
func (t *table) compareClock(database string, clients int, reference result, results ...result) {
	for _, r := range results {
		t.add(database, strconv.Itoa(clients), r.name, rate(r.rates), ratios(reference.rates, r.rates).String())
	}
}

// goal is a ratio that the project wants to reach.
type goal struct {
	what string
	side side
	want float64
	got  spread
	by   measure
}

// measure is which of a spread's figures has to reach the goal.
type measure string

const (
	byMedian        measure = ""
	byLowerQuartile measure = ", with the lower quartile"
	byHighest       measure = ", in every turn"
)

// side is on which side of the wanted ratio the good ones are.
type side string

const (
	atLeast side = "at least"
	atMost  side = "at most"
)

func (r *report) goal(what string, s side, want float64, got spread) {
	r.goals = append(r.goals, goal{what, s, want, got, byMedian})
}

// firmGoal is one that three rounds of four reach.
func (r *report) firmGoal(what string, want float64, got spread) {
	r.goals = append(r.goals, goal{what, atLeast, want, got, byLowerQuartile})
}

// highestGoal is one that no value may exceed.
func (r *report) highestGoal(what string, want float64, got spread) {
	r.goals = append(r.goals, goal{what, atMost, want, got, byHighest})
}

func (g goal) reached() string {
	got := g.got.median
	switch g.by {
	case byLowerQuartile:
		got = g.got.lower
	case byHighest:
		got = g.got.highest
	}
	switch {
	case g.side == atLeast && got >= g.want, g.side == atMost && got <= g.want:
		return "yes"
	}
	return fmt.Sprintf("no: %s times what is wanted", number(got/g.want))
}

// markdown is all of it.
func (r *report) markdown() string {
	var s strings.Builder
	for _, line := range r.machine {
		fmt.Fprintf(&s, "- %s\n", line)
	}
	goals := table{columns: []string{"", "wanted", "measured: median (quartiles)", "reached"}}
	for _, g := range r.goals {
		goals.add(g.what, fmt.Sprintf("%s %s%s", g.side, number(g.want), g.by), g.got.String(), g.reached())
	}
	if goals.rows != nil {
		goals.markdown(&s)
	}
	for _, t := range r.parts {
		fmt.Fprintf(&s, "\n### %s\n\n%s\n", t.title, t.note)
		if t.columns != nil {
			t.markdown(&s)
		}
	}
	return s.String()
}

func (t *table) markdown(s *strings.Builder) {
	line := func(cells []string) { fmt.Fprintf(s, "| %s |\n", strings.Join(cells, " | ")) }
	s.WriteString("\n")
	line(t.columns)
	s.WriteString("|" + strings.Repeat("---|", len(t.columns)) + "\n")
	for _, row := range t.rows {
		line(row)
	}
}

// The lines of a document between which the tables are.
const (
	markBegin = "<!-- bench: begin -->"
	markEnd   = "<!-- bench: end -->"
)

// replace puts text between the marks of a document.
func replace(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), markBegin)
	_, after, ok2 := strings.Cut(rest, markEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q, between which the tables belong", path, markBegin, markEnd)
	}
	return os.WriteFile(path, []byte(before+markBegin+"\n"+text+markEnd+after), 0o644)
}

func (s spread) String() string {
	return fmt.Sprintf("**%s** (%s to %s)", number(s.median), number(s.lower), number(s.upper))
}

// rate is a median with thousands marked.
func rate(values []float64) string { return thousands(spreadOf(values).median) }

func thousands(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func micros(values []float64) string { return number(spreadOf(values).median) + " µs" }

// number has two or three digits that count.
func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(v)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
