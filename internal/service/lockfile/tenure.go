package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is one of a client. It keeps its lock file open: so it touches no file of another, though
// another has its name, and sees that its own has the name no more.
type tenure struct {
	*service.Life
	of      *client
	file    *os.File
	grant   lock.Grant
	touched time.Time // by the file's own time
}

func (t *tenure) ttl() time.Duration { return t.of.settings.Time(setting.TTL) }

// touch writes to the file what it says already.
func (t *tenure) touch() error {
	if _, err := t.file.WriteAt(fmt.Appendf(nil, "%s %s\n", t.grant.Owner, t.ttl()), 0); err != nil {
		return err
	}
	info, err := t.file.Stat()
	if err == nil {
		t.touched = info.ModTime()
	}
	return err
}

// keep touches the file until the tenure is over. A file that others may call stale is not touched
// again.
func (t *tenure) keep() {
	stop := context.AfterFunc(t.of.life, func() { t.End(lock.ErrCutOff) })
	defer stop()
	for sleep.For(t.Context(), t.ttl()/3) {
		switch {
		case !named(t.file):
			t.End(lock.ErrLost)
		case time.Since(t.touched) >= t.ttl():
			t.End(lock.ErrCutOff)
		default:
			_ = t.touch() // until it has failed for the TTL
		}
	}
}

func (t *tenure) Grant() lock.Grant { return t.grant }

// Unlock gives the file a name with that of the tenure, and then removes it: so the kernel tells
// whose it was, though nobody has read it.
func (t *tenure) Unlock(ctx context.Context) error {
	if !t.End(nil) {
		return lock.ErrLost
	}
	defer t.file.Close()
	err := t.of.guard(ctx, t.grant.Scope, func() error {
		if !named(t.file) {
			return lock.ErrLost
		}
		free := fileOf(t.of.dir, t.grant.Scope, "."+t.grant.Owner+isFree)
		return errors.Join(os.Rename(t.file.Name(), free), os.Remove(free))
	})
	if err == nil || err == lock.ErrLost {
		return err
	}
	return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: err}
}

func (t *tenure) Name() string { return t.grant.Owner }

func (t *tenure) Session() string { return t.grant.Owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return t.grant.Token, "" }

// Look looks whether the lock file is the tenure's own.
func (t *tenure) Look(context.Context, string) (said string, err error) {
	question := fmt.Sprintf("looked whose the lock file of %s is", t.grant.Scope)
	if !named(t.file) {
		return "", service.NotHeld(question + ": not its own")
	}
	return question + ": its own", nil
}
