package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

const examples = "../examples/storage/"

// laws are those that came out so, by what "gcsim laws" prints.
func (p *process) laws(outcome string) (names []string) {
	for _, line := range strings.Split(p.output(), "\n") {
		if rest, ok := strings.CutPrefix(line, outcome+" "); ok {
			names = append(names, strings.Fields(rest)[0])
		}
	}
	return names
}

// TestLawsOfStorageInPython: it is right, also as two processes on one file. The races are
// left out: each is more than a thousand syncs of a disk, which others use as well.
func TestLawsOfStorageInPython(t *testing.T) {
	need.Files(t, examples)
	python := need.Program(t, "python3", "to judge a storage in Python")
	w := newWorld(t)
	command := python + " " + examples + "storage.py --listen {addr} --dir {dir}"
	args := []string{"laws", "--command", command, "--command", command}
	want := []string{
		"StaleWriteRefused", "StaleDeleteRefused", "StaleReadRefused", "NewerTokenReplaces", "EqualTokenAdmitted", "LargestTokenAdmitted",
		"MissingTokenRefused", "ScopeGuardsAllItsKeys", "ScopesAreIndependent", "DeleteRaisesMark", "DeleteKeepsMark", "RestartKeepsMark",
		"RestartKeepsEveryMark", "ProcessesShareMarks", "RefusalKeepsMark", "ReadRaisesMark",
		"OnlyNumbersAreTokens", "SpellingIsNoWayIn", "NoScopeIsNoWayIn", "HeaderNamesHaveNoCase", "TwoTokensAreNoWayIn",
		"OtherWaysAreClosed", "MarksAreNoKeys", "PartsAreReads", "ConnectionsKeepNothing", "LateBodyIsNoWayIn", "ChunkedBodyIsWhole",
	}
	for _, law := range want {
		args = append(args, "--law", law)
	}
	p := w.start("gcsim", args...)
	for _, law := range want {
		p.await(law) // each has its time
	}
	p.want(0)
	p.says("and keeps its data when it is killed")
	if got := p.laws("holds"); !slices.Equal(got, want) {
		t.Errorf("%q hold, want %q", got, want)
	}
}

// TestLawsOfStorageInJavaScript: it has one hole, and is right with the mend that it names.
func TestLawsOfStorageInJavaScript(t *testing.T) {
	need.Files(t, examples)
	node := need.Program(t, "node", "to judge a storage in JavaScript")
	w := newWorld(t)
	p := w.start("gcsim", "laws", "--scopes", "2000", "--idle", "1s", "--command", node+" "+examples+"storage.js --listen {addr}")
	p.want(1)
	p.says("and loses its data when it is killed")
	if got := p.laws("FAILS"); !slices.Equal(got, []string{"LateBodyIsNoWayIn"}) {
		t.Errorf("%q fail; it said:\n%s", got, p.output())
	}
	mended := mend(t, examples+"storage.js")
	p = w.start("gcsim", "laws", "--law", "LateBodyIsNoWayIn", "--command", node+" "+mended+" --listen {addr}")
	p.want(0)
}

// mend moves the line that reads the body to the place that is marked in the file.
func mend(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const line, place = "  const value = await body(request);\n", "  // Here is the place:"
	text := strings.Replace(string(b), line, "", 1)
	mended := strings.Replace(text, place, line+place, 1)
	if text == string(b) || mended == text {
		t.Fatalf("%s has no line %q, or no place %q", file, line, place)
	}
	name := filepath.Join(t.TempDir(), "storage.js")
	if err := os.WriteFile(name, []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// contribLock starts contrib/lock's storage in a network of its own. There the test runs once
// more, and alone has a process.
func contribLock(t *testing.T) (*world, *process) {
	t.Helper()
	originals := os.Getenv(originalsEnv)
	if originals == "" {
		inOwnNetwork(t, originalsEnv+"="+buildOriginals(t))
		return nil, nil
	}
	bringLoopbackUp(t)
	w := newWorld(t)
	storage := w.start(filepath.Join(originals, "storage"))
	awaitListener(t, storage, addressStorage)
	return w, storage
}

// TestScenariosOfContribLock: it protects in the main story, where nobody writes before the last
// holder, and keeps out every holder after the first one that writes.
func TestScenariosOfContribLock(t *testing.T) {
	t.Parallel()
	w, storage := contribLock(t)
	if storage == nil {
		return
	}
	p := w.start("gcsim", "run", "--json", "--jobs", "1", "--storage-url", "http://"+addressStorage, "gc-pause", "mixed-revisions", "read-before-fence")
	p.want(1)
	got := runsOf(t, p)
	for run, want := range map[string]string{
		"01-gc-pause fenced": "safe", "06-mixed-revisions create-revisions": "blocked", "07-read-before-fence plain-reads": "corrupted",
		"07-read-before-fence fenced-reads": "a client shows its token in a read, and the storage speaks contrib/lock, which has no word for that",
	} {
		if got[run] != want {
			t.Errorf("%s: %s, want %s", run, got[run], want)
		}
	}
	storage.signal(syscall.SIGTERM)
	storage.end()
}

// TestLawsOfContribLock: its storage refuses every version that differs, and takes
// what is no token.
func TestLawsOfContribLock(t *testing.T) {
	w, storage := contribLock(t)
	if storage == nil {
		return
	}
	broken := []string{
		"StaleWriteRefused", "NewerTokenReplaces", "TokensCompareAsNumbers", "LargestTokenAdmitted", "MissingTokenRefused", "InvalidTokenRefused",
		"CheckAndWriteAreOneStep", "CheckAndDeleteAreOneStep", "FirstClaimsAreOneStep",
	}
	// Not ManyMarksStay: by writes of many keys at once the storage may end.
	kept := []string{"ScopesAreIndependent", "RefusalKeepsMark", "RefusalChangesNothing", "UnfencedReadAllowed"}
	args := []string{"laws", "http://" + addressStorage}
	for _, law := range append(broken, kept...) {
		args = append(args, "--law", law)
	}
	p := w.start("gcsim", args...)
	p.want(1)
	p.says("it speaks contrib/lock")
	if got := p.laws("FAILS"); !slices.Equal(got, broken) {
		t.Errorf("%q fail, want %q; it said:\n%s", got, broken, p.output())
	}
	if got := p.laws("holds"); !slices.Equal(got, kept) {
		t.Errorf("%q hold, want %q", got, kept)
	}
	storage.signal(syscall.SIGTERM)
	storage.end()
}
