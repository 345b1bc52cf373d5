// Package fenceredis keeps fencing marks in Redis, beside the data that they protect:
// the check, the mark and the data are one script, which Redis runs as one step.
//
//	store := fenceredis.Store{Client: client}
//	key := fenceredis.Tag("/orders") + "7"
//	_, err := store.Do(ctx, claim, fenceredis.Cmd("SET", key, "paid"))
//
// It works with Redis 4 and later, with Valkey, and in a cluster: there the keys of a
// script have to be in one slot, which Tag sees to.
//
// # Many calls at once
//
// Client can be an AutoPipeliner of go-redis, which sends the scripts of concurrent calls
// together. Many calls at once then take less time, and a call that is alone takes more. The
// blocking one is meant, that of AutoPipeline:
//
//	shared, err := client.AutoPipeline()
//	store := fenceredis.Store{Client: shared}
//
// Calls that are sent together share a connection: if the connection breaks, the outcome of each
// of them is unknown. An AutoPipeliner does not look at contexts, so that Do goes on when ctx
// ends. The client's timeouts bound how long Do takes.
//
// # What Redis can lose
//
// A mark has no time to live. Whatever else makes Redis forget it lets an older token in:
//
//   - A restart. Redis promises what its persistence does: without "appendonly yes" the
//     marks since the last snapshot are gone, with "appendfsync everysec" those of the last
//     second or two, with "always" none that was answered.
//   - A failover. Replication is asynchronous, and a new master knows no mark that had
//     not come to it. WAIT makes that rarer, and not impossible.
//   - Eviction. With "maxmemory" and a policy "allkeys-…" a mark is evicted like any key.
//     With "noeviction" or a policy "volatile-…" it stays, and Do fails where there is no
//     room left, before it does anything. Several commands for a token that is the mark
//     already are done without room.
//   - FLUSHALL, DEL, or a snapshot that is restored.
//
// Data and mark are lost together only where both go. Where that is too little, keep the
// mark in a store that syncs, such as fencebolt or fenceetcd.
package fenceredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
)

//go:embed do.lua
var source string

var script = redis.NewScript(source)

// markPrefix begins the keys of marks, after Store.Prefix. The scope's Tag follows. A mark
// is a text: the token of exclusive claims as a decimal number or, where the mark has more
// than that, the three numbers TOKEN SEQUENCE SHARED, as fence.Mark has them.
const markPrefix = "fence.mark:"

// Tag returns a beginning for keys of the data that a lock guards. Keys that begin with the
// same tag are in one slot of a cluster, and the scope's mark is in it. Braces and percent
// signs of the scope are written as %7B, %7D and %25.
func Tag(scope string) string { return "{" + escape.Replace(scope) + "}" }

var escape = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// Command is a command of Redis. It reads or writes one key.
type Command struct {
	Name string
	Key  string
	Args []any // those after the key: texts, bytes and numbers, as go-redis takes them
}

// Cmd returns the command NAME KEY ARGS….
func Cmd(name, key string, args ...any) Command { return Command{name, key, args} }

// Store is a Redis in which marks are kept. It has no state of its own: any number of them
// may stand before one Redis.
type Store struct {
	Client redis.UniversalClient
	// Prefix begins the keys of marks. Applications that share a Redis, and whose locks
	// have nothing to do with one another, have one each.
	Prefix string
	// Bound returns the highest token that the issuer can have given out for the
	// claim's scope, as that of fence.Register. Nil: no bound is known, and one huge
	// token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)
}

// Do runs commands if c is admitted by the mark of its scope, and raises the mark, all in
// one script and one round trip. It returns an answer for each command, as go-redis has
// them: int64, string, nil where there is nothing, []any. Without commands, Do raises the
// mark alone.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate,
// neither data nor mark has changed. A token beyond the bound is refused with a
// *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A token
// that was admitted before was issued, whatever Bound says.
//
// Where a command fails, Do returns a *CommandError: Redis undoes nothing, so that the
// commands before it and the mark stay; the sequence number may be used again.
//
// Every other error wraps that of Redis or of the connection, and fence.OutcomeOf says
// what is known: Definite where Redis did nothing, else Unknown. Do sends the script once,
// whatever the client's MaxRetries is: of two copies both can be carried out, and the answer to
// the second one is not what became of the first. After an unknown outcome the caller can send
// the claim again, if it has a sequence number: fence.ErrDuplicate says that it was carried out
// before.
//
// In a cluster all keys begin with Tag of the claim's scope. A command has up to 4,000
// arguments. Where one has more, Do does nothing. Where ctx is done when Do is called, Do sends
// nothing. When ctx ends later, Do returns when the client does.
func (s Store) Do(ctx context.Context, c fence.Claim, commands ...Command) ([]any, error) {
	if s.Client == nil {
		return nil, errNoClient
	}
	if err := s.check(ctx, c); err != nil {
		return nil, err
	}
	for _, command := range commands {
		if n := len(command.Args); n > mostArgs {
			return nil, fence.Definite.New(fmt.Sprintf("fenceredis: %s %s has %d arguments, want %d or fewer", command.Name, command.Key, n, mostArgs))
		}
	}
	if err := ctx.Err(); err != nil { // an AutoPipeliner does not look at it
		return nil, fence.Definite.Wrap(fmt.Errorf("fenceredis: scope %q, token %d: nothing was sent: %w", c.Scope, c.Token, err))
	}
	said, err := s.run(ctx, c, commands).Result()
	return answered(c, commands, said, err)
}

var errNoClient = fence.Definite.New("fenceredis: the Store has no Client")

// alone reports whether there is a single command whose answer comes without a list.
func alone(c fence.Claim, commands []Command) bool { return len(commands) == 1 && c.Sequence == 0 }

// mostArgs is how many arguments of a command the script can take: Lua has room for some more.
const mostArgs = 4000

// run sends the script, once: no copy of it after an error of the network.
func (s Store) run(ctx context.Context, c fence.Claim, commands []Command) *redis.Cmd {
	words := append(make([]any, 0, 6+5*len(commands)), "evalsha", script.Hash(), 1+len(commands), s.key(c.Scope))
	for i := range commands {
		words = append(words, commands[i].Key)
	}
	single := alone(c, commands)
	var how any = ""
	switch {
	case c.Mode == fence.Shared:
		how = "shared"
	case c.Sequence > 0:
		how = strconv.FormatInt(c.Sequence, 10)
	case single && writes(commands[0].Name):
		how = "write"
	}
	words = append(words, int64(c.Token), how)
	for i := range commands {
		words = append(words, commands[i].Name)
		if !single {
			words = append(words, len(commands[i].Args))
		}
		words = append(words, commands[i].Args...)
	}
	cmd := redis.NewCmd(ctx, words...)
	if err := s.Client.Process(ctx, unrepeated{cmd}); redis.HasErrorPrefix(err, "NOSCRIPT") {
		words[0], words[1] = "eval", source
		cmd = redis.NewCmd(ctx, words...)
		_ = s.Client.Process(ctx, unrepeated{cmd}) // which the command has, too
	}
	return cmd
}

// writes reports whether every Redis knows a command as a write, so that a replica refuses it by
// itself. For every other command the script also writes the mark.
func writes(name string) bool {
	switch strings.ToUpper(name) {
	case "SET", "SETEX", "PSETEX", "SETNX", "SETRANGE", "SETBIT", "APPEND", "GETSET", "INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY",
		"DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST",
		"HSET", "HSETNX", "HMSET", "HDEL", "HINCRBY", "HINCRBYFLOAT",
		"LPUSH", "LPUSHX", "RPUSH", "RPUSHX", "LPOP", "RPOP", "LSET", "LREM", "LTRIM", "LINSERT",
		"SADD", "SREM", "SPOP", "ZADD", "ZREM", "ZINCRBY", "ZPOPMIN", "ZPOPMAX", "PFADD", "XADD", "XDEL", "XTRIM":
		return true
	}
	return false
}

type unrepeated struct{ *redis.Cmd }

func (unrepeated) NoRetry() bool { return true }

// answered reads what the script said of the commands.
func answered(c fence.Claim, commands []Command, said any, err error) ([]any, error) {
	single := alone(c, commands)
	switch {
	case single && (err == nil || err == redis.Nil):
		return []any{said}, nil
	case redis.HasErrorPrefix(err, refused):
		return nil, refusal(c, after(err, refused))
	case single && redis.HasErrorPrefix(err, commandFailed):
		return []any{}, commands[0].failed(0, redisError(after(err, commandFailed)))
	case err != nil:
		return nil, failed(fmt.Sprintf("scope %q, token %d", c.Scope, c.Token), err)
	}
	answers, ok := said.([]any)
	if !ok || len(answers) > len(commands) {
		return nil, fmt.Errorf("fenceredis: scope %q: the script said %v, and this is no Redis", c.Scope, said)
	}
	if done := len(answers) - 1; done >= 0 {
		if err, is := answers[done].(error); is {
			return answers[:done], commands[done].failed(done, err)
		}
	}
	return answers, nil
}

// What errors of the script begin with.
const (
	refused       = "REFUSED "
	commandFailed = "FAILED "
)

func after(err error, beginning string) string {
	_, rest, _ := strings.Cut(err.Error(), beginning)
	return rest
}

// refusal is why the script did not admit c, by the rule and the mark that it found.
func refusal(c fence.Claim, found string) error {
	m, err := parse(found)
	if err != nil {
		return fmt.Errorf("fenceredis: scope %q: %w", c.Scope, err)
	}
	if _, err = m.Admit(c); err == nil {
		return fmt.Errorf("fenceredis: scope %q: %+v was not admitted, though the mark %+v admits it: nothing was done, and this is no Redis", c.Scope, c, m)
	}
	return err
}

// check refuses what is refused without a look at the mark.
func (s Store) check(ctx context.Context, c fence.Claim) error {
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	if _, err := (fence.Mark{}).Admit(c); err != nil || s.Bound == nil {
		return err
	}
	refused := c.CheckBound(s.Bound)
	if refused == nil {
		return nil
	}
	if m, err := s.Mark(ctx, c.Scope); err == nil && c.Token <= m.Highest() {
		return nil
	}
	return refused
}

func checkScope(scope string) error {
	if scope == "" {
		return fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)
	}
	return nil
}

func (s Store) key(scope string) string { return s.Prefix + markPrefix + Tag(scope) }

// Mark returns the mark of a scope: the highest that was admitted in each mode. It is zero
// where there is none.
func (s Store) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	if s.Client == nil {
		return fence.Mark{}, errNoClient
	}
	if err := checkScope(scope); err != nil {
		return fence.Mark{}, err
	}
	found, err := s.Client.Get(ctx, s.key(scope)).Result()
	if err == redis.Nil {
		return fence.Mark{}, nil
	}
	if err == nil {
		var m fence.Mark
		if m, err = parse(found); err == nil {
			return m, nil
		}
	}
	return fence.Mark{}, fmt.Errorf("fenceredis: mark of %q: %w", scope, err)
}

// parse reads a mark.
func parse(found string) (fence.Mark, error) {
	texts := strings.Split(found, " ")
	var numbers [3]int64
	for i, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || len(texts) != 1 && len(texts) != len(numbers) {
			return fence.Mark{}, fmt.Errorf("the mark is damaged: %q", found)
		}
		numbers[i] = n
	}
	return fence.Mark{Token: fence.Token(numbers[0]), Sequence: numbers[1]}.Max(fence.Mark{Shared: fence.Token(numbers[2])}), nil
}

// CommandError is the error of a command that was admitted. The mark is raised, and the
// commands before it took place.
type CommandError struct {
	Command string
	Key     string
	Done    int   // how many commands took place before it
	Err     error // of Redis; Redis says of it that the command did nothing
}

func (c Command) failed(done int, err error) error {
	return &CommandError{Command: c.Name, Key: c.Key, Done: done, Err: err}
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("fenceredis: %s %s failed after %d commands that took place: %v", e.Command, e.Key, e.Done, e.Err)
}

// Unwrap returns the error of Redis.
func (e *CommandError) Unwrap() error { return e.Err }

// Outcome is Definite where no command took place before, and else Unknown: of all of them
// together nothing can be said.
func (e *CommandError) Outcome() fence.Outcome {
	if e.Done == 0 {
		return fence.Definite
	}
	return fence.Unknown
}

// redisError is an error by the words of Redis, as go-redis has them.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// failed says what is known after an error of a call. What Redis itself says of the script
// it says before the mark is raised: commands that fail later are answered as such.
func failed(what string, err error) error {
	if said := redis.Error(nil); errors.As(err, &said) {
		return fence.Definite.Wrap(fmt.Errorf("fenceredis: %s: nothing was done: %w", what, err))
	}
	return fence.Unknown.Wrap(fmt.Errorf("fenceredis: %s: outcome unknown: %w", what, err))
}
