package kvhttp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/pkg/fence"
)

// mark is the answer of GET /v1/marks/{scope}.
type mark struct {
	Scope    string      `json:"scope"`
	Token    fence.Token `json:"token,string"`
	Sequence int64       `json:"sequence,string"`
	Shared   fence.Token `json:"shared,string"`
}

func (h *handler) serveMark(c *call) error {
	scope := strings.TrimPrefix(c.r.URL.Path, pathMarks)
	if scope == "" {
		return badRequest("the scope is empty, want %s{scope}", pathMarks)
	}
	if err := cmp.Or(c.who.May(access.Read, scope), mustBeText("the scope", scope, "the snapshot has the marks of all scopes")); err != nil {
		return err
	}
	m, err := h.engine.Mark(c.context(), scope)
	if err != nil {
		return err
	}
	return c.json(mark{scope, m.Token, m.Sequence, m.Shared})
}

// floor is the answer of GET and PUT /v1/floor, and the body of PUT.
type floor struct {
	Token   fence.Token `json:"token,string"`
	Dropped int         `json:"dropped"` // marks, by this PUT
}

// serveFloor tells the floor or raises it. Marks below a raised floor are dropped. A
// lower floor changes nothing; the answer has the floor that is in force.
func (h *handler) serveFloor(c *call) error {
	var answer floor
	if c.r.Method == http.MethodPut {
		if err := c.who.May(access.Admin, ""); err != nil {
			return err
		}
		b, err := h.body(c)
		if err != nil {
			return err
		}
		token, err := decodeFloor(b)
		if err != nil {
			return badRequest("want {\"token\":\"DECIMAL\"}: %w", err)
		}
		if h.Bound != nil {
			// The floor may be the last token that was issued, plus one: all tokens are below it then.
			if err := (fence.Claim{Token: token - 1}).CheckBound(h.Bound); err != nil {
				return fmt.Errorf("floor %d: %w", token, err)
			}
		}
		if answer.Dropped, err = h.engine.Raise(c.context(), token); err != nil {
			return err
		}
		level := slog.LevelInfo
		if h.Bound == nil { // nobody could say whether it is too high, and it stays
			level = slog.LevelWarn
		}
		h.Logger.Log(c.r.Context(), level, "floor raised", "token", token, "dropped", answer.Dropped, "client", h.client(c), "request", c.id())
	} else if err := c.who.May(access.Read, ""); err != nil {
		return err
	}
	var err error
	if answer.Token, err = h.engine.Floor(c.context()); err != nil {
		return err
	}
	return c.json(answer)
}

// decodeFloor reads the body of PUT /v1/floor, which must be all of b.
func decodeFloor(b []byte) (fence.Token, error) {
	var text string
	err := decode(b, func(d *decoder) error {
		return d.object(func(name string) (err error) {
			if !strings.EqualFold(name, "token") {
				return unknownField(name)
			}
			text, err = d.text()
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return fence.ParseToken(text)
}

func (c *call) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, "application/json", string(b)+"\n")
}
