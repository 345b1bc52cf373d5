import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/**
 * A RFencedLock by lockAndGetToken with a lease, which Redisson does not use. It waits until it
 * has the lock. Who does not wait takes it by tryLockAndGetToken, which uses the lease.
 */
final class LeaseIgnored extends WithToken {
    private final long lease; // ms

    LeaseIgnored(RedissonClient client, long lease) {
        super(client);
        this.lease = lease;
    }

    @Override
    Long take(RFencedLock lock, Duration within) {
        return within.isZero() ? lock.tryLockAndGetToken(0, lease, TimeUnit.MILLISECONDS) : lock.lockAndGetToken(lease, TimeUnit.MILLISECONDS);
    }
}
