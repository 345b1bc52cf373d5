package kvhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// TestBatchBodies: what a batch's body must be, to the letter; nothing of one
// that is refused is done.
func TestBatchBodies(t *testing.T) {
	const op = `{"op":"write","key":"a","val":"1"}`
	for _, c := range []struct {
		name, body string
		status     int
		say        string // part of the answer, or the value written
	}{
		{"plain", `{"ops":[` + op + `]}`, 204, "1"},
		{"spaces", " {\n \"ops\" : [ " + op + " ] } \n", 204, "1"},
		{"escapes", `{"ops":[{"\u006fp":"wr\u0069te","key":"\u0061","val":"\u00e9\n\ud83d\ude00"}]}`, 204, "é\n😀"},
		{"last of two", `{"ops":[` + op + `,{"val":"2","key":"a","op":"write"}]}`, 204, "2"},
		{"most", `{"ops":[` + strings.Repeat(op+",", kv.MaxOps-1) + op + `]}`, 204, "1"},
		{"too many", `{"ops":[` + strings.Repeat(op+",", kv.MaxOps) + op + `]}`, 413, `"limit":"ops"`},
		{"too many to look at", `{"ops":[` + strings.Repeat("{},", kv.MaxOps), 413, `"limit":"ops"`},
		{"empty", "", 400, "the body is empty"},
		{"spaces only", " \n", 400, "the body is empty"},
		{"no object", `[` + op + `]`, 400, "want {, got ["},
		{"no array", `{"ops":{}}`, 400, "want [, got {"},
		{"null", `{"ops":null}`, 400, "want [, got null"},
		{"null for a value", `{"ops":[{"op":"write","key":"a","val":null}]}`, 400, `\"val\": want a string, got null`},
		{"number for a value", `{"ops":[{"op":"write","key":"a","val":1}]}`, 400, `\"val\": want a string, got number`},
		{"object for a key", `{"ops":[{"op":"write","key":{},"val":""}]}`, 400, `\"key\": want a string, got {`},
		{"no operations at all", `{}`, 400, "0 operations"},
		{"unknown field", `{"ops":[{"op":"write","key":"a","val":"1","ttl":"9"}]}`, 400, `unknown field \"ttl\"`},
		{"unknown field of the batch", `{"ops":[` + op + `],"scope":"/b"}`, 400, `unknown field \"scope\"`},
		{"another case", `{"OPS":[` + op + `]}`, 400, `unknown field \"OPS\"`},
		{"ops twice", `{"ops":[` + op + `],"ops":[]}`, 400, "duplicate"},
		{"key twice", `{"ops":[{"op":"write","key":"a","val":"1","key":"b"}]}`, 400, "duplicate"},
		{"key twice, escaped", `{"ops":[{"op":"write","key":"a","val":"1","k\u0065y":"b"}]}`, 400, "duplicate"},
		{"goes on", `{"ops":[` + op + `]}{}`, 400, "goes on"},
		{"goes on with junk", `{"ops":[` + op + `]}]`, 400, "goes on"},
		{"torn", `{"ops":[` + op, 400, "unexpected EOF"},
		{"torn string", `{"ops":[{"op":"wri`, 400, "unexpected EOF"},
		{"no comma", `{"ops":[` + op + op + `]}`, 400, "expecting ','"},
		{"not UTF-8", "{\"ops\":[{\"op\":\"write\",\"key\":\"a\",\"val\":\"\xff\"}]}", 400, "UTF-8"},
		{"half a character", `{"ops":[{"op":"write","key":"a","val":"\ud800"}]}`, 400, "surrogate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine := kv.NewMemory(kv.Options{})
			r := httptest.NewRequest(http.MethodPost, "/v1/batch", strings.NewReader(c.body))
			r.Header.Set("Fencing-Token", "34")
			r.Header.Set("Fencing-Scope", "/lock")
			w := httptest.NewRecorder()
			kvhttp.NewHandler(engine, kvhttp.Options{}).ServeHTTP(w, r)
			item, _ := engine.Read(context.Background(), kv.Request{}, "a")
			if c.status == 204 {
				if w.Code != 204 || item.Value != c.say {
					t.Fatalf("got %d %s, and the value %q; want 204 and %q", w.Code, w.Body, item.Value, c.say)
				}
				return
			}
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.say) {
				t.Fatalf("got %d %s, want %d with %s", w.Code, w.Body, c.status, c.say)
			}
			if n, _ := engine.Stats(context.Background()); n.Keys != 0 {
				t.Fatalf("a refused batch made %d keys", n.Keys)
			}
		})
	}
}
