import java.util.LinkedHashMap;
import java.util.Map;

/** An event of the protocol: one line of JSON. A field that is empty is left out. */
final class Event {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /** Sets a field to a text, a long or true. Empty texts and zeros are as good as none. */
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

    Event copy() {
        Event e = new Event();
        e.fields.putAll(fields);
        return e;
    }

    /** The line, without its end. */
    String line(long at, String client, String kind) {
        StringBuilder out = new StringBuilder();
        out.append("{\"at\":").append(at);
        member(out, "lane", client);
        member(out, "kind", kind);
        member(out, "client", client);
        fields.forEach((name, value) -> member(out, name, value));
        return out.append('}').toString();
    }

    private static void member(StringBuilder out, String name, Object value) {
        out.append(",\"").append(name).append("\":");
        if (!(value instanceof String text)) {
            out.append(value);
            return;
        }
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c) || c == '\u2028' || c == '\u2029') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
