package laws

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/foreign"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

func noScopeIsNoWayIn(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		e := Exchange{Method: method, Path: s.path(key), Header: []string{token("34")}}
		if method == http.MethodPut {
			e.Body = "stale"
		}
		s.refused(e, fmt.Sprintf("a %s with token 34 and no scope, where the key's own scope has seen 35", method))
		s.stays("kept", "a stale "+method+" without a scope")
		for _, path := range s.spelled(key) {
			if s.err != nil {
				return s.err
			}
			e.Path = path
			_, _ = s.client.ask(ctx, s.base, e) // it may be another key
			s.stays("kept", "a stale "+method+" of "+path+" without a scope")
		}
	}
	if s.err != nil {
		return s.err
	}
	if decodes, err := s.ask(ctx, http.MethodGet, s.encoded(key), nil, ""); err != nil {
		return fmt.Errorf("a read of a key that is spelled otherwise: %w", err)
	} else if decodes.OK() && decodes.Body == "kept" { // else a key is called as it is sent
		s.ownScope("lock a%41", nil)
	}
	s.ownScope("empty", []string{fencehttp.HeaderScope + ": "})
	return s.err
}

// ownScope makes a fresh and a stale write of a key without a scope, or with what there is in
// place of one. Both may be refused, but not the first alone.
func (s *steps) ownScope(name string, scope []string) {
	if s.err != nil {
		return
	}
	put := func(t fence.Token, value string) (a foreign.Answer) {
		if s.err == nil {
			if a, s.err = s.ask(s.ctx, http.MethodPut, s.path(name), append([]string{token(t.String())}, scope...), value); s.err != nil {
				s.err = fmt.Errorf("a write of %q without a scope: %w", name, s.err)
			}
		}
		return a
	}
	if scope == nil {
		if err := s.Write(s.ctx, fence.Claim{Scope: name, Token: 36}, name, "new"); err != nil {
			s.err = fmt.Errorf("a write of %q: %w", name, err)
		}
	} else if !put(36, "new").OK() {
		return
	}
	stale := put(34, "stale")
	if s.err == nil && !stale.Refused() {
		s.err = fmt.Errorf("a write of %q with token 34 and no scope, where 36 has been seen: the storage answered %v, want it refused", name, stale)
	}
}

// spelled are other paths of a key, or of another key that may be taken for it.
func (s *steps) spelled(key string) []string {
	name := s.name(key)
	return []string{
		s.path(key) + "/", "/" + s.path(key), foreign.PathKV + "./" + name, foreign.PathKV + "x/../" + name,
		s.encoded(key), foreign.PathKV + strings.ToUpper(name), s.path(key) + "?x=1",
	}
}

// encoded is the path of a key with a letter that need not be encoded.
func (s *steps) encoded(key string) string {
	name := s.name(key)
	return foreign.PathKV + fmt.Sprintf("%%%02X", name[0]) + name[1:]
}

// otherWaysAreClosed asks for no more than that data and mark stay as they are: a storage
// may answer what it likes to what it does not know.
func otherWaysAreClosed(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	name := s.name(key)
	stale := []string{s.scope(), token("34")}
	var ways []Exchange
	for _, path := range append([]string{
		s.path(key) + "?token=36", s.path(key) + "?Fencing-Token=36", "/v1/KV/" + name, "/V1/kv/" + name, "/kv/" + name, "/" + name,
	}, s.spelled(key)...) {
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			ways = append(ways, Exchange{Method: method, Path: path, Header: stale})
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch, "put", "delete", "MERGE"} {
		ways = append(ways, Exchange{Method: method, Path: s.path(key), Header: stale})
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		ways = append(ways,
			Exchange{Method: http.MethodPost, Path: s.path(key), Header: append([]string{"X-HTTP-Method-Override: " + method}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"X-Fencing-Token: 36"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Fencing-Sequence: 1"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Fencing-Mode: shared"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Content-Range: bytes 0-4/5"}, stale...)},
		)
	}
	ways = append(ways,
		Exchange{Method: http.MethodPost, Path: "/v1/batch", Header: stale, Body: fmt.Sprintf(`{"ops": [{"op": "write", "key": %q, "val": "stale"}]}`, name)},
		Exchange{Method: http.MethodPost, Path: "/", Body: fmt.Sprintf(`{"op":"write","key":%q,"val":"stale","version":34}`, name)},
		Exchange{Method: http.MethodPut, Path: "/v1/marks/" + name, Header: stale, Body: `{"token":"1"}`},
		Exchange{Method: http.MethodDelete, Path: "/v1/marks/" + name, Header: stale},
	)
	for _, e := range ways {
		if s.err != nil {
			break
		}
		if e.Body == "" && !strings.EqualFold(e.Method, http.MethodDelete) {
			e.Body = "stale"
		}
		_, _ = s.client.ask(ctx, s.base, e) // what it answers does not matter
		s.stays("kept", "the stale request "+e.asked())
	}
	if s.err != nil {
		return s.err
	}
	if s.write(34, "stale", fence.ErrStale); s.err != nil {
		return fmt.Errorf("after requests that must not lower the mark: %w", s.err)
	}
	if s.write(35, "kept", nil); s.err != nil {
		return fmt.Errorf("after requests that must not raise the mark: %w", s.err)
	}
	return nil
}

// marksAreNoKeys tries the names under which one would keep marks beside the data.
func marksAreNoKeys(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	name := s.name(lock)
	var keys []string
	for _, word := range []string{"mark", "marks", "fence", "token", "scope", "lock"} {
		for _, sep := range []string{":", "/", ".", "_", "-", "#", "|"} {
			keys = append(keys, word+sep+name, name+sep+word)
		}
		keys = append(keys, "__"+word+"__"+name, "_"+word+"_"+name, "__"+word+"__:"+name, "."+word+"/"+name)
	}
	other := []string{fencehttp.HeaderScope + ": " + s.name("other"), token("1")}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		for _, k := range keys {
			e := Exchange{Method: method, Path: foreign.PathKV + url.PathEscape(k), Header: other}
			if method == http.MethodPut {
				e.Body = "1"
			}
			_, _ = s.client.ask(ctx, s.base, e) // what it answers does not matter
		}
		if s.write(34, "stale", fence.ErrStale); s.err != nil {
			return fmt.Errorf("after a %s of keys that are called like a mark, such as %s: %w", method, keys[0], s.err)
		}
	}
	s.stays("kept", "requests of other keys")
	return s.err
}

func headIsARead(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	head := func(t string) (foreign.Answer, error) {
		return s.ask(ctx, http.MethodHead, s.path(key), []string{s.scope(), token(t)}, "")
	}
	fresh, err := head("36")
	if err != nil {
		return fmt.Errorf("a HEAD with token 36: %w", err)
	}
	if !fresh.OK() {
		return fmt.Errorf("%w: the storage answers %v to a HEAD", fencetest.ErrNotApplicable, fresh)
	}
	stale, err := head("34")
	if err != nil {
		return fmt.Errorf("a HEAD with token 34: %w", err)
	}
	if stale.OK() {
		return fmt.Errorf("a HEAD with token 34: the storage answered %v, want it refused with 412", stale)
	}
	s.write(35, "stale after a HEAD with token 36", fence.ErrStale)
	return s.err
}

// partsAreReads judges those that are answered; a storage may refuse what it does not know.
func partsAreReads(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	s.stays("kept", "a write") // a cache has the answer now
	for i, asks := range []string{
		"Range: bytes=0-1", "If-None-Match: *", "If-Modified-Since: " + time.Now().Add(time.Hour).UTC().Format(http.TimeFormat),
		"Cache-Control: max-age=3600", "Cache-Control: only-if-cached",
	} {
		next := fence.Token(36 + i)
		get := func(t fence.Token) (answered bool) {
			a, err := s.ask(ctx, http.MethodGet, s.path(key), []string{s.scope(), token(t.String()), asks}, "")
			if err != nil && s.err == nil {
				s.err = fmt.Errorf("a GET with %s: %w", asks, err)
			}
			return a.OK() || a.Status == http.StatusNotModified
		}
		if !get(next) || s.err != nil {
			continue
		}
		if s.write(next-1, "stale", fence.ErrStale); s.err != nil {
			return fmt.Errorf("after a GET with token %d and %s: %w", next, asks, s.err)
		}
		if get(next-1) && s.err == nil {
			return fmt.Errorf("a GET with %s and token %d, where %d has been seen, was answered, want it refused with 412", asks, next-1, next)
		}
	}
	return s.err
}
