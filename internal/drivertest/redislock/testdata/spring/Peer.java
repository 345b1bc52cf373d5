import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** A RedisLockRegistry. It does a line of its input after the other: try, lock, unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        LettuceConnectionFactory redis = new LettuceConnectionFactory(
            new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])));
        redis.afterPropertiesSet();
        redis.start();
        RedisLockRegistry registry = new RedisLockRegistry(redis, "registry", 60_000);
        if (args[1].equals("pubsub")) {
            registry.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
        }
        Lock lock = registry.obtain(args[2]);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "try" -> System.out.println(lock.tryLock() ? "locked" : "refused");
                case "lock" -> {
                    lock.lock();
                    System.out.println("locked");
                }
                case "unlock" -> {
                    lock.unlock();
                    System.out.println("unlocked");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        registry.destroy();
        redis.destroy();
    }
}
