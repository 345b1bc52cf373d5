// Package storageflags has the flags by which a command reaches a storage.
package storageflags

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/tracing"
)

// Flags say where the storage is, and who asks.
type Flags struct {
	URL string
	// Through sends the requests in place of this process; nil: nothing does. Then it is Through
	// that knows the certificates and the bearer.
	Through http.RoundTripper

	bearerFile string
	ca         string
	cert, key  string
}

// Add defines the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.URL, "storage", "http://127.0.0.1:8080", "the storage's URL")
	fs.StringVar(&f.bearerFile, "bearer-file", "", "file with the secret of a bearer token to show to the storage; the one that 'storage token' made")
	fs.StringVar(&f.ca, "storage-ca", "", "file of the authorities (PEM) that vouch for the storage's certificate; the system's if empty")
	fs.StringVar(&f.cert, "storage-cert", "", "file of a certificate (PEM) to show to the storage")
	fs.StringVar(&f.key, "storage-key", "", "file of its key (PEM)")
}

// Check refuses what is no URL of a storage.
func (f *Flags) Check() error {
	if u, err := url.Parse(f.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--storage is %q, want a URL like http://127.0.0.1:8080", f.URL)
	}
	return nil
}

// Client makes a client of the storage.
func (f *Flags) Client() (*kvhttp.Client, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	return kvhttp.NewClient(f.URL, o), nil
}

// HTTP makes a client that shows the same credentials, for what is none of kvhttp.Client.
func (f *Flags) HTTP() (*http.Client, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	sends := f.Through
	if sends == nil {
		sends = kvhttp.NewTransport(o)
	}
	return &http.Client{Transport: sends}, nil
}

func (f *Flags) options() (o kvhttp.ClientOptions, err error) {
	if o.TLS, err = access.ClientTLS(f.ca, f.cert, f.key, nil); err != nil {
		return o, fmt.Errorf("--storage-ca, --storage-cert, --storage-key: %w", err)
	}
	o.Around = func(own http.RoundTripper) http.RoundTripper {
		if f.Through != nil {
			own = f.Through
		}
		return tracing.Transport(own)
	}
	if f.bearerFile == "" {
		return o, nil
	}
	b, err := os.ReadFile(f.bearerFile)
	if err != nil {
		return o, fmt.Errorf("--bearer-file: %w", err)
	}
	if o.Bearer = strings.TrimSpace(string(b)); o.Bearer == "" {
		return o, fmt.Errorf("--bearer-file: %s is empty", f.bearerFile)
	}
	return o, nil
}
