package kvhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// contribDecoder reads the body of POST /. It takes what package json takes, which
// contrib/lock's own storage uses: names in any case, members that are unknown, and
// null in place of a value. Bytes that are no UTF-8, halves of surrogate pairs and
// members that come twice are errors: package json would make one key of two.
type contribDecoder struct {
	objectDecoder
	in ContribRequest
}

// contribDecoders are not in use. To make one costs more than to read a small body.
var contribDecoders = sync.Pool{New: func() any { return new(contribDecoder) }}

// decodeContrib reads a request, which must be all of b.
func decodeContrib(b []byte) (ContribRequest, error) {
	d := contribDecoders.Get().(*contribDecoder)
	d.reset(b)
	in, err := d.request()
	if len(b) <= small { // what was made to read a large one is not kept
		d.in = ContribRequest{}
		d.reset(nil)
		contribDecoders.Put(d)
	}
	switch {
	case errors.Is(err, io.EOF):
		return in, badRequest("the body is empty, want a JSON object")
	case err != nil:
		return in, badRequest("the body is not the JSON wanted: %w", err)
	}
	return in, nil
}

func (d *contribDecoder) request() (in ContribRequest, err error) {
	if d.json.PeekKind() == 'n' {
		_, err = d.json.ReadToken()
	} else {
		err = d.object(d.member)
	}
	if err == nil {
		err = d.end()
	}
	return d.in, err
}

func (d *contribDecoder) member(name string) error {
	value, err := d.json.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return err
	}
	var text []byte
	switch {
	case strings.EqualFold(name, "op"):
		text, err = d.unquote(value)
		d.in.Op = kindOf(text)
	case strings.EqualFold(name, "key"):
		text, err = d.unquote(value)
		d.in.Key = string(text)
	case strings.EqualFold(name, "val"):
		text, err = d.unquote(value)
		d.in.Val = string(text)
	case strings.EqualFold(name, "version"):
		if d.in.Version, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			err = fmt.Errorf("want an int64, got %.32s", value)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// appendContrib adds what package json makes of ContribResponse{Val: val, Version:
// version}; val must be UTF-8.
func appendContrib(b []byte, val string, version int64) []byte {
	b = appendText(append(b, `{"val":`...), val)
	b = strconv.AppendInt(append(b, `,"version":`...), version, 10)
	return append(b, `,"err":""}`...)
}

// appendText leaves a string to package json where there is something to escape.
func appendText(b []byte, s string) []byte {
	if strings.ContainsFunc(s, isEscaped) {
		quoted, _ := json.Marshal(s) // a string cannot fail
		return append(b, quoted...)
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

// isEscaped: package json escapes what would end a string, in JSON or in a script
// or an element of HTML that the JSON is part of.
func isEscaped(r rune) bool {
	return r < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029", r)
}
