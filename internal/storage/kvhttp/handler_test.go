package kvhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// call sends one request to h and returns status, body and headers.
func call(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func newHandler() http.Handler {
	return kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Limits: kvhttp.Limits{Body: 200}, Metrics: kvhttp.NewMetrics()})
}

// TestContribLockByteForByte pins the whole answer to each request. Where
// contrib/lock answers otherwise, the line says so.
func TestContribLockByteForByte(t *testing.T) {
	h := newHandler()
	for _, tt := range []struct{ request, want string }{
		{`{"op":"read","key":"key0","val":"","version":0}`, `{"val":"","version":-1,"err":"key not found"}`},
		{`{"op":"write","key":"key0","val":"value from client 1","version":7587864043912667909}`, `{"val":"value from client 1","version":7587864043912667909,"err":""}`},
		{`{"op":"write","key":"key0","val":"a newer version","version":7587864043924780810}`, `{"val":"a newer version","version":7587864043924780810,"err":""}`}, // there: refused
		{`{"op":"write","key":"key0","val":"stale","version":7587864043912667909}`, `{"val":"","version":-1,"err":"given version (694d82254d5fa305) is older than the existing version (694d82254e18770a)"}`},
		{`{"op":"read","key":"key0"}`, `{"val":"a newer version","version":7587864043924780810,"err":""}`},
		{`{"op":"read","key":"key0","version":1}`, `{"val":"a newer version","version":7587864043924780810,"err":""}`},
		{`{"OP":"write","Key":"key1","VAL":"<&>","Version":1,"more":[]}`, `{"val":"\u003c\u0026\u003e","version":1,"err":""}`},
		{`{"op":"write","key":"key1","version":2}`, `{"val":"","version":2,"err":""}`},
	} {
		w := call(h, "POST", "/", tt.request)
		if w.Code != 200 || w.Body.String() != tt.want {
			t.Errorf("%s\ngot  %d %s\nwant 200 %s", tt.request, w.Code, w.Body, tt.want)
		}
	}
}

// TestBadInputChangesNothing sends every kind of bad request to a storage with
// one key. Each must be answered with the status and words given, and leave key
// and mark as they were.
func TestBadInputChangesNothing(t *testing.T) {
	long := strings.Repeat("x", 300)
	token := []string{"Fencing-Token", "34"}
	scoped := append([]string{"Fencing-Scope", "/lock"}, token...)
	for _, tt := range []struct {
		method, path, body string
		header             []string
		status             int
		want               string
	}{
		{"POST", "/", "", nil, 400, "the body is empty"},
		{"POST", "/", "not JSON", nil, 400, "not the JSON wanted"},
		{"POST", "/", `{"op":"write"`, nil, 400, "not the JSON wanted"},
		{"POST", "/", `[]`, nil, 400, "not the JSON wanted"},
		{"POST", "/", `{"op":1,"key":"a"}`, nil, 400, "string"},
		{"POST", "/", `{"op":"write","key":"a","val":7,"version":34}`, nil, 400, "string"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":"34"}`, nil, 400, "int64"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":34.5}`, nil, 400, "int64"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":3e1}`, nil, 400, "int64"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":9223372036854775808}`, nil, 400, "int64"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":0}`, nil, 428, "missing token"},
		{"POST", "/", `{"op":"write","key":"a","val":"x"}`, nil, 428, "missing token"},
		{"POST", "/", `{"op":"write","key":"a","val":"x","version":-5}`, nil, 400, "invalid token"},
		{"POST", "/", `{"op":"steal","key":"a"}`, nil, 400, `unknown op: \"steal\"`},
		{"POST", "/", `{"op":"read","key":""}`, nil, 400, "the key is empty"},
		{"POST", "/", `{"op":"read","key":"a"}{"op":"read","key":"a"}`, nil, 400, "goes on"},
		{"POST", "/", "{\"op\":\"write\",\"key\":\"\xff\",\"version\":34}", nil, 400, `invalid UTF-8 within \"/key\" after offset 21`},
		{"POST", "/", `{"op":"write","key":"a","val":"\ud800","version":34}`, nil, 400, `within \"/val\" after offset 31`},
		{"POST", "/", `{"op":"write","key":"a","key":"b","val":"x","version":34}`, nil, 400, `duplicate object member name \"key\"`},
		{"POST", "/", `{"op":"write","key":"a","val":"` + long + `","version":34}`, nil, 413, "limit of 200 bytes"},
		{"GET", "/", "", nil, 405, "only POST"},
		{"GET", "/nowhere", "", nil, 404, `no such path: \"/nowhere\"`},
		{"PUT", "/v1/kv/", "x", token, 400, "the key is empty"},
		{"PUT", "/v1/kv/a", "x", nil, 428, `"reason":"missing"`},
		{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "-1"}, 400, `"reason":"invalid"`},
		{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "12.0"}, 400, `"reason":"invalid"`},
		{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "9223372036854775808"}, 400, `"reason":"invalid"`},
		{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "33", "Fencing-Token", "34"}, 400, "given 2 times"},
		{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "32"}, 412, `"token":"32","mark":"33"`},
		{"PUT", "/v1/kv/a", long, token, 413, "limit of 200 bytes"},
		{"DELETE", "/v1/kv/a", "", nil, 428, `"reason":"missing"`},
		{"DELETE", "/v1/kv/a", "", []string{"Fencing-Token", "1"}, 412, `"reason":"stale"`},
		{"GET", "/v1/kv/a", "", []string{"Fencing-Token", "x"}, 400, `"reason":"invalid"`},
		{"GET", "/v1/kv/a", "", []string{"Fencing-Token", "32"}, 412, `"reason":"stale"`},
		{"GET", "/v1/kv/none", "", nil, 404, "key not found"},
		{"PATCH", "/v1/kv/a", "x", token, 405, "only GET, HEAD, PUT, DELETE"},
		{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":"a"}]}`, token, 400, "needs the header Fencing-Scope"},
		{"POST", "/v1/batch", `{"ops":[]}`, scoped, 400, "0 operations"},
		{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":""}]}`, scoped, 400, "ops[0]: the key is empty"},
		{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":"a"},{"op":"read","key":"a"}]}`, scoped, 400, `ops[1]: unknown op \"read\"`},
		{"POST", "/v1/batch", `{"ops":[{"op":"write","key":"a"}]}`, scoped, 400, `needs a \"val\"`},
		{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":"a","val":""}]}`, scoped, 400, `has no \"val\"`},
		{"POST", "/v1/batch", `{"operations":[]}`, scoped, 400, `unknown field \"operations\"`},
		{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":"a"}]}`, []string{"Fencing-Scope", "/lock"}, 428, `"reason":"missing"`},
		{"GET", "/v1/marks/", "", nil, 400, "the scope is empty"},
		{"PUT", "/v1/marks/a", "99", token, 405, "only GET, HEAD"},
		{"PUT", "/healthz", "", nil, 405, "only GET, HEAD"},
	} {
		t.Run(fmt.Sprintf("%s %s %.40s", tt.method, tt.path, tt.body), func(t *testing.T) {
			h := newHandler()
			if w := call(h, "PUT", "/v1/kv/a", "kept", "Fencing-Token", "33"); w.Code != 204 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			w := call(h, tt.method, tt.path, tt.body, tt.header...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d %s\nwant %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			if w := call(h, "GET", "/v1/kv/a", ""); w.Body.String() != "kept" || w.Header().Get("Fencing-Token") != "33" {
				t.Errorf("afterwards the key holds %q of token %s", w.Body, w.Header().Get("Fencing-Token"))
			}
			if w := call(h, "GET", "/v1/marks/a", ""); w.Body.String() != `{"scope":"a","token":"33","sequence":"0","shared":"0"}`+"\n" {
				t.Errorf("afterwards the mark is %s", w.Body)
			}
			if w := call(h, "GET", "/v1/marks//lock", ""); w.Body.String() != `{"scope":"/lock","token":"0","sequence":"0","shared":"0"}`+"\n" {
				t.Errorf("afterwards the mark of /lock is %s", w.Body)
			}
		})
	}
}

// TestKeysAreTakenAsTheyAre: no path cleaning, no redirect, no second decoding.
func TestKeysAreTakenAsTheyAre(t *testing.T) {
	srv := httptest.NewServer(newHandler())
	defer srv.Close()
	client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
	defer client.Close()
	req := kv.Request{}
	req.Token = 1
	keys := []string{"a", "a/b", "/a", "//a//b/", "..", "a/../b", ".", "a%2Fb", "a b", "a?b", "a#b", "é", "\n", "\x00", "a;b", "+", "%"}
	for _, key := range keys {
		if _, err := client.Write(t.Context(), req, key, "value of "+key); err != nil {
			t.Errorf("write %q: %v", key, err)
		}
	}
	for _, key := range keys {
		item, err := client.Read(t.Context(), kv.Request{}, key)
		if err != nil || item.Value != "value of "+key || item.Token != 1 {
			t.Errorf("read %q: %+v, %v", key, item, err)
		}
	}
}

func TestValuesAreAnyBytes(t *testing.T) {
	h := newHandler()
	value := string([]byte{0, 255, 10, 13, 128})
	call(h, "PUT", "/v1/kv/a", value, "Fencing-Token", "1")
	if w := call(h, "GET", "/v1/kv/a", ""); w.Body.String() != value {
		t.Errorf("got %q", w.Body)
	}
}

func TestBatchAndMark(t *testing.T) {
	h := newHandler()
	call(h, "PUT", "/v1/kv/old", "x", "Fencing-Token", "33", "Fencing-Scope", "/lock")
	w := call(h, "POST", "/v1/batch", `{"ops":[{"op":"write","key":"new","val":"1"},{"op":"delete","key":"old"}]}`,
		"Fencing-Token", "34", "Fencing-Scope", "/lock", "Fencing-Sequence", "7")
	if w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/v1/kv/old", ""); w.Code != 404 {
		t.Errorf("old: %d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/v1/kv/new", ""); w.Body.String() != "1" {
		t.Errorf("new: %d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/v1/marks//lock", ""); w.Body.String() != `{"scope":"/lock","token":"34","sequence":"7","shared":"0"}`+"\n" {
		t.Errorf("mark: %s", w.Body)
	}
	if w := call(h, "PUT", "/v1/kv/new", "2", "Fencing-Token", "34", "Fencing-Scope", "/lock", "Fencing-Sequence", "7"); w.Code != 204 || w.Header().Get(fencehttp.HeaderDuplicate) != "true" {
		t.Errorf("duplicate: %d %v", w.Code, w.Header())
	}
}

// TestTwoMarks: readers refuse each other nothing, and the mark has both modes.
func TestTwoMarks(t *testing.T) {
	h := newHandler()
	ask := func(method, token string, more ...string) *httptest.ResponseRecorder {
		return call(h, method, "/v1/kv/a", "x", append([]string{"Fencing-Token", token}, more...)...)
	}
	ask("PUT", "34")
	for _, tt := range []struct {
		w      *httptest.ResponseRecorder
		status int
		want   string
	}{
		{ask("GET", "37", "Fencing-Mode", "shared"), 200, "x"},
		{ask("GET", "36", "Fencing-Mode", "shared"), 200, "x"},
		{ask("PUT", "36"), 412, `"mark":"37","mark_mode":"shared"`},
		{ask("GET", "33", "Fencing-Mode", "shared"), 412, `"mark":"34"}`},
		{ask("PUT", "38", "Fencing-Mode", "shared", "Fencing-Sequence", "1"), 400, `"field":"sequence"`},
		{ask("GET", "38", "Fencing-Mode", "reader"), 400, `"field":"mode"`},
		{call(h, "GET", "/v1/marks/a", ""), 200, `{"scope":"a","token":"34","sequence":"0","shared":"37"}`},
	} {
		if tt.w.Code != tt.status || !strings.Contains(tt.w.Body.String(), tt.want) {
			t.Errorf("%d %s, want %d with %s", tt.w.Code, tt.w.Body, tt.status, tt.want)
		}
	}
}

// TestDiffersIsNotOlder: a storage that refuses newer tokens does not call them older.
func TestDiffersIsNotOlder(t *testing.T) {
	h := seeded(t, kv.NewFlawed(kv.FlawDiffers, kv.Options{}), kvhttp.Options{}) // by token 34
	for _, tt := range []struct{ token, contrib, title, detail string }{
		{"35", "given version (23) is different from the existing version (22)", "The token differs from the mark", "35 in scope \\\"a\\\" differs from the highest admitted, 34"},
		{"33", "given version (21) is older than the existing version (22)", "The token is stale", "33 in scope \\\"a\\\" is older than the highest admitted, 34"},
	} {
		if w := call(h, "POST", "/", `{"op":"write","key":"a","val":"y","version":`+tt.token+`}`); w.Code != 200 || !strings.Contains(w.Body.String(), tt.contrib) {
			t.Errorf("contrib/lock: %d %s, want %s", w.Code, w.Body, tt.contrib)
		}
		w := call(h, "PUT", "/v1/kv/a", "y", "Fencing-Token", tt.token)
		if w.Code != 412 || !strings.Contains(w.Body.String(), tt.title) || !strings.Contains(w.Body.String(), tt.detail) {
			t.Errorf("/v1: %d %s, want %s and %s", w.Code, w.Body, tt.title, tt.detail)
		}
	}
}

// TestIssuerIsAsked: a token that nobody issued is refused as ahead, and one
// that cannot be judged is not admitted.
func TestIssuerIsAsked(t *testing.T) {
	var fail error
	m := kv.NewMemory(kv.Options{Bound: func(fence.Claim) (fence.Token, error) { return 40, fail }})
	h := kvhttp.NewHandler(m, kvhttp.Options{})
	if w := call(h, "PUT", "/v1/kv/a", "x", "Fencing-Token", "9223372036854775807"); w.Code != 422 || !strings.Contains(w.Body.String(), `"bound":"40"`) {
		t.Errorf("ahead: %d %s", w.Code, w.Body)
	}
	if w := call(h, "POST", "/", `{"op":"write","key":"a","version":41}`); w.Code != 422 {
		t.Errorf("ahead, contrib/lock: %d %s", w.Code, w.Body)
	}
	fail = errors.New("etcd is down")
	if w := call(h, "PUT", "/v1/kv/a", "x", "Fencing-Token", "39"); w.Code != 503 || !strings.Contains(w.Body.String(), "etcd is down") {
		t.Errorf("not known: %d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/v1/kv/a", ""); w.Code != 404 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// TestNothingIsChangedOnItsWay: no two keys become one, and what JSON cannot carry is
// refused, not returned as something else.
func TestNothingIsChangedOnItsWay(t *testing.T) {
	const replacement = `"\ufffd"`
	h := newHandler()
	for _, key := range []string{`"\ud800"`, `"\udfff"`, `"\udc00\ud800"`, `"a\ud800b"`, "\"\xff\"", "\"\xed\xa0\x80\""} {
		for _, body := range []string{
			`{"op":"write","key":` + key + `,"val":"x","version":1}`,
			`{"op":"write","key":"k","val":` + key + `,"version":1}`,
			`{"op":"read","key":` + key + `}`,
			`{"op":"read","key":"k",` + key + `:1}`,
		} {
			if w := call(h, "POST", "/", body); w.Code != 400 || !strings.Contains(w.Body.String(), "after offset") {
				t.Errorf("%q: %d %s", body, w.Code, w.Body)
			}
		}
		body := `{"ops":[{"op":"write","key":` + key + `,"val":"x"}]}`
		if w := call(h, "POST", "/v1/batch", body, "Fencing-Token", "1", "Fencing-Scope", "/lock"); w.Code != 400 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
	// U+FFFD itself, and pairs, are characters like others.
	for _, text := range []string{replacement, `"\ud83d\ude00"`, "\"\U0001F600\"", "\"\uFFFD\""} {
		if w := call(h, "POST", "/", `{"op":"write","key":`+text+`,"val":`+text+`,"version":1}`); w.Code != 200 {
			t.Errorf("%s: %d %s", text, w.Code, w.Body)
		}
	}
	if w := call(h, "GET", "/v1/kv/%EF%BF%BD", ""); w.Body.String() != "\uFFFD" {
		t.Errorf("U+FFFD: %d %q", w.Code, w.Body)
	}

	for _, value := range []string{"\xff", "text\xfe", "\xed\xa0\x80"} {
		call(h, "PUT", "/v1/kv/b", value, "Fencing-Token", "1")
		w := call(h, "POST", "/", `{"op":"read","key":"b"}`)
		where := fmt.Sprintf("from byte %d on", strings.IndexFunc(value, func(r rune) bool { return r == '\uFFFD' }))
		if w.Code != 406 || !strings.Contains(w.Body.String(), where) || !strings.Contains(w.Body.String(), "GET /v1/kv/b") {
			t.Errorf("%q: %d %s", value, w.Code, w.Body)
		}
	}

	call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "34")
	w := call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "33")
	if strings.Contains(w.Body.String(), "\uFFFD") || !strings.Contains(w.Body.String(), `\"\\xff\"`) {
		t.Errorf("stale: %s", w.Body)
	}
	if w := call(h, "GET", "/v1/marks/%ff", ""); w.Code != 406 || strings.Contains(w.Body.String(), "\uFFFD") {
		t.Errorf("mark: %d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/%ff", ""); strings.Contains(w.Body.String(), "\uFFFD") {
		t.Errorf("no such path: %s", w.Body)
	}
}

// TestScopeOfAnyBytes: a key may be any bytes, and is the scope where none is
// named; a metric's label may not.
func TestScopeOfAnyBytes(t *testing.T) {
	h := newHandler()
	call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "34")
	if w := call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "33"); w.Code != 412 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(h, "GET", "/metrics", ""); !strings.Contains(w.Body.String(), "fencelab_storage_stale_total{scope=\"\uFFFD\"} 1") {
		t.Errorf("the stale write is not counted:\n%s", w.Body)
	}
}
