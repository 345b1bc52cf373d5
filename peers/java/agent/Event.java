import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An event of the protocol: one line of JSON. A field that is empty is left out. */
final class Event {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /** Sets a field to what {@link Json} can write. Empty texts and zeros are as good as none. */
    Event with(String name, Object value) {
        if (value == null || value.equals("") || value.equals(0L) || value.equals(false)) {
            fields.remove(name);
        } else {
            fields.put(name, value);
        }
        return this;
    }

    /** A token, which is written as a text: many readers of JSON cannot tell high numbers apart. */
    Event token(long token) {
        return with("token", token == 0 ? "" : Long.toString(token));
    }

    String text(String name) {
        return (String) fields.getOrDefault(name, "");
    }

    long number(String name) {
        return (Long) fields.getOrDefault(name, 0L);
    }

    /** What a change is of: each has a key and a value. */
    @SuppressWarnings("unchecked")
    List<Map<String, String>> changes() {
        return (List<Map<String, String>>) fields.getOrDefault("changes", List.of());
    }

    Event copy() {
        Event e = new Event();
        e.fields.putAll(fields);
        return e;
    }

    /** The line, without its end. */
    String line(long at, String client, String kind) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("at", at);
        all.put("lane", client);
        all.put("kind", kind);
        all.put("client", client);
        all.putAll(fields);
        return Json.of(all);
    }
}
