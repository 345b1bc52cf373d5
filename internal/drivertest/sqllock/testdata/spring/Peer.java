import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ConcurrentModificationException;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** A JdbcLockRegistry. It does a line of its input after the other: try, lock, unlock. */
public class Peer {
    public static void main(String[] args) throws Exception {
        DriverManagerDataSource database = new DriverManagerDataSource(args[0]);
        DefaultLockRepository repository = new DefaultLockRepository(database);
        repository.setTransactionManager(new JdbcTransactionManager(database));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        Lock lock = new JdbcLockRegistry(repository).obtain(args[1]);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "try" -> System.out.println(lock.tryLock() ? "locked" : "refused");
                case "lock" -> {
                    lock.lock();
                    System.out.println("locked");
                }
                case "unlock" -> System.out.println(unlock(lock));
                default -> throw new IllegalArgumentException(line);
            }
        }
        repository.close();
    }

    private static String unlock(Lock lock) {
        try {
            lock.unlock();
            return "unlocked";
        } catch (ConcurrentModificationException e) {
            return "lost";
        }
    }
}
