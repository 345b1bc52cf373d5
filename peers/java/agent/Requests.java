import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The requests of the client to the storage. */
final class Requests {
    private static final List<String> OWN_LOOKS = List.of("begin", "nothing", "session");
    private static final Pattern UNDER = Pattern.compile("(.*) under (\\S+)");

    private final Arguments arguments;
    private final String name;
    private final Duration timeout;
    private final Locks locks;
    private final Storage storage;
    private final Holdings holdings;
    private final Report report;
    private final List<Thread> sent = new ArrayList<>();
    private List<Request> begun = List.of();
    private volatile Request unknown; // the last one whose outcome is not known; null: none
    private long asked;

    Requests(Arguments arguments, Locks locks, Storage storage, Holdings holdings, Report report) {
        this.arguments = arguments;
        this.locks = locks;
        this.storage = storage;
        this.holdings = holdings;
        this.report = report;
        name = arguments.text("name");
        timeout = arguments.time("timeout");
        asked = Long.parseLong(arguments.text("asked-before", "0"));
    }

    /** How requests are asked: one after the other, until one does not succeed. */
    private interface Asking {
        void ask(List<Request> requests);
    }

    /** Does a read, write, delete, change, finish or retry. */
    void act(String verb, String argument) throws Agent.Wrong {
        act(verb, argument, this::perform);
    }

    /** Does it in the background, over a connection of its own. */
    void send(String line) throws Agent.Wrong {
        String[] words = line.split(" ", 2);
        if (!List.of("write", "delete", "change", "finish", "retry").contains(words[0])) {
            throw new Agent.Wrong("send " + line + ": want a write, delete, change, finish or retry as without send");
        }
        act(words[0], words.length > 1 ? words[1] : "", this::inBackground);
    }

    private void act(String verb, String argument, Asking asking) throws Agent.Wrong {
        switch (verb) {
            case "finish" -> {
                if (!report.stands()) {
                    throw new Agent.Wrong("finish: nothing was begun");
                }
                asking.ask(begun);
                report.goOn(); // what it has learned of its locks meanwhile it says now
            }
            case "retry" -> {
                Request r = unknown;
                if (r == null) {
                    throw new Agent.Wrong("retry: there is no request of unknown outcome");
                }
                unknown = null;
                asking.ask(List.of(r));
            }
            default -> {
                List<Request> requests = parse(verb, argument);
                if (look(requests.get(0), "session") == null) {
                    asking.ask(requests);
                }
            }
        }
    }

    /** Looks whether the lock is held, as a careful client does before a change, and stands between the look and the last request. */
    void begin(String line) throws Agent.Wrong {
        String[] words = line.split(" ", 2);
        String rest = words.length > 1 ? words[1] : "";
        List<Request> requests = switch (words[0]) {
            case "read", "write", "delete", "change" -> parse(words[0], rest);
            case "unlock" -> unlocking(rest.isBlank() ? holdings.last() : rest.trim());
            case "lock" -> throw new Agent.Wrong("begin lock: this library takes a lock in one piece");
            default -> throw new Agent.Wrong("begin " + line + ": want a read, write, delete, change or unlock");
        };
        if (requests.isEmpty() || !requests.get(0).isUnlock() && look(requests.get(0), "begin", "session") != null) {
            return;
        }
        Request last = requests.get(requests.size() - 1);
        if (requests.size() > 1 && !perform(requests.subList(0, requests.size() - 1)).ok()) {
            return;
        }
        begun = List.of(last);
        report.stand(holdings.about(last.lock).with("op", last.op()).with("key", last.ask.text("key")).with("text", "stands before the " + last.op()));
    }

    /** The request to release a lock. None: the lock is not held, which is said. */
    private List<Request> unlocking(String lock) throws Agent.Wrong {
        Held h = holdings.find(lock);
        if (h == null || h.waits()) {
            holdings.unlock(lock);
            return List.of();
        }
        if (h.grants.size() > 1) {
            throw new Agent.Wrong("begin unlock: it has taken " + lock + " again, and ends that grant alone");
        }
        return List.of(new Request(lock, h.about().with("op", "unlock"), h, 0));
    }

    /** Gives up what was begun. */
    void giveUp() {
        begun = List.of();
        report.goOn();
    }

    /** Waits for the outcome of what it has sent, for so long at most. */
    void end() {
        try {
            for (Thread t : sent) {
                t.join(timeout.toMillis());
            }
        } catch (InterruptedException end) {
            // it waits no more
        }
    }

    /** Reads what a command is about; one request at the least. */
    private List<Request> parse(String op, String argument) throws Agent.Wrong {
        Matcher under = UNDER.matcher(argument);
        String lock = under.matches() ? under.group(2) : holdings.last(), text = under.matches() ? under.group(1) : argument;
        if (op.equals("read") || op.equals("delete")) {
            return List.of(make(op, lock, key(op, text), ""));
        }
        List<Map<String, String>> changes = new ArrayList<>();
        for (String change : op.equals("change") ? text.trim().split(" +") : new String[]{text}) {
            int equals = change.indexOf('=');
            if (equals < 0) {
                throw new Agent.Wrong(op + " " + change + ": want KEY=VALUE");
            }
            changes.add(Map.of("key", key(op, change.substring(0, equals)), "value", change.substring(equals + 1)));
        }
        boolean batch = op.equals("change") && arguments.text("change", "batch").equals("batch");
        if (batch) { // where the scope is a key it is the first
            Request r = make(op, lock, changes.get(0).get("key"), "");
            r.ask.with("key", "").with("changes", changes);
            return List.of(r);
        }
        List<Request> requests = new ArrayList<>();
        Request.Whole whole = op.equals("change") ? new Request.Whole() : null;
        for (Map<String, String> change : changes) {
            Request r = make("write", lock, change.get("key"), change.get("value"));
            r.whole = whole;
            r.ask.with("changes", whole == null ? null : changes);
            requests.add(r);
        }
        return requests;
    }

    private static String key(String op, String key) throws Agent.Wrong {
        if (key.isEmpty() || !key.equals(key.strip())) {
            throw new Agent.Wrong(op + ": the key is \"" + key + "\", want one that neither is empty nor begins or ends with a space");
        }
        return key;
    }

    /** A request under the last grant of a lock. */
    Request make(String op, String lock, String key, String value) {
        Held h = holdings.find(lock);
        boolean reads = op.equals("read");
        long token = h == null || reads && arguments.text("reads", "").equals("plain") ? 0 : h.token();
        Event e = holdings.about(lock).with("op", op).with("key", key).with("value", value).token(token);
        if (arguments.text("scope", "").equals("key")) {
            e.with("scope", key);
        }
        if (!reads && token != 0 && arguments.text("numbered", "false").equals("true")) {
            e.with("sequence", ++h.sequence);
        }
        return new Request(lock, e, h, token);
    }

    /**
     * Looks before a request whether the lock is held, where --look is one of these, or a question
     * to the library. null: it may go on; else it was said that nothing was sent.
     */
    Outcome look(Request r, String... looks) {
        String look = arguments.text("look", "begin"), reason = "lost", no = "it holds no lock";
        boolean own = OWN_LOOKS.contains(look);
        if (r.op().equals("read") || own && !List.of(looks).contains(look)) {
            return null;
        }
        Held h = r.held;
        if (h != null && own) {
            no = h.lost ? "its tenure has ended" : "";
        } else if (h != null && !h.waits()) {
            String question = "asked its library (" + look + ") whether it holds the lock: ";
            try {
                no = h.ask(timeout, () -> h.grant().seems(look)) ? "" : question + "no";
            } catch (Exception err) {
                no = question + Agent.words(err);
                reason = "";
            }
            if (no.isEmpty()) {
                report.say("note", h.about().with("text", name + " " + question + "yes"));
            }
        }
        if (no.isEmpty()) {
            return null;
        }
        report.say("invoke", r.ask);
        return report.say("fail", r.ask.copy().with("reason", reason).with("text", no));
    }

    Outcome perform(List<Request> requests) {
        Outcome outcome = null;
        for (Request r : requests) {
            Event e = start(r);
            if (e == null) {
                return new Outcome("fail", r.ask);
            }
            outcome = answer(r, e, storage);
            if (!outcome.ok()) {
                break;
            }
        }
        return outcome;
    }

    private void inBackground(List<Request> requests) {
        Storage own = new Storage(arguments.text("send-storage"), timeout);
        Event first = start(requests.get(0));
        if (first == null) {
            return;
        }
        Thread t = new Thread(() -> {
            if (answer(requests.get(0), first, own).ok()) {
                for (Request r : requests.subList(1, requests.size())) {
                    Event e = start(r);
                    if (e == null || !answer(r, e, own).ok()) {
                        return;
                    }
                }
            }
        });
        t.setDaemon(true);
        t.start();
        sent.add(t);
    }

    /** Says what is asked, in the order of the IDs. null: it cannot be asked, which is said. */
    private Event start(Request r) {
        if (r.isUnlock()) {
            return r.ask;
        }
        if (!readToken(r)) {
            return null;
        }
        synchronized (report) {
            Event e = r.named(name + "-" + ++asked);
            report.say("invoke", e);
            return e;
        }
    }

    /** Has a request show the token that the lock service has by now, as --token read-again wants it. */
    private boolean readToken(Request r) {
        if (!arguments.text("token", "").equals("read-again") || r.token == 0 || !r.first.isEmpty()) {
            return true;
        }
        try {
            r.token = locks.readToken(r.lock);
        } catch (Exception err) {
            report.say("invoke", r.ask);
            report.say("fail", r.ask.copy().with("text", "asked for the token of " + r.lock + ": " + Agent.words(err)));
            return false;
        }
        r.ask.token(r.token);
        report.say("note", holdings.about(r.lock).with("text", name + " reads the token of " + r.lock + " again: " + r.token));
        return true;
    }

    /** Asks, and says what came of it. */
    private Outcome answer(Request r, Event e, Storage storage) {
        if (r.isUnlock()) {
            Outcome outcome = holdings.find(r.lock) == r.held ? holdings.unlock(r.lock) : holdings.unlock(r.held);
            keep(r, outcome);
            return outcome;
        }
        e = e.copy().with("retry_of", "").with("part_of", "");
        String kind = storage.ask(e, r.token);
        synchronized (report) {
            Outcome outcome = report.say(kind, e);
            keep(r, outcome);
            return outcome;
        }
    }

    private void keep(Request r, Outcome outcome) {
        if (outcome.unknown() && !r.op().equals("read")) {
            unknown = r;
        }
    }

    /** Unlocks at once. */
    void unlock(String lock) {
        Held h = holdings.find(lock);
        Outcome outcome = holdings.unlock(lock);
        if (h != null) {
            keep(new Request(lock, h.about().with("op", "unlock"), h, 0), outcome);
        }
    }
}
