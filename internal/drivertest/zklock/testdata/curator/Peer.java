import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryForever;

/** A client of Curator. It does a line of its input after the other: a kind of lock, and try, lock or unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryForever(100));
        client.start();
        client.blockUntilConnected();
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, args[1]);
        Map<String, InterProcessMutex> locks = Map.of(
            "mutex", new InterProcessMutex(client, args[1]), "read", both.readLock(), "write", both.writeLock());
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            InterProcessMutex lock = locks.get(words[0]);
            switch (words[1]) {
                case "try" -> System.out.println(lock.acquire(0, TimeUnit.SECONDS) ? "locked" : "refused");
                case "lock" -> {
                    lock.acquire();
                    System.out.println("locked");
                }
                case "unlock" -> {
                    lock.release();
                    System.out.println("unlocked");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        client.close();
    }
}
