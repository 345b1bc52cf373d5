import io.etcd.jetcd.Client;
import java.time.Duration;

/** jetcd, with a lease for each grant. */
final class OfJetcd implements Interop.Library {
    private final Client client;

    OfJetcd(String server) {
        client = Client.builder().endpoints("http://" + server).build();
    }

    @Override
    public Lock lock(String kind, long lease, String name) {
        return new Lock() {
            private Granted granted;

            public boolean take(long wait) throws Exception {
                Granted taken = Granted.take(client, name, Duration.ofMillis(lease), Duration.ofMillis(wait));
                granted = taken == null ? granted : taken;
                return taken != null;
            }

            public void free() throws Exception {
                granted.unlock();
            }
        };
    }
}
