import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** A client with the locks of ShedLock in a database. The TTL is lockAtMostFor: nothing renews a lock. */
public final class Peer implements Locks {
    private static final long AGAIN = 100; // ms: ShedLock itself has no wait

    private final JdbcTemplate database;
    private final boolean databaseTime;
    private final Duration ttl;

    private Peer(Fields arguments) {
        databaseTime = switch (arguments.text("by")) {
            case "shedlock" -> false;
            case "shedlock-db-time" -> true;
            default -> throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of ShedLock");
        };
        database = new JdbcTemplate(new DriverManagerDataSource(System.getenv("FENCELAB_JDBC_URL")));
        ttl = arguments.time("ttl");
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    /** Takes and releases a lock that nobody else asks for, so that the first one finds the driver and the library loaded. */
    @Override
    public void reach() {
        String name = UUID.randomUUID().toString();
        attempt(provider(name), name).ifPresent(SimpleLock::unlock);
        database.update("DELETE FROM shedlock WHERE name = ?", name);
    }

    /** Every transaction has a connection of its own, and ends it. */
    @Override
    public void close() {
    }

    /** Has a provider for each tenure: the database knows a holder by its provider's locked_by, which is the host's name by default. */
    @Override
    public Tenure lock(String name, Duration within) throws InterruptedException {
        String owner = UUID.randomUUID().toString();
        LockProvider provider = provider(owner);
        long until = System.nanoTime() + within.toNanos();
        Optional<SimpleLock> lock = attempt(provider, name);
        while (lock.isEmpty() && System.nanoTime() < until) {
            Thread.sleep(AGAIN);
            lock = attempt(provider, name);
        }
        return lock.map(held -> new Held(owner, held)).orElse(null);
    }

    /** Reads the clock before it asks for a connection, as ShedLock's own executor of tasks does. */
    private Optional<SimpleLock> attempt(LockProvider provider, String name) {
        return provider.lock(new LockConfiguration(ClockProvider.now(), name, ttl, Duration.ZERO));
    }

    private LockProvider provider(String owner) {
        var settings = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(database).withLockedByValue(owner);
        return new JdbcTemplateLockProvider((databaseTime ? settings.usingDbTime() : settings.forceUtcTimeZone()).build());
    }

    /** A tenure, which the database knows by what it is locked by. */
    private record Held(String name, SimpleLock lock) implements Tenure {
        /** Is always true: ShedLock has no such question, and has nobody told of a loss. */
        @Override
        public boolean held() {
            return true;
        }

        @Override
        public void unlock() {
            lock.unlock();
        }
    }
}
