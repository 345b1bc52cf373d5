import java.time.Duration;

/**
 * What a lock library is to a client. All that is asked of a lock, from the first attempt to
 * its release, comes on one thread, which does nothing else: these libraries tell holders apart
 * by their threads.
 */
public interface Locks extends AutoCloseable {
    /** Asks the lock service for something once, and returns when it has answered. */
    void reach() throws Exception;

    /** Waits for a lock for so long at most; zero takes it if it is free. null: it was not granted. */
    Tenure lock(String name, Duration within) throws Exception;

    /** Why a lock that is not free was not taken, as far as the client knows. */
    default String refusal() {
        return "another tenure has the lock";
    }

    /** The name that the lock service's own account would have for a tenure of this thread's. null: it is known with the grant only. */
    default String waiter() {
        return null;
    }

    /** Reports whether a waiter of that name, who has begun to wait, stands in the lock's queue, where the lock has one. */
    default boolean stands(String lock, String waiter) throws Exception {
        return true;
    }

    /** Asks for the token that the lock service gave out last for a lock, to whomever. */
    default long readToken(String lock) throws Exception {
        throw new UnsupportedOperationException("this library has no such question");
    }

    /** Ends what is open, and leaves locks alone. */
    @Override
    void close();

    /** A lock that was granted. */
    interface Tenure {
        /** What the lock service's own account calls it. */
        String name();

        /** The token that came with the grant; 0: none did. */
        default long token() {
            return 0;
        }

        /** Asks the library, or by it the lock service, whether the tenure goes on. */
        boolean held() throws Exception;

        /** Asks the library whether the lock is held, in a way that --look names. */
        default boolean seems(String look) {
            throw new IllegalArgumentException("--look is " + look + ", and this library has no such question");
        }

        /** Reports whether the library has told its holder, without a question, that the lock is or may be lost. null: it tells nobody. */
        default Boolean told() {
            return null;
        }

        /** Releases it. An IllegalMonitorStateException or a ConcurrentModificationException says that it was over before. */
        void unlock() throws Exception;

        /** Takes the lock once more while it is held, for an inner part of the work. null: this library's lock is not to be taken twice. */
        default Tenure again() throws Exception {
            return null;
        }

        /** Reports whether the lock is to be taken twice. */
        default boolean reenters() {
            return false;
        }
    }

    /** Says that a tenure was over before, in the client's own words: the library throws nothing. */
    final class Over extends IllegalMonitorStateException {
        Over(String text) {
            super(text);
        }
    }

    /** Connects a library. An IllegalArgumentException says what it lacks the code for. */
    interface Library {
        Locks open(Fields arguments) throws Exception;
    }
}
