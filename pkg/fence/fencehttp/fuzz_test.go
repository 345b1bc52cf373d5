package fencehttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// FuzzParseClaim: headers are a claim that is sent by the same headers, or are
// refused as invalid.
func FuzzParseClaim(f *testing.F) {
	f.Add("34", "/lock", "1", "exclusive", true)
	f.Add("", "", "", "", false)
	f.Add("034", " /lock", "0", "reader", true)
	f.Add("9223372036854775808", "\xff", "-1", "SHARED", true)
	f.Add("1", "\u00a0\u200b", "1", "shared", true)
	f.Fuzz(func(t *testing.T, token, scope, sequence, mode string, all bool) {
		h := http.Header{fencehttp.HeaderToken: {token}}
		if all {
			h[fencehttp.HeaderScope], h[fencehttp.HeaderSequence], h[fencehttp.HeaderMode] = []string{scope}, []string{sequence}, []string{mode}
		}
		c, err := fencehttp.ParseClaim(h, "default")
		if err != nil {
			if fencehttp.ReasonOf(err) != fencehttp.ReasonInvalid {
				t.Fatalf("%v: %v", h, err)
			}
			return
		}
		if !c.Token.Valid() || c.Sequence < 0 || c.Scope == "" || len(c.Scope) > fencehttp.MaxScope || strings.ContainsAny(c.Scope, "\r\n\x00") {
			t.Fatalf("%v is the claim %+v", h, c)
		}
		again := make(http.Header)
		fencehttp.SetClaim(again, c)
		if got, err := fencehttp.ParseClaim(again, ""); err != nil || got != c {
			t.Fatalf("%v is the claim %+v, which is sent as %v and is then %+v, %v", h, c, again, got, err)
		}
		for name, v := range again {
			if v[0] != h.Get(name) && (name != fencehttp.HeaderScope || all) {
				t.Fatalf("%s: %q has another spelling, %q", name, h.Get(name), v[0])
			}
		}
	})
}

// answering is a server that gives one answer.
type answering struct{ resp http.Response }

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) { return &a.resp, nil }

// FuzzTransport: whatever a server answers is passed on whole, or is a refusal.
func FuzzTransport(f *testing.F) {
	stale, _ := fencehttp.NewProblem(&fence.StaleError{Scope: "/lock", Token: 33, Mark: 34})
	f.Add(412, fencehttp.ContentType, "stale", `{"type":"`+stale.Type+`","reason":"stale","token":"33","mark":"34"}`)
	f.Add(412, fencehttp.ContentType, "", `{"type":"about:blank","reason":"stale"}`)
	f.Add(428, "application/problem+json; charset=utf-8", "missing", "")
	f.Add(200, "text/plain", "", "value")
	f.Add(400, fencehttp.ContentType, "", `{"token":34}`)
	f.Add(400, fencehttp.ContentType, "", strings.Repeat("x", 70_000))
	f.Fuzz(func(t *testing.T, status int, media, refused, body string) {
		h := http.Header{"Content-Type": {media}}
		if refused != "" {
			h.Set(fencehttp.HeaderRefused, refused)
		}
		tr := &fencehttp.Transport{Base: &answering{http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}}}
		req, _ := http.NewRequest(http.MethodGet, "http://x/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			if resp != nil || fencehttp.ReasonOf(err) == "" {
				t.Fatalf("%v with %v", resp, err)
			}
			if refused == "" && !strings.Contains(body, fencehttp.ProblemType[8:20]) && !strings.Contains(body, `\`) {
				t.Fatalf("%q is taken for the refusal %v", body, err)
			}
			return
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != body {
			t.Fatalf("the answer is passed on as %q, %v, want %q", b, err, body)
		}
	})
}
