// Command bench compares the storage with others that do the same, side by side on one machine, and prints
// tables: make bench. What each figure means is in docs/performance.md, and in docs/scale.md.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// helps is what the command says of itself.
//
//go:embed help
var helps embed.FS

func main() { cli.Main(command(loadNow)) }

// command is bench, on a machine with a load.
func command(load func() (float64, error)) *cobra.Command {
	var (
		short bool
		only  string
		doc   string
		marks int
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare the storage with others on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			size := smoke
			if !short {
				size = full
				if err := awaitQuiet(cmd.Context(), load); err != nil {
					if doc != "" || cmd.Context().Err() != nil {
						return err
					}
					fmt.Fprintln(cmd.ErrOrStderr(), "bench:", err)
				}
			}
			if marks > 0 {
				size.marks = marks
			}
			return run(cmd.Context(), size, only, doc, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "a few seconds: shows that it works, and no figure means anything")
	cmd.Flags().StringVar(&only, "only", "", "one part alone: requests, contriblock, batches, durable, locks, redis, databases, zookeeper, growth, latency or shares; or compared or scale, which are measured by themselves alone")
	cmd.Flags().StringVarP(&doc, "out", "o", "", "Markdown file in which to replace the tables as well")
	cmd.Flags().IntVar(&marks, "marks", 0, "how many marks a store of the part scale gets at the most, 100 at the least; 0: ten million")
	cmd.MarkFlagsMutuallyExclusive("short", "out")
	cli.Help(helps, cmd)
	cmd.AddCommand(roles()...)
	return cmd
}

type size struct {
	rounds  int           // in which each contender has a turn
	turn    time.Duration // about how long one takes
	latency time.Duration // for which requests are sent at a fixed rate
	many    int           // the million keys
	starts  int           // how often a start is timed
	crashes int           // how often the holder of each lock is killed
	marks   int           // that a store has at the most
	locks   int           // that are held at the same time
}

var (
	full  = size{rounds: 11, turn: 500 * time.Millisecond, latency: 4 * time.Second, many: 1_000_000, starts: 5, crashes: 11, marks: 10_000_000, locks: 10_000}
	smoke = size{rounds: 2, turn: 20 * time.Millisecond, latency: 50 * time.Millisecond, many: 5_000, starts: 1, crashes: 1, marks: 5_000, locks: 200}
)

type bench struct {
	size
	group  *proc.Group // of the servers that are started now
	report report
}

// part is one of a run, with servers of its own.
type part struct {
	name string
	lack string // title of the note that says what the part lacks
	do   func(*bench)
}

// The parts that are in documents of their own.
const (
	compared = "compared"
	scaled   = "scale"
)

var alone = []string{compared, scaled}

var parts = []part{
	{"requests", "", (*bench).overhead},
	{"contriblock", contribTitle, (*bench).contribLock},
	{"batches", batchesTitle, (*bench).batches},
	{"durable", "", (*bench).durable},
	{"locks", "", (*bench).inEtcd},
	{"redis", "Locks and fenced writes in Redis", (*bench).inRedis},
	{"databases", "", (*bench).inDatabases},
	{"zookeeper", "Locks in ZooKeeper", (*bench).inZooKeeper},
	{"growth", "", (*bench).growth},
	{"latency", "", (*bench).latencies},
	{"shares", "", (*bench).shares},
	{compared, "", (*bench).compared},
	{scaled, "", (*bench).scale},
}

func run(ctx context.Context, s size, only, doc string, stdout, stderr io.Writer) error {
	b := &bench{size: s, report: report{machine: describe(os.TempDir())}}
	for _, p := range parts {
		if only != p.name && (only != "" || slices.Contains(alone, p.name)) {
			continue
		}
		start := time.Now()
		if err := b.measure(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Fprintf(stderr, "%s: %v\n", p.name, time.Since(start).Round(time.Second/10))
	}
	if b.report.parts == nil {
		return &cli.ExitError{Code: 2, Err: fmt.Errorf("there is no part %q", only)}
	}
	text := b.report.markdown()
	if _, err := io.WriteString(stdout, text); err != nil || doc == "" {
		return err
	}
	return replace(doc, text)
}

// measure does a part, or notes what it lacks.
func (b *bench) measure(p part) error { return b.report.unless(p.lack, b.inGroup(func() { p.do(b) })) }

// inGroup has do start its servers in a group of their own, which ends with do. It returns what do fails by.
func (b *bench) inGroup(do func()) error {
	return fail.Caught(func() {
		was, group := b.group, fail.Must(proc.NewGroup(fail.Must(os.Executable())))
		b.group = group
		err := fail.Caught(do)
		b.group = was
		fail.If(errors.Join(err, group.Close()))
	})
}

// begin has a goroutine of g do something. Its failure is the failure of g.
func begin(g *errgroup.Group, do func()) {
	g.Go(func() error { return fail.Caught(do) })
}

// named fails with err, if it is an error, and says whose it is.
func named(name string, err error) {
	if err != nil {
		fail.If(fmt.Errorf("%s: %w", name, err))
	}
}

const (
	busy     = 1.0 // the load from which on other work decides the figures
	patience = 5 * time.Minute
)

// awaitQuiet waits until the machine has a load below busy, for as long as its patience.
func awaitQuiet(ctx context.Context, load func() (float64, error)) error {
	for end := time.Now().Add(patience); ; {
		now, err := load()
		switch {
		case err != nil:
			return fmt.Errorf("the load of the machine: %w", err)
		case now < busy:
			return nil
		case !time.Now().Before(end):
			return fmt.Errorf("the load of the machine is %.2f, and was %.0f or more for %v: the figures would be those of other work; end it, and measure again", now, busy, patience)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// loadNow is the kernel's average over a minute of how many processes run or want to.
func loadNow() (float64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	const one = 1 << 16 // sysinfo(2): the loads are scaled by it
	return float64(info.Loads[0]) / one, nil
}
