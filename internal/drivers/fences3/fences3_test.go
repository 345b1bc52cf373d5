package fences3_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/platform/network/networktest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fences3"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// TestLaws: the server is killed, and starts again, where a law asks for it.
func TestLaws(t *testing.T) {
	server := start(t)
	client := dial(server.Addr)
	open := func(ctx context.Context, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		bucket := strings.ToLower(rand.Text())
		s, err := create(ctx, client, bucket)
		if err != nil {
			return nil, err
		}
		s.Bound = bound
		return drivertest.Document{Name: bucket, Change: s.Do, Look: s.Read}, nil
	}
	drivertest.LawsOfStore(t, fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return open(ctx, nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(ctx, func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, first fencetest.Store) (fencetest.Store, error) {
			bucket := first.(drivertest.Document).Name
			s, err := fences3.New(ctx, dial(server.Addr), bucket)
			if err != nil {
				return nil, err
			}
			return drivertest.Document{Name: bucket, Change: s.Do, Look: s.Read}, nil
		},
		Restart: func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
			return old, errors.Join(server.Process().Kill(), server.Restart(ctx))
		},
		Fail:     drivertest.FailDocument,
		Idle:     time.Second,
		Marks:    200,
		MaxScope: 200, // its key is the name of a file there
	})
}

func keep(data []byte) ([]byte, error) { return data, nil }

func to(data string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(data), nil }
}

func claim(token fence.Token) fence.Claim { return fence.Claim{Scope: "order-7", Token: token} }

// orders is a bucket with a store, as a client that knows nothing of marks sees it.
type orders struct {
	*s3.Client
	*fences3.Store
}

func newOrders(t *testing.T, addr string) orders {
	t.Helper()
	client := dial(addr)
	s, err := create(t.Context(), client, "orders")
	if err != nil {
		t.Fatal(err)
	}
	return orders{client, s}
}

// put is what the client does by itself. It returns the ETag.
func (o orders) put(ctx context.Context, data, mark string, ifMatch *string) (*string, error) {
	out, err := o.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String("orders"), Key: aws.String("order-7"), Body: strings.NewReader(data),
		Metadata: map[string]string{"mark": mark}, IfMatch: ifMatch,
	})
	if err != nil {
		return nil, err
	}
	return out.ETag, nil
}

// TestSameDataAgain: a later holder raises the mark, and leaves the data as they are, while an earlier one is about to write.
// A mark in the metadata would go down again, as the ETag stays: the server says so.
func TestSameDataAgain(t *testing.T) {
	ctx := t.Context()
	o := newOrders(t, start(t).Addr)
	read, err := o.put(ctx, "data", "33", nil)
	if err != nil {
		t.Fatal(err)
	}
	raised, err := o.put(ctx, "data", "34", read)
	if err != nil || *raised != *read {
		t.Errorf("the same data with the mark 34: %v, and the ETag %v, want %v", err, raised, read)
	}
	if _, err := o.put(ctx, "late", "33", read); err != nil {
		t.Errorf("a late write of the holder with the token 33, with the mark in the metadata: %v", err)
	}

	if err := o.Do(ctx, claim(33), to("data")); err != nil {
		t.Fatal(err)
	}
	calls := 0
	late := o.Do(ctx, claim(33), func([]byte) ([]byte, error) {
		calls++
		return []byte("late"), o.Do(ctx, claim(34), keep)
	})
	data, mark, err := o.Read(ctx, "order-7")
	if !errors.Is(late, fence.ErrStale) || calls != 1 || err != nil || string(data) != "data" || mark.Token != 34 {
		t.Errorf("by fences3 the late write: %v, after %d calls; then %q, %+v, %v", late, calls, data, mark, err)
	}
}

// calls are the names of calls of Do.
var calls = regexp.MustCompile(` by [A-Z2-7]{26}`)

// TestOtherWrites: a client that knows nothing of marks reads a line before the data, and takes the mark away.
func TestOtherWrites(t *testing.T) {
	ctx := t.Context()
	o := newOrders(t, start(t).Addr)
	object := &s3.GetObjectInput{Bucket: aws.String("orders"), Key: aws.String("order-7")}
	for _, step := range []struct {
		name   string
		do     func() error
		inside string // what a GET has
		data   string
		mark   fence.Mark
	}{
		{"a PUT", func() error { _, err := o.put(ctx, "plain", "", nil); return err }, "plain", "plain", fence.Mark{}},
		{"a write by Do", func() error { return o.Do(ctx, claim(34), to("paid")) }, "Fence-Mark: 34 0 0 by …\npaid", "paid", fence.Mark{Token: 34}},
		{"another PUT", func() error { _, err := o.put(ctx, "plain", "", nil); return err }, "plain", "plain", fence.Mark{}},
		{"a late write by Do", func() error { return o.Do(ctx, claim(33), to("late")) }, "Fence-Mark: 33 0 0 by …\nlate", "late", fence.Mark{Token: 33}},
		{"a delete by Do", func() error { return o.Do(ctx, claim(35), func([]byte) ([]byte, error) { return nil, nil }) },
			"Fence-Mark: 35 0 0 by … deleted\n", "", fence.Mark{Token: 35}},
		{"a DELETE", func() error {
			_, err := o.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: object.Bucket, Key: object.Key})
			return err
		}, "", "", fence.Mark{}},
		{"a late write by Do", func() error { return o.Do(ctx, claim(33), to("late")) }, "Fence-Mark: 33 0 0 by …\nlate", "late", fence.Mark{Token: 33}},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		data, mark, err := o.Read(ctx, "order-7")
		if err != nil || string(data) != step.data || (data == nil) != (step.data == "") || mark != step.mark {
			t.Errorf("after %s: %q, %+v, %v, want %q, %+v", step.name, data, mark, err, step.data, step.mark)
		}
		got, err := o.GetObject(ctx, object)
		if step.inside == "" {
			if err == nil {
				t.Errorf("after %s there is an object", step.name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inside, err := io.ReadAll(got.Body)
		inside = calls.ReplaceAll(inside, []byte(" by …"))
		if err != nil || string(inside) != step.inside {
			t.Errorf("after %s a GET has %q, %v, want %q", step.name, inside, err, step.inside)
		}
		got.Body.Close()
	}
}

// TestLostAnswer: the PUT was done, and its answer is lost. A client that asks again by itself is told that it came too late.
// Do asks once, and says that it does not know. Asked once more under the same sequence number it says that it is done.
func TestLostAnswer(t *testing.T) {
	ctx := t.Context()
	net := networktest.NewLossy(t, start(t).Addr, func(r *http.Request) bool { return r.Method == http.MethodPut })
	o := newOrders(t, net.Listener.Addr().String())
	if err := o.Do(ctx, claim(34), to("paid")); err != nil {
		t.Fatal(err)
	}
	got, err := o.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String("orders"), Key: aws.String("order-7")})
	if err != nil {
		t.Fatal(err)
	}
	net.Loses.Store(true)
	_, err = o.put(ctx, "sent twice", "", got.ETag)
	var said interface{ HTTPStatusCode() int }
	if !errors.As(err, &said) || said.HTTPStatusCode() != http.StatusPreconditionFailed {
		t.Errorf("a PUT that the client sends again by itself: %v, want 412", err)
	}

	first := claim(35)
	first.Sequence = 1
	net.Loses.Store(true)
	net.Writes.Store(0)
	err = o.Do(ctx, first, to("shipped"))
	if err == nil || fence.OutcomeOf(err) != fence.Unknown || net.Writes.Load() != 1 {
		t.Errorf("without an answer: %v (%v) after %d requests, want that it is unknown after one", err, fence.OutcomeOf(err), net.Writes.Load())
	}
	again := o.Do(ctx, first, to("shipped twice"))
	data, mark, err := o.Read(ctx, "order-7")
	if !errors.Is(again, fence.ErrDuplicate) || err != nil || string(data) != "shipped" || mark != (fence.Mark{Token: 35, Sequence: 1}) {
		t.Errorf("once more: %v; then %q, %+v, %v", again, data, mark, err)
	}
}

// TestSentTwice: something on the way sends a PUT again whose answer it has not got. The second one is refused because of the
// first, and the change is made once.
func TestSentTwice(t *testing.T) {
	var once atomic.Bool // the next write is sent twice
	proxy := drivertest.TwiceProxy(t, start(t).Addr, func(r *http.Request) bool {
		return r.Method == http.MethodPut && once.CompareAndSwap(true, false)
	})
	o := newOrders(t, strings.TrimPrefix(proxy, "http://"))
	one := claim(7)
	one.Sequence = 1
	shared := claim(8)
	shared.Mode = fence.Shared
	for i, c := range []fence.Claim{claim(7), claim(7), one, shared} {
		once.Store(true)
		if err := o.Do(t.Context(), c, func(data []byte) ([]byte, error) { return append(data, '.'), nil }); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if data, _, err := o.Read(t.Context(), "order-7"); err != nil || len(data) != i+1 {
			t.Errorf("%+v: after %d changes the data are %q, %v", c, i+1, data, err)
		}
	}
}

func TestSentTwiceUnread(t *testing.T) {
	addr := start(t).Addr
	if _, err := create(t.Context(), dial(addr), "orders"); err != nil {
		t.Fatal(err)
	}
	drivertest.ChangedTwiceUnread(t, http.DefaultTransport, func(client *http.Client) (func(context.Context) error, error) {
		often := dial(addr).Options()
		often.HTTPClient, often.Retryer = client, aws.NopRetryer{}
		s, err := fences3.New(t.Context(), s3.New(often), "orders")
		return func(ctx context.Context) error { return s.Do(ctx, claim(7), to("paid")) }, err
	})
}

// TestErrors: each says what is wrong, and that nothing was done.
func TestErrors(t *testing.T) {
	ctx := t.Context()
	server := start(t)
	o := newOrders(t, server.Addr)
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s: got %v, want an error that is definite and says %q", what, err, want)
		}
	}
	_, err := fences3.New(ctx, o.Client, "nowhere")
	refused("no bucket", err, "fences3: the bucket nowhere: ")
	if _, err := o.put(ctx, "Fence-Mark: none\n", "", nil); err != nil {
		t.Fatal(err)
	}
	refused("another one's mark", o.Do(ctx, claim(1), keep), `the object order-7 has the line "Fence-Mark: none", which is none of this package`)
	refused("no scope", o.Do(ctx, fence.Claim{Token: 1}, keep), "want 1 to 1000")
	long := fence.Claim{Scope: strings.Repeat("x", 1000), Token: 1}
	refused("a key that the server does not take", o.Do(ctx, long, keep), `x", token 1: `)
	if err := server.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	refused("no server", o.Do(ctx, claim(1), keep), "connection refused")
}
