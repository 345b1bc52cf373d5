import java.util.List;
import java.util.Map;

/** Writes JSON: texts, numbers, true and false, and lists and objects of these. */
final class Json {
    private Json() {
    }

    static String of(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof String text) {
            quote(out, text);
        } else if (value instanceof List<?> list) {
            String before = "[";
            for (Object each : list) {
                write(out.append(before), each);
                before = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof Map<?, ?> object) {
            String before = "{";
            for (Map.Entry<?, ?> member : object.entrySet()) {
                quote(out.append(before), member.getKey().toString());
                write(out.append(':'), member.getValue());
                before = ",";
            }
            out.append(object.isEmpty() ? "{}" : "}");
        } else {
            out.append(value);
        }
    }

    private static void quote(StringBuilder out, String text) {
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
