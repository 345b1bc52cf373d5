import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A client of Redisson. It does a line of its input after the other: try, lock, unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + args[0])
            .setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        Lock lock = switch (args[1]) {
            case "lock" -> client.getLock(args[2]);
            case "fair" -> client.getFairLock(args[2]);
            case "fenced" -> client.getFencedLock(args[2]);
            case "read" -> client.getReadWriteLock(args[2]).readLock();
            case "write" -> client.getReadWriteLock(args[2]).writeLock();
            default -> throw new IllegalArgumentException(args[1]);
        };
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
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
}
