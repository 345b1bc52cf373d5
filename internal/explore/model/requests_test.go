package model

import "testing"

// TestRequests tells the smallest stories in which a rule of requests decides that no shipped story needs: of numbered
// requests, of wrong checks, of bounds, and of what nobody was told.
func TestRequests(t *testing.T) {
	step := func(verb Verb) Step { return Step{Verb: verb} }
	second := func(verb Verb) Step { return Step{Verb: verb, Client: 1} }
	written := []Step{step(Lock), step(Write)}
	overtaken := []Step{step(Lock), step(DelayClient), step(SendWrite), step(Write), step(DeliverClient)}
	later := []Step{step(Lock), step(Write), step(DelayClient), step(SendWrite), step(Write), step(DeliverClient)}
	handed := []Step{step(Lock), step(Write), step(Unlock), second(Lock), second(Write)}
	unheard := []Step{step(Lock), step(DelayClient), step(SendWrite), step(KillClient), step(DeliverClient), step(KillTheStorage), step(RestartTheStorage)}
	heard := []Step{step(Lock), step(Write), step(KillTheStorage), step(RestartTheStorage)}
	granted := Client{Token: TokenGrant}
	numbered := Client{Token: TokenGrant, Numbered: true}
	for _, tt := range []struct {
		name           string
		set            Settings
		client         Client
		steps          []Step
		harm           Harm
		stale, refused int
	}{
		{"a write arrives after a newer one", Settings{Fence: FenceOn}, granted, overtaken, Late, 0, 0},
		{"it has the lower number", Settings{Fence: FenceOn}, numbered, overtaken, None, 1, 1},
		{"it has a number between those of two others", Settings{Fence: FenceOn}, numbered, later, None, 1, 1},
		{"a higher token is another one", Settings{Fence: FenceDiffers}, granted, handed, Refused, 1, 1},
		{"a higher token is a higher one", Settings{Fence: FenceOn}, granted, handed, None, 0, 0},
		{"the first token differs from none", Settings{Fence: FenceDiffers}, granted, written, None, 0, 0},
		{"no token is shown", Settings{Fence: FenceOn}, Client{Token: TokenNone}, written, None, 0, 1},
		{"an unordered token was given out", Settings{Fence: FenceOn, Bound: true}, Client{Token: TokenUnordered, High: true}, written, None, 0, 0},
		{"what somebody was told is lost", Settings{Fence: FenceOn, Memory: true}, granted, heard, Lost, 0, 0},
		{"what nobody was told is lost", Settings{Fence: FenceOn, Memory: true}, granted, unheard, None, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.set
			w.Clients, w.Keys, w.Writes = []Client{tt.client, tt.client}, 1, true
			w.Clients[1].Session = 1
			var all Move
			for n, step := range tt.steps {
				m, can := all.State.Take(&w, step)
				if !can {
					t.Fatalf("step %d of %v cannot come", n+1, tt.steps)
				}
				all.State, all.Stale, all.Refused = m.State, all.Stale+m.Stale, all.Refused+m.Refused
				all.Hurt(m.Harm)
			}
			if all.Harm != tt.harm || all.Stale != tt.stale || all.Refused != tt.refused {
				t.Errorf("harm %d, %d stale, %d refused, want harm %d, %d stale, %d refused",
					all.Harm, all.Stale, all.Refused, tt.harm, tt.stale, tt.refused)
			}
		})
	}
}

// TestNumbers: a change that shows a token has a number, and no other request has one.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		token Token
		verb  Verb
		want  uint8
	}{{TokenGrant, Write, 1}, {TokenGrant, Read, 0}, {TokenNone, Write, 0}} {
		w := Settings{Clients: []Client{{Token: tt.token, Numbered: true}}, Keys: 1, Writes: true, Fence: FenceOff}
		lock, _ := new(State).Take(&w, Step{Verb: Lock})
		var log Log
		if _, can := lock.State.Tell(&w, Step{Verb: tt.verb}, &log); !can || len(log.Entries) == 0 {
			t.Fatalf("%d: the request cannot come", tt.verb)
		}
		for _, e := range log.Entries {
			if e.Request.Sequence != tt.want {
				t.Errorf("token %d, %d: number %d, want %d", tt.token, tt.verb, e.Request.Sequence, tt.want)
			}
		}
	}
}

// TestRoomInTheNetwork: of the requests of a client, maxSent wait in the network, and no further one can be sent then.
func TestRoomInTheNetwork(t *testing.T) {
	w := Settings{Clients: []Client{{}}, Keys: 1, Writes: true, Fence: FenceOn}
	var s State
	for n, verb := range []Verb{Lock, DelayClient, SendWrite, SendWrite, SendWrite} {
		m, can := s.Take(&w, Step{Verb: verb})
		if want := n < 2+maxSent; can != want {
			t.Fatalf("step %d can come: %v, want %v", n+1, can, want)
		}
		s = m.State
	}
}
