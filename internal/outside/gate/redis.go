package gate

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Redis is the protocol of Redis. writes are the names of commands that write, in small letters, and lock the one that
// a program takes. Commands of a transaction are held at its EXEC.
func Redis(writes []string, lock string) Protocol {
	return func() session { return &redis{writes: writes, lock: lock} }
}

type redis struct {
	writes []string
	lock   string
	open   bool     // a transaction is
	held   []string // what it writes
}

func (r *redis) greet(_, _ *wire) error { return nil }

func (r *redis) next(client *bufio.Reader) (batch, error) {
	sent, texts, err := resp(client)
	if err != nil {
		return batch{}, err
	}
	words := texts
	if sent[0] != '*' { // a line, as a person types it
		words = strings.Fields(string(sent))
	}
	b := batch{sent: sent, asks: true}
	if len(words) == 0 {
		b.asks = false // Redis answers nothing
		return b, nil
	}
	name := strings.ToLower(words[0])
	switch {
	case name == "multi":
		r.open, r.held = true, nil
	case name == "discard":
		r.open = false
	case name == "exec":
		b.writes, r.open = strings.Join(r.held, "; "), false
	case r.changes(name, words[1:]) && r.open:
		r.held = append(r.held, strings.Join(words, " "))
	case r.changes(name, words[1:]):
		b.writes = strings.Join(words, " ")
	}
	return b, nil
}

// changes reports whether a command may change a key that is none of the lock's.
func (r *redis) changes(name string, args []string) bool {
	scripts := strings.HasPrefix(name, "eval") || strings.HasPrefix(name, "fcall")
	if !slices.Contains(r.writes, name) && (!scripts || strings.HasSuffix(name, "_ro")) {
		return false
	}
	keys := args[:min(1, len(args))]
	if scripts && len(args) > 1 {
		n, _ := strconv.Atoi(args[1])
		keys = args[2:][:min(max(n, 0), len(args)-2)]
	}
	return len(keys) == 0 || slices.ContainsFunc(keys, func(key string) bool { return !OfLock(key, r.lock) })
}

// OfLock reports whether a key is a lock's own: it has its name, or that as its hash tag.
func OfLock(key, lock string) bool { return key == lock || strings.Contains(key, "{"+lock+"}") }

func (r *redis) answer(storage *bufio.Reader) (part, error) {
	sent, texts, err := resp(storage)
	if err != nil {
		return part{}, err
	}
	said := strings.Join(texts, " ")
	if sent[0] == '-' {
		said = "ERROR: " + said
	}
	return part{bytes: sent, said: cmp.Or(said, "nothing"), last: sent[0] != '>'}, nil // > is what nobody has asked for
}

// resp reads a value: its bytes, and the texts that it has.
func resp(in *bufio.Reader) (sent []byte, texts []string, err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, nil, err
	}
	text := strings.TrimSpace(string(line[1:]))
	n, notNumber := strconv.Atoi(text)
	switch line[0] {
	case '$', '=', '!': // of a length
		if notNumber != nil || n > MaxHeld {
			return nil, nil, errTooLong
		}
		if n < 0 {
			return line, nil, nil
		}
		content := make([]byte, n+2)
		_, err = io.ReadFull(in, content)
		return append(line, content...), []string{string(content[:n])}, err
	case '%', '|':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for sent = line; n > 0; n-- {
			one, of, err := resp(in)
			if err != nil {
				return nil, nil, err
			}
			if sent, texts = append(sent, one...), append(texts, of...); len(sent) > 4*MaxHeld {
				return nil, nil, errTooLong
			}
		}
		return sent, texts, nil
	}
	return line, []string{text}, nil
}
