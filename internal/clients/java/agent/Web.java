import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Sends the client's requests to the storage: what stops the JVM stops them, too. */
final class Web {
    private volatile HttpClient shared = connection();

    private static HttpClient connection() {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    /** A request was given up: its connection ends, and is not to carry the next one. */
    void giveUp() {
        shared = connection();
    }

    /** Sends a request, alone: over a connection of its own. */
    void send(Fields asked, Fields answer) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(asked.text("url"))).method(asked.text("method"), BodyPublishers.ofString(asked.text("body")));
        for (String header : asked.texts("header")) {
            String[] half = header.split(": ", 2);
            request.header(half[0], half[1]);
        }
        HttpResponse<String> got;
        try {
            got = (asked.text("alone").isEmpty() ? shared : connection()).send(request.build(), BodyHandlers.ofString());
        } catch (ConnectException err) { // nothing was sent
            answer.with("refused", err);
            return;
        }
        answer.with("status", got.statusCode()).with("body", got.body());
        got.headers().map().forEach((name, values) -> values.forEach(value -> answer.with("header", name + ": " + value)));
    }
}
