import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** A client with the Lock of jetcd. The TTL is that of the lease, and each tenure has one of its own. */
public final class Peer implements Locks {
    private final Client client;
    private final Duration ttl, timeout;
    private final String token;

    private Peer(Fields arguments) {
        if (!arguments.text("by").equals("jetcd")) {
            throw new IllegalArgumentException("--by is " + arguments.text("by") + ", and this client has the locks of jetcd");
        }
        ttl = arguments.time("ttl");
        timeout = arguments.time("timeout");
        token = arguments.text("token");
        client = Client.builder().endpoints(Arrays.stream(arguments.text("endpoints").split(",")).map(e -> "http://" + e).toArray(String[]::new)).build();
    }

    public static void main(String[] arguments) {
        Agent.run(arguments, Peer::new);
    }

    @Override
    public void reach() throws Exception {
        client.getKVClient().get(Granted.bytes("fencelab")).get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        client.close();
    }

    @Override
    public Tenure lock(String name, Duration within) throws Exception {
        Granted granted = Granted.take(client, name, ttl, within);
        return granted == null ? null : new Held(granted);
    }

    /** A tenure, which etcd knows by its key and the key's create revision. */
    private final class Held implements Tenure {
        private final Granted granted;

        Held(Granted granted) {
            this.granted = granted;
        }

        @Override
        public String name() {
            return granted.key() + "@" + granted.revision;
        }

        @Override
        public long token() {
            return switch (token) {
                case "header" -> granted.header;
                case "lease" -> granted.lease;
                default -> granted.revision;
            };
        }

        @Override
        public boolean held() {
            return !granted.over();
        }

        @Override
        public Boolean told() {
            return granted.over();
        }

        @Override
        public void unlock() throws Exception {
            granted.unlock();
        }
    }
}
