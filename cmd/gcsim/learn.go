package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/learn"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/service/all"
)

func learnCommand() *cobra.Command {
	var look look
	var pace pace
	cmd := cli.Command("learn [N]", "Set up an exercise of the course, or say whether it is solved", cli.Args(0, 1), func(cmd *cobra.Command, args []string) error {
		return cannot(fail.Caught(func() {
			lessons := fail.Must(learn.Lessons())
			if len(args) == 0 {
				listLessons(cmd, lessons)
				return
			}
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 || n > len(lessons) {
				fail.If(fmt.Errorf("there is no lesson %q: want a number from 1 to %d", args[0], len(lessons)))
			}
			doLesson(cmd, lessons[n-1], look, pace)
		}))
	})
	look.flags(cmd.Flags())
	pace.flags(cmd.Flags())
	return cmd
}

func listLessons(cmd *cobra.Command, lessons []learn.Lesson) {
	for _, l := range lessons {
		state := ""
		if fail.Must(l.IsSetUp()) {
			state = fmt.Sprintf("  %s: %s", words(l.IsSolved(), "solved", "begun"), l.Dir())
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%2d. %-32s %2d minutes%s\n", l.Number, l.Title, l.Minutes, state)
	}
	next := max(0, slices.IndexFunc(lessons, func(l learn.Lesson) bool { return !l.IsSolved() }))
	fmt.Fprintf(cmd.OutOrStdout(), "\nThe course: %s\nNext: %s learn %d\n", pathOrAddress("docs/course/README.md"), self(), lessons[next].Number)
}

func doLesson(cmd *cobra.Command, l learn.Lesson, look look, pace pace) {
	out := cmd.OutOrStdout()
	text := fail.Must(look.on(out))
	text.Pace = fail.Must(pace.wait(cmd))
	width := min(cmp.Or(text.Width, defaultProse), 100) - 1
	tell := func(s string) { fmt.Fprintln(out, columns.Fit(s, width)) }
	if !fail.Must(l.IsSetUp()) {
		files := fail.Must(l.SetUp())
		task := fmt.Sprintf("Lesson %d: %s\nIts page: %s\n\n%s\n\nWritten: %s\n", l.Number, l.Title, pathOrAddress(l.Page()), l.Task, strings.Join(files, ", "))
		task += fmt.Sprintf("What a story can say: %s#a-story-on-one-card\n", pathOrAddress("docs/course/README.md"))
		tell(task + fmt.Sprintf("Run it: %s learn %d. The same command checks your change.", self(), l.Number))
		return
	}
	lucky := false
	missing, err := l.Check(cmd.Context(), learn.Options{
		Exe:      exe,
		Services: all.List,
		Ran: func(events []history.Event) error {
			lucky = unlocked(events)
			return draw(terminal.New(out, text), resultOf(events, nil))
		},
		Law: func(report laws.Report, r laws.Result) {
			if r.Outcome == laws.Fails && report.Count(laws.Fails) > 1 { // the first one is shown, which is enough to begin with
				r.Requests, r.Again = nil, nil
			}
			_ = r.Text(out)
		},
	})
	switch {
	case cmd.Context().Err() != nil:
		err = &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before the end")}
	case err == nil && len(missing) > 0:
		why := "not solved yet:"
		for _, m := range missing {
			why += "\n" + columns.Wrap(m, width, "  ", "    ")
		}
		why += fmt.Sprintf("\nThe task is in %s. To begin anew, remove %s.", pathOrAddress(l.Page()), l.Dir())
		err = &cli.ExitError{Code: exitDiffers, Err: errors.New(why)}
	}
	fail.If(err)
	luck := words(lucky, ", by luck: a client wrote when its lock was over, and nobody had come yet", "")
	tell(fmt.Sprintf("\nSolved%s. %s", luck, next(l)))
}

// unlocked reports whether the storage did a change of a client that held no lock.
func unlocked(events []history.Event) bool {
	l := history.NewLedger()
	return slices.ContainsFunc(events, func(e history.Event) bool {
		l.Take(e)
		return e.Kind == history.KindApplied && e.Op != history.OpRead && len(l.Actor(e.Client).Holds) == 0
	})
}

func next(l learn.Lesson) string {
	if lessons, err := learn.Lessons(); err == nil && l.Number < len(lessons) {
		return fmt.Sprintf("The next one: %s learn %d", self(), l.Number+1)
	}
	return "That was the last one."
}
