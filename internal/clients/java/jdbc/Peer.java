import java.time.Duration;
import java.util.UUID;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.util.UUIDConverter;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** A client with the locks of Spring Integration's JdbcLockRegistry. The TTL is the registry's: nothing renews a lock. */
public final class Peer implements Locks {
    private final DriverManagerDataSource database;
    private final Duration ttl;

    private Peer(Fields arguments) {
        if (!arguments.text("by").equals("spring-jdbc")) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of a JdbcLockRegistry");
        }
        database = new DriverManagerDataSource(System.getenv("FENCELAB_JDBC_URL"));
        ttl = arguments.time("ttl");
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    /** Does what a lock does, so that the first one finds the driver and Spring loaded. */
    @Override
    public void reach() {
        repository("fencelab").isAcquired("fencelab");
    }

    /** Every transaction has a connection of its own, and ends it. */
    @Override
    public void close() {
    }

    /** Has a repository for each tenure: to the database all holders of one repository are the same. */
    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        String client = UUID.randomUUID().toString();
        DefaultLockRepository repository = repository(client);
        DistributedLock lock = new JdbcLockRegistry(repository, ttl).obtain(name);
        return lock.tryLock(within, ttl) ? new Held(client, repository, lock, UUIDConverter.getUUID(name).toString()) : null;
    }

    private DefaultLockRepository repository(String client) {
        DefaultLockRepository repository = new DefaultLockRepository(database, client);
        repository.setTransactionManager(new JdbcTransactionManager(database));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        return repository;
    }

    /** A tenure, which the database knows by the repository's client ID. */
    private record Held(String name, DefaultLockRepository repository, DistributedLock lock, String key) implements Tenure {
        /** Asks the database by the JVM's clock. The lock itself has no such question. */
        @Override
        public boolean held() {
            return repository.isAcquired(key);
        }

        @Override
        public void unlock() {
            lock.unlock();
        }
    }
}
