import java.net.URI;
import java.util.List;
import java.util.function.UnaryOperator;
import org.codelibs.opensearch.runner.OpenSearchRunner;
import org.opensearch.client.node.NodeClient;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestChannel;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;

/** One node of OpenSearch. Arguments: its directory, and settings of its own, as in NAME=VALUE. */
public class Node {
    public static void main(String[] args) throws InterruptedException {
        new Runner().onBuild((number, settings) -> {
            for (String own : List.of(args).subList(1, args.length)) {
                String[] setting = own.split("=", 2);
                settings.put(setting[0], setting[1]);
            }
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false); // it serves on a full disk, too
            settings.put("indices.breaker.total.use_real_memory", false); // garbage fills a heap as small as this
        }).build("-basePath", args[0], "-numOfNode", "1", "-clusterName", "fencelab", "-useLogger", "-printOnFailure");
        Thread.currentThread().join(); // else the process would end
    }

    static class Runner extends OpenSearchRunner {
        Runner() {
            pluginList.add(NoWebPages.class);
        }
    }

    /**
     * Refuses what web pages have a browser on this machine send: a page of another site, and one whose own name leads
     * to 127.0.0.1. Programs send neither Origin nor Sec-Fetch-Site, and a Host of loopback.
     */
    public static class NoWebPages extends Plugin implements ActionPlugin {
        static final List<String> LOOPBACK = List.of("localhost", "127.0.0.1", "[::1]");

        @Override
        public UnaryOperator<RestHandler> getRestHandlerWrapper(ThreadContext context) {
            return handler -> new RestHandler.Wrapper(handler) {
                @Override
                public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws Exception {
                    if (!ofProgram(request)) {
                        channel.sendResponse(new BytesRestResponse(RestStatus.FORBIDDEN, "a web page may have sent this, and none is obeyed"));
                        return;
                    }
                    super.handleRequest(request, channel, client);
                }
            };
        }

        static boolean ofProgram(RestRequest request) {
            String host = request.header("Host");
            return request.header("Origin") == null && request.header("Sec-Fetch-Site") == null
                && (host == null || LOOPBACK.contains(URI.create("http://" + host).getHost()));
        }
    }
}
