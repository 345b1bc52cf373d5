package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Objects are those of one resource in one namespace.
type Objects struct {
	url  string
	http *http.Client
}

// resource is a path below /api or /apis, as in /apis/apps/v1/namespaces/NAMESPACE/deployments.
var resource = regexp.MustCompile(`^/apis?/([a-z0-9.-]+/){1,2}namespaces/[a-z0-9-]+/[a-z]+$`)

// New returns the objects of a path at the address of an API server. The client follows no redirect: a redirect could lead
// to a server that has no such objects.
func New(address, path string, client *http.Client) (*Objects, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil {
		return nil, fence.Definite.New("the address is none: want a URL like https://HOST:6443, and what proves who asks in the client")
	}
	if !resource.MatchString(path) {
		return nil, fence.Definite.New(fmt.Sprintf("the path %q: want one like /api/v1/namespaces/NAMESPACE/configmaps", path))
	}
	if client == nil {
		return nil, fence.Definite.New("the HTTP client is nil")
	}
	stays := *client
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Objects{url: strings.TrimSuffix(base.String(), "/") + path, http: &stays}, nil
}

// Get reads an object; nil where there is none. The API server asks its etcd, so that the answer is of the last change. The
// errors are definite, as it changes nothing.
func (o *Objects) Get(ctx context.Context, name string) (object []byte, err error) {
	status, said, err := o.send(ctx, http.MethodGet, "/"+name, nil)
	if err == nil && status != http.StatusNotFound {
		err = refusal(status, said)
	}
	switch {
	case err != nil:
		return nil, fence.Definite.Wrap(err)
	case status == http.StatusNotFound:
		return nil, nil
	}
	return said, nil
}

// Create creates an object, and returns it; nil where there is one of its name.
func (o *Objects) Create(ctx context.Context, object []byte) (created []byte, err error) {
	status, said, err := o.send(ctx, http.MethodPost, "", object)
	if err != nil || status == http.StatusConflict {
		return nil, err
	}
	return written(status, said)
}

// Update writes an object that was read, and returns it; nil where its resourceVersion is not that of the object any more.
// Kubernetes makes some objects, such as Leases, by an update if they are not there. An object that was deleted is not made
// again: its uid, which an update keeps, is a condition, too.
func (o *Objects) Update(ctx context.Context, name string, object []byte) (updated []byte, err error) {
	status, said, err := o.send(ctx, http.MethodPut, "/"+name, object)
	if err != nil || status == http.StatusConflict || status == http.StatusNotFound {
		return nil, err
	}
	return written(status, said)
}

// written is the object that the API server has written. An answer that has none may come from something on the way.
func written(status int, said []byte) ([]byte, error) {
	if err := refusal(status, said); err != nil {
		return nil, err
	}
	if o, err := Parse(said); err != nil || o.Version == "" {
		return nil, fence.Unknown.New(fmt.Sprintf("the API server answers %d, and no object: %.200q", status, said))
	}
	return said, nil
}

// send sends a request, and returns the answer.
func (o *Objects) send(ctx context.Context, method, path string, body []byte) (status int, said []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fence.Definite.Wrap(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := o.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	said, err = io.ReadAll(resp.Body)
	return resp.StatusCode, said, err
}

// refusal is the error of an answer that is none of success. It is definite where the request was not carried out.
func refusal(status int, said []byte) error {
	if status < 300 {
		return nil
	}
	var why struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(said, &why) != nil || why.Message == "" {
		why.Message = string(said)
	}
	err := fmt.Errorf("the API server answers %d: %.500s", status, why.Message)
	if status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests {
		return fence.Definite.Wrap(err)
	}
	return err
}
