import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One node of OpenSearch. Arguments: its directory, its address, its ports for clients and for other nodes. */
public class Node {
    public static void main(String[] args) throws InterruptedException {
        new OpenSearchRunner().onBuild((number, settings) -> {
            settings.put("network.host", args[1]);
            settings.put("http.port", args[2]);
            settings.put("transport.port", args[3]);
            settings.put("discovery.type", "single-node");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false); // it serves on a full disk, too
            settings.put("indices.breaker.total.use_real_memory", false); // garbage fills a heap as small as this
        }).build("-basePath", args[0], "-numOfNode", "1", "-clusterName", "fencelab", "-useLogger", "-printOnFailure");
        Thread.currentThread().join(); // else the process would end
    }
}
