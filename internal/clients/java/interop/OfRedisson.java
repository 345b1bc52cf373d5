import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson, with a client for each lease: it is the client's lockWatchdogTimeout. */
final class OfRedisson implements Interop.Library {
    private final String address;
    private final Map<Long, RedissonClient> clients = new ConcurrentHashMap<>();

    OfRedisson(String address) {
        this.address = "redis://" + address;
    }

    private RedissonClient client(long lease) {
        Config config = new Config();
        config.setLockWatchdogTimeout(lease);
        config.useSingleServer().setAddress(address)
            .setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        return Redisson.create(config);
    }

    @Override
    public Lock lock(String kind, long lease, String name) {
        RLock lock = lock(clients.computeIfAbsent(lease, this::client), kind, name);
        return new Standard(lock) {
            public long token() {
                return ((RFencedLock) lock).getToken();
            }
        };
    }

    private static RLock lock(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw new IllegalArgumentException(kind);
        };
    }
}
