import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/**
 * DynamoDB Local, for programs on this machine alone. Arguments: its port, and the directory in which it keeps what it has;
 * without one it keeps nothing on disk.
 */
public class Node {
    static final List<String> LOOPBACK = List.of("localhost", "127.0.0.1");

    public static void main(String[] args) throws Exception {
        List<String> options = new ArrayList<>(List.of("-sharedDb", "-disableTelemetry", "-port", args[0]));
        options.addAll(args.length > 1 ? List.of("-dbPath", args[1]) : List.of("-inMemory"));
        DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(options.toArray(new String[0]));
        Field field = DynamoDBProxyServer.class.getDeclaredField("server"); // it listens everywhere, and has no option for less
        field.setAccessible(true);
        Server server = (Server) field.get(local);
        ((ServerConnector) server.getConnectors()[0]).setHost("127.0.0.1");
        server.setHandler(new NoWebPages(server.getHandler()));
        local.start();
        local.join();
    }

    /**
     * Refuses what web pages have a browser on this machine send: a page of another site, and one whose own name leads
     * to 127.0.0.1. Programs send neither Origin nor Sec-Fetch-Site, and a Host of loopback.
     */
    static class NoWebPages extends Handler.Wrapper {
        NoWebPages(Handler handler) {
            super(handler);
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) throws Exception {
            if (request.getHeaders().contains("Origin") || request.getHeaders().contains("Sec-Fetch-Site") || !LOOPBACK.contains(Request.getServerName(request))) {
                Response.writeError(request, response, callback, 403, "a web page may have sent this, and none is obeyed");
                return true;
            }
            return super.handle(request, response, callback);
        }
    }
}
