package judge_test

// promises is a run with what the lock service promises, or without.
func (w *secondWorld) promises() secondFields {
	run, bounds := secondFields{}, make(map[string]int64)
	if w.chance(0.5) {
		return run
	}
	for _, name := range w.names {
		if w.chance(0.9) {
			bounds[name] = w.Int64N(5)
		}
	}
	run["bounds"], run["handover"] = bounds, w.Int64N(6)
	return run
}

// pass lets time pass.
func (w *secondWorld) pass() {
	if w.chance(0.5) {
		w.at += w.Int64N(9)
	}
}

// disturb is a fault, or the end of one, or a remark.
func (w *secondWorld) disturb() {
	lane := []string{w.client().name, w.client().name, "etcd", "gcsim"}[w.IntN(4)]
	w.fault(lane, []string{"pause", "resume", "kill", "restart", "partition", "deafen", "heal", "delay", "deliver", "reset"}[w.IntN(10)])
	if w.chance(0.3) {
		w.tell(lane, "note", nil)
	}
}

// starve is a lane that gets no processor, or the story's waiting for the end of a tenure.
func (w *secondWorld) starve() {
	if holder := w.locks[secondLocks[w.IntN(2)]].holder(); holder != nil && w.chance(0.4) {
		w.tell("gcsim", "awaited", secondFields{"tenure": holder.name})
	}
	lane := []string{w.client().name, w.client().name, "etcd", "storage"}[w.IntN(4)]
	w.tell(lane, "starved", secondFields{"took": w.Int64N(9)})
}

// fault is one by its kind, or by what happens to the network.
func (w *secondWorld) fault(lane, name string) {
	switch name {
	case "pause", "resume", "kill", "restart":
		w.tell(lane, name, nil)
	default:
		w.tell(lane, "network", secondFields{"cause": name})
	}
	w.pass()
}

// waitLong is a client that waits for a lock which somebody holds, perhaps one who
// cannot renew it, or which is free, and time passes.
func (w *secondWorld) waitLong() {
	c, name := w.client(), secondLocks[w.IntN(2)]
	lock, holder := w.locks[name], w.client().name
	switch hold := lock.holder(); {
	case hold == nil && w.chance(0.5):
		w.askLockOf(w.client(), name)
	case hold != nil && w.chance(0.4):
		w.end(hold)
	}
	hold := lock.holder()
	if hold != nil {
		holder = hold.client
		w.fault(holder, []string{"pause", "kill", "kill", "partition"}[w.IntN(4)])
	}
	if w.chance(0.5) {
		w.mend([]string{holder, c.name, c.name, "etcd", "gcsim"}[w.IntN(5)])
	}
	ask := secondFields{"op": "lock", "scope": name}
	w.tell(c.name, "invoke", ask)
	c.asks = true
	if w.chance(0.2) {
		w.at += w.Int64N(9)
		w.starve()
	}
	w.linger()
	switch n := w.IntN(6); {
	case n == 0:
		w.tell(c.name, []string{"fail", "unknown"}[w.IntN(2)], ask)
	case n < 3 && hold != nil:
		w.end(hold)
	case n == 3:
		w.askLockOf(c, name)
	case n == 4:
		w.fault(c.name, "kill")
		w.fault(c.name, "restart")
		w.at += w.Int64N(9)
	}
}

// cross is clients that hold a lock each, or share it, and ask for the other one; and time passes.
func (w *secondWorld) cross() {
	for _, name := range secondLocks {
		if w.locks[name].holder() == nil || w.chance(0.2) {
			w.askLockOf(w.client(), name)
		}
	}
	for i, name := range secondLocks {
		for _, hold := range w.locks[name].holders {
			w.tell(hold.client, "invoke", secondFields{"op": "lock", "scope": secondLocks[1-i]})
		}
	}
	if w.chance(0.2) {
		w.starve()
	}
	w.linger()
	i := w.IntN(2)
	switch hold := w.locks[secondLocks[i]].holder(); {
	case hold == nil || w.chance(0.2):
	case w.chance(0.3):
		w.end(hold)
	default:
		w.tell(hold.client, "fail", secondFields{"op": "lock", "scope": secondLocks[1-i]})
	}
}

// linger is time that passes, perhaps with faults.
func (w *secondWorld) linger() {
	switch {
	case w.chance(0.3):
		w.stutter()
	case w.chance(0.4):
		w.at += w.Int64N(9)
		w.disturb()
		w.at += w.Int64N(9)
	default:
		w.at += w.Int64N(9)
	}
}

// stutter is time that passes in short pieces, between which somebody stands still.
func (w *secondWorld) stutter() {
	lane := []string{"gcsim", "etcd"}[w.IntN(2)]
	for range 2 + w.IntN(4) {
		w.at += 1 + w.Int64N(2)
		w.tell(lane, "pause", nil)
		w.tell(lane, "resume", nil)
	}
}

// giveUp is a client that asks for a lock, and gets it when it is dead or waits no more;
// somebody waits for the lock then.
func (w *secondWorld) giveUp() {
	c, name := w.client(), secondLocks[w.IntN(2)]
	ask := secondFields{"op": []string{"lock", "trylock"}[w.IntN(2)], "scope": name}
	w.tell(c.name, "invoke", ask)
	leave := func() {
		if w.chance(0.3) {
			w.fault(c.name, "kill")
			w.fault(c.name, "restart")
			return
		}
		if ask["reason"] = ""; w.chance(0.2) {
			ask["reason"] = []string{"held", "expired"}[w.IntN(2)]
		}
		w.tell(c.name, []string{"fail", "unknown"}[w.IntN(2)], ask)
		ask["reason"] = ""
	}
	late := w.chance(0.5)
	if !late {
		leave()
	}
	if w.chance(0.2) { // it asks once more
		w.tell(c.name, "invoke", ask)
	}
	had := len(w.tenures)
	for holder := w.locks[name].holder(); holder != nil; holder = w.locks[name].holder() {
		w.end(holder)
	}
	w.askLockOf(c, name)
	if late {
		leave()
	}
	w.tell(w.client().name, "invoke", secondFields{"op": "lock", "scope": name})
	w.at += w.Int64N(9)
	if w.chance(0.3) {
		w.tellOfLock(c, w.tenures[had])
		w.at += w.Int64N(9)
	}
}

// mend is a fault that is undone, or the end of one that never began.
func (w *secondWorld) mend(lane string) {
	faults := [][]string{
		{"pause", "resume"}, {"pause", "restart"}, {"kill", "restart"}, {"partition", "heal"}, {"deafen", "heal"}, {"delay", "deliver"},
		{"resume"}, {"restart"}, {"heal"},
	}
	for _, fault := range faults[w.IntN(len(faults))] {
		w.fault(lane, fault)
	}
}

// queueUp is several clients that want a lock, and get it in turn. Perhaps the next one
// is dead by then.
func (w *secondWorld) queueUp() {
	name := secondLocks[w.IntN(2)]
	for range 2 + w.IntN(2) {
		w.askLockOf(w.client(), name)
	}
	if queue := w.locks[name].queue; len(queue) > 0 && w.chance(0.3) {
		w.fault(queue[0].client, "kill")
		if w.end(w.locks[name].holder()); w.chance(0.7) {
			w.tell(w.client().name, "invoke", secondFields{"op": "lock", "scope": name})
			w.at += w.Int64N(9)
		}
	}
	for range w.IntN(4) {
		if holder := w.locks[name].holder(); holder != nil {
			w.end(holder)
		}
	}
}
