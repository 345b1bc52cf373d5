import java.net.URLDecoder;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Texts that have names, in one line, as the form of a web page has them (application/x-www-form-urlencoded). */
public final class Fields {
    private final Map<String, List<String>> all = new LinkedHashMap<>();

    static Fields of(String line) {
        Fields fields = new Fields();
        for (String field : line.split("&")) {
            String[] half = field.split("=", 2);
            fields.with(URLDecoder.decode(half[0], UTF_8), half.length < 2 ? "" : URLDecoder.decode(half[1], UTF_8));
        }
        return fields;
    }

    /** Adds a text. A name may have several. */
    Fields with(String name, Object value) {
        all.computeIfAbsent(name, none -> new ArrayList<>()).add(String.valueOf(value));
        return this;
    }

    List<String> texts(String name) {
        return all.getOrDefault(name, List.of());
    }

    /** The text of that name; "": there is none. */
    public String text(String name) {
        return texts(name).isEmpty() ? "" : texts(name).get(0);
    }

    /** A time, which is written as a number of nanoseconds. */
    public Duration time(String name) {
        return Duration.ofNanos(Long.parseLong(text(name)));
    }

    String line() {
        List<String> fields = new ArrayList<>();
        all.forEach((name, values) -> values.forEach(value -> fields.add(URLEncoder.encode(name, UTF_8) + "=" + URLEncoder.encode(value, UTF_8))));
        return String.join("&", fields);
    }
}
