package clientcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
	"github.com/fencelab/fencelab/pkg/lock"
)

// contrib behaves as the client of etcd's contrib/lock and says the same words, which tutorials quote.
func contrib(cmd *cobra.Command, c *config, arg string) error {
	mode, err := strconv.Atoi(arg)
	if err != nil {
		return usage(cmd, fmt.Errorf("unknown command %q, want 1, 2, agent, exec or work", arg))
	}
	logger := log.New(cmd.ErrOrStderr(), "", log.LstdFlags)
	fatal := func(format string, args ...any) error {
		logger.Printf(format, args...)
		return &cli.ExitError{Code: 1}
	}
	if mode != 1 && mode != 2 {
		return fatal("mode should be 1 or 2 (given value is %s)", arg)
	}
	ctx := cmd.Context()
	logger.Printf("client %d starts", mode)
	s, err := c.connect(cmd, c.askContribStorage)
	if exit := new(cli.ExitError); errors.As(err, &exit) {
		return exit
	} else if err != nil {
		return fatal("%s", err)
	}
	defer s.close()
	logger.Print("created etcd client and session")
	t, err := s.locks.Lock(ctx, c.lock, "")
	if err != nil {
		return fatal("failed to acquire the lock: %s", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		// That the tenure was lost is what client 1 is there to show.
		if err := t.Unlock(ctx); err != nil && !errors.Is(err, lock.ErrLost) {
			logger.Printf("failed to release the lock: %s", err)
		}
	}()
	token, _ := t.Shown()
	logger.Printf("acquired lock, version: %x", int64(token))
	if mode == 1 {
		logger.Printf("please manually revoke the lease using 'etcdctl lease revoke %s' or wait for it to expire, then start executing client 2 and hit any key...", t.Session())
		if err := awaitByte(ctx, cmd.InOrStdin()); err != nil {
			return fatal("%s", err)
		}
		logger.Print("resuming client 1")
	} else {
		logger.Print("this is client 2, continuing")
	}
	refusal, err := contribAsk(ctx, &c.storage, kvhttp.ContribRequest{
		Op: kv.OpWrite, Key: contribKey, Val: fmt.Sprintf("value from client %d", mode), Version: int64(token),
	})
	switch {
	case err != nil:
		return fatal("%s", err)
	case refusal != "" && mode == 1:
		logger.Printf("expected fail to write to storage with old lease version: error: %s", refusal)
	case refusal != "":
		return fatal("unexpected fail to write to storage: error: %s", refusal)
	default:
		logger.Printf("successfully write a key to storage using lease %s", t.Session())
	}
	return nil
}

// awaitByte returns at the first byte or the end of r, or with ctx. The reading itself cannot be ended.
func awaitByte(ctx context.Context, r io.Reader) error {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = bufio.NewReader(r).ReadByte()
	}()
	select {
	case <-read:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const contribKey = "key0"

// askContribStorage makes sure that the storage answers. A refusal is an answer. contrib/lock's own storage
// ends when it gets another protocol.
func (c *config) askContribStorage(ctx context.Context) error {
	_, err := contribAsk(ctx, &c.storage, kvhttp.ContribRequest{Op: kv.OpRead, Key: contribKey})
	return err
}

// contribAsk sends a request of contrib/lock's protocol. refusal is what the storage says against it.
func contribAsk(ctx context.Context, storage *storageflags.Flags, ask kvhttp.ContribRequest) (refusal string, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return "", fmt.Errorf("failed to marshal request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, storage.URL, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("failed to send a request to storage: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	client, err := storage.HTTP()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("failed to send a request to storage: %w", err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("failed to read request body: %w", err)
	}
	var resp kvhttp.ContribResponse
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // another document is no success
	if err := d.Decode(&resp); err != nil {
		return "", fmt.Errorf("failed to unmarshal response json: %w: the answer is %s: %.300s", err, answer.Status, b)
	}
	return resp.Err, nil
}
