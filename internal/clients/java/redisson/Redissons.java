import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** What all locks of Redisson on one node have in common. */
abstract class Redissons implements Locks {
    final RedissonClient client;

    Redissons(RedissonClient client) {
        this.client = client;
    }

    /** What Redisson writes into the lock's hash for a holder. */
    String owner() {
        return client.getId() + ":" + Thread.currentThread().getId();
    }

    @Override
    public String waiter() {
        return owner();
    }

    @Override
    public void reach() {
        client.getKeys().countExists("fencelab");
    }

    @Override
    public void close() {
        client.shutdown(0, 1, TimeUnit.SECONDS);
    }

    /** A tenure of a lock that the thread holds. */
    class Owned implements Tenure {
        final RLock lock;
        private final String name = owner();

        Owned(RLock lock) {
            this.lock = lock;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public boolean held() {
            return lock.isHeldByCurrentThread();
        }

        @Override
        public boolean seems(String look) {
            return look.equals("owner") ? held() : Tenure.super.seems(look);
        }

        @Override
        public void unlock() {
            lock.unlock();
        }
    }
}
