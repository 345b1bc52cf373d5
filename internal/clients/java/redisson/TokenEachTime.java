import java.time.Duration;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/** A RFencedLock that its holder can take again: each time it has another token. */
final class TokenEachTime extends WithToken {
    TokenEachTime(RedissonClient client) {
        super(client);
    }

    @Override
    Tenure granted(RFencedLock lock, long token) {
        return new Granted(lock, token) {
            @Override
            public boolean reenters() {
                return true;
            }

            @Override
            public Tenure again() {
                return TokenEachTime.this.lock(lock.getName(), Duration.ZERO);
            }
        };
    }
}
