package fencedynamodb_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/platform/network/networktest"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencedynamodb"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// subject makes stores on a server, each a table of marks with its data.
func subject(addr string) fencetest.Subject {
	client := dial(addr)
	open := func(ctx context.Context, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		i, err := newItems(ctx, client, rand.Text())
		if err != nil {
			return nil, err
		}
		i.Bound = bound
		return i, nil
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return open(ctx, nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(ctx, func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, first fencetest.Store) (fencetest.Store, error) {
			return openItems(ctx, dial(addr), first.(*items).marks)
		},
		Fail: func(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
			i := s.(*items)
			return i.Do(ctx, c, plan(i.put(c.Scope, "beside "+key, value), i.absent(c.Scope, key)))
		},
		Idle:     time.Second,
		Marks:    200,
		MaxScope: 2048,
	}
}

func TestLaws(t *testing.T) { drivertest.LawsOfStore(t, subject(addr(t))) }

// TestLawsOfRestarts: a server that keeps its data is killed, and starts again. DynamoDB Local answers a transaction when
// its COMMIT is in a queue, where all requests are done one after the other. A kill right then would lose what is answered,
// which DynamoDB keeps. So it is killed when it has answered one more request.
func TestLawsOfRestarts(t *testing.T) {
	server := start(t, ddbproc.StartKept)
	s := subject(server.Addr)
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		if _, _, err := old.Read(ctx, fence.Claim{Scope: "/orders/7"}, "status"); err != nil {
			return nil, err
		}
		return old, errors.Join(server.Process().Kill(), server.Restart(ctx))
	}
	drivertest.RestartsOfStore(t, s)
}

func claim(token fence.Token) fence.Claim { return fence.Claim{Scope: "/orders/7", Token: token} }

// newOrders is a table of marks with its data, at a server's address.
func newOrders(t *testing.T, addr string) *items {
	t.Helper()
	i, err := newItems(t.Context(), dial(addr), rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// is says what a key has.
func (i *items) is(t *testing.T, key, want string) {
	t.Helper()
	if got, _, err := i.get(t.Context(), "/orders/7", key); err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
	}
}

// TestOneStep: either all writes are done and the mark is raised, or nothing is.
func TestOneStep(t *testing.T) {
	ctx := t.Context()
	i := newOrders(t, addr(t))
	order := func(status string) []types.TransactWriteItem {
		return []types.TransactWriteItem{i.put("/orders/7", "status", status), i.put("/orders/7", "invoice", status)}
	}
	if err := i.Do(ctx, claim(34), plan(append(order("paid"), i.put("/orders/7", "seen", "yes"))...)); err != nil {
		t.Fatal(err)
	}
	var stale *fence.StaleError
	if err := i.Do(ctx, claim(33), plan(order("late")...)); !errors.As(err, &stale) || stale.Mark != 34 {
		t.Errorf("a late write: %v", err)
	}
	err := i.Do(ctx, claim(35), plan(append(order("shipped"), i.absent("/orders/7", "seen"))...))
	if got := canceled(err); got != "None None None ConditionalCheckFailed" || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("a condition that is not met: %v (%v), reasons %s", err, fence.OutcomeOf(err), got)
	}
	i.is(t, "status", "paid")
	i.is(t, "invoice", "paid")
	if mark, err := i.Mark(ctx, "/orders/7"); err != nil || mark != (fence.Mark{Token: 34}) {
		t.Errorf("then the mark is %+v, %v", mark, err)
	}
}

// canceled are the reasons for which a transaction was not done.
func canceled(err error) string {
	var e *types.TransactionCanceledException
	var codes []string
	if errors.As(err, &e) {
		for _, r := range e.CancellationReasons {
			codes = append(codes, aws.ToString(r.Code))
		}
	}
	return strings.Join(codes, " ")
}

// TestReadsAreOfTheStep: what plan has read is what its writes come after, also where the same holder writes meanwhile, which
// leaves the mark as it is.
func TestReadsAreOfTheStep(t *testing.T) {
	ctx := t.Context()
	i := newOrders(t, addr(t))
	for _, meanwhile := range []fence.Token{34, 35} {
		if err := i.Write(ctx, claim(34), "status", "new"); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := i.Do(ctx, claim(35), func(ctx context.Context) ([]types.TransactWriteItem, error) {
			calls++
			read, _, err := i.get(ctx, "/orders/7", "status")
			if calls == 1 && err == nil {
				err = i.Write(ctx, claim(meanwhile), "status", "paid")
			}
			return []types.TransactWriteItem{i.put("/orders/7", "status", read+" and shipped")}, err
		})
		if err != nil || calls != 2 {
			t.Errorf("token %d meanwhile: %v, after %d calls", meanwhile, err, calls)
		}
		i.is(t, "status", "paid and shipped")
		if err := i.Delete(ctx, claim(35), "status"); err != nil {
			t.Fatal(err)
		}
		if _, err := i.client.DeleteItem(ctx, i.markItem()); err != nil {
			t.Fatal(err)
		}
	}
}

func (i *items) markItem() *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{TableName: &i.marks, Key: map[string]types.AttributeValue{"scope": text("/orders/7")}}
}

// TestOtherWrites: a client that writes the mark's item takes the mark away, and then a late write is applied. One that is
// none of the package's is refused.
func TestOtherWrites(t *testing.T) {
	ctx := t.Context()
	i := newOrders(t, addr(t))
	if err := i.Write(ctx, claim(34), "status", "paid"); err != nil {
		t.Fatal(err)
	}
	if _, err := i.client.DeleteItem(ctx, i.markItem()); err != nil {
		t.Fatal(err)
	}
	if err := i.Write(ctx, claim(33), "status", "late"); err != nil {
		t.Errorf("a late write after a DeleteItem of the mark: %v", err)
	}
	i.is(t, "status", "late")
	if _, err := i.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &i.marks, Item: i.markItem().Key}); err != nil {
		t.Fatal(err)
	}
	refused(t, "another one's item", i.Write(ctx, claim(35), "status", "shipped"), "which is none of this package")
	i.is(t, "status", "late")
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("%s: got %v (%v), want an error that is definite and says %q", what, err, fence.OutcomeOf(err), want)
	}
}

// TestLostAnswer: the transaction was done, and its answer is lost. Do asks once, and says that it does not know. Asked once
// more under the same sequence number it says that it is done.
func TestLostAnswer(t *testing.T) {
	ctx := t.Context()
	net := networktest.NewLossy(t, addr(t), func(r *http.Request) bool {
		return strings.HasSuffix(r.Header.Get(ddbproc.Target), ".TransactWriteItems")
	})
	i := newOrders(t, net.Listener.Addr().String())
	first := claim(35)
	first.Sequence = 1
	net.Loses.Store(true)
	err := i.Write(ctx, first, "status", "shipped")
	if err == nil || fence.OutcomeOf(err) != fence.Unknown || net.Writes.Load() != 1 {
		t.Errorf("without an answer: %v (%v) after %d requests, want that it is unknown after one", err, fence.OutcomeOf(err), net.Writes.Load())
	}
	if err := i.Write(ctx, first, "status", "shipped twice"); !errors.Is(err, fence.ErrDuplicate) {
		t.Errorf("once more: %v", err)
	}
	i.is(t, "status", "shipped")
}

// TestTables: New refuses what is no table of marks, and what would lose them.
func TestTables(t *testing.T) {
	ctx := t.Context()
	client := dial(addr(t))
	for _, table := range []struct {
		name, partition string
		of              types.ScalarAttributeType
		sort            string
	}{
		{"with-sort-key", "scope", types.ScalarAttributeTypeS, "key"},
		{"with-another-key", "lock", types.ScalarAttributeTypeS, ""},
		{"with-bytes", "scope", types.ScalarAttributeTypeB, ""},
		{"with-ttl", "scope", types.ScalarAttributeTypeS, ""},
	} {
		if err := create(ctx, client, table.name, table.partition, table.of, table.sort); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("with-ttl"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{
		"nowhere":          "ResourceNotFoundException",
		"with-sort-key":    "want the partition key scope, and no sort key",
		"with-another-key": "want the partition key scope, and no sort key",
		"with-bytes":       "has the type B, want S",
		"with-ttl":         "it has a time to live, until, which deletes marks",
	} {
		_, err := fencedynamodb.New(ctx, client, table)
		refused(t, table, err, "fencedynamodb: the table "+table+": ")
		refused(t, table, err, want)
	}
}

// TestSentTwice: something on the way sends a transaction again whose answer it has not got. DynamoDB knows the second one by
// its ClientRequestToken, which the client makes, and does nothing.
func TestSentTwice(t *testing.T) {
	var sent atomic.Int64
	proxy := drivertest.TwiceProxy(t, addr(t), func(r *http.Request) bool {
		twice := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems")
		if twice {
			sent.Add(1)
		}
		return twice
	})
	i := newOrders(t, strings.TrimPrefix(proxy, "http://"))
	one := claim(34)
	one.Sequence = 1
	for n, c := range []fence.Claim{claim(34), claim(34), one} {
		if err := i.Do(t.Context(), c, func(ctx context.Context) ([]types.TransactWriteItem, error) {
			dots, _, err := i.get(ctx, "/orders/7", "dots")
			return []types.TransactWriteItem{i.put("/orders/7", "dots", dots+".")}, err
		}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		i.is(t, "dots", strings.Repeat(".", n+1))
		if sent.Load() != int64(n+1) {
			t.Errorf("%d changes were sent %d times by the client", n+1, sent.Load())
		}
	}
}

// TestErrors: each says what is wrong, and that nothing was done.
func TestErrors(t *testing.T) {
	ctx := t.Context()
	server := start(t, ddbproc.Start)
	i := newOrders(t, server.Addr)
	refused(t, "no scope", i.Do(ctx, fence.Claim{Token: 1}, plan()), "want 1 to 2048")
	refused(t, "no text", i.Do(ctx, fence.Claim{Scope: "\xff", Token: 1}, plan()), "is no UTF-8")
	nowhere := types.TransactWriteItem{Put: &types.Put{TableName: aws.String("nowhere"), Item: at("/orders/7", "status")}}
	refused(t, "no table", i.Do(ctx, claim(1), plan(nowhere)), "ResourceNotFoundException")
	refused(t, "too many writes", i.Do(ctx, claim(1), plan(make([]types.TransactWriteItem, 100)...)), `scope "/orders/7", token 1: `)
	if err := server.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	refused(t, "no server", i.Do(ctx, claim(1), plan()), "connection refused")
}
