package kvhttp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// FuzzRequests sends any bytes to every path. The storage must answer, with a
// problem document or contrib/lock's JSON where it refuses, and the guarded key
// changes only by a request that shows its token.
func FuzzRequests(f *testing.F) {
	f.Add("POST", "/", `{"op":"write","key":"a","val":"x","version":34}`, "", "")
	f.Add("PUT", "/v1/kv/a", "x", "33", "1")
	f.Add("POST", "/v1/batch", `{"ops":[{"op":"write","key":"a","val":"1"}]}`, "34", "")
	f.Add("DELETE", "/v1/kv/a", "", "١", "-1")
	f.Add("PUT", "/v1/kv/%ff", "x", "39", "")
	f.Add("PUT", "/v1/floor", `{"token":"41"}`, "", "")
	f.Add("GET", "/v1/snapshot", "", "", "")
	f.Fuzz(func(t *testing.T, method, path, body, token, sequence string) {
		req, err := http.NewRequest(method, "http://x"+path, bytes.NewReader([]byte(body)))
		if err != nil || req.URL.Path == "" || req.URL.Path[0] != '/' {
			return
		}
		req.Header["Fencing-Token"] = []string{token}
		req.Header["Fencing-Sequence"] = []string{sequence}
		req.Header["Fencing-Scope"] = []string{"/lock"}
		m := kv.NewMemory(kv.Options{})
		h := kvhttp.NewHandler(m, kvhttp.Options{Limits: kvhttp.Limits{Body: 100}, Metrics: kvhttp.NewMetrics()})
		call(h, "PUT", "/v1/kv/a", "kept", "Fencing-Token", "40", "Fencing-Scope", "/lock")
		call(h, "POST", "/", `{"op":"write","key":"b","val":"kept","version":40}`)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code < 200 || w.Code > 499 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		b, _ := io.ReadAll(w.Body)
		if w.Code >= 400 && !strings.HasSuffix(strings.TrimSpace(string(b)), "}") {
			t.Fatalf("status %d without a document: %q", w.Code, b)
		}
		mark, _ := m.Mark(t.Context(), "/lock")
		if mark.Token < 40 {
			t.Fatalf("the mark went down to %d", mark.Token)
		}
		if item, err := m.Read(t.Context(), kv.Request{}, "a"); (err != nil || item.Value != "kept") && mark.Token == 40 && token != "40" {
			// contrib/lock's protocol names no lock, so the key's own mark counts.
			if own, _ := m.Mark(t.Context(), "a"); own.Token == 0 {
				t.Fatalf("%s %s with token %q changed the key: %+v, %v", method, path, token, item, err)
			}
		}
	})
}

// FuzzBatch: a batch that is taken does what a plain reading of its JSON says, and
// one that is not taken does nothing.
func FuzzBatch(f *testing.F) {
	for _, s := range []string{
		`{"ops":[{"op":"write","key":"a","val":"1"},{"op":"delete","key":"b"}]}`,
		`{"ops":[{"op":"write","key":"a","val":"1"},{"op":"write","key":"a","val":""}]}`,
		`{"ops":[{"op":"delete","key":"a"}],"OPS":[{"op":"delete","key":"b"}]}`,
		`{"ops":[{}]}`, `{"ops":null}`, `{"ops":{}}`, `{"ops":[{"op":"delete","key":"a"}]}{}`, `{"ops":[],"more":1}`, "{\"ops\":[{\"op\":\"delete\",\"key\":\"\\ud800\"}]}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := kv.NewMemory(kv.Options{})
		h := kvhttp.NewHandler(m, kvhttp.Options{})
		want := map[string]string{}
		for _, key := range []string{"a", "b"} {
			call(h, "PUT", "/v1/kv/"+key, "kept", "Fencing-Token", "1", "Fencing-Scope", "/lock")
			want[key] = "kept"
		}
		w := call(h, "POST", "/v1/batch", body, "Fencing-Token", "2", "Fencing-Scope", "/lock")
		switch w.Code {
		case 204:
			var in struct{ Ops json.RawMessage }
			var ops []struct {
				Op, Key string
				Val     *string
			}
			if err := errors.Join(json.Unmarshal([]byte(body), &in), json.Unmarshal(in.Ops, &ops)); err != nil {
				t.Fatalf("%q was taken: %v", body, err)
			}
			for _, op := range ops {
				if op.Op == "delete" {
					delete(want, op.Key)
				} else {
					want[op.Key] = *op.Val
				}
			}
		case 400, 413, 414:
		default:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		if stats, _ := m.Stats(t.Context()); stats.Keys != int64(len(want)) {
			t.Fatalf("%q: %d keys, want %d", body, stats.Keys, len(want))
		}
		for key, value := range want {
			if item, err := m.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != value {
				t.Fatalf("%q: %q is %+v, %v, want %q", body, key, item, err, value)
			}
		}
	})
}

// FuzzFloor: the floor is the token of a body that is taken, and nothing else
// moves it.
func FuzzFloor(f *testing.F) {
	for _, s := range []string{`{"token":"7"}`, `{"token":7}`, `{"token":"07"}`, `{"token":"9223372036854775808"}`, `{"token":"3","token":"4"}`, `{"token":"-1"}`, `null`, `"7"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := kv.NewMemory(kv.Options{})
		w := call(kvhttp.NewHandler(m, kvhttp.Options{}), "PUT", "/v1/floor", body)
		floor, _ := m.Floor(t.Context())
		var in struct{ Token string }
		_ = json.Unmarshal([]byte(body), &in)
		token, err := fence.ParseToken(in.Token)
		switch {
		case w.Code == 200 && (err != nil || floor != token):
			t.Fatalf("%q: the floor is %d", body, floor)
		case w.Code == 400 && floor != 0 || w.Code != 200 && w.Code != 400:
			t.Fatalf("%q: %d %s, and the floor is %d", body, w.Code, w.Body, floor)
		}
	})
}

// FuzzContribLock: every answer is contrib/lock's JSON, in which "err" is empty
// only where the request was done.
func FuzzContribLock(f *testing.F) {
	for _, s := range []string{
		`{"op":"write","key":"a","val":"x","version":34}`, `{"op":"write","key":"a","version":32}`, `{"op":"read","key":"a"}`, `{"op":"read","key":""}`,
		`{"OP":"write","key":"<","val":"\u2028","version":34,"more":[{}]}`, `{"op":"write","key":"a","version":1e2}`, `[]`, `null`, `{"op":"write"}{}`,
		`{"op":"write","KEY":"b","key":"a","Val":"x","val":null,"ver\u017fion":34,"VERSION":35}`, "{\"op\":\"write\",\"\u212aey\":\"a\",\"val\":\"\u2028\x7f\",\"version\":-0}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := kv.NewMemory(kv.Options{})
		h := kvhttp.NewHandler(m, kvhttp.Options{})
		call(h, "POST", "/", `{"op":"write","key":"a","val":"kept","version":33}`)
		w := call(h, "POST", "/", body)
		var resp kvhttp.ContribResponse
		said := w.Body.String()
		d := json.NewDecoder(w.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&resp); err != nil {
			t.Fatalf("%q: %d, %v", body, w.Code, err)
		}
		if want, _ := json.Marshal(resp); said != string(want) {
			t.Fatalf("%q: the answer is %q, of package json it is %q", body, said, want)
		}
		var in kvhttp.ContribRequest
		_ = json.Unmarshal([]byte(body), &in)
		item, err := m.Read(t.Context(), kv.Request{}, in.Key)
		switch {
		case resp.Err == "" && (err != nil || w.Code != 200 || resp.Val != item.Value || resp.Version != int64(item.Token)):
			t.Fatalf("%q: %d %+v, but the key holds %+v, %v", body, w.Code, resp, item, err)
		case resp.Err == "" && in.Op == "write" && (item.Value != in.Val || int64(item.Token) != in.Version || in.Key == "a" && in.Version < 33):
			t.Fatalf("%q was done: %+v", body, item)
		}
		if resp.Err != "" {
			stats, _ := m.Stats(t.Context())
			if item, err := m.Read(t.Context(), kv.Request{}, "a"); err != nil || item.Value != "kept" || stats.Keys != 1 {
				t.Fatalf("%q was refused and done: %+v, %v, %d keys", body, item, err, stats.Keys)
			}
		}
	})
}
