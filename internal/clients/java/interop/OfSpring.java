import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** A RedisLockRegistry of each type, for each lease. */
final class OfSpring implements Interop.Library {
    private final LettuceConnectionFactory redis;
    private final Map<String, RedisLockRegistry> registries = new ConcurrentHashMap<>();

    OfSpring(String address) {
        String[] parts = address.split(":");
        redis = new LettuceConnectionFactory(new RedisStandaloneConfiguration(parts[0], Integer.parseInt(parts[1])));
        redis.afterPropertiesSet();
        redis.start();
    }

    @Override
    public Lock lock(String kind, long lease, String name) {
        RedisLockRegistry registry = registries.computeIfAbsent(kind + lease, key -> {
            RedisLockRegistry made = new RedisLockRegistry(redis, "registry", Duration.ofMillis(lease));
            made.setRedisLockType(kind.equals("pubsub") ? RedisLockType.PUB_SUB_LOCK : RedisLockType.SPIN_LOCK);
            return made;
        });
        var lock = registry.obtain(name);
        return new Standard(lock) {
            public void renew() {
                registry.renewLock(name);
            }
        };
    }
}
