/** What can be asked of the storage; and an unlock. It may be asked more than once: it says the same each time, but for its ID. */
final class Request {
    final String lock;
    final Event ask;
    final Held held; // under which it is, or which it unlocks; null: none
    long token;
    String first = ""; // the ID of its first attempt
    Whole whole; // the change that it is a part of; null: it is none

    /** A change that is written key by key: its name is the ID of its first write. */
    static final class Whole {
        String id = "";
    }

    Request(String lock, Event ask, Held held, long token) {
        this.lock = lock;
        this.ask = ask;
        this.held = held;
        this.token = token;
    }

    String op() {
        return ask.text("op");
    }

    boolean isUnlock() {
        return op().equals("unlock");
    }

    /** The question of an attempt, with its ID, and those with which it belongs together. */
    Event named(String id) {
        Event e = ask.copy().with("request", id).with("retry_of", first);
        first = first.isEmpty() ? id : first;
        if (whole != null) {
            whole.id = whole.id.isEmpty() ? id : whole.id;
            e.with("part_of", whole.id);
        }
        return e;
    }
}
