import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The command count: it adds 1 to a key, many times, each under a lock of its own. */
final class Counting {
    private static final int MAX_TRIES = 20; // of an increment: one that the storage always refuses would go on for ever
    private static final Duration PATIENCE = Duration.ofHours(1); // for the lock: until all others had it

    private final String name, lock;
    private final Holdings holdings;
    private final Requests requests;
    private final Report report;
    private final Finish finish;
    private String key;
    private int times;
    private final List<Integer> halts = new ArrayList<>(); // stands before the write of these increments, once each

    /** Waits until the client is told to finish. */
    interface Finish {
        void await() throws InterruptedException;
    }

    /** The increment was not done, and can be under another lock. */
    private static final class Again extends Exception {
        Again() {
            super("the lock was lost, or the token refused as stale, " + MAX_TRIES + " times");
        }
    }

    Counting(String name, String lock, Holdings holdings, Requests requests, Report report, Finish finish) {
        this.name = name;
        this.lock = lock;
        this.holdings = holdings;
        this.requests = requests;
        this.report = report;
        this.finish = finish;
    }

    /** Obeys "count KEY N [I,J...]". */
    void run(String argument) throws Agent.Wrong {
        parse(argument);
        Event e = new Event().with("op", "count").with("scope", lock).with("key", key);
        report.say("invoke", e);
        int attempts = 0;
        String failed = "";
        for (int n = 1; n <= times && failed.isEmpty(); n++) {
            int tries = 0;
            for (boolean again = true; again; ) {
                attempts++;
                try {
                    increment(n);
                    again = false;
                } catch (Exception err) {
                    again = err instanceof Again && ++tries < MAX_TRIES;
                    failed = again ? "" : "increment " + n + " of " + times + ": " + err.getMessage();
                }
            }
        }
        if (attempts > times) {
            report.say("note", new Event().with("scope", lock).with("text", name + " has made " + attempts + " attempts at " + times + " increments"));
        }
        report.say(failed.isEmpty() ? "ok" : "fail", e.with("text", failed));
    }

    private void parse(String argument) throws Agent.Wrong {
        Agent.Wrong bad = new Agent.Wrong("count " + argument + ": want \"count KEY N\" or \"count KEY N I,J...\", numbers from 1, the latter up to N");
        String[] words = argument.trim().split(" +");
        if (words.length != 2 && words.length != 3) {
            throw bad;
        }
        key = words[0];
        try {
            times = Integer.parseInt(words[1]);
            for (String halt : words.length == 3 ? words[2].split(",", -1) : new String[0]) {
                halts.add(Integer.parseInt(halt));
            }
        } catch (NumberFormatException err) {
            throw bad;
        }
        if (times < 1 || halts.stream().anyMatch(halt -> halt < 1 || halt > times)) {
            throw bad;
        }
    }

    /** Adds 1, under a lock of its own. */
    private void increment(int n) throws Exception {
        Outcome granted = holdings.take("lock", lock, PATIENCE);
        if (!granted.ok()) {
            throw failure(granted);
        }
        Outcome released;
        try {
            add(n);
        } finally {
            released = holdings.unlock(lock);
        }
        if (released.unknown()) {
            throw failure(released);
        }
    }

    private void add(int n) throws Exception {
        Outcome read = requests.perform(List.of(requests.make("read", lock, key, "")));
        if (!read.ok()) {
            throw failure(read);
        }
        String found = read.event().text("value");
        Request write = requests.make("write", lock, key, Long.toString(found.isEmpty() ? 1 : Long.parseLong(found) + 1));
        if (halts.contains(n)) {
            if (holdings.find(lock).lost) {
                throw new Again();
            }
            halts.remove(Integer.valueOf(n));
            report.stand(holdings.about(lock).with("op", "count").with("key", key).with("text", "stands before increment " + n + " of " + times));
        } else {
            Outcome no = requests.look(write, "session");
            if (no != null) {
                throw failure(no);
            }
        }
        try {
            if (report.stands()) {
                finish.await();
            }
            Outcome written = requests.perform(List.of(write));
            if (!written.ok()) {
                throw failure(written);
            }
        } finally {
            report.goOn();
        }
    }

    private static Exception failure(Outcome outcome) {
        return outcome.tooLate() ? new Again() : new Exception(outcome.event().text("op") + ": " + outcome.event().text("text"));
    }
}
