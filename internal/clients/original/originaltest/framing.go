package originaltest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"

	"golang.org/x/net/http2"
)

// framing finds the requests to a service, by its name: where each begins.
var framing = map[string]func(sent []byte) []int{
	"redis": ofRedis, "etcd": ofEtcd, "zookeeper": ofZooKeeper, "postgres": ofPostgres, "hazelcast": ofHazelcast, "dynamodb": ofHTTP,
}

// ofRedis are arrays of strings that have their lengths.
func ofRedis(sent []byte) (begins []int) {
	line := func(at int) (n, next int) {
		end := bytes.Index(sent[min(at, len(sent)):], []byte("\r\n"))
		if end < 1 {
			return 0, len(sent)
		}
		n, _ = strconv.Atoi(string(sent[at+1 : at+end])) // what is no number is no request, and has no strings
		return n, at + end + 2
	}
	for at := 0; at < len(sent); {
		begins = append(begins, at)
		strings, next := line(at)
		for range strings {
			length, text := line(next)
			next = text + length + 2
		}
		at = next
	}
	return begins
}

// ofEtcd are calls by HTTP/2: each begins with its headers. What is sent in a stream of more messages, such as a renewal,
// is no call of its own.
func ofEtcd(sent []byte) (begins []int) {
	rest := bytes.NewReader(sent[min(len(http2.ClientPreface), len(sent)):])
	frames := http2.NewFramer(io.Discard, rest)
	for {
		at := len(sent) - rest.Len()
		frame, err := frames.ReadFrame()
		if err != nil {
			return begins
		}
		if _, is := frame.(*http2.HeadersFrame); is {
			begins = append(begins, at)
		}
	}
}

// ofHTTP are requests of HTTP/1.1.
func ofHTTP(sent []byte) (begins []int) {
	rest := bytes.NewReader(sent)
	buffered := bufio.NewReader(rest)
	for at := 0; at < len(sent); at = len(sent) - rest.Len() - buffered.Buffered() {
		begins = append(begins, at)
		request, err := http.ReadRequest(buffered)
		if err == nil {
			_, err = io.Copy(io.Discard, request.Body)
		}
		if err != nil {
			break // the rest is not there yet
		}
	}
	return begins
}

// ofZooKeeper are frames with a length, a number and a type. A session's pings are left out.
func ofZooKeeper(sent []byte) (begins []int) {
	const ping = 11
	for at := 0; at+12 <= len(sent); {
		if binary.BigEndian.Uint32(sent[at+8:]) != ping || at == 0 { // the first one begins the session, and has no type
			begins = append(begins, at)
		}
		at += 4 + int(binary.BigEndian.Uint32(sent[at:]))
	}
	return begins
}

// ofPostgres are messages with a type and a length, of which a Query or a Sync asks for an answer. What begins a connection
// has no type, and is left out.
func ofPostgres(sent []byte) (begins []int) {
	for at := 0; at+5 <= len(sent); {
		kind := sent[at]
		if kind == 0 { // the first byte of a length
			at += int(binary.BigEndian.Uint32(sent[at:]))
			continue
		}
		if kind == 'Q' || kind == 'S' {
			begins = append(begins, at)
		}
		at += 1 + int(binary.BigEndian.Uint32(sent[at+1:]))
	}
	return begins
}

// ofHazelcast are messages of frames, each with a length and flags. The first frame of a message has its type. What keeps the
// connection and the session alive is left out.
func ofHazelcast(sent []byte) (begins []int) {
	const (
		protocol = 3      // bytes that begin the connection
		first    = 0x8000 // the flag of a message's first frame
		ping     = 0x000b00
		session  = 0x1f0300
	)
	for at := protocol; at+10 <= len(sent); {
		kind := binary.LittleEndian.Uint32(sent[at+6:])
		if binary.LittleEndian.Uint16(sent[at+4:])&first != 0 && kind != ping && kind != session {
			begins = append(begins, at)
		}
		at += int(binary.LittleEndian.Uint32(sent[at:]))
	}
	return begins
}
