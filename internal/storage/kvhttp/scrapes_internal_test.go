package kvhttp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestScrapesShare: many who ask at once share a rendering that begins after they asked, and
// between two renderings is a rest.
func TestScrapesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = time.Second
		rendered := 0
		s := newScrapes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rendered++
			n := rendered
			time.Sleep(takes)
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			fmt.Fprint(w, n)
		}))
		begun := time.Now()
		var all sync.WaitGroup
		ask := func(form, want string, after time.Duration) {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.Header.Set("Accept", form)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != form {
					t.Errorf("got %d %q %v, want %s of %s", w.Code, w.Body, w.Header(), want, form)
				}
				if took := time.Since(begun); took != after {
					t.Errorf("%s came after %v, want %v", want, took, after)
				}
			})
		}
		ask("text", "1", takes)
		synctest.Wait()
		for range 16 { // while the first one is rendered
			ask("text", "2", takes+scrapeRest*takes+takes)
		}
		synctest.Wait()
		ask("protobuf", "3", 2*(takes+scrapeRest*takes)+takes)
		all.Wait()
	})
}

// TestScrapeThatFails: a rendering that panics is told to all who wait for it, and is no obstacle to
// the next one.
func TestScrapeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		fails.Store(true)
		s := newScrapes(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(time.Second)
			if fails.Load() {
				panic(http.ErrAbortHandler)
			}
		}))
		codes := make(chan int, 3)
		ask := func() {
			w := httptest.NewRecorder()
			defer func() {
				if recover() == nil {
					codes <- w.Code
				}
			}()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		}
		s.one <- struct{}{} // so that both wait
		go ask()
		go ask()
		synctest.Wait()
		<-s.one
		if code := <-codes; code != http.StatusInternalServerError {
			t.Errorf("who waited for it got %d", code)
		}
		fails.Store(false)
		go ask()
		if code := <-codes; code != http.StatusOK {
			t.Errorf("the next one got %d", code)
		}
	})
}
