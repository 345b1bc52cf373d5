package gate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
)

// Postgres is the protocol of PostgreSQL, version 3, without TLS. What a client sends up to a Sync or a Flush
// belongs together.
func Postgres() session {
	return &postgres{prepared: make(map[string]string), portals: make(map[string]string)}
}

type postgres struct {
	prepared, portals map[string]string // name → statement
	begun             bool              // it is ready for its first request
}

// What a client may send before it has a session.
const (
	askCancel = 80877102
	askTLS    = 80877103
	askGSS    = 80877104
)

func (p *postgres) greet(client, storage *wire) error {
	for {
		head, err := client.in.Peek(8)
		if err != nil {
			return err
		}
		size, code := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
		if size < 8 || size > 10<<10 {
			return errTooLong
		}
		first := make([]byte, size)
		if _, err := io.ReadFull(client.in, first); err != nil {
			return err
		}
		if code == askTLS || code == askGSS {
			if _, err := client.Write([]byte("N")); err != nil {
				return err
			}
			continue
		}
		if _, err := storage.Write(first); err != nil {
			return err
		}
		if code == askCancel {
			return io.EOF // PostgreSQL answers nothing
		}
		return nil
	}
}

// frame reads a message: its type, and its content.
func (p *postgres) frame(in *bufio.Reader) (kind byte, content, all []byte, err error) {
	head, err := in.Peek(5)
	if err != nil {
		return 0, nil, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > 1<<30 {
		return 0, nil, nil, errTooLong
	}
	all = make([]byte, size+1)
	_, err = io.ReadFull(in, all)
	return all[0], all[5:], all, err
}

func (p *postgres) next(client *bufio.Reader) (b batch, err error) {
	var held []string
	for {
		kind, content, all, err := p.frame(client)
		if err != nil {
			return b, err
		}
		if b.sent = append(b.sent, all...); len(b.sent) > MaxHeld {
			return b, errTooLong
		}
		first, rest, _ := bytes.Cut(content, []byte{0})
		second, _, _ := bytes.Cut(rest, []byte{0})
		switch kind {
		case 'P': // Parse
			p.prepared[string(first)] = string(second)
			continue
		case 'B': // Bind
			p.portals[string(first)] = p.prepared[string(second)]
			continue
		case 'D', 'C': // Describe, Close
			continue
		case 'E': // Execute
			if statement := p.portals[string(first)]; postgresSQL.writes(statement) {
				held = append(held, statement)
			}
			continue
		case 'Q': // a simple query
			if postgresSQL.writes(string(first)) {
				held = append(held, string(first))
			}
		case 'F':
			held = append(held, "a call of a function")
		}
		b.writes, b.asks = strings.Join(held, "; "), kind == 'Q' || kind == 'S' || kind == 'F'
		return b, nil
	}
}

func (p *postgres) answer(storage *bufio.Reader) (part, error) {
	kind, content, all, err := p.frame(storage)
	if err != nil {
		return part{}, err
	}
	out := part{bytes: all}
	switch kind {
	case 'C': // CommandComplete
		out.said = strings.TrimRight(string(content), "\x00")
	case 'E': // ErrorResponse
		for field := range bytes.SplitSeq(content, []byte{0}) {
			if len(field) > 0 && field[0] == 'M' {
				out.said = "ERROR: " + string(field[1:])
			}
		}
	case 'Z': // ReadyForQuery
		out.last, p.begun = p.begun, true
		if content[0] == 'T' {
			out.said = "not committed"
		}
	}
	return out, nil
}
