package fencedynamodb_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencedynamodb"
)

// answer is what a server says.
type answer struct {
	status int
	body   string
}

func done(body string) answer { return answer{http.StatusOK, body} }

func fails(status int, code string) answer {
	return answer{status, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, code)}
}

// canceled is a transaction that was not done, with the reasons of its items, the mark's first.
func canceled(reasons ...string) answer {
	var all []string
	for _, r := range reasons {
		all = append(all, fmt.Sprintf(`{"Code":%q}`, r))
	}
	return answer{http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[%s]}`, strings.Join(all, ","))}
}

// table is what DescribeTable says of one of marks; beside may add to it.
func table(beside string) answer {
	return done(`{"Table":{"KeySchema":[{"AttributeName":"scope","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"scope","AttributeType":"S"}]` + beside + `}}`)
}

// serve has a server answer each operation, and makes a client of it, as it is by default but for reads, which it asks once.
func serve(t *testing.T, says map[string]func() answer) *dynamodb.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		a := says[operation]()
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "orders", SecretAccessKey: "of the user orders"}, nil
		}),
	})
}

func always(a answer) func() answer { return func() answer { return a } }

// TestAnswers: what each answer to a transaction says of the outcome. After one that says that the scope has changed, or that
// another transaction is under way, the mark is read again.
func TestAnswers(t *testing.T) {
	nothing := done(`{}`)
	for _, tt := range []struct {
		name      string
		get, said answer
		asks      int // when Do returns; the second transaction is done
		want      fence.Outcome
		says      string
	}{
		{"done", nothing, done(`{}`), 1, fence.Definite, ""},
		{"changed", nothing, canceled("ConditionalCheckFailed", "None"), 2, fence.Definite, ""},
		{"changed, and the data are, too", nothing, canceled("ConditionalCheckFailed", "ConditionalCheckFailed"), 2, fence.Definite, ""},
		{"the mark is in another transaction", nothing, canceled("TransactionConflict", "None"), 2, fence.Definite, ""},
		{"the data are in another transaction", nothing, canceled("None", "TransactionConflict"), 2, fence.Definite, ""},
		{"a condition of the caller's", nothing, canceled("None", "ConditionalCheckFailed"), 1, fence.Definite, "TransactionCanceledException"},
		{"and a conflict", nothing, canceled("TransactionConflict", "ConditionalCheckFailed"), 1, fence.Definite, "TransactionCanceledException"},
		{"for no reason", nothing, canceled(), 1, fence.Definite, "TransactionCanceledException"},
		{"the mark's rate is limited", nothing, canceled("ThrottlingError", "None"), 1, fence.Definite, "TransactionCanceledException"},
		{"the rate is limited", nothing, fails(http.StatusBadRequest, "ThrottlingException"), 1, fence.Definite, "ThrottlingException"},
		{"a copy of it is under way", nothing, fails(http.StatusBadRequest, "TransactionInProgressException"), 1, fence.Unknown, "TransactionInProgressException"},
		{"forbidden", nothing, fails(http.StatusBadRequest, "AccessDeniedException"), 1, fence.Definite, "AccessDeniedException"},
		{"overloaded", nothing, fails(http.StatusServiceUnavailable, "ServiceUnavailable"), 1, fence.Unknown, "ServiceUnavailable"},
		{"broken", nothing, fails(http.StatusInternalServerError, "InternalServerError"), 1, fence.Unknown, "InternalServerError"},
		{"a read that fails", fails(http.StatusInternalServerError, "InternalServerError"), done(`{}`), 0, fence.Definite, "InternalServerError"},
		{"an item without changes", done(`{"Item":{"token":{"N":"34"},"sequence":{"N":"0"},"shared":{"N":"0"},"changes":{"N":"0"}}}`), done(`{}`), 0, fence.Definite, "its item has 0 for the number changes"},
		{"another one's item", done(`{"Item":{"scope":{"S":"orders"},"token":{"S":"34"}}}`), done(`{}`), 0, fence.Definite, "none of this package"},
	} {
		asks := 0
		client := serve(t, map[string]func() answer{
			"DescribeTable": always(table("")), "DescribeTimeToLive": always(done(`{}`)), "GetItem": always(tt.get),
			"TransactWriteItems": func() answer {
				if asks++; asks == 1 {
					return tt.said
				}
				return done(`{}`)
			},
		})
		s, err := fencedynamodb.New(t.Context(), client, "marks")
		if err != nil {
			t.Fatal(err)
		}
		err = s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, func(context.Context) ([]types.TransactWriteItem, error) { return nil, nil })
		if fence.OutcomeOf(err) != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || asks != tt.asks {
			t.Errorf("%s: got %v (%v) after %d transactions, want %v and %d", tt.name, err, fence.OutcomeOf(err), asks, tt.want, tt.asks)
		}
	}
}

// TestSentOnce: a client that sends again what was not done has a transaction sent once, all the same.
func TestSentOnce(t *testing.T) {
	asks := 0
	client := serve(t, map[string]func() answer{
		"DescribeTable": always(table("")), "DescribeTimeToLive": always(done(`{}`)), "GetItem": always(done(`{}`)),
		"TransactWriteItems": func() answer {
			asks++
			return fails(http.StatusInternalServerError, "InternalServerError")
		},
	})
	often := client.Options()
	often.RetryMaxAttempts, often.Retryer = 0, nil
	s, err := fencedynamodb.New(t.Context(), dynamodb.New(often), "marks")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, func(context.Context) ([]types.TransactWriteItem, error) { return nil, nil })
	if asks != 1 || err == nil || fence.OutcomeOf(err) != fence.Unknown {
		t.Errorf("got %v (%v) after %d transactions, want that it is unknown after one", err, fence.OutcomeOf(err), asks)
	}
}

// TestLosesMarks: New refuses a table that has replicas.
func TestLosesMarks(t *testing.T) {
	client := serve(t, map[string]func() answer{"DescribeTable": always(table(`,"Replicas":[{"RegionName":"eu-west-1"}]`)), "DescribeTimeToLive": always(done(`{}`))})
	_, err := fencedynamodb.New(t.Context(), client, "marks")
	if err == nil || !strings.Contains(err.Error(), "fencedynamodb: the table marks: it is a global table of 1 replicas") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v", err)
	}
}

// TestPlan: where its reads meet another transaction, plan is called again. Its other errors are returned, and nothing is written.
func TestPlan(t *testing.T) {
	reads, writes := 0, 0
	client := serve(t, map[string]func() answer{
		"DescribeTable": always(table("")), "DescribeTimeToLive": always(done(`{}`)), "GetItem": always(done(`{}`)),
		"TransactGetItems": func() answer {
			if reads++; reads == 1 {
				return canceled("TransactionConflict")
			}
			return fails(http.StatusBadRequest, "AccessDeniedException")
		},
		"TransactWriteItems": func() answer { writes++; return done(`{}`) },
	})
	s, err := fencedynamodb.New(t.Context(), client, "marks")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, func(ctx context.Context) ([]types.TransactWriteItem, error) {
		_, err := client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{}})
		return nil, err
	})
	if err == nil || !strings.Contains(err.Error(), "AccessDeniedException") || reads != 2 || writes != 0 {
		t.Errorf("got %v after %d reads and %d writes", err, reads, writes)
	}
}
