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
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/storageflags"
	"github.com/fencelab/fencelab/pkg/lock"
)

// contrib behaves as the client of etcd's contrib/lock and says the same words, which tutorials quote.
func contrib(cmd *cobra.Command, c *config, args []string) error {
	logger := log.New(cmd.ErrOrStderr(), "", log.LstdFlags)
	fatal := func(format string, args ...any) error {
		logger.Printf(format, args...)
		return &cli.ExitError{Code: 1}
	}
	if len(args) != 1 {
		_ = fatal("usage: %s <1 or 2>", os.Args[0])
		return end(cmd, errors.New("want 1, 2, or one of the commands agent, exec and who"))
	}
	mode, err := strconv.Atoi(args[0])
	if err != nil || mode != 1 && mode != 2 {
		_ = fatal("mode should be 1 or 2 (given value is %s)", args[0])
		return end(cmd, cli.UnknownCommand(cmd, args[0]))
	}
	err = c.storage.Check()
	if err == nil {
		_, err = c.storage.HTTP()
	}
	if err != nil {
		return usage(cmd, err)
	}
	ctx := cmd.Context()
	logger.Printf("client %d starts", mode)
	s, err := c.connect(cmd, nil)
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
	case errors.Is(err, syscall.ECONNREFUSED):
		_ = fatal("%s", err)
		return &cli.ExitError{Code: 1, Err: errors.New(startStorage)}
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

// end adds to contrib/lock's words what they don't say, and ends the client as contrib/lock's.
func end(cmd *cobra.Command, err error) error {
	return &cli.ExitError{Code: 1, Err: fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())}
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
