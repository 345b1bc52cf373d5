package laws

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

var changing = []string{http.MethodPut, http.MethodDelete}

func noScopeIsNoWayIn(s *steps) {
	for _, method := range changing {
		e := s.asking(method, "stale", token("34"))
		s.refused(e, fmt.Sprintf("a %s with token 34 and no scope, where the key's own scope has seen 35", method))
		s.stays("kept", "a stale "+method+" without a scope")
		for _, e.Path = range s.spelled(key) {
			s.tries(e) // it may be another key
			s.stays("kept", "a stale "+method+" of "+e.Path+" without a scope")
		}
	}
	decodes := s.answer(Exchange{Method: http.MethodGet, Path: s.encoded(key)}, "a read of a key that is spelled otherwise")
	if decodes.OK() && decodes.Body == "kept" { // else a key is called as it is sent
		s.ownScope("lock a%41")
	}
	s.ownScope("empty", fencehttp.HeaderScope+": ")
}

// ownScope makes a fresh and a stale write of a key without a scope. The first may not be refused alone.
func (s *steps) ownScope(name string, scope ...string) {
	if s.err != nil {
		return
	}
	put := func(t fence.Token, value string) program.Answer {
		e := Exchange{Method: http.MethodPut, Path: s.path(name), Header: append([]string{token(t.String())}, scope...), Body: value}
		return s.answer(e, fmt.Sprintf("a write of %q without a scope", name))
	}
	if scope != nil {
		if !put(36, "new").OK() {
			return
		}
	} else if err := s.Write(s.ctx, fence.Claim{Scope: name, Token: 36}, name, "new"); err != nil {
		s.fail("a write of %q: %w", name, err)
	}
	if stale := put(34, "stale"); !stale.Refused() {
		s.fail("a write of %q with token 34 and no scope, where 36 has been seen: the storage answered %v, want it refused", name, stale)
	}
}

// spelled are other paths of a key, or of another key that may be taken for it.
func (s *steps) spelled(key string) []string {
	name := s.name(key)
	return []string{
		s.path(key) + "/", "/" + s.path(key), program.PathKV + "./" + name, program.PathKV + "x/../" + name,
		s.encoded(key), program.PathKV + strings.ToUpper(name), s.path(key) + "?x=1",
	}
}

// encoded is the path of a key with a letter that need not be encoded.
func (s *steps) encoded(key string) string {
	name := s.name(key)
	return program.PathKV + fmt.Sprintf("%%%02X", name[0]) + name[1:]
}

// The headers and methods that are tried.
var (
	headers = []string{
		"If-Match: *", "If-None-Match: *", "If-Unmodified-Since: " + future, "If-Modified-Since: " + future, "Range: bytes=0-1", "Content-Range: bytes 0-4/5",
		"Accept-Encoding: gzip", "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json", "Cache-Control: max-age=3600",
		"Cache-Control: only-if-cached", "Cookie: session=1; token=36; Fencing-Token=36", "Authorization: Basic YWRtaW46YWRtaW4=", "X-Forwarded-For: 127.0.0.1",
		"Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1", "X-Fencing-Token: 36",
	}
	overrides = []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"}
	methods   = []string{http.MethodPost, http.MethodPatch, "put", "delete", "MERGE", "MOVE", "COPY", "PURGE", "UPDATE", "PROPPATCH", http.MethodOptions}
)

const (
	future   = "Fri, 01 Jan 2100 00:00:00 GMT"
	encoding = "Content-Encoding"
)

// Tried are the headers and the methods by which ways round the check are looked for.
func Tried() string {
	names := slices.Concat(overrides, []string{encoding})
	for _, h := range headers {
		name, _, _ := strings.Cut(h, ":")
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ") + "; " + strings.Join(methods, ", ")
}

func gzipped(text string) string {
	var out strings.Builder
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text)) // to memory
	_ = z.Close()
	return out.String()
}

// otherWaysAreClosed asks that data and mark stay, whatever the storage answers to what it does not know.
func otherWaysAreClosed(s *steps) {
	name := s.name(key)
	stale := []string{s.scope(), token("34")}
	ways := []Exchange{
		{Method: http.MethodPost, Path: program.PathBatch, Header: stale, Body: fmt.Sprintf(`{"ops": [{"op": "write", "key": %q, "val": "stale"}]}`, name)},
		{Method: http.MethodPost, Path: "/", Body: fmt.Sprintf(`{"op":"write","key":%q,"val":"stale","version":34}`, name)},
		{Method: http.MethodPut, Path: "/v1/marks/" + name, Header: stale, Body: `{"token":"1"}`},
		{Method: http.MethodDelete, Path: "/v1/marks/" + name, Header: stale},
	}
	s.done(Exchange{Method: http.MethodPut, Path: s.path("other"), Header: []string{s.scope(), token("35")}, Body: "stale"}, "a write of another key")
	unclaimed := stale[:1]
	add := func(e Exchange, header ...string) { // with a stale token, and with none
		for _, claim := range [][]string{stale, unclaimed} {
			e.Header = slices.Concat(header, claim)
			ways = append(ways, e)
		}
	}
	for _, method := range methods {
		e := s.asking(method, "")
		add(e)
		add(e, "Content-Type: application/x-www-form-urlencoded")
		for _, to := range []string{s.path("away"), s.base + s.path("away")} {
			add(e, "Destination: "+to)
		}
		e.Path = s.path("other")
		for _, to := range []string{s.path(key), s.base + s.path(key)} {
			add(e, "Destination: "+to)
		}
	}
	etag := s.answer(s.asking(http.MethodGet, ""), "a read").Header.Get("ETag")
	for _, method := range changing {
		for _, path := range append([]string{
			s.path(key) + "?token=36", s.path(key) + "?Fencing-Token=36", "/v1/KV/" + name, "/V1/kv/" + name, "/kv/" + name, "/" + name,
		}, s.spelled(key)...) {
			ways = append(ways, Exchange{Method: method, Path: path, Header: stale})
		}
		e := s.asking(method, "")
		for _, more := range append([]string{"If-Match: " + etag, "Fencing-Sequence: 1", "Fencing-Mode: shared"}, headers...) {
			add(e, more)
		}
		for _, e.Form = range []string{formHTTP10, formProxied, formH2C} {
			if e.Form == formHTTP10 || strings.HasPrefix(s.base, "http:") {
				add(e)
			}
		}
		for _, by := range []string{http.MethodPost, http.MethodGet} {
			for _, name := range overrides {
				add(s.asking(by, ""), name+": "+method)
			}
			add(Exchange{Method: by, Path: s.path(key) + "?_method=" + method})
		}
	}
	zip := s.asking(http.MethodPut, gzipped("stale"))
	add(zip, encoding+": gzip")
	for _, e := range ways {
		if e.Body == "" && !strings.EqualFold(e.Method, http.MethodDelete) {
			e.Body = "stale"
		}
		s.tries(e)
		s.stays("kept", "the stale request "+e.asked())
	}
	s.after("requests that must not lower the mark", func() { s.write(34, "stale", fence.ErrStale) })
	s.after("requests that must not raise the mark", func() { s.write(35, "kept", nil) })
	s.twoScopes("scope 1", "scope 2")
	s.twoScopes("scope 4", "scope 3")
}

// twoScopes makes requests with two scopes: check and mark are of the same one, or of a third one that both make.
func (s *steps) twoScopes(one, two string) {
	put := func(t string, scopes ...string) bool {
		e := Exchange{Method: http.MethodPut, Path: s.path("scoped"), Header: []string{token(t)}, Body: t}
		for _, scope := range scopes {
			e.Header = append(e.Header, fencehttp.HeaderScope+": "+scope)
		}
		return s.answer(e, "a write with token "+t+" and the scopes "+strings.Join(scopes, " and ")).OK()
	}
	one, two = s.name(one), s.name(two)
	if !put("40", one, two) {
		return
	}
	alone := func() bool {
		return put("39", one) && put("39", two) && put("39", one+", "+two) && put("39", one+","+two)
	}
	if put("39", one, two) || alone() {
		s.fail("a write with token 39, after one with 40 and the scopes %s and %s: it was admitted, want it refused with 412", one, two)
	}
}

// marksAreNoKeys tries the names under which one would keep marks beside the data.
func marksAreNoKeys(s *steps) {
	name := s.name(lock)
	var keys []string
	for _, word := range []string{"mark", "marks", "fence", "token", "scope", "lock"} {
		for _, sep := range []string{":", "/", ".", "_", "-", "#", "|"} {
			keys = append(keys, word+sep+name, name+sep+word)
		}
		keys = append(keys, "__"+word+"__"+name, "_"+word+"_"+name, "__"+word+"__:"+name, "."+word+"/"+name)
	}
	for _, method := range changing {
		e := s.asking(method, "1", fencehttp.HeaderScope+": "+s.name("other"), token("1"))
		for _, k := range keys {
			e.Path = program.PathKV + url.PathEscape(k)
			s.tries(e)
		}
		what := fmt.Sprintf("a %s of keys that are called like a mark, such as %s", method, keys[0])
		s.after(what, func() { s.write(34, "stale", fence.ErrStale) })
	}
	s.stays("kept", "requests of other keys")
}

func headIsARead(s *steps) {
	head := func(t string) program.Answer {
		return s.answer(s.asking(http.MethodHead, "", s.scope(), token(t)), "a HEAD with token "+t)
	}
	if fresh := head("36"); !fresh.OK() {
		s.fail("%w: the storage answers %v to a HEAD", fencetest.ErrNotApplicable, fresh)
	}
	if stale := head("34"); stale.OK() {
		s.fail("a HEAD with token 34: the storage answered %v, want it refused with 412", stale)
	}
	s.write(35, "stale after a HEAD with token 36", fence.ErrStale)
}

// partsAreReads judges those that are answered; a storage may refuse what it does not know.
func partsAreReads(s *steps) {
	s.stays("kept", "a write") // a cache has the answer now
	for i, asks := range headers {
		next := fence.Token(36 + i)
		get := func(t fence.Token) (answered bool) {
			a := s.answer(s.asking(http.MethodGet, "", s.scope(), token(t.String()), asks), "a GET with "+asks)
			return a.OK() || a.Status == http.StatusNotModified
		}
		if !get(next) {
			continue
		}
		s.after(fmt.Sprintf("a GET with token %d and %s", next, asks), func() { s.write(next-1, "stale", fence.ErrStale) })
		if get(next - 1) {
			s.fail("a GET with %s and token %d, where %d has been seen, was answered, want it refused with 412", asks, next-1, next)
		}
	}
}

// connectionsKeepNothing shows requests that the connection's earlier ones could complete.
func connectionsKeepNothing(s *steps) {
	other := fencehttp.HeaderScope + ": " + s.name("other")
	scope, put := s.scope(), http.MethodPut
	smuggled := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: storage\r\n%s\r\n%s\r\nContent-Length: 5\r\n\r\nstale", s.path(key), scope, token("35"))
	answered := func(e Exchange, what string) { s.answer(e, what) }
	for _, step := range []struct {
		want func(Exchange, string)
		what string
		Exchange
	}{
		{s.done, "a write with token 35", s.asking(put, "kept", scope, token("35"))},
		{s.refused, "a write without a token, after one with a token,", s.asking(put, "stale", scope)},
		{s.refused, "a delete without a token, after a write with one,", s.asking(http.MethodDelete, "", scope)},
		{s.done, "a write in another scope", Exchange{Method: put, Path: s.path("other"), Header: []string{other, token("1")}, Body: "other"}},
		{s.refused, "a stale write that names no scope, after one in another scope,", s.asking(put, "stale", token("34"))},
		{s.refused, "a stale write whose body is itself a request", s.asking(put, smuggled, scope, token("34"))},
		{answered, "a read", s.asking(http.MethodGet, "")},
	} {
		step.Kept = true
		step.want(step.Exchange, step.what)
		s.stays("kept", step.what)
	}
	s.write(34, "stale", fence.ErrStale)
}

func (s v1) batch(ctx context.Context, c fence.Claim, key, value string) (program.Answer, error) {
	body := fmt.Sprintf(`{"ops": [{"op": "write", "key": %q, "val": %q}]}`, s.name(key), value)
	header := append(s.header(c), "Content-Type: application/json")
	return s.client.ask(ctx, s.base, Exchange{Method: http.MethodPost, Path: program.PathBatch, Header: header, Body: body})
}

func batchIsFenced(s *steps) {
	if !s.judge.speaks.Batch {
		s.fail("%w: the storage knows no batches", fencetest.ErrNotApplicable)
	}
	batch := func(t fence.Token, want bool) {
		if s.err != nil {
			return
		}
		a, err := s.batch(s.ctx, claim(t), key, "batch")
		switch {
		case err != nil:
			s.fail("a batch with token %d: %w", t, err)
		case a.OK() != want:
			s.fail("a batch with token %d: the storage answered %v, want admitted: %v", t, a, want)
		}
	}
	batch(34, false)
	batch(0, false)
	s.stays("kept", "batches that are stale, or have no token,")
	batch(36, true)
	s.write(35, "stale after a batch with token 36", fence.ErrStale)
	s.stays("batch", "a batch with token 36")
}
