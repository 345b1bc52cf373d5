package fences3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fences3"
)

// answer is what a server says.
type answer struct {
	status int
	code   string // of the error; "": there is none
	etag   string
	body   string
}

func (a answer) send(w http.ResponseWriter) {
	if a.etag != "" {
		w.Header().Set("ETag", a.etag)
	}
	w.WriteHeader(a.status)
	if a.code != "" {
		a.body = fmt.Sprintf("<Error><Code>%s</Code></Error>", a.code)
	}
	_, _ = io.WriteString(w, a.body)
}

// Of servers that do as they should.
var (
	none  = answer{status: http.StatusNotFound, code: "NoSuchKey"}
	done  = answer{status: http.StatusOK, etag: `"of what was written"`}
	moved = answer{status: http.StatusPreconditionFailed, code: "PreconditionFailed"}
)

// serve has a server answer, and makes a client of it that asks once.
func serve(t *testing.T, get, put func(r *http.Request) answer) *s3.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			get(r).send(w)
			return
		}
		put(r).send(w)
	}))
	t.Cleanup(server.Close)
	return s3.New(s3.Options{
		BaseEndpoint: &server.URL, UsePathStyle: true, Region: "us-east-1", Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "orders", SecretAccessKey: "of the user orders"}, nil
		}),
	})
}

func always(a answer) func(*http.Request) answer { return func(*http.Request) answer { return a } }

// TestConditionsIgnored: a server that applies a PUT whose condition is not met keeps no mark.
func TestConditionsIgnored(t *testing.T) {
	for ignored, met := range map[string]string{"If-None-Match": "If-Match", "If-Match": "If-None-Match"} {
		client := serve(t, always(none), func(r *http.Request) answer {
			if r.Header.Get(met) != "" {
				return moved
			}
			return done
		})
		_, err := fences3.New(t.Context(), client, "orders")
		if err == nil || !strings.Contains(err.Error(), "the bucket orders: its server ignores "+ignored+",") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s: got %v", ignored, err)
		}
	}
}

// TestAnswers: what each answer to a PUT says of the outcome. After one that says that the object has changed it is read again.
func TestAnswers(t *testing.T) {
	broken := answer{status: http.StatusOK, etag: `"of it"`, body: "Fence-Mark: none"}
	for _, tt := range []struct {
		name     string
		get, put answer
		puts     int // when Do returns; the second PUT is done
		want     fence.Outcome
		says     string
	}{
		{"done", none, done, 1, fence.Definite, ""},
		{"changed", none, moved, 2, fence.Definite, ""},
		{"gone", none, none, 2, fence.Definite, ""},
		{"somebody is changing it", none, answer{status: http.StatusConflict, code: "ConditionalRequestConflict"}, 2, fence.Definite, ""},
		{"a page of a proxy", none, answer{status: http.StatusOK, body: "<html>"}, 1, fence.Unknown, "has no ETag"},
		{"no such bucket", none, answer{status: http.StatusNotFound, code: "NoSuchBucket"}, 1, fence.Definite, "NoSuchBucket"},
		{"another conflict", none, answer{status: http.StatusConflict, code: "OperationAborted"}, 1, fence.Definite, "OperationAborted"},
		{"forbidden", none, answer{status: http.StatusForbidden, code: "AccessDenied"}, 1, fence.Definite, "AccessDenied"},
		{"overloaded", none, answer{status: http.StatusServiceUnavailable, code: "SlowDown"}, 1, fence.Unknown, "SlowDown"},
		{"a read that is forbidden", answer{status: http.StatusForbidden, code: "AccessDenied"}, done, 0, fence.Definite, "AccessDenied"},
		{"a read that fails", answer{status: http.StatusInternalServerError, code: "InternalError"}, done, 0, fence.Definite, "InternalError"},
		{"no ETag", answer{status: http.StatusOK, body: "data"}, done, 0, fence.Definite, "the object orders has no ETag"},
		{"another one's mark", broken, done, 0, fence.Definite, `the object orders has the line "Fence-Mark: none"`},
	} {
		puts := -3 // those of New
		client := serve(t, always(tt.get), func(r *http.Request) answer {
			switch puts++; {
			case puts <= 0:
				return moved
			case puts == 1:
				return tt.put
			}
			return done
		})
		s, err := fences3.New(t.Context(), client, "orders")
		if err != nil {
			t.Fatal(err)
		}
		err = s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, func(data []byte) ([]byte, error) { return data, nil })
		if fence.OutcomeOf(err) != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || puts != tt.puts {
			t.Errorf("%s: got %v (%v) after %d PUTs, want %v and %d", tt.name, err, fence.OutcomeOf(err), puts, tt.want, tt.puts)
		}
	}
}

// TestConditions: a PUT has the ETag of what was read, and where there was nothing, that there is nothing.
func TestConditions(t *testing.T) {
	for want, get := range map[string]answer{
		"If-None-Match: *":        none,
		`If-Match: "of the data"`: {status: http.StatusOK, etag: `"of the data"`, body: "data"},
	} {
		var got string
		client := serve(t, always(get), func(r *http.Request) answer {
			name, is := "If-Match", r.Header.Get("If-Match")
			if is == "" {
				name, is = "If-None-Match", r.Header.Get("If-None-Match")
			}
			if got = name + ": " + is; strings.HasSuffix(r.URL.Path, "=probe") {
				return moved
			}
			return done
		})
		s, err := fences3.New(t.Context(), client, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, func(data []byte) ([]byte, error) { return data, nil }); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
