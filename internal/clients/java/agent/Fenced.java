import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;

/**
 * A lock's token for requests to a storage that checks tokens. This file needs nothing but the
 * JDK: copy it. Make one value when the lock is granted, and keep it: a token that is read again
 * later can be another holder's.
 *
 * <pre>
 * Fenced fenced = new Fenced("/lock", lock.tryLockAndGetToken(5, TimeUnit.SECONDS));
 * http.send(fenced.on(HttpRequest.newBuilder(uri)).PUT(body).build(), BodyHandlers.ofString());
 * </pre>
 *
 * @param scope the lock's name, in ASCII: java.net.http can send no other header
 * @param token that came with the grant, from 1
 */
public record Fenced(String scope, long token) {
    public Fenced {
        if (token < 1) {
            throw new IllegalArgumentException("a token is 1 or more, and not " + token + ": this lock gave none");
        }
        if (scope.isBlank() || !StandardCharsets.US_ASCII.newEncoder().canEncode(scope)) {
            throw new IllegalArgumentException("the scope is the lock's name, in ASCII, and not \"" + scope + '"');
        }
    }

    /** Adds the token and the lock's name to a request. */
    public HttpRequest.Builder on(HttpRequest.Builder request) {
        return request.setHeader("Fencing-Token", Long.toString(token)).setHeader("Fencing-Scope", scope);
    }
}
