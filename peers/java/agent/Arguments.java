import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a client is told at its start. Those arguments that nobody here knows do no harm. */
public final class Arguments {
    private static final Pattern TIME = Pattern.compile("([0-9.]+)(h|ms|m|s)");
    private static final Map<String, Double> UNITS = Map.of("h", 3600.0, "m", 60.0, "s", 1.0, "ms", 0.001);
    /** What the agent does, where a scenario could choose something else. */
    private static final Map<String, List<String>> KNOWN = Map.of(
        "scope", List.of("lock", "key"), "reads", List.of("fenced", "plain"), "numbered", List.of("false", "true"), "change", List.of("batch", "singly"),
        "look", List.of("begin", "nothing", "session", "owner", "acquired"), "token", List.of("granted", "read-again", "czxid", "revision", "header", "lease"), "mode", List.of("exclusive"),
        "unlock", List.of("compare"), "renew", List.of("none"), "wait", List.of("0"));

    private final Map<String, String> given = new HashMap<>();

    Arguments(String[] words) {
        String name = "";
        for (String word : words) {
            if (word.startsWith("--")) {
                int equals = word.indexOf('=');
                name = word.substring(2, equals < 0 ? word.length() : equals);
                word = equals < 0 ? "" : word.substring(equals + 1);
            }
            given.put(name, word);
        }
        KNOWN.forEach((setting, values) -> {
            String value = text(setting, values.get(0));
            if (!values.contains(value)) {
                throw new IllegalArgumentException("--" + setting + " is " + value + ", and this client knows " + values);
            }
        });
    }

    public String text(String name) {
        String text = given.get(name);
        if (text == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return text;
    }

    public String text(String name, String fallback) {
        return given.getOrDefault(name, fallback);
    }

    public Duration time(String name) {
        return duration(text(name));
    }

    /** The recipe, by its name without the "java/" that sets it apart from one of gcsim's own. */
    public String recipe() {
        String by = text("by");
        return by.startsWith("java/") ? by.substring("java/".length()) : by;
    }

    /** A time as Go writes it, such as 1m30s or 500ms. */
    static Duration duration(String text) {
        Matcher part = TIME.matcher(text);
        double seconds = 0;
        int end = 0;
        while (part.find() && part.start() == end) {
            seconds += Double.parseDouble(part.group(1)) * UNITS.get(part.group(2));
            end = part.end();
        }
        if (end == 0 || end != text.length()) {
            throw new IllegalArgumentException(text + " is no time, such as 500ms");
        }
        return Duration.ofNanos(Math.round(seconds * 1e9));
    }
}
