package gate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// MariaDB is the protocol of MariaDB and MySQL, without TLS and compression.
func MariaDB() session { return &mariadb{statements: make(map[uint32]string)} }

type mariadb struct {
	mu         sync.Mutex
	statements map[uint32]string // that are prepared, by their numbers
	asked      []command         // that were not answered yet
	last       string            // the text that was to be prepared last
}

type command struct {
	prepares string // a text; "": nothing
	answer   byte   // the number of the first packet of its answer
}

// Commands of a client, and its abilities that the gate keeps from it.
const (
	comQuit, comQuery, comPrepare, comExecute, comLongData, comClose, comBulk = 0x01, 0x03, 0x16, 0x17, 0x18, 0x19, 0xfa

	canCompress, canTLS = 0x0020, 0x0800

	lastPrepared = 1<<32 - 1
)

// packet reads one: its number in its command, its content, and all its bytes.
func (m *mariadb) packet(in *bufio.Reader) (number byte, content, all []byte, err error) {
	head, err := in.Peek(4)
	if err != nil {
		return 0, nil, nil, err
	}
	all = make([]byte, 4+(int(head[0])|int(head[1])<<8|int(head[2])<<16))
	_, err = io.ReadFull(in, all)
	return all[3], all[4:], all, err
}

func (m *mariadb) greet(client, storage *wire) error {
	_, content, all, err := m.packet(storage.in)
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(content[1:], []byte{0}) // the version
	if content[0] == 10 && len(rest) > 15 {
		can := rest[13:] // after the number of the connection, and a part of a challenge
		binary.LittleEndian.PutUint16(can, binary.LittleEndian.Uint16(can)&^(canCompress|canTLS))
	}
	_, err = client.Write(all)
	return err
}

func (m *mariadb) next(client *bufio.Reader) (b batch, err error) {
	number, content, all, err := m.packet(client)
	if err != nil || number > 0 || len(content) == 0 { // it says who it is, or sends a file
		return batch{sent: all}, err
	}
	b.sent = all
	for size := len(content); size == 1<<24-1; { // its end is in the next one
		next, more, all, err := m.packet(client)
		if number = next; err != nil {
			return b, err
		}
		if b.sent = append(b.sent, all...); len(b.sent) > 2*MaxHeld {
			return b, errTooLong
		}
		content, size = slices.Concat(content, more), len(more)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text, prepares := string(content[1:]), ""
	switch content[0] {
	case comPrepare:
		m.last, prepares = text, text
		text = ""
	case comExecute, comBulk:
		text = m.last
		if len(content) < 5 {
			return b, io.ErrUnexpectedEOF
		}
		if id := binary.LittleEndian.Uint32(content[1:]); id != lastPrepared {
			text = m.statements[id]
		}
	case comQuery:
	default:
		text = ""
	}
	if mariaSQL.writes(text) {
		b.writes = text
	}
	if b.asks = content[0] != comQuit && content[0] != comLongData && content[0] != comClose; b.asks {
		m.asked = append(m.asked, command{prepares, number + 1})
	}
	return b, nil
}

func (m *mariadb) answer(storage *bufio.Reader) (part, error) {
	number, content, all, err := m.packet(storage)
	out := part{bytes: all}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || len(m.asked) == 0 || number != m.asked[0].answer || len(content) == 0 {
		return out, err // it goes on with an answer
	}
	prepares := m.asked[0].prepares
	m.asked = m.asked[1:]
	out.last, out.said = true, "rows"
	switch {
	case content[0] == 0xff && len(content) > 9:
		out.said = "ERROR: " + string(content[9:]) // after its number, and #STATE
	case content[0] == 0 && prepares != "" && len(content) > 4:
		m.statements[binary.LittleEndian.Uint32(content[1:])] = prepares
	case content[0] == 0:
		rows, rest := lengthOf(content[1:])
		_, rest = lengthOf(rest)
		out.said = fmt.Sprintf("OK, rows: %d", rows)
		if len(rest) > 0 && rest[0]&1 != 0 {
			out.said += ", not committed"
		}
	}
	return out, nil
}

// lengthOf reads a number of 1 to 9 bytes, and returns what comes after it.
func lengthOf(b []byte) (n uint64, rest []byte) {
	if len(b) == 0 {
		return 0, nil
	}
	size := map[byte]int{0xfc: 2, 0xfd: 3, 0xfe: 8}[b[0]]
	if size == 0 || len(b) < 1+size {
		return uint64(b[0]), b[1:]
	}
	var whole [8]byte
	copy(whole[:], b[1:1+size])
	return binary.LittleEndian.Uint64(whole[:]), b[1+size:]
}
