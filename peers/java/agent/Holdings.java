import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** The locks that the client holds, or waits for. */
final class Holdings {
    private static final Duration FOR_EVER = Duration.ofDays(1);
    private static final int ASKS_AGAIN = 10; // ms: whether it stands in the queue

    private final String name, ownLock;
    private final Duration timeout, ttl, delay;
    private final Locks locks;
    private final Report report;
    private final Consumer<Runnable> between; // does something between two commands
    private final Map<String, Held> held = Collections.synchronizedMap(new LinkedHashMap<>()); // the latest grant, or place in a queue, comes last

    Holdings(Arguments arguments, Locks locks, Report report, Consumer<Runnable> between) {
        name = arguments.text("name");
        ownLock = arguments.text("lock");
        timeout = arguments.time("timeout");
        ttl = arguments.time("ttl");
        delay = Arguments.duration(arguments.text("delay", "0s"));
        this.locks = locks;
        this.report = report;
        this.between = between;
    }

    /** The last grant of a lock, or a place in its queue; null: none. */
    Held find(String lock) {
        return held.get(lock);
    }

    Collection<Held> all() {
        return held.values();
    }

    /** The lock that a command is about which names none, and takes none. */
    String last() {
        String lock = ownLock;
        for (String later : held.keySet()) {
            lock = later;
        }
        return lock;
    }

    Event about(String lock) {
        Held h = held.get(lock);
        return h == null ? new Event().with("scope", lock) : h.about();
    }

    /** Takes a lock, by the op lock or trylock, or waits for the one that it queued for. */
    Outcome take(String op, String lock, Duration within) {
        Held before = held.get(lock);
        boolean again = before != null && !before.lost;
        if (again && before.waits() && op.equals("lock")) {
            return await(before, within);
        }
        Event e = invoke(op, lock);
        if (again && (before.waits() || op.equals("trylock"))) {
            return alreadyHeld(e);
        }
        Held h = again ? before : new Held(lock);
        try {
            Locks.Tenure t = h.ask(within.plus(timeout), () -> again ? h.grant().again() : locks.lock(lock, within));
            if (t == null) {
                return again ? alreadyHeld(e) : report.say("fail", e.with("text", within.isZero() ? locks.refusal() : "not granted in time; it has left the queue"));
            }
            h.grants.addFirst(t);
        } catch (Exception err) { // the lock service may have done it
            return report.say("unknown", e.with("text", Agent.words(err)));
        }
        comesLast(h);
        return granted(h, e, !again);
    }

    /** Asks for a lock, and waits for it in the background. */
    void queue(String lock) throws Agent.Wrong {
        if (locks.waiter() == null) {
            throw new Agent.Wrong("queue: this library does not say who waits for a lock");
        }
        Held before = held.get(lock);
        Event e = invoke("lock", lock);
        if (before != null && !before.lost) {
            alreadyHeld(e);
            return;
        }
        Held h = new Held(lock);
        try {
            Locks.Tenure t = h.ask(timeout, () -> locks.lock(lock, Duration.ZERO));
            if (t != null) {
                h.grants.addFirst(t);
                comesLast(h);
                granted(h, e, true);
                return;
            }
            String waiter = h.ask(timeout, locks::waiter);
            CompletableFuture<Locks.Tenure> granted = h.enter(waiter, e, () -> locks.lock(lock, FOR_EVER)).granted();
            comesLast(h);
            while (!granted.isDone() && !locks.stands(lock, waiter)) {
                TimeUnit.MILLISECONDS.sleep(ASKS_AGAIN);
            }
            report.say("note", h.about().with("op", "queue").with("text", name + " has asked for " + lock + ", which is another's, and waits"));
            granted.whenComplete((tenure, err) -> between.accept(() -> settle(h)));
        } catch (Exception err) {
            report.say("unknown", e.with("text", Agent.words(err)));
        }
    }

    /** Waits for a lock that it queued for, if it waits still, and then leaves the queue. */
    void await(String lock, Duration within) {
        Held h = held.get(lock);
        if (h != null && h.waits()) {
            await(h, within);
        }
    }

    private Outcome await(Held h, Duration within) {
        try {
            h.place().granted().get(within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | InterruptedException late) {
            h.leave(timeout);
        } catch (java.util.concurrent.ExecutionException err) {
            // settle says it
        }
        return settle(h);
    }

    /** Says what became of a place in a queue, once. */
    private Outcome settle(Held h) {
        if (!h.waits()) {
            return null;
        }
        Held.Place place = h.place();
        h.settle();
        Locks.Tenure t;
        try {
            t = place.granted().join();
        } catch (RuntimeException err) {
            held.remove(h.lock);
            return report.say("unknown", place.asked().with("text", String.valueOf(err.getCause())));
        }
        if (t == null) {
            held.remove(h.lock);
            return report.say("fail", place.asked().with("text", "not granted in time; it has left the queue"));
        }
        h.grants.addFirst(t);
        return granted(h, place.asked(), true);
    }

    private Event invoke(String op, String lock) {
        Event e = new Event().with("op", op).with("scope", lock);
        report.say("invoke", e);
        return e;
    }

    private Outcome alreadyHeld(Event e) {
        return report.say("fail", e.with("reason", "held").with("text", "it holds the lock already, or waits for it"));
    }

    private void comesLast(Held h) {
        Held before = held.remove(h.lock);
        held.put(h.lock, h);
        if (before != null && before != h) {
            before.end();
        }
    }

    /** Waits out the delay, and says that a lock is granted. */
    private Outcome granted(Held h, Event e, boolean first) {
        if (!delay.isZero()) {
            report.say("note", h.about().with("op", "lock").with("took", delay.toNanos()).with("text", name + " has " + h.lock + ", and waits before it goes on"));
            try {
                TimeUnit.NANOSECONDS.sleep(delay.toNanos());
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }
        Outcome outcome = report.say("ok", h.about().with("op", e.text("op")));
        if (first) {
            Thread watch = new Thread(() -> watch(h));
            watch.setDaemon(true);
            watch.start();
        }
        return outcome;
    }

    /** Tells of the loss of a tenure. Most of these libraries tell nobody of it: the agent asks. */
    private void watch(Held h) {
        try {
            for (long seen = System.nanoTime(); !h.lost; ) {
                if (h.over(ttl.dividedBy(3))) {
                    return;
                }
                long asks = System.nanoTime();
                try {
                    h.lost = !h.ask(ttl, () -> h.grant().held());
                    seen = asks;
                } catch (InterruptedException end) {
                    throw end;
                } catch (Exception err) { // it cannot be known
                    h.lost = System.nanoTime() - seen > ttl.toNanos();
                }
            }
            report.lost(h);
        } catch (InterruptedException end) {
            // nobody interrupts it
        }
    }

    Outcome unlock(String lock) {
        Held h = held.get(lock);
        if (h == null || h.waits()) {
            Event e = about(lock).with("op", "unlock");
            report.say("invoke", e);
            return report.say("fail", e.with("text", "holds nothing"));
        }
        if (h.grants.size() > 1) {
            return unlockInner(h);
        }
        held.remove(lock);
        h.release();
        return unlock(h);
    }

    /** Releases a lock, perhaps once more: after an outcome that was unknown. */
    Outcome unlock(Held h) {
        Event e = h.about().with("op", "unlock");
        report.say("invoke", e);
        Outcome outcome = report.say(free(h, h.grant(), e), e);
        if (!outcome.unknown()) {
            h.end();
        }
        return outcome;
    }

    /** Unlocks a lock that was taken again: the tenure goes on, with the grant before. */
    private Outcome unlockInner(Held h) {
        Event e = h.about().with("op", "unlock"), asked = e.copy();
        String kind = free(h, h.grants.removeFirst(), e);
        if (kind.equals("ok")) {
            return report.say("note", h.about().with("text", name + " unlocks " + h.lock + " once, and still holds it by its grant of token " + h.token()));
        }
        report.say("invoke", asked);
        return report.say(kind, e);
    }

    /** Has the library unlock a grant, and adds to the event what the library says. */
    private String free(Held h, Locks.Tenure grant, Event e) {
        try {
            h.ask(timeout, () -> {
                grant.unlock();
                return null;
            });
            return "ok";
        } catch (IllegalMonitorStateException | ConcurrentModificationException over) {
            e.with("text", "that tenure is over: " + over.getMessage());
            return "fail";
        } catch (Exception err) {
            e.with("text", Agent.words(err));
            return "unknown";
        }
    }

    /** Leaves the queues, and releases what is not lost, the last one first. */
    void end() {
        List<Held> all = new ArrayList<>(held.values());
        for (Held h : all) {
            if (h.waits()) {
                h.leave(timeout);
                settle(h);
            }
        }
        for (int i = all.size() - 1; i >= 0; i--) {
            Held h = all.get(i);
            while (!h.lost && held.get(h.lock) == h) {
                unlock(h.lock);
            }
        }
    }
}
