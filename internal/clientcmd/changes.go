package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

func (a *agent) read(ctx context.Context, key string) error {
	if err := checkKey(history.OpRead, key); err != nil {
		return err
	}
	a.perform(ctx, a.newRead(key))
	return nil
}

// now makes a verb's run of what makes requests: look, and do them.
func (a *agent) now(requests func(arg string) ([]*request, error)) func(context.Context, string) error {
	return func(ctx context.Context, arg string) error {
		rs, err := requests(arg)
		if err != nil {
			return err
		}
		if _, ok := a.mayGoOn(ctx, rs[0]); ok {
			a.perform(ctx, rs...)
		}
		return nil
	}
}

func (a *agent) writes(arg string) ([]*request, error) {
	c, err := parseChange(history.OpWrite, arg)
	if err != nil {
		return nil, err
	}
	return []*request{a.newWrite(c.Key, c.Value)}, nil
}

func (a *agent) deletes(key string) ([]*request, error) {
	if err := checkKey(history.OpDelete, key); err != nil {
		return nil, err
	}
	return []*request{a.newDelete(key)}, nil
}

func (a *agent) changes(arg string) ([]*request, error) {
	var changes []history.Change
	for field := range strings.FieldsSeq(arg) {
		c, err := parseChange(history.OpChange, field)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if a.changeBy.value == changeBatch {
		return []*request{a.newChange(changes)}, nil
	}
	var rs []*request
	whole := new(change)
	for _, c := range changes {
		r := a.newWrite(c.Key, c.Value)
		r.whole, r.ask.Changes = whole, changes
		rs = append(rs, r)
	}
	return rs, nil
}

func parseChange(op, arg string) (history.Change, error) {
	key, value, ok := strings.Cut(arg, "=")
	if !ok {
		return history.Change{}, fmt.Errorf("%s %s: want KEY=VALUE", op, arg)
	}
	return history.Change{Key: key, Value: value}, checkKey(op, key)
}

// begin looks whether the lock is held, as a careful client does, and stands
// between the look and the last request: where a pause does its harm.
func (a *agent) begin(ctx context.Context, arg string) error {
	op, rest, _ := strings.Cut(arg, " ")
	requests := map[string]func(string) ([]*request, error){history.OpWrite: a.writes, history.OpChange: a.changes}[op]
	if requests == nil || strings.TrimSpace(rest) == "" {
		return fmt.Errorf(`begin %s: want "begin write KEY=VALUE" or "begin change KEY=VALUE..."`, arg)
	}
	rs, err := requests(rest)
	if err != nil {
		return err
	}
	how := a.look.value
	if how == "" {
		how = lookSession
	}
	said, _, ok := a.looks(ctx, how, rs[0])
	if !ok {
		return nil
	}
	last := len(rs) - 1
	if last > 0 && a.perform(ctx, rs[:last]...).Kind != history.KindOK {
		return nil
	}
	a.begun = rs[last:]
	e := a.about()
	e.Op, e.Key = rs[last].ask.Op, rs[last].ask.Key
	e.Text = fmt.Sprintf("%s %s, and is about to %s", a.name, said, describe(rs[last].ask))
	a.stand(e)
	return nil
}

// describe says in words what is asked.
func describe(ask history.Event) string {
	if ask.Op != history.OpChange {
		return fmt.Sprintf("%s %s=%s", ask.Op, ask.Key, ask.Value)
	}
	text := ask.Op
	for _, c := range ask.Changes {
		text += " " + c.Key + "=" + c.Value
	}
	return text
}

var errNotBegun = errors.New("finish: no write was begun")

func (a *agent) finish(ctx context.Context, _ string) error {
	if !a.stands() {
		return errNotBegun
	}
	a.perform(ctx, a.begun...)
	a.begun = nil
	a.goOn()
	return nil
}
