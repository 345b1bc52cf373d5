import java.net.URI;

/**
 * How to log in at a Redis that was there already. The environment has its URL, as the arguments of
 * a process are for all to see; where it is, is an argument. Texts are empty where there is none.
 */
public record RedisUrl(boolean tls, boolean verified, String user, String password) {
    /** Reads FENCELAB_REDIS_URL, such as rediss://USER:PASSWORD@HOST:PORT; ?skip_verify=true takes any certificate. */
    public static RedisUrl ofEnvironment() {
        String text = System.getenv("FENCELAB_REDIS_URL");
        if (text == null || text.isEmpty()) {
            return new RedisUrl(false, true, "", "");
        }
        URI url = URI.create(text);
        String info = url.getUserInfo() == null ? "" : url.getUserInfo();
        int colon = info.indexOf(':');
        String user = colon < 0 ? info : info.substring(0, colon);
        return new RedisUrl("rediss".equals(url.getScheme()), !"skip_verify=true".equals(url.getQuery()), user, colon < 0 ? "" : info.substring(colon + 1));
    }
}
