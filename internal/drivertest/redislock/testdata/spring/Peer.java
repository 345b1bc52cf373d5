import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** A RedisLockRegistry of each type. It does a line of its input after the other: a type, and try, lock or unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        LettuceConnectionFactory redis = new LettuceConnectionFactory(
            new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])));
        redis.afterPropertiesSet();
        redis.start();
        Map<String, RedisLockRegistry> registries = Map.of(
            "spin", new RedisLockRegistry(redis, "registry", 60_000),
            "pubsub", new RedisLockRegistry(redis, "registry", 60_000));
        registries.get("pubsub").setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Lock lock = registries.get(words[0]).obtain(args[1]);
            switch (words[1]) {
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
        for (RedisLockRegistry registry : registries.values()) {
            registry.destroy();
        }
        redis.destroy();
    }
}
