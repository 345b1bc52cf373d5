package linear_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/judge/linear"
)

// at is an operation from call to return; its client is its own.
func at(call, ret int64, in linear.Input, out linear.Output) linear.Op {
	in.Scope = "/lock"
	return linear.Op{Client: int(call), Input: in, Output: out, Call: call, Return: ret}
}

func write(token int64, changes ...string) linear.Input { return seq(token, 0, changes...) }

// seq is a write of changes like "a=1", or "a" for a delete.
func seq(token, sequence int64, changes ...string) linear.Input {
	in := linear.Input{Kind: linear.Write, Token: token, Sequence: sequence}
	for _, c := range changes {
		key, value, ok := strings.Cut(c, "=")
		in.Changes = append(in.Changes, linear.Change{Key: key, Value: value, Delete: !ok})
	}
	return in
}

func shared(in linear.Input) linear.Input {
	in.Shared = true
	return in
}

func read(token int64, key string) linear.Input {
	return linear.Input{Kind: linear.Read, Token: token, Key: key}
}

var (
	mark    = linear.Input{Kind: linear.Mark}
	done    = linear.Output{Outcome: linear.Done}
	none    = linear.Output{Outcome: linear.NotFound}
	unknown = linear.Output{Outcome: linear.Unknown}
)

func refused(why linear.Outcome) linear.Output { return linear.Output{Outcome: why} }

func stale(mark, sequence int64) linear.Output {
	return linear.Output{Outcome: linear.Stale, Mark: mark, Sequence: sequence}
}

func marked(token, sequence int64) linear.Output {
	return linear.Output{Outcome: linear.Done, Mark: token, Sequence: sequence}
}

func value(v string, token int64) linear.Output {
	return linear.Output{Outcome: linear.Done, Value: v, Token: token}
}

var histories = []struct {
	name  string
	right bool
	ops   []linear.Op
}{
	{"nothing", true, nil},
	{"one tenure", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, read(0, "a"), value("1", 3)), at(5, 6, mark, marked(3, 0)),
		at(7, 8, write(3, "a"), done), at(9, 10, read(3, "a"), none), at(11, 12, read(0, "b"), none),
	}},
	{"an old holder is refused", true, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(3, "a=2"), stale(4, 0)), at(5, 6, read(0, "a"), value("1", 4)),
	}},
	{"stale write admitted", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(3, "a=2"), done),
	}},
	{"stale write admitted, while the later one was under way", true, []linear.Op{
		at(1, 4, write(4, "a=1"), done), at(2, 3, write(3, "a=2"), done), at(5, 6, read(0, "a"), value("1", 4)),
	}},
	{"and wins", false, []linear.Op{
		at(1, 4, write(4, "a=1"), done), at(2, 3, write(3, "a=2"), done), at(5, 6, read(0, "a"), value("2", 3)),
	}},
	{"stale read admitted", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, read(3, "a"), value("1", 4)),
	}},
	{"a read did not raise the mark", false, []linear.Op{
		at(1, 2, read(4, "a"), none), at(3, 4, write(3, "a=1"), done),
	}},
	{"a rightful holder refused", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(4, "a=2"), stale(4, 0)),
	}},
	{"a newer token refused, as contrib/lock does", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(5, "a=2"), stale(4, 0)),
	}},
	{"a refusal tells a mark that never was", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(3, "a=2"), stale(5, 0)),
	}},
	{"readers refuse each other nothing", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, shared(read(6, "a")), value("1", 3)), at(5, 6, shared(read(5, "a")), value("1", 3)),
		at(7, 8, mark, linear.Output{Outcome: linear.Done, Mark: 3, Shared: 6}),
		at(9, 10, write(5, "a=2"), stale(6, 0)), at(11, 12, shared(read(2, "a")), stale(3, 0)),
		at(13, 14, write(7, "a=3"), done), at(15, 16, shared(read(6, "a")), stale(7, 0)), at(17, 18, mark, marked(7, 0)),
	}},
	{"a reader refused for another one", false, []linear.Op{
		at(1, 2, shared(read(6, "a")), none), at(3, 4, shared(read(5, "a")), stale(6, 0)),
	}},
	{"a writer admitted after a later reader", false, []linear.Op{
		at(1, 2, shared(read(6, "a")), none), at(3, 4, write(5, "a=1"), done),
	}},
	{"a reader admitted after a later writer", false, []linear.Op{
		at(1, 2, write(6, "a=1"), done), at(3, 4, shared(read(5, "a")), value("1", 6)),
	}},
	{"an older reader lowered the mark", false, []linear.Op{
		at(1, 2, shared(read(6, "a")), none), at(3, 4, shared(read(4, "a")), none), at(5, 6, write(5, "a=1"), done),
	}},
	{"a shared claim with a sequence", true, []linear.Op{
		at(1, 2, shared(seq(6, 1, "a=1")), refused(linear.Invalid)), at(3, 4, mark, marked(0, 0)),
	}},
	{"a shared claim with a sequence admitted", false, []linear.Op{
		at(1, 2, shared(seq(6, 1, "a=1")), done),
	}},
	{"a shared write whose outcome is unknown, after later readers", true, []linear.Op{
		at(1, 0, shared(write(5, "a=1")), unknown), at(2, 3, shared(read(7, "b")), none), at(4, 5, read(0, "a"), none),
		at(6, 7, read(0, "a"), value("1", 5)),
	}},
	{"and after a later writer", false, []linear.Op{
		at(1, 0, shared(write(5, "a=1")), unknown), at(2, 3, write(7, "b=1"), done), at(4, 5, read(0, "a"), none),
		at(6, 7, read(0, "a"), value("1", 5)),
	}},
	{"lost acknowledged write", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, read(0, "a"), none),
	}},
	{"lost acknowledged delete", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, write(3, "a"), done), at(5, 6, read(0, "a"), value("1", 3)),
	}},
	{"stale read: an older value after a newer one", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 9, write(3, "a=2"), done),
		at(4, 5, read(0, "a"), value("2", 3)), at(6, 7, read(0, "a"), value("1", 3)),
	}},
	{"a value by another token", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, write(4, "b=2"), done), at(5, 6, read(0, "a"), value("1", 4)),
	}},
	{"a whole batch", true, []linear.Op{
		at(1, 2, write(3, "a=1", "b=1"), done), at(3, 9, write(3, "a=2", "b=2"), done),
		at(4, 5, read(0, "a"), value("2", 3)), at(6, 7, read(0, "b"), value("2", 3)),
	}},
	{"half a batch visible", false, []linear.Op{
		at(1, 2, write(3, "a=1", "b=1"), done), at(3, 9, write(3, "a=2", "b=2"), done),
		at(4, 5, read(0, "a"), value("2", 3)), at(6, 7, read(0, "b"), value("1", 3)),
	}},
	{"half an unknown batch visible", false, []linear.Op{
		at(1, 2, write(3, "a=1", "b=1"), done), at(3, 0, write(3, "a=2", "b=2"), unknown),
		at(4, 5, read(0, "a"), value("2", 3)), at(6, 7, read(0, "b"), value("1", 3)),
	}},
	{"refused write visible", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(3, "a=2"), stale(4, 0)), at(5, 6, read(0, "a"), value("2", 3)),
	}},
	{"refused write raised the mark", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, write(9, "a=2"), linear.Output{Outcome: linear.Ahead, Bound: 5}), at(5, 6, mark, marked(9, 0)),
	}},
	{"ahead", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, write(9, "a=2"), linear.Output{Outcome: linear.Ahead, Bound: 5}), at(5, 6, mark, marked(3, 0)),
	}},
	{"ahead, but within the bound", false, []linear.Op{
		at(1, 2, write(3, "a=1"), linear.Output{Outcome: linear.Ahead, Bound: 3}),
	}},
	{"ahead, but admitted before", false, []linear.Op{
		at(1, 2, write(9, "a=1"), done), at(3, 4, write(9, "a=2"), linear.Output{Outcome: linear.Ahead, Bound: 5}),
	}},
	{"ahead, of a bound that was not told", true, []linear.Op{
		at(1, 2, write(9, "a=1"), refused(linear.Ahead)), at(3, 4, write(3, "a=2"), done),
	}},
	{"the mark that refused was not told", true, []linear.Op{
		at(1, 2, write(9, "a=1"), done), at(3, 4, write(3, "a=2"), linear.Output{Outcome: linear.Stale, Bare: true}),
	}},
	{"nor is there one", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, write(3, "a=2"), linear.Output{Outcome: linear.Stale, Bare: true}),
	}},
	{"which token wrote it was not told", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, read(0, "a"), linear.Output{Outcome: linear.Done, Value: "1", Bare: true}),
	}},
	{"nor that it is another value", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, read(0, "a"), linear.Output{Outcome: linear.Done, Value: "2", Bare: true}),
	}},
	{"another token wrote it", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 4, read(0, "a"), value("1", 4)),
	}},
	{"missing and invalid", true, []linear.Op{
		at(1, 2, write(0, "a=1"), refused(linear.Missing)), at(3, 4, write(-1, "a=1"), refused(linear.Invalid)), at(5, 6, read(0, "a"), none),
	}},
	{"missing token admitted", false, []linear.Op{at(1, 2, write(0, "a=1"), done)}},
	{"invalid token admitted", false, []linear.Op{at(1, 2, write(-1, "a=1"), done)}},
	{"a good token called missing", false, []linear.Op{at(1, 2, write(1, "a=1"), refused(linear.Missing))}},
	{"a good token called invalid", false, []linear.Op{at(1, 2, write(1, "a=1"), refused(linear.Invalid))}},
	{"sequence", true, []linear.Op{
		at(1, 2, seq(3, 1, "a=1"), done), at(3, 4, seq(3, 3, "a=3"), done), at(5, 6, seq(3, 3, "a=3"), refused(linear.Duplicate)),
		at(7, 8, seq(3, 2, "a=2"), stale(3, 3)), at(9, 10, mark, marked(3, 3)), at(11, 12, seq(4, 1, "a=4"), done), at(13, 14, mark, marked(4, 1)),
	}},
	{"a read takes no part in the sequence", true, []linear.Op{
		at(1, 2, seq(3, 2, "a=1"), done), at(3, 4, linear.Input{Kind: linear.Read, Token: 3, Sequence: 1, Key: "a"}, value("1", 3)),
	}},
	{"duplicate applied twice", false, []linear.Op{
		at(1, 2, seq(3, 1, "a=1"), done), at(3, 4, write(3, "a=2"), done),
		at(5, 6, seq(3, 1, "a=1"), refused(linear.Duplicate)), at(7, 8, read(0, "a"), value("1", 3)),
	}},
	{"duplicate done twice", false, []linear.Op{
		at(1, 2, seq(3, 1, "a=1"), done), at(3, 4, seq(3, 1, "a=1"), done),
	}},
	{"duplicate of nothing", false, []linear.Op{at(1, 2, seq(3, 1, "a=1"), refused(linear.Duplicate))}},
	{"duplicate of what is unknown", true, []linear.Op{
		at(1, 0, seq(3, 1, "a=1"), unknown), at(3, 4, seq(3, 1, "a=1"), refused(linear.Duplicate)), at(5, 6, read(0, "a"), value("1", 3)),
	}},
	{"old sequence admitted", false, []linear.Op{
		at(1, 2, seq(3, 2, "a=1"), done), at(3, 4, seq(3, 1, "a=2"), done),
	}},
	{"mark going down after a restart", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, mark, marked(0, 0)),
	}},
	{"sequence forgotten after a restart", false, []linear.Op{
		at(1, 2, seq(4, 2, "a=1"), done), at(3, 4, mark, marked(4, 0)),
	}},
	{"mark forgotten with a deleted key", false, []linear.Op{
		at(1, 2, write(4, "a=1"), done), at(3, 4, write(4, "a"), done), at(5, 6, write(3, "a=2"), done),
	}},
	{"mark of nobody", false, []linear.Op{at(1, 2, mark, marked(4, 0))}},
	{"unknown write that appears late", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 0, write(3, "a=2"), unknown),
		at(4, 5, read(0, "a"), value("1", 3)), at(6, 7, read(0, "a"), value("2", 3)), at(8, 9, read(0, "a"), value("2", 3)),
	}},
	{"unknown write that never appears", true, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 0, write(3, "a=2"), unknown), at(4, 5, read(0, "a"), value("1", 3)),
	}},
	{"unknown write that appears and disappears", false, []linear.Op{
		at(1, 2, write(3, "a=1"), done), at(3, 0, write(3, "a=2"), unknown),
		at(4, 5, read(0, "a"), value("2", 3)), at(6, 7, read(0, "a"), value("1", 3)),
	}},
	{"unknown write that appears before it was sent", false, []linear.Op{
		at(1, 2, read(0, "a"), value("2", 3)), at(3, 0, write(3, "a=2"), unknown),
	}},
	{"unknown write that lands after a later tenure began", false, []linear.Op{
		at(1, 0, write(3, "a=1"), unknown), at(2, 3, read(4, "a"), none), at(4, 5, read(4, "a"), value("1", 3)),
	}},
	{"unknown write that landed before the later tenure is told of", true, []linear.Op{
		at(1, 0, write(3, "a=1"), unknown), at(2, 3, read(4, "b"), none), at(4, 5, read(4, "a"), value("1", 3)),
	}},
	{"unknown write by the highest token that there is, late", true, []linear.Op{
		at(1, 0, write(math.MaxInt64, "a=1"), unknown), at(2, 3, write(3, "a=2"), done),
		at(4, 5, write(3, "a=3"), done), at(6, 7, write(3, "a=4"), stale(math.MaxInt64, 0)),
	}},
	{"unknown read that raised the mark", true, []linear.Op{
		at(1, 0, read(4, "a"), unknown), at(2, 3, write(3, "a=1"), done), at(4, 5, write(3, "a=2"), stale(4, 0)),
	}},
	{"unknown write by an invalid token", false, []linear.Op{
		at(1, 0, write(-1, "a=1"), unknown), at(2, 3, read(0, "a"), value("1", -1)),
	}},
}

func TestHistories(t *testing.T) {
	for _, tt := range histories {
		t.Run(tt.name, func(t *testing.T) {
			want := linear.NotLinearizable
			if tt.right {
				want = linear.Linearizable
			}
			if got := linear.Check(tt.ops, 0); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestScopesApart: another scope's mark is another mark.
func TestScopesApart(t *testing.T) {
	other := at(1, 2, write(9, "b=1"), done)
	other.Input.Scope = "/other"
	if got := linear.Check([]linear.Op{other, at(3, 4, write(3, "a=1"), done)}, 0); got != linear.Linearizable {
		t.Errorf("%s", got)
	}
}

// TestManyUnknown: unknown outcomes must not make the check take for ever.
func TestManyUnknown(t *testing.T) {
	var ops []linear.Op
	for i := range int64(300) {
		now := 4*i + 1
		ops = append(ops, at(now, 0, write(i+1, "a=lost"), unknown), at(now+1, now+2, write(i+2, "b=1"), done))
	}
	if got := linear.Check(ops, 0); got != linear.Linearizable {
		t.Error(got)
	}
	ops = append(ops, at(2000, 2001, read(0, "b"), none))
	if got := linear.Check(ops, 0); got != linear.NotLinearizable {
		t.Error(got)
	}
}

// TestStorm: of many writes that were under way at once, and of unknown outcome, one
// was noticed. Which of the others happened nobody has to find out.
func TestStorm(t *testing.T) {
	var ops []linear.Op
	for i := range int64(40) {
		ops = append(ops, at(i+1, 0, seq(100-i, 1, fmt.Sprintf("a=%d", i), fmt.Sprintf("b%d=1", i)), unknown))
	}
	ops = append(ops,
		at(100, 101, mark, marked(80, 1)), at(102, 103, read(0, "a"), value("20", 80)), at(104, 105, read(0, "b20"), value("1", 80)))
	if got := linear.Check(ops, time.Minute); got != linear.Linearizable {
		t.Error(got)
	}
}

// TestUnlikely: the whole history has an order where the likely one has none, as that
// leaves out the write of a value that had been read before. The whole history is tried
// however short the time is: with many writes at once nobody can find out in time that
// the likely one has none.
func TestUnlikely(t *testing.T) {
	for _, writes := range []int64{0, 40} {
		ops := []linear.Op{
			at(1, 2, write(1, "a=1"), done), at(3, 4, read(0, "a"), value("1", 1)), at(5, 6, write(1, "a"), done),
			at(7, 0, write(1, "a=1"), unknown),
		}
		for i := range writes {
			ops = append(ops, at(10+i, 100+i, write(1, fmt.Sprintf("b=%d", i)), done))
		}
		ops = append(ops, at(200, 201, read(0, "a"), value("1", 1)))
		if got := linear.Check(ops, 3*time.Second); got != linear.Linearizable {
			t.Errorf("with %d writes at once: %s", writes, got)
		}
	}
}

func TestSaveLoadDraw(t *testing.T) {
	var all []linear.Op
	for _, tt := range histories {
		all = append(all, tt.ops...)
	}
	var b bytes.Buffer
	if err := linear.Save(&b, all); err != nil {
		t.Fatal(err)
	}
	got, err := linear.Load(&b)
	if diff := cmp.Diff(all, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := linear.Load(strings.NewReader("{}\nno")); err == nil || !strings.Contains(err.Error(), "operation 2") {
		t.Error(err)
	}
	var page bytes.Buffer
	wrong := []linear.Op{at(1, 2, write(4, "a=1"), done), at(3, 4, write(3, "a=2"), done)}
	wrong[1].Input.Name = "client1-7"
	wrong = append(wrong,
		at(5, 6, read(0, "a"), linear.Output{Outcome: linear.Done, Value: "told", Bare: true}),
		at(7, 8, write(9, "a=3"), refused(linear.Ahead)))
	if err := linear.Draw(&page, wrong, []linear.Fault{{Name: "kill -9", Start: 2, End: 3}}, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<html", "kill -9", "client1-7: write /lock by 3.0: a=2"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, untold := range []string{"told by 0", "ahead of 0"} {
		if strings.Contains(page.String(), untold) {
			t.Errorf("the page says %q", untold)
		}
	}
}
