package kvhttp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// TestContribBodies: the body of POST / is taken as package json takes it, and what
// it would take for something else is refused.
func TestContribBodies(t *testing.T) {
	const done = `{"val":"x","version":34,"err":""}`
	for _, tt := range []struct {
		name, body string
		want       string // of the answer
	}{
		{"plain", `{"op":"write","key":"a","val":"x","version":34}`, done},
		{"spaces", " {\n\"op\" : \"write\", \"key\":\"a\" ,\"val\":\"x\",\t\"version\": 34 }\r\n", done},
		{"escapes", `{"\u006fp":"wr\u0069te","k\u0065y":"\u0061","val":"\u0078","version":34}`, done},
		{"any case", `{"OP":"write","Key":"a","vAL":"x","VERSION":34}`, done},
		{"letters that fold", `{"op":"write","` + "\u212a" + `ey":"a","val":"x","ver` + "\u017f" + `ion":34}`, done},
		{"the last of two cases", `{"op":"write","key":"b","Key":"a","val":"x","version":34}`, done},
		{"null for what is left out", `{"op":"write","key":"a","val":"x","version":34,"OP":null,"Key":null,"Val":null,"Version":null}`, done},
		{"unknown members", `{"ops":[{"op":1}],"op":"write","key":"a","val":"x","version":34,"v":{"val":2},"":null}`, done},
		{"no value", `{"op":"write","key":"a","version":34}`, `{"val":"","version":34,"err":""}`},
		{"lowest version", `{"op":"write","key":"a","val":"x","version":-9223372036854775808}`, "token"},
		{"null", `null`, "the key is empty"},
		{"nothing", ``, "the body is empty"},
		{"array", `[]`, "want {, got ["},
		{"key twice", `{"op":"write","key":"b","key":"a","val":"x","version":34}`, "duplicate"},
		{"number for the key", `{"op":"write","key":1,"val":"x","version":34}`, `\"key\": want a string, got number`},
		{"array for the value", `{"op":"write","key":"a","val":["x"],"version":34}`, `\"val\": want a string, got [`},
		{"string for the version", `{"op":"write","key":"a","val":"x","version":"34"}`, `\"version\": want an int64, got \"34\"`},
		{"fraction", `{"op":"write","key":"a","val":"x","version":34.0}`, "want an int64, got 34.0"},
		{"above 63 bits", `{"op":"write","key":"a","val":"x","version":9223372036854775808}`, "want an int64, got 9223372036854775808"},
		{"goes on", `{"op":"write","key":"a","val":"x","version":34}{}`, "goes on"},
		{"torn", `{"op":"write","key":"a","val":"x","version":34`, "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler()
			w := call(h, "POST", "/", tt.body)
			if tt.want == done && w.Body.String() != done || !strings.Contains(w.Body.String(), tt.want) {
				t.Fatalf("got %d %s, want %s", w.Code, w.Body, tt.want)
			}
			if w := call(h, "GET", "/v1/kv/a", ""); (w.Code == 200) != strings.Contains(tt.want, `"err":""`) {
				t.Errorf("afterwards: %d %s", w.Code, w.Body)
			}
		})
	}
}

// TestContribAnswersAreThoseOfPackageJSON: byte for byte, whatever the value; and the
// one of a call is not left in the next.
func TestContribAnswersAreThoseOfPackageJSON(t *testing.T) {
	h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})
	for i, val := range []string{"", "plain", "\x00\b\f\n\r\t\x1f\x7f", "<", ">", "&", `"`, `\`, "\x1f", "\u2028", "\u2029", `"\/`, "<a href='x'>&</a>", "é\u2028\u2029\u2030\uFFFD\U0001F600",
		strings.Repeat("long ", 100), strings.Repeat("<", 5000), "short"} {
		resp := kvhttp.ContribResponse{Val: val, Version: int64(i + 1)}
		want, err := json.Marshal(resp)
		if err != nil {
			t.Fatal(err)
		}
		write, err := json.Marshal(kvhttp.ContribRequest{Op: "write", Key: "a", Val: val, Version: int64(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{string(write), `{"op":"read","key":"a"}`} {
			w := call(h, "POST", "/", body)
			if w.Code != 200 || w.Body.String() != string(want) || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%.60s: got %d %v %.200q\nwant %.200q", body, w.Code, w.Header(), w.Body, want)
			}
		}
	}
}
