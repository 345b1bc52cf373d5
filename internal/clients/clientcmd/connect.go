package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/tracing"
)

// requestTimeout bounds one request to a service. What it cuts off has an unknown outcome.
const requestTimeout = 5 * time.Second

// tracesTimeout is for how long the end waits for the last traces to be sent.
const tracesTimeout = time.Second

// startStorage is what helps where no storage answers.
const startStorage = "start one with 'go run ./cmd/storage', or say with --storage where it is"

type services struct {
	settings setting.Values
	locks    service.Client
	store    *kvhttp.Client // nil where none is wanted

	stopTraces func(context.Context) error
}

func (s *services) close() {
	// What cannot be sent is lost: nobody waits for a collector.
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	_ = s.stopTraces(ctx)
	_ = s.locks.Close(context.Background()) // what stays ends with its TTL
	if s.store != nil {
		s.store.Close()
	}
}

// connect makes sure that the lock service answers, and the storage, by tryStorage; nil: none is wanted.
func (c *config) connect(cmd *cobra.Command, tryStorage func(context.Context) error) (*services, error) {
	if err := c.storage.Check(); tryStorage != nil && err != nil {
		return nil, usage(cmd, err)
	}
	s, err := c.dial()
	if err != nil {
		return nil, usage(cmd, err)
	}
	if s.stopTraces, err = tracing.Start(cmd.Context(), "fencelab-client"); err != nil {
		s.locks.Close(cmd.Context())
		return nil, err
	}
	var trying sync.WaitGroup
	var storageErr error
	through, ctx := peer.Of(s.locks), cmd.Context()
	if through != nil { // the storage is asked through it
		ctx = through.While(ctx)
	}
	if tryStorage != nil {
		if s.store, err = c.storage.Client(); err != nil {
			s.close()
			return nil, usage(cmd, err)
		}
		trying.Go(func() {
			storageErr = c.reach(ctx, tryStorage, "the storage at "+c.storage.URL, startStorage)
		})
	}
	err = c.reach(cmd.Context(), s.locks.Reach, c.service+" at "+strings.Join(c.endpoints, ", "),
		fmt.Sprintf("start one with 'go run ./cmd/gcsim %s', or say with --endpoints where it is", c.service))
	trying.Wait()
	if through != nil && through.Ended() != nil {
		storageErr = nil
	}
	if err := errors.Join(err, storageErr); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// stores reports whether data can lie in the lock service that was chosen.
func (c *config) stores() bool {
	s := service.Named(c.services, c.service)
	return s != nil && s.Compares != nil
}

// dial makes a client of the lock service that was chosen, with the settings that were.
func (c *config) dial() (*services, error) {
	d := service.Named(c.services, c.service)
	if d == nil {
		return nil, fmt.Errorf("--service is %q, want %s", c.service, strings.Join(service.Names(c.services), ", "))
	}
	settings, err := setting.Complete(slices.Concat(setting.Client, d.Client), c.chosen)
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if len(c.endpoints) == 0 {
		c.endpoints = d.DefaultEndpoints
	}
	o := service.Options{Endpoints: c.endpoints, Settings: settings}
	locks, err := c.client(d, o)
	if half := peer.Of(locks); half != nil {
		c.storage.Through = half.Transport(false)
	}
	return &services{settings: settings, locks: locks}, err
}

func (c *config) client(d *service.Service, o service.Options) (service.Client, error) {
	if named := service.PeerOf(d, scenario.Client{Values: o.Settings}); named != "" {
		return c.dialPeer(d, named, o)
	}
	if d.Dial == nil {
		return nil, fmt.Errorf("--%w", d.NoClient)
	}
	locks, err := d.Dial(o)
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	return locks, nil
}

// dialPeer starts the program of a client whose library is in another language. It leaves its files in the system's
// directory for these.
func (c *config) dialPeer(d *service.Service, named string, o service.Options) (service.Client, error) {
	if lacks := original.Lacks(named, o.Settings); lacks != "" {
		return nil, errors.New(lacks)
	}
	language, of := original.Of(named)
	program := language.Program(of, os.TempDir(), fmt.Sprintf("%s-%d", c.name, os.Getpid()), o.Settings)
	if d.PeerEnv != nil {
		env, err := d.PeerEnv(o.Endpoints, c.lock)
		if err != nil {
			return nil, err
		}
		program.Env = append(program.Env, env...)
	}
	return peer.Start(program, o, slices.Concat(setting.Client, d.Client))
}

func (c *config) askStorage(ctx context.Context) error {
	client, err := c.storage.HTTP()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.storage.URL, "/")+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be closed in peace
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /healthz answers %s", resp.Status)
	}
	return nil
}

// reach tries until that succeeds, or for --connect-timeout. Its error says the last cause, and what helps.
func (c *config) reach(ctx context.Context, try func(context.Context) error, what, help string) error {
	limited, cancel := context.WithTimeout(ctx, c.connectTimeout)
	defer cancel()
	var cause error
	_, err := backoff.Retry(limited, func() (struct{}, error) {
		err := try(limited)
		if cause == nil || limited.Err() == nil {
			cause = err
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(100*time.Millisecond)), backoff.WithMaxElapsedTime(c.connectTimeout))
	switch exit, ended := errors.AsType[*cli.ExitError](cause); {
	case err == nil:
		return nil
	case ended: // the client's own process has, and has said why
		return exit
	case ctx.Err() != nil:
		cause = context.Cause(ctx)
	}
	return fmt.Errorf("failed to reach %s: %w; %s", what, cause, help)
}
