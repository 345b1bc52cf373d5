package judge_test

import "slices"

// secondAccountRules are those of accounts that are missing, and of facts that two
// accounts share.
var secondAccountRules = []secondProblem{
	{"lane", "lane: the lock service's name", (*secondHistory).serviceMisnamed, nil},
	{"lane", "lane: a client's name in the run", (*secondHistory).clientMisnamed, nil},
	{"lane", "lane: a client's", (*secondHistory).laneOfNoClient, nil},
	{"lane", "lane: a tenure's client", (*secondHistory).tenureOfNoClient, nil},
	{"lane", "lane: of tenures", (*secondHistory).tenureElsewhere, firstLine},
	{"lane", "lane: another client's", (*secondHistory).laneOfAnother, nil},
	{"account", "account: of the clients", (*secondHistory).noClients, nil},
	{"account", "account: of the storage", (*secondHistory).noStorage, nil},
	{"account", "account: of the lock service", (*secondHistory).noLockService, nil},
	{"account", "account: unlocked", (*secondHistory).lockedAnyway, firstLine},
	{"tenure", "tenure: another client", (*secondHistory).otherClient, theTenure},
	{"tenure", "tenure: another lock", (*secondHistory).otherLock, theTenure},
	{"tenure", "tenure: another number", (*secondHistory).otherNumber, theTenure},
	{"tenure", "tenure: another mode", (*secondHistory).otherMode, theTenure},
	{"tenure", "tenure: nobody asked for it", (*secondHistory).unaskedTenure, nil},
	{"tenure", "tenure: granted to another", (*secondHistory).grantedToAnother, theTenure},
	{"tenure", "tenure: told that it is shared", (*secondHistory).toldShared, theTenure},
	{"tenure", "tenure: lost with another token", (*secondHistory).lostOtherToken, theTenure},
	{"tenure", "tenure: another scope", (*secondHistory).otherScope, theTenure},
	{"tenure", "tenure: not named", (*secondHistory).notNamed, (*secondHistory).lastTold},
	{"request", "request: another one answered", (*secondHistory).answersOther, (*secondHistory).ask},
	{"request", "request: of another client", (*secondHistory).didOfOther, (*secondHistory).ask},
	{"request", "request: under another tenure", (*secondHistory).didUnderOther, (*secondHistory).ask},
	{"request", "request: another value found", (*secondHistory).foundOther, tells("applied")},
	{"request", "request: refused read that was done", (*secondHistory).refusedReadDone, tells("applied")},
	{"request", "request: refused, and done before", (*secondHistory).refusedDuplicate, tells("duplicate")},
	{"request", "request: another reason", (*secondHistory).otherReason, tells("refused")},
	{"request", "request: another mark", (*secondHistory).otherMark, tells("refused")},
	{"final", "final: told twice", (*secondHistory).finalTwice, (*secondHistory).firstFinal},
	{"final", "final: changed after it", (*secondHistory).changedAfterFinal, (*secondHistory).firstFinal},
}

func firstLine(h *secondHistory, _ *secondEvent) *secondEvent { return h.events[0] }

func theTenure(h *secondHistory, e *secondEvent) *secondEvent { return h.known(e.tenure) }

// tells is the first line by which the storage tells of a request as of that kind.
func tells(kind string) func(*secondHistory, *secondEvent) *secondEvent {
	return func(h *secondHistory, e *secondEvent) *secondEvent {
		return h.line(func(o *secondEvent) bool { return o.kind == kind && sameRequest(o, e) })
	}
}

// line is the first line of which yes is true; nil: none.
func (h *secondHistory) line(yes func(*secondEvent) bool) *secondEvent {
	if i := slices.IndexFunc(h.events, yes); i >= 0 {
		return h.events[i]
	}
	return nil
}

func list(events ...*secondEvent) []*secondEvent {
	return slices.DeleteFunc(events, func(e *secondEvent) bool { return e == nil })
}

// taken says whether a name is one that no client can have.
func (h *secondHistory) taken(name string) bool {
	return slices.Contains([]string{"storage", "gcsim", h.events[0].service}, name)
}

func (h *secondHistory) serviceMisnamed() []*secondEvent {
	if s := h.events[0].service; s != "storage" && s != "gcsim" {
		return nil
	}
	return h.events[:1]
}

func (h *secondHistory) clientMisnamed() []*secondEvent {
	run := h.events[0]
	for name := range run.tokens {
		if h.taken(name) {
			return h.events[:1]
		}
	}
	for name := range run.bounds {
		if h.taken(name) {
			return h.events[:1]
		}
	}
	return nil
}

func (h *secondHistory) laneOfNoClient() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.ofClient() && h.taken(e.lane) })
}

func (e *secondEvent) begins() bool { return e.kind == "granted" || e.kind == "queued" }

func (h *secondHistory) tenureOfNoClient() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.begins() && h.taken(e.client) })
}

func (h *secondHistory) tenureElsewhere() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return (e.begins() || e.kind == "ended") && e.lane != h.events[0].service
	})
}

func (h *secondHistory) laneOfAnother() []*secondEvent {
	faults := []string{"pause", "resume", "kill", "restart", "network"}
	return h.all(func(e *secondEvent) bool {
		return (e.ofClient() || slices.Contains(faults, e.kind)) && !h.taken(e.lane) && e.client != "" && e.client != e.lane
	})
}

func (e *secondEvent) asks() bool { return e.kind == "invoke" }

func (e *secondEvent) onLock() bool { return e.op == "lock" || e.op == "trylock" }

func (h *secondHistory) unlocked() bool { return h.events[0].unlocked }

func (h *secondHistory) noClients() []*secondEvent {
	if h.unlocked() || h.line((*secondEvent).asks) != nil {
		return nil
	}
	return list(h.events[len(h.events)-1])
}

func (h *secondHistory) noStorage() []*secondEvent {
	if h.line(func(e *secondEvent) bool { return e.lane == "storage" }) != nil {
		return nil
	}
	return list(h.line((*secondEvent).sends))
}

func (h *secondHistory) noLockService() []*secondEvent {
	saw := func(e *secondEvent) bool { return e.begins() || e.answers() && e.onLock() }
	if h.unlocked() || h.line(saw) != nil {
		return nil
	}
	return list(h.line((*secondEvent).sends))
}

func (h *secondHistory) lockedAnyway() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return h.unlocked() && (e.begins() || e.kind == "ended" || e.asks() && (e.onLock() || e.op == "count"))
	})
}

// ofTenures are what the lock service tells of a tenure that is known in which something
// differs from what is known.
func (h *secondHistory) ofTenures(differs func(e, known *secondEvent) bool) []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		known := h.known(e.tenure)
		return (e.begins() || e.kind == "ended") && known != nil && differs(e, known)
	})
}

func (h *secondHistory) otherClient() []*secondEvent {
	return h.ofTenures(func(e, known *secondEvent) bool { return e.client != "" && e.client != known.client })
}

func (h *secondHistory) otherLock() []*secondEvent {
	return h.ofTenures(func(e, known *secondEvent) bool { return e.scope != "" && e.scope != known.scope })
}

func (h *secondHistory) otherNumber() []*secondEvent {
	return h.ofTenures(func(e, known *secondEvent) bool { return e.token != 0 && known.token != 0 && e.token != known.token })
}

func (h *secondHistory) otherMode() []*secondEvent {
	return h.ofTenures(func(e, known *secondEvent) bool {
		return e.shares() != known.shares() && (e.shares() || e.kind != "ended")
	})
}

func (h *secondHistory) unaskedTenure() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.begins() && h.line(func(o *secondEvent) bool {
			return o.ofClient() && o.lane == e.client && (o.onLock() || o.op == "count" || o.tenure == e.tenure)
		}) == nil
	})
}

// owner is the client whose session a client uses.
func (h *secondHistory) owner(client string) string {
	if owner := h.events[0].sessions[client]; owner != "" {
		return owner
	}
	return client
}

// workedIn says whether a client was told of a tenure, and a request of it that names the
// tenure was applied.
func (h *secondHistory) workedIn(client, tenure string) bool {
	return h.told(client, tenure) && h.any(func(e *secondEvent) bool {
		ask := h.ask(e)
		return e.kind == "applied" && ask != nil && ask.lane == client && ask.tenure == tenure
	})
}

func (h *secondHistory) grantedToAnother() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		if !e.toldOfLock() || h.known(e.tenure) == nil {
			return false
		}
		to := h.known(e.tenure).client
		return h.owner(to) != h.owner(e.lane) && !(h.workedIn(to, e.tenure) && h.workedIn(e.lane, e.tenure))
	})
}

func (h *secondHistory) toldShared() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.toldOfLock() && h.known(e.tenure) != nil && e.shares() && !h.known(e.tenure).shares()
	})
}

func (h *secondHistory) lostOtherToken() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		known := h.known(e.tenure)
		return e.kind == "lost" && known != nil && e.token != 0 && e.token != known.token && !h.toldOf(e.lane, e.tenure, e.token)
	})
}

// otherScope is what names a tenure, and a scope that is neither its lock nor a key. The
// answer to a request is held against what was asked.
func (h *secondHistory) otherScope() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		known := h.known(e.tenure)
		held := e.answers() && e.ofStorageOp() && e.request != ""
		if !e.ofClient() || known == nil || e.scope == "" || e.scope == known.scope || held || e.toldOfLock() {
			return false
		}
		return !e.ofStorageOp() || e.scope != e.ownKey()
	})
}

// ownKey is the key of a request, of a change the first one.
func (e *secondEvent) ownKey() string {
	if e.op == "change" && len(e.changes) > 0 {
		return e.changes[0].key
	}
	return e.key
}

// toldLast is by which line a client was told last, before e, that it has a lock, if by its
// own word it has it still; nil: it has not.
func (h *secondHistory) toldLast(e *secondEvent, lock string) (told *secondEvent) {
	for _, o := range h.events[:e.line-1] {
		switch {
		case o.lane != e.lane:
		case o.toldOfLock() && o.scope == lock && o.tenure != "":
			told = o
		case told == nil:
		case o.kind == "kill", o.kind == "restart", o.kind == "lost" && o.tenure == told.tenure,
			o.asks() && o.op == "unlock" && (o.scope == "" || o.scope == lock):
			told = nil
		}
	}
	return told
}

// lastTold is by which line a client has a tenure that its request does not name.
func (h *secondHistory) lastTold(e *secondEvent) (told *secondEvent) {
	if e.scope != "" {
		return h.toldLast(e, e.scope)
	}
	for _, o := range h.events[:e.line-1] {
		if o.toldOfLock() && h.toldLast(e, o.scope) == o {
			told = o
		}
	}
	return told
}

func (h *secondHistory) notNamed() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		first := e.retryOf == "" && (e.partOf == "" || e.partOf == e.request)
		return h.version2() && e.sends() && e.tenure == "" && first && h.lastTold(e) != nil
	})
}

func says(text, asked string) bool { return text != "" && text != asked }

func (h *secondHistory) answersOther() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		ask := h.ask(e)
		if !e.answers() || !e.ofStorageOp() || ask == nil {
			return false
		}
		return says(e.key, ask.key) || e.op != "read" && says(e.value, ask.value) || len(e.changes) > 0 && !slices.Equal(e.changes, ask.changes) ||
			says(e.tenure, ask.tenure) || says(e.scope, ask.scope) || e.token != 0 && e.token != ask.token ||
			e.sequence != 0 && e.sequence != ask.sequence || e.shares() && !ask.shares() ||
			says(e.retryOf, ask.retryOf) || says(e.partOf, ask.partOf)
	})
}

func (h *secondHistory) didOfOther() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.did() && h.ask(e) != nil && says(e.client, h.ask(e).lane) })
}

func (h *secondHistory) didUnderOther() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.did() && h.ask(e) != nil && says(e.tenure, h.ask(e).tenure) })
}

// toldAgainst are what clients were told of an op on the storage, by that kind, for which
// the storage's first line of another kind is such.
func (h *secondHistory) toldAgainst(kind, did string, such func(told, did *secondEvent) bool) []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		if e.kind != kind || !e.ofStorageOp() {
			return false
		}
		o := tells(did)(h, e)
		return o != nil && such(e, o)
	})
}

func (h *secondHistory) foundOther() []*secondEvent {
	return h.toldAgainst("ok", "applied", func(told, did *secondEvent) bool {
		return told.op == "read" && (told.value != did.value || told.missing != did.missing)
	})
}

// ofRefusal says whether a client was told that its request was refused.
func (e *secondEvent) ofRefusal() bool {
	return slices.Contains([]string{"stale", "missing", "invalid", "ahead"}, e.reason)
}

func (h *secondHistory) refusedReadDone() []*secondEvent {
	return h.toldAgainst("fail", "applied", func(told, _ *secondEvent) bool { return told.ofRefusal() && told.op == "read" })
}

func (h *secondHistory) refusedDuplicate() []*secondEvent {
	return h.toldAgainst("fail", "duplicate", func(told, _ *secondEvent) bool { return told.ofRefusal() })
}

func (h *secondHistory) otherReason() []*secondEvent {
	return h.toldAgainst("fail", "refused", func(told, did *secondEvent) bool { return told.ofRefusal() && told.reason != did.reason })
}

func (h *secondHistory) otherMark() []*secondEvent {
	return h.toldAgainst("fail", "refused", func(told, did *secondEvent) bool {
		return told.ofRefusal() && told.mark != 0 && did.mark != 0 && told.mark != did.mark
	})
}

// firstFinal is what tells first what a key holds at the end.
func (h *secondHistory) firstFinal(e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.kind == "final" && o.key == e.key })
}

func (h *secondHistory) finalTwice() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.kind == "final" && h.firstFinal(e) != e })
}

func (h *secondHistory) changedAfterFinal() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		first := h.firstFinal(e)
		return e.changesKey() && first != nil && first.line < e.line
	})
}
