package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is the program; noRedis says that it is not there, and how to get it.
const (
	redisServer = "redis-server"
	noRedis     = "Not measured: " + redisServer + " is not installed (apt-get install redis-server)."
)

// redisScript does what the storage does with a write, or with a batch.
//
//go:embed redis.lua
var redisScript string

// redisPath is where Redis is; empty where it is not installed.
func redisPath() string {
	path, err := exec.LookPath(redisServer)
	if err != nil {
		return ""
	}
	return path
}

// redis starts Redis without persistence, on a loopback port, as the storage.
func (b *bench) redis(path string) (*server, error) {
	return b.start(func(addr string) []string {
		_, port, _ := strings.Cut(addr, ":")
		return []string{roleExec, path, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
			"--dir", b.group.Dir, "--loglevel", "warning"}
	})
}

// loadScript has Redis keep the script, and returns its name.
func loadScript(addr string) (sha string, err error) {
	c, err := net.DialTimeout("tcp", addr, startTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return "", err
	}
	if _, err := c.Write(appendCommand(nil, "SCRIPT", "LOAD", redisScript)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	size, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if size != "$40\r\n" {
		return "", fmt.Errorf("redis takes no script: %s", strings.TrimSpace(size))
	}
	line, err := r.ReadString('\n')
	return strings.TrimSpace(line), err
}

// appendCommand adds a command as Redis reads it.
func appendCommand(buf []byte, words ...string) []byte {
	buf = fmt.Appendf(buf, "*%d\r\n", len(words))
	for _, w := range words {
		buf = appendWord(buf, w)
	}
	return buf
}

func appendWord(buf []byte, w string) []byte {
	buf = strconv.AppendInt(append(buf, '$'), int64(len(w)), 10)
	buf = append(append(buf, "\r\n"...), w...)
	return append(buf, "\r\n"...)
}

func appendKeyWord(buf []byte, n, keys int) []byte {
	buf = append(buf, "$16\r\n"...)
	return append(appendKey(buf, n, keys), "\r\n"...)
}

// eval is batchSize fenced writes with a script each, sent together.
func eval(sha string, keys int) exchange {
	head := appendWord(appendWord(appendWord(appendWord([]byte("*7\r\n"), "EVALSHA"), sha), "2"), "mark:lock")
	tail := appendWord(appendWord(nil, "34"), value)
	return exchange{
		ops: batchSize,
		request: func(buf []byte, n int) []byte {
			for i := range batchSize {
				buf = appendKeyWord(append(buf, head...), n*batchSize+i, keys)
				buf = append(buf, tail...)
			}
			return buf
		},
		answer: several(batchSize, isOK),
	}
}

// evalBatch is batchSize writes with one check, by one script.
func evalBatch(sha string, keys int) exchange {
	head := fmt.Appendf(nil, "*%d\r\n", 3+2*(batchSize+1))
	head = appendWord(appendWord(appendWord(appendWord(head, "EVALSHA"), sha), strconv.Itoa(batchSize+1)), "mark:lock")
	tail := appendWord(nil, "34")
	for range batchSize {
		tail = appendWord(tail, value)
	}
	return exchange{
		ops: batchSize,
		request: func(buf []byte, n int) []byte {
			buf = append(buf, head...)
			for i := range batchSize {
				buf = appendKeyWord(buf, n*batchSize+i, keys)
			}
			return append(buf, tail...)
		},
		answer: isOK,
	}
}

// isOK reads an answer that must be OK.
func isOK(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err == nil && string(line) != "+OK\r\n" {
		err = fmt.Errorf("redis answers %q", line)
	}
	return err
}

// counter tells how many requests Redis has read.
type counter struct{ client *redis.Client }

// read is how many it has read since it began, this question included.
func (c counter) read(ctx context.Context) (int, error) {
	info, err := c.client.InfoMap(ctx, "stats").Result()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(info["Stats"]["total_reads_processed"])
}

// since is how many it has read since read returned before.
func (c counter) since(ctx context.Context, before int) (int, error) {
	now, err := c.read(ctx)
	return now - 1 - before, err // 1: this question
}
