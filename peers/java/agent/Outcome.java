/** What became of a question, as it was said. */
record Outcome(String kind, Event event) {
    boolean ok() {
        return kind.equals("ok");
    }

    boolean unknown() {
        return kind.equals("unknown");
    }

    /** Reports whether it was not done because the lock was lost: it can be done under another one. */
    boolean tooLate() {
        return event.text("reason").equals("stale") || event.text("reason").equals("lost");
    }
}
