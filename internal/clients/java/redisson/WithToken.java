import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonFencedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/** A RFencedLock: its token comes with the grant, and is kept. The watchdog renews the lock. */
class WithToken extends Redissons {
    WithToken(RedissonClient client) {
        super(client);
    }

    @Override
    public Tenure lock(String name, Duration within) {
        RFencedLock lock = client.getFencedLock(name);
        try {
            Long token = take(lock, within);
            return token == null ? null : granted(lock, token);
        } catch (RedisException err) {
            if (Thread.currentThread().isInterrupted()) {
                new Left((Redisson) client, name).wake();
            }
            throw err;
        }
    }

    Long take(RFencedLock lock, Duration within) {
        return lock.tryLockAndGetToken(within.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Is what Redis counts by now, whosever the lock is. */
    @Override
    public long readToken(String lock) {
        return client.getFencedLock(lock).getToken();
    }

    Tenure granted(RFencedLock lock, long token) {
        return new Granted(lock, token);
    }

    /**
     * A lock whose wait was interrupted. Redisson leaves that wait in the client's own list, where it takes the
     * next message of an unlock from a wait that began later. Once woken, it goes.
     */
    private static final class Left extends RedissonFencedLock {
        Left(Redisson client, String name) {
            super(client.getCommandExecutor(), name);
        }

        void wake() {
            long thread = Thread.currentThread().getId();
            subscribe(thread).thenAccept(entry -> {
                entry.tryRunAllListeners();
                unsubscribe(entry, thread);
            });
        }
    }

    class Granted extends Owned {
        private final long token;

        Granted(RFencedLock lock, long token) {
            super(lock);
            this.token = token;
        }

        @Override
        public long token() {
            return token;
        }
    }
}
