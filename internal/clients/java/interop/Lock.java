/** A lock as one thread uses it. */
interface Lock {
    /** Takes it, and waits for so many milliseconds; forever where they are negative. */
    boolean take(long wait) throws Exception;

    /** Gives it back. An IllegalMonitorStateException or a ConcurrentModificationException says that it was lost. */
    void free() throws Exception;

    /** Makes its lease as long as at first. */
    default void renew() throws Exception {
        throw new UnsupportedOperationException("it is renewed by itself");
    }

    default long token() {
        throw new UnsupportedOperationException("it has no token");
    }
}
