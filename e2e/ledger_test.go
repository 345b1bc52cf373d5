package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// put writes and returns the status, and the problem where it is one.
func put(t *testing.T, url, key string, token int64, value string) (status int, p fencehttp.Problem) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/v1/kv/"+key, strings.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Fencing-Token", strconv.FormatInt(token, 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b := bodyOf(t, resp)
	if resp.StatusCode >= 400 {
		if err := json.Unmarshal([]byte(b), &p); err != nil || resp.Header.Get("Content-Type") != fencehttp.ContentType {
			t.Fatalf("%s without a problem document: %s", resp.Status, b)
		}
	}
	return resp.StatusCode, p
}

const (
	typeDisk    = fencehttp.ProblemType + "disk"
	typeUnknown = fencehttp.ProblemType + "unknown"
)

// ledger is what one writer of one key knows: its last acknowledged write, and
// the last whose outcome is unknown. The token is the value.
type ledger struct {
	t             *testing.T
	key           string
	next          int64
	acked, unsure int64
}

// write tries the next write.
func (l *ledger) write(url string) (int, fencehttp.Problem) {
	l.t.Helper()
	l.next++
	status, p := put(l.t, url, l.key, l.next, strconv.FormatInt(l.next, 10))
	switch {
	case status == http.StatusNoContent:
		l.acked = l.next
	case status == http.StatusInsufficientStorage && p.Type == typeUnknown:
		l.unsure = l.next
	case status != http.StatusInsufficientStorage || p.Type != typeDisk:
		l.t.Fatalf("write %d: %d %+v", l.next, status, p)
	}
	return status, p
}

// must writes and ends the test unless that succeeds.
func (l *ledger) must(url string) {
	l.t.Helper()
	if status, p := l.write(url); status != http.StatusNoContent {
		l.t.Fatalf("write %d: %d %+v", l.next, status, p)
	}
}

// check reads without a token: the last acknowledged value is there, or a later
// one of unknown outcome, and the mark is the value's token.
func (l *ledger) check(url string) {
	l.t.Helper()
	client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
	defer client.Close()
	item, err := client.Read(l.t.Context(), kv.Request{}, l.key)
	if err != nil {
		l.t.Fatalf("%s, of which %d was acknowledged: %v", l.key, l.acked, err)
	}
	mark, err := client.Mark(l.t.Context(), l.key)
	if err != nil {
		l.t.Fatal(err)
	}
	n, _ := strconv.ParseInt(item.Value, 10, 64)
	if n != l.acked && (n != l.unsure || n < l.acked) || fence.Token(n) != item.Token || mark.Token != item.Token {
		l.t.Fatalf("%s is %q of token %d with mark %d; acknowledged %d, unknown %d", l.key, item.Value, item.Token, mark.Token, l.acked, l.unsure)
	}
}

// checkFile asks bbolt whether the file of an ended storage is consistent.
func checkFile(t *testing.T, data string) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(data, boltDB), 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
