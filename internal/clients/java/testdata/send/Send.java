import java.io.PrintStream;
import java.net.URI;
import java.net.URLDecoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Writes once, as a program does that has copied Fenced.java: URL, lock, token. It says the status, or why it sends nothing. */
public final class Send {
    private Send() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, UTF_8);
        try {
            Fenced fenced = new Fenced(URLDecoder.decode(args[1], UTF_8), Long.parseLong(args[2]));
            HttpRequest.Builder write = HttpRequest.newBuilder(URI.create(args[0])).PUT(BodyPublishers.ofString("value"));
            out.println(HttpClient.newHttpClient().send(fenced.on(write).build(), BodyHandlers.ofString()).statusCode());
        } catch (IllegalArgumentException err) {
            out.println(err.getMessage());
        }
    }
}
