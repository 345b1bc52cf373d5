package mariadb

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// keyHeld is what a story says of a key whose row is locked.
const keyHeld = "the row of %s is held"

// hold locks a row in a transaction of gcsim's own.
var hold = service.NewFault(scenario.Form{
	Usage: "hold KEY",
	About: "Somebody who asks for no lock has the row of a key locked, as a report has or a person at a console, until \"let KEY go\".",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		fact := fmt.Sprintf(keyHeld, step.Key)
		switch {
		case s.Variant.World.Storage.In != scenario.InService:
			return "the data does not lie in MariaDB, and no key has a row there: it needs \"storage: {in: service}\""
		case s.Facts[fact]:
			return fact + " already"
		}
		s.Facts[fact] = true
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	return service.Noted(story, "somebody who asks for no lock has locked the row of "+step.Key, func() error {
		if err := s.hold(ctx, step.Key); err != nil {
			return fmt.Errorf("hold the row of %s: %w", step.Key, err)
		}
		return nil
	})
})

var letGo = service.NewFault(scenario.Form{
	Usage: "let KEY go",
	About: "Nobody has the row of a key locked any more.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		fact := fmt.Sprintf(keyHeld, step.Key)
		if !s.Facts[fact] {
			return fmt.Sprintf("nobody holds the row of %s here: it needs a step \"gcsim: hold %[1]s\" before", step.Key)
		}
		s.Facts[fact] = false
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	at := story.Now()
	conn := s.holds[step.Key]
	delete(s.holds, step.Key)
	defer conn.HangUp()
	if _, err := conn.Run(ctx, "ROLLBACK"); err != nil {
		return fmt.Errorf("let the row of %s go: %w", step.Key, err)
	}
	story.Remark(at, "the row of "+step.Key+" is let go")
	return nil
})

// hold locks the row of a key, by a connection that keeps it.
func (s *servers) hold(ctx context.Context, key string) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	err = conn.Begin(ctx)
	var has int
	if err == nil {
		err = conn.Row(ctx, "SELECT COUNT(*) FROM item WHERE name = $1 FOR UPDATE", key).Scan(&has)
	}
	if err == nil && has == 0 {
		err = errors.New("there is none: want a step before that writes the key")
	}
	if err != nil {
		conn.HangUp()
		return err
	}
	s.holds[key] = conn
	return nil
}
