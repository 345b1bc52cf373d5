import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/** A RFencedLock: its token comes with the grant, and is kept. The watchdog renews the lock. */
class WithToken extends Peer.Redissons {
    WithToken(RedissonClient client) {
        super(client);
    }

    @Override
    public Tenure lock(String name, Duration within) {
        RFencedLock lock = client.getFencedLock(name);
        Long token = lock.tryLockAndGetToken(within.toMillis(), TimeUnit.MILLISECONDS);
        return token == null ? null : granted(lock, token);
    }

    /** Is what Redis counts by now, whosever the lock is. */
    @Override
    public long readToken(String lock) {
        return client.getFencedLock(lock).getToken();
    }

    Tenure granted(RFencedLock lock, long token) {
        return new Granted(lock, token);
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
