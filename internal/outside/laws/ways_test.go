package laws_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// ways are holes by which a request comes round the check, and others that are no more than a function.
func ways() (list []hole) {
	for name, such := range map[string]func(r *http.Request) bool{
		"If-Match":           has("If-Match"),
		"an ETag":            func(r *http.Request) bool { return r.Header.Get("If-Match") == `"1"` },
		"a date":             has("If-Unmodified-Since"),
		"gzip":               func(r *http.Request) bool { return r.Header.Get("Content-Encoding") == "gzip" },
		"a cookie":           has("Cookie"),
		"a proxy's header":   has("X-Forwarded-For"),
		"a password":         has("Authorization"),
		"HTTP/1.0":           func(r *http.Request) bool { return r.Proto == "HTTP/1.0" },
		"h2c":                func(r *http.Request) bool { return r.ProtoMajor == 2 },
		"the absolute form":  func(r *http.Request) bool { return strings.HasPrefix(r.RequestURI, "http:") },
		"two scopes":         func(r *http.Request) bool { return len(r.Header.Values(scopeHeader)) > 1 },
		"If-Match, no token": func(r *http.Request) bool { return has("If-Match")(r) && !has(tokenHeader)(r) },
	} {
		list = append(list, hole{name: name + " is not checked", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodPut, such)})
	}
	isGet := func(header string) func(*http.Request) bool {
		return func(r *http.Request) bool {
			return r.Method == http.MethodGet && r.Header.Get(header) == http.MethodDelete
		}
	}
	is := func(method string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == method }
	}
	list = append(list,
		hole{name: "a form is not checked", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodPut, func(r *http.Request) bool {
			return r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
		})},
		hole{name: "OPTIONS writes", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodPut, is(http.MethodOptions))},
		hole{name: "OPTIONS deletes", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodDelete, is(http.MethodOptions))},
		hole{name: "MOVE takes a key away", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodDelete, is("MOVE"))},
		hole{name: "COPY writes over a key", found: []string{"OtherWaysAreClosed"}, change: copies},
	)
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		list = append(list, hole{name: "a GET with " + header + " deletes", found: []string{"OtherWaysAreClosed"}, change: lands(http.MethodDelete, isGet(header))})
	}
	for _, above := range []int32{8, 64} {
		list = append(list, hole{name: fmt.Sprintf("a gap opens above %d requests", above), found: []string{"CrowdIsOneStep"}, change: func(s *tiny) {
			s.split = func() bool { return s.atWork.Load() > above }
		}})
	}
	return append(list,
		hole{name: "0 is a token where no mark is", found: []string{"OnlyNumbersAreTokens"}, change: func(s *tiny) {
			right := s.token
			s.token = func(text string) (uint64, bool) {
				token, ok := right(text)
				return token, ok || text == "0"
			}
		}},
		hole{name: "a token may have _", found: []string{"OnlyNumbersAreTokens"}, change: spelled(func(text string) string { return strings.ReplaceAll(text, "_", "") })},
		hole{name: "a token may have any script's digits", found: []string{"OnlyNumbersAreTokens"}, change: spelled(decimal)},
		hole{name: "of a list of tokens the first counts", found: []string{"OnlyNumbersAreTokens", "TwoTokensAreNoWayIn"}, change: spelled(func(text string) string {
			before, _, _ := strings.Cut(text, ",")
			return before
		})},
		hole{name: "of two tokens the first counts", found: []string{"TwoTokensAreNoWayIn"}, change: func(s *tiny) {
			s.first = showsOne(func(one, _ string) string { return one })
		}},
		hole{name: "of two tokens the last counts", found: []string{"TwoTokensAreNoWayIn"}, change: func(s *tiny) {
			s.first = showsOne(func(_, other string) string { return other })
		}},
		hole{name: "a chunked body is not read", found: []string{"ChunkedBodyIsWhole"}, change: func(s *tiny) {
			s.first = func(_ http.ResponseWriter, r *http.Request) bool {
				if isChunked(r) {
					r.Body = http.NoBody
				}
				return false
			}
		}},
		hole{name: "scopes are cut at ;", found: []string{"ScopesAreNotConfused"}, change: func(s *tiny) {
			s.scope = func(scope, _ string) string { before, _, _ := strings.Cut(scope, ";"); return before }
		}},
		hole{name: "of two scopes the first is checked, and the last has the mark", found: []string{"OtherWaysAreClosed"}, change: func(s *tiny) {
			s.first = func(_ http.ResponseWriter, r *http.Request) bool {
				if two := r.Header.Values(scopeHeader); len(two) == 2 && r.Header.Get(tokenHeader) != "" {
					s.mu.Lock()
					defer s.mu.Unlock()
					if token := first(r.Header.Get(tokenHeader)); token >= s.state.Marks[two[0]] {
						s.state.Marks[two[1]] = token
						r.Header.Del(tokenHeader)
						s.unchecked = func(*http.Request) bool { return true }
					}
				}
				return false
			}
		}},
		hole{name: "a cache has answers in gzip", found: []string{"PartsAreReads"}, change: caches(func(r *http.Request, _ bool) bool {
			return r.Header.Get("Accept-Encoding") == "gzip"
		})},
		hole{name: "a cache has what is missing", found: []string{"StaleReadRefused"}, change: caches(func(_ *http.Request, there bool) bool { return !there })},
	)
}

// showsOne has a request with two tokens show one of them.
func showsOne(of func(one, other string) string) func(http.ResponseWriter, *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if two := r.Header.Values(tokenHeader); len(two) == 2 {
			r.Header.Set(tokenHeader, of(two[0], two[1]))
		}
		return false
	}
}

// higher is the higher one of two tokens that are numbers.
func higher(one, other string) string { return fmt.Sprint(max(first(one), first(other))) }

func isChunked(r *http.Request) bool { return r.ContentLength < 0 }

func has(header string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Values(header) != nil }
}

// lands has requests of a kind done as a method, without a check. Reads have an ETag.
func lands(method string, such func(*http.Request) bool) func(*tiny) {
	return func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("ETag", `"1"`)
			key, ok := strings.CutPrefix(r.URL.Path, "/v1/kv/")
			if !ok || !such(r) || r.Method == http.MethodGet && r.Header.Get("X-HTTP-Method-Override")+r.Header.Get("X-HTTP-Method")+r.Header.Get("X-Method-Override") == "" {
				return false
			}
			value, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.operate(w, method, key, string(value))
			return true
		}
	}
}

func copies(s *tiny) {
	s.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != "COPY" {
			return false
		}
		to, _ := url.Parse(r.Header.Get("Destination"))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.operate(w, http.MethodPut, strings.TrimPrefix(to.Path, "/v1/kv/"), s.state.Data[strings.TrimPrefix(r.URL.Path, "/v1/kv/")])
		return true
	}
}

// spelled has tokens read after a change.
func spelled(change func(string) string) func(*tiny) {
	return func(s *tiny) {
		right := s.token
		s.token = func(text string) (uint64, bool) { return right(change(text)) }
	}
}

// decimal has the digits of a text, of whatever script, as those of ASCII.
func decimal(text string) string {
	return strings.Map(func(r rune) rune {
		zero := r
		for unicode.IsDigit(zero-1) && r-zero < 9 {
			zero--
		}
		if r < unicode.MaxASCII || !unicode.IsDigit(r) {
			return r
		}
		return '0' + r - zero
	}, text)
}

// caches keeps answers to reads of a kind, whoever asked.
func caches(such func(r *http.Request, there bool) bool) func(*tiny) {
	return func(s *tiny) {
		var seen sync.Map
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			key := strings.TrimPrefix(r.URL.Path, "/v1/kv/")
			s.mu.Lock()
			_, there := s.state.Data[key]
			s.mu.Unlock()
			if r.Method != http.MethodGet || !such(r, there) {
				return false
			}
			if _, cached := seen.LoadOrStore(key, true); !cached {
				return false
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.operate(w, http.MethodGet, key, "")
			return true
		}
	}
}

// styles are right storages that differ in what the protocol leaves open.
var styles = map[string]func(http.Handler) http.Handler{
	"done is 200":                   statuses(map[int]int{204: 200}),
	"done is 201":                   statuses(map[int]int{204: 201}),
	"done is 202":                   statuses(map[int]int{204: 202}),
	"done is 226":                   statuses(map[int]int{204: 226}),
	"read is 203":                   statuses(map[int]int{200: 203}),
	"no token is 400":               statuses(map[int]int{428: 400}),
	"no token is 401":               statuses(map[int]int{428: 401}),
	"no token is 403":               statuses(map[int]int{428: 403}),
	"no token is 412":               statuses(map[int]int{428: 412}),
	"a bad token is 412":            statuses(map[int]int{400: 412}),
	"a bad token is 422":            statuses(map[int]int{400: 422}),
	"a bad token is 451":            statuses(map[int]int{400: 451}),
	"other methods are 400":         statuses(map[int]int{405: 400}),
	"other methods are 404":         statuses(map[int]int{405: 404}),
	"other methods are 501":         statuses(map[int]int{405: 501}),
	"headers of answers in lower":   header("x-style", "lower"),
	"answers are not kept":          header("Cache-Control", "no-store"),
	"connections are closed":        header("Connection", "close"),
	"text has a type":               header("Content-Type", "text/plain; charset=utf-8"),
	"values have an ETag":           header("ETag", `"1"`),
	"answers come in pieces":        before(func(w http.ResponseWriter, r *http.Request) bool { w.Header().Set("Trailer", "X-End"); return false }),
	"OPTIONS is answered":           answers("OPTIONS", 204),
	"HEAD is refused":               answers("HEAD", 405),
	"unknown methods close":         before(func(_ http.ResponseWriter, r *http.Request) bool { return r.Method == "MERGE" && hangUp() }),
	"the higher of two tokens":      before(showsOne(higher)),
	"a chunked body is refused":     refuses(isChunked),
	"two scopes are refused":        refuses(func(r *http.Request) bool { return len(r.Header.Values(scopeHeader)) > 1 }),
	"two scopes are one":            before(joined(scopeHeader)),
	"no scope is refused":           refuses(func(r *http.Request) bool { return r.Header.Get(scopeHeader) == "" && r.Method != http.MethodGet }),
	"conditions are refused":        refuses(has("If-Match")),
	"gzip is refused":               refuses(has("Content-Encoding")),
	"HTTP/1.0 is refused":           refuses(func(r *http.Request) bool { return r.Proto == "HTTP/1.0" }),
	"the last of two scopes counts": before(func(_ http.ResponseWriter, r *http.Request) bool { slices.Reverse(r.Header[scopeHeader]); return false }),
}

func before(do func(http.ResponseWriter, *http.Request) bool) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !do(w, r) {
				h.ServeHTTP(w, r)
			}
		})
	}
}

func hangUp() bool { panic(http.ErrAbortHandler) }

func joined(header string) func(http.ResponseWriter, *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if all := r.Header.Values(header); len(all) > 1 {
			r.Header.Set(header, strings.Join(all, ", "))
		}
		return false
	}
}

func header(name, value string) func(http.Handler) http.Handler {
	return before(func(w http.ResponseWriter, _ *http.Request) bool { w.Header()[name] = []string{value}; return false })
}

func answers(method string, status int) func(http.Handler) http.Handler {
	return before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == method {
			w.WriteHeader(status)
		}
		return r.Method == method
	})
}

func refuses(such func(*http.Request) bool) func(http.Handler) http.Handler {
	return before(func(w http.ResponseWriter, r *http.Request) bool {
		if such(r) {
			w.WriteHeader(http.StatusBadRequest)
		}
		return such(r)
	})
}

// statuses has other ones in the place of those that a storage answers.
func statuses(other map[int]int) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			status := answer.Code
			if changed, is := other[status]; is {
				status = changed
			}
			w.WriteHeader(status)
			_, _ = answer.Body.WriteTo(w) // to who may be gone
		})
	}
}

// long are the laws that take a while, and inTwo those of them that only ours can obey.
var (
	long  = []string{"ManyMarksStay", "TimeKeepsMark", "LateBodyIsNoWayIn", "RequestsInAnyOrder"}
	inTwo = []string{
		"SharedIsOneStep", "FirstSharedClaimsAreOneStep", "SequenceIsOneStep", "ProcessesShareTheStep", "ProcessesShareEveryStep", "ProcessesShareEveryScopeStep",
		"ProcessesShareTheSequenceStep", "ProcessesShareTheSharedStep",
	}
)

// short are the names of the laws that take no time.
func short() (names []string) {
	for _, l := range laws.List() {
		if !slices.Contains(long, l.Name) && !strings.HasSuffix(l.Name, "Step") {
			names = append(names, l.Name)
		}
	}
	return names
}

// ofOtherStyles judges right storages by the laws that take no time, or, in the long form, by all.
func (k *kept) ofOtherStyles(t *testing.T) {
	smallest, ours := short(), append(short(), inTwo...)
	if need.Long() {
		smallest, ours = nil, nil
	}
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k.judge(t, laws.Options{URLs: serve(t, style(newTiny(nil))), Only: smallest})
		})
	}
	t.Run("HTTP/1.0", func(t *testing.T) {
		t.Parallel()
		k.judge(t, laws.Options{URLs: serveOld(t, newTiny(nil)), Only: smallest})
	})
	t.Run("ours, without connections that are kept", func(t *testing.T) {
		t.Parallel()
		url := serve(t, header("Connection", "close")(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{})))[0]
		k.judge(t, laws.Options{URLs: []string{url, url + "/"}, Only: ours})
	})
}

// TestRootCauseIsFirst: of the laws that a hole breaks the first one says what the hole is.
func TestRootCauseIsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tokens are compared as text", "a mark for each key", "a missing token is admitted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := holes[slices.IndexFunc(holes, func(h hole) bool { return h.name == name })].found[0]
			var list []string
			for _, l := range laws.List() {
				if list = append(list, l.Name); l.Name == want {
					break
				}
			}
			for _, law := range report(t, laws.Options{URLs: serve(t, newTiny(holeOf(name))), Only: list}).Results {
				if law.Outcome == laws.Fails && law.Law != want {
					t.Errorf("%s fails before %s", law.Law, want)
				}
			}
		})
	}
}

// TestRacersAreTold: how many there were, and no more than the storage takes.
func TestRacersAreTold(t *testing.T) {
	t.Parallel()
	busy := newTiny(nil)
	for want, h := range map[int]http.Handler{
		256: newTiny(nil),
		16: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if busy.atWork.Load() > 20 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			busy.ServeHTTP(w, r)
		}),
	} {
		r := report(t, laws.Options{URLs: serve(t, h), Only: []string{"CrowdIsOneStep"}}).Results[0]
		var text strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		if r.Outcome != laws.Holds || r.Racers != want || !strings.Contains(text.String(), fmt.Sprintf("%d wrote at the same moment", want)) {
			t.Errorf("%s: %s, %d racers, want %d; it says\n%s", r.Outcome, r.Why, r.Racers, want, &text)
		}
	}
}
