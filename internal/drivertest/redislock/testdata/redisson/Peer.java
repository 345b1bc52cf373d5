import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A client of Redisson. It does a line of its input after the other: a kind of lock, and try, lock, token or unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + args[0])
            .setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Lock lock = lock(client, words[0], args[1]);
            switch (words[1]) {
                case "try" -> System.out.println(lock.tryLock() ? "locked" : "refused");
                case "lock" -> {
                    lock.lock();
                    System.out.println("locked");
                }
                case "token" -> System.out.println(((RFencedLock) lock).getToken());
                case "unlock" -> {
                    lock.unlock();
                    System.out.println("unlocked");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        client.shutdown();
    }

    private static Lock lock(RedissonClient client, String kind, String name) {
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
