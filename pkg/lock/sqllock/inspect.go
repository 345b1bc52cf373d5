package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Inspect is as lock.Inspector says. The database does not know who waits.
func (b *Backend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if b.table == nil {
		return lock.State{}, errZero
	}
	key, err := b.table.format.key(scope)
	if err != nil {
		return lock.State{}, fmt.Errorf("sqllock: inspect: %w", err)
	}
	holder, held, err := b.table.inspect(ctx, ticket{scope: scope, key: key})
	switch {
	case err != nil:
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("sqllock: inspect %q: %w", scope, err))
	case !held:
		return lock.State{}, nil
	}
	return lock.State{Holders: []lock.Party{holder}}, nil
}

func (t *table) inspect(ctx context.Context, one ticket) (lock.Party, bool, error) {
	holder := lock.Party{Grant: lock.Grant{Scope: one.scope}}
	ms, held, err := t.insist(ctx, func(ctx context.Context, s statement, one ticket, ttl time.Duration) (ms int64, held bool, err error) {
		err = t.db.QueryRowContext(ctx, s.text, t.args(s, one, ttl)...).Scan(&holder.Owner, &holder.Token, &ms)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, false, nil
		}
		return ms, true, err
	}, t.holder, one, 0)
	if err != nil || !held {
		return lock.Party{}, false, err
	}
	holder.Left = time.Duration(max(ms, 0)) * time.Millisecond
	if t.format.words {
		holder.Words = t.wordsOf(ctx, one, holder.Owner)
	}
	return holder, true, nil
}

// say has the row keep the words of its holder. The lock does not depend on them: nothing comes
// of it where the table has no column for words.
func (t *table) say(ctx context.Context, one ticket, ttl time.Duration) {
	if one.words == "" || !t.format.words {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ttl/3)
	defer cancel()
	_, _ = t.change(ctx, t.says, one, ttl)
}

// wordsOf is the words of a holder. The row may have those of one before, or the table has no
// column for words.
func (t *table) wordsOf(ctx context.Context, one ticket, owner string) string {
	var said sql.NullString
	err := t.db.QueryRowContext(ctx, t.words.text, t.args(t.words, one, 0)...).Scan(&said)
	words, are := strings.CutPrefix(said.String, owner+" ")
	if err != nil || !are {
		return ""
	}
	return strings.ToValidUTF8(words, "\uFFFD")
}
