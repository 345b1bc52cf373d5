import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The storage that the lock protects, over HTTP: docs/protocol.md. */
final class Storage {
    private final HttpClient http;
    private final String url;
    private final Duration timeout;

    Storage(String url, Duration timeout) {
        this.url = url;
        this.timeout = timeout;
        http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout).build();
    }

    /** Asks for a sign of life. */
    void reach() throws Exception {
        int status = http.send(request("/healthz").build(), BodyHandlers.discarding()).statusCode();
        if (status != 200) {
            throw new IllegalStateException("GET /healthz answers " + status);
        }
    }

    /** Asks for what an event says, and adds to the event what came of it. Returns the kind of the outcome. */
    String ask(Event e, long token) {
        String op = e.text("op"), key = URLEncoder.encode(e.text("key"), UTF_8).replace("+", "%20");
        HttpRequest.Builder request = request(op.equals("change") ? "/v1/batch" : "/v1/kv/" + key)
            .header("X-Request-Id", e.text("request")).header("Fencing-Scope", e.text("scope"));
        if (token > 0) {
            new Fenced(e.text("scope"), token).on(request);
        }
        if (e.number("sequence") > 0) {
            request.header("Fencing-Sequence", Long.toString(e.number("sequence")));
        }
        BodyPublisher body = switch (op) {
            case "write" -> BodyPublishers.ofString(e.text("value"));
            case "change" -> BodyPublishers.ofString(batch(e.changes()));
            default -> BodyPublishers.noBody();
        };
        String method = switch (op) {
            case "read" -> "GET";
            case "write" -> "PUT";
            case "change" -> "POST";
            default -> "DELETE";
        };
        HttpResponse<String> answer;
        try {
            answer = http.send(request.method(method, body).build(), BodyHandlers.ofString(UTF_8));
        } catch (ConnectException err) { // nothing was sent
            e.with("text", "the storage does not take the connection: " + err.getMessage());
            return "fail";
        } catch (java.io.IOException err) {
            e.with("text", "no answer from the storage: " + err);
            return "unknown";
        } catch (InterruptedException end) {
            e.with("text", "the client ends");
            return "unknown";
        }
        return outcome(e, op, answer);
    }

    /** The body of a change of several keys. */
    private static String batch(List<Map<String, String>> changes) {
        return Json.of(Map.of("ops", changes.stream().map(change -> Map.of("op", "write", "key", change.get("key"), "val", change.get("value"))).toList()));
    }

    private String outcome(Event e, String op, HttpResponse<String> answer) {
        int status = answer.statusCode();
        if (status >= 200 && status < 300) {
            e.with("value", op.equals("read") ? answer.body() : e.text("value"));
            return "ok";
        }
        if (status == 404 && op.equals("read")) {
            e.with("missing", true);
            return "ok";
        }
        String refused = answer.headers().firstValue("Fencing-Refused").orElse("");
        e.with("reason", refused).with("mark", refused.equals("stale") ? answer.headers().firstValue("Fencing-Mark").orElse("") : "");
        e.with("text", "the storage answers " + status + (refused.isEmpty() ? "" : ": " + refused));
        boolean none = answer.headers().firstValue("Fencing-Outcome").orElse("").equals("none");
        return status < 500 || none ? "fail" : "unknown";
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(url + path)).timeout(timeout);
    }
}
