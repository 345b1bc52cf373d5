import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** A JdbcLockRegistry for each lease. */
final class OfJdbc implements Interop.Library {
    private final DefaultLockRepository repository;
    private final Map<Long, JdbcLockRegistry> registries = new ConcurrentHashMap<>();

    OfJdbc(String source) {
        DriverManagerDataSource database = new DriverManagerDataSource(source);
        repository = new DefaultLockRepository(database);
        repository.setTransactionManager(new JdbcTransactionManager(database));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
    }

    @Override
    public Lock lock(String kind, long lease, String name) {
        JdbcLockRegistry registry = registries.computeIfAbsent(lease,
            millis -> new JdbcLockRegistry(repository, Duration.ofMillis(millis)));
        var lock = registry.obtain(name);
        return new Standard(lock) {
            public void renew() {
                registry.renewLock(name);
            }
        };
    }
}
