import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.GetLockOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockCurrentlyUnavailableException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** A client with the locks of Amazon's lock client in DynamoDB. The TTL is the lease duration. */
public final class Peer implements Locks {
    private static final String TABLE = "locks";
    private static final long AGAIN = 100; // ms: how often a waiter asks

    private final DynamoDbClient database;
    private final Duration ttl;

    private Peer(Fields arguments) {
        if (!arguments.text("by").equals("dynamodb-lock-client")) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has Amazon's lock client");
        }
        ttl = arguments.time("ttl");
        Duration timeout = arguments.time("timeout");
        database = DynamoDbClient.builder().endpointOverride(URI.create("http://" + arguments.text("endpoints"))).region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("fencelab", "fencelab")))
            .overrideConfiguration(how -> how.apiCallTimeout(timeout)).build();
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    @Override
    public void reach() throws Exception {
        try (AmazonDynamoDBLockClient client = client("nobody")) {
            client.assertLockTableExists();
            client.getLockFromDynamoDB(GetLockOptions.builder("nobody").build());
        }
    }

    @Override
    public void close() {
        database.close();
    }

    /** Has a lock client for each tenure: an item names its holder by the client's owner name. */
    private AmazonDynamoDBLockClient client(String owner) {
        return new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(database, TABLE).withOwnerName(owner)
            .withTimeUnit(TimeUnit.MILLISECONDS).withLeaseDuration(ttl.toMillis()).withHeartbeatPeriod(ttl.toMillis() / 3)
            .withCreateHeartbeatBackgroundThread(true).build());
    }

    /** The lock client adds the lease of who holds the lock to the time for which it waits: the agent interrupts it before. */
    @Override
    public Tenure lock(String name, Duration within) throws Exception {
        String owner = UUID.randomUUID().toString();
        AmazonDynamoDBLockClient client = client(owner);
        AtomicBoolean lost = new AtomicBoolean();
        Optional<LockItem> lock = Optional.empty();
        try {
            lock = client.tryAcquireLock(AcquireLockOptions.builder(name).withShouldSkipBlockingWait(within.isZero())
                .withTimeUnit(TimeUnit.MILLISECONDS).withRefreshPeriod(AGAIN)
                .withAdditionalTimeToWaitForLock(within.toMillis())
                .withSessionMonitor(ttl.toMillis() * 2 / 3, Optional.of(() -> lost.set(true))).build());
        } catch (LockCurrentlyUnavailableException held) {
            // another client has it
        } finally {
            if (lock.isEmpty()) {
                client.close();
            }
        }
        return lock.map(held -> new Held(owner, client, held, lost)).orElse(null);
    }

    /** A tenure, which DynamoDB knows by the owner name. It has no token: the record version number is random. */
    private record Held(String name, AmazonDynamoDBLockClient client, LockItem lock, AtomicBoolean lost) implements Tenure {
        @Override
        public boolean held() {
            return client.hasLock(lock.getPartitionKey(), Optional.empty());
        }

        /** Asks nobody: the lock client goes by its own clock. */
        @Override
        public boolean seems(String look) {
            return look.equals("acquired") ? held() : Tenure.super.seems(look);
        }

        /** The session monitor tells when no renewal has been answered for two thirds of the TTL. */
        @Override
        public Boolean told() {
            return lost.get();
        }

        @Override
        public void unlock() throws Exception {
            boolean released = client.releaseLock(lock);
            client.close();
            if (!released) {
                throw new Over("release returns false");
            }
        }
    }
}
