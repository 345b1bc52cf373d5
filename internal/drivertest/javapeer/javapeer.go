// Package javapeer runs programs in Java beside tests of Go: the originals whose locks and
// ours exclude each other. A peer is a folder with a pom.xml, which names its libraries, and
// a Peer.java. It reads requests on its standard input, a line each, and answers each by a
// word on a line of its own. Its first word is "ready".
package javapeer

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/need"
)

// deadline is for an answer. Java starts slowly on a machine with much to do.
const deadline = 3 * time.Minute

// Libraries is the folder of what a peer needs, which Maven fetches. It ends the test where
// Java or Maven is missing; name is what the test needs them for.
func Libraries(t *testing.T, peer, name string) string {
	t.Helper()
	need.Programs(t, "to run "+name, "java", "mvn")
	dir := t.TempDir()
	cmd := exec.Command("mvn", "-q", "-B", "-f", peer, "dependency:copy-dependencies", "-DincludeScope=runtime")
	if out, err := exec.Command(cmd.Path, append(cmd.Args[1:], "-DoutputDirectory="+dir)...).CombinedOutput(); err != nil {
		t.Logf("mvn: %v\n%s", err, out)
		need.Missing(t, "the libraries of "+name, "to see that its locks are ours", strings.Join(cmd.Args, " "))
	}
	return dir
}

// Peer is a program in Java that runs.
type Peer struct {
	in  io.Writer
	out chan string
}

// Start runs the peer of a folder, with its libraries. The test ends it.
func Start(t *testing.T, peer, libraries string, args ...string) *Peer {
	t.Helper()
	run := []string{"-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libraries, "*"), filepath.Join(peer, "Peer.java")}
	cmd := exec.Command("java", append(run, args...)...)
	var says strings.Builder
	cmd.Stderr = &says
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Peer{in, make(chan string, 100)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if line := lines.Text(); !strings.Contains(line, " ") { // what its libraries say
				p.out <- line
			}
		}
		close(p.out)
	}()
	t.Cleanup(func() {
		in.Close()
		<-read
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the peer in Java: %v\n%s", err, &says)
		}
	})
	p.Want(t, "ready")
	return p
}

// Send sends a request, and does not wait for its answer.
func (p *Peer) Send(t *testing.T, request string) {
	t.Helper()
	if _, err := io.WriteString(p.in, request+"\n"); err != nil {
		t.Fatal(err)
	}
}

// Want waits for an answer, and ends the test where it is another one.
func (p *Peer) Want(t *testing.T, answer string) {
	t.Helper()
	select {
	case got := <-p.out:
		if got != answer {
			t.Fatalf("the peer in Java says %q, want %q", got, answer)
		}
	case <-time.After(deadline):
		t.Fatalf("the peer in Java says nothing in %v, want %q", deadline, answer)
	}
}

// Do sends a request, and waits for its answer.
func (p *Peer) Do(t *testing.T, request, answer string) {
	t.Helper()
	p.Send(t, request)
	p.Want(t, answer)
}
