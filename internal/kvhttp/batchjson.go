package kvhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fencelab/fencelab/internal/kv"
)

// decodeBatch reads the body of POST /v1/batch, which must be all of b:
//
//	{"ops": [{"op": "write", "key": "a", "val": "1"}, ...]}
//
// It reads token by token, in half the time that decoding into a struct takes,
// and stops where there is one more than kv.MaxOps: three bytes, "{},", would be
// twenty times as many in memory. Members that are unknown or come twice are
// errors, and so is what is not UTF-8.
func decodeBatch(b []byte) (ops []batchOp, err error) {
	d := new(batchDecoder)
	d.reset(b)
	err = d.object(func(name string) error {
		if name != "ops" {
			return fmt.Errorf("unknown field %.32q", name)
		}
		ops, err = d.ops()
		return err
	})
	if err == nil {
		err = d.end()
	}
	var over *kv.LimitError
	switch {
	case errors.As(err, &over):
		return nil, err
	case errors.Is(err, io.EOF):
		return nil, badRequest("the body is empty, want a JSON object")
	case err != nil:
		return nil, badRequest("the body is not the JSON wanted: at byte %d: %w", d.json.InputOffset(), err)
	}
	return ops, nil
}

type batchDecoder struct{ objectDecoder }

func (d *batchDecoder) ops() (ops []batchOp, err error) {
	if err := d.begin('['); err != nil {
		return nil, err
	}
	for d.json.PeekKind() != ']' {
		if len(ops) == kv.MaxOps {
			return nil, &kv.LimitError{Limit: kv.LimitOps, Max: kv.MaxOps}
		}
		var op batchOp
		if err := d.object(func(name string) error { return d.member(&op, name) }); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	_, err = d.json.ReadToken()
	return ops, err
}

func (d *batchDecoder) member(op *batchOp, name string) error {
	text, err := d.text()
	if err != nil {
		return fmt.Errorf("%.32q: %w", name, err)
	}
	switch name {
	case "op":
		op.Op = kindOf(text)
	case "key":
		op.Key = string(text)
	case "val":
		val := string(text)
		op.Val = &val
	default:
		return fmt.Errorf("unknown field %.32q", name)
	}
	return nil
}

// kindOf spares the copy of the names that are known.
func kindOf(text []byte) string {
	switch string(text) {
	case kv.OpWrite:
		return kv.OpWrite
	case kv.OpDelete:
		return kv.OpDelete
	case kv.OpRead:
		return kv.OpRead
	}
	return string(text)
}

// objectDecoder reads objects token by token.
type objectDecoder struct {
	json    jsontext.Decoder
	body    bytes.Buffer
	scratch []byte // of unquote
}

// reset begins with b, which must not change until the next call.
func (d *objectDecoder) reset(b []byte) {
	d.body = *bytes.NewBuffer(b)
	d.json.Reset(&d.body)
}

// end wants that nothing follows.
func (d *objectDecoder) end() error {
	if _, err := d.json.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("it goes on after its JSON object")
	}
	return nil
}

// object reads an object, of which member reads each value.
func (d *objectDecoder) object(member func(name string) error) error {
	if err := d.begin('{'); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return err
		}
		if err := member(memberName(name)); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// memberName spares the copy of the names that are known.
func memberName(name []byte) string {
	for _, known := range []string{"op", "key", "val", "version", "ops"} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// begin reads the token that begins an object or an array.
func (d *objectDecoder) begin(want jsontext.Kind) error {
	t, err := d.json.ReadToken()
	if err == nil && t.Kind() != want {
		err = fmt.Errorf("want %v, got %v", want, t.Kind())
	}
	return err
}

// text reads a string. It is valid until the next call.
func (d *objectDecoder) text() ([]byte, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	return d.unquote(v)
}

// unquote is the text of a string. It is valid until the next call.
func (d *objectDecoder) unquote(v jsontext.Value) (text []byte, err error) {
	if v.Kind() != '"' {
		return nil, fmt.Errorf("want a string, got %v", v.Kind())
	}
	d.scratch, err = jsontext.AppendUnquote(d.scratch[:0], v)
	return d.scratch, err
}
