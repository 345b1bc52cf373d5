package gate

import (
	"regexp"
	"slices"
	"strings"
)

// dialect is how a database writes what is no code: its texts and comments.
type dialect struct {
	skip *regexp.Regexp
	name byte // the quote of names
}

var (
	postgresSQL = dialect{regexp.MustCompile(`(?is)^(?:\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|--[^\n]*)`), '"'}
	mariaSQL    = dialect{regexp.MustCompile(`(?is)^(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|--\s[^\n]*|#[^\n]*|/\*M?!\d*|\*/)`), '`'}
)

var (
	word   = regexp.MustCompile(`^[\pL_][\pL\pN_$]*`)
	number = regexp.MustCompile(`^[\pN.]+`)
	dollar = regexp.MustCompile(`^\$(?:[\pL_][\pL\pN_]*)?\$`)
)

// statements are the words and the signs of each statement of a text. Words are in capitals; texts and comments are left out.
func (d dialect) statements(text string) (all [][]string) {
	var now []string
	for text != "" {
		taken := 1
		switch {
		case d.skip.MatchString(text):
			taken = len(d.skip.FindString(text))
		case strings.HasPrefix(text, "/*"):
			taken = comment(text)
		case d.name == '"' && dollar.MatchString(text):
			mark := dollar.FindString(text)
			before, _, _ := strings.Cut(text[len(mark):], mark)
			taken = min(len(text), len(before)+2*len(mark))
		case text[0] == d.name:
			name, _, _ := strings.Cut(text[1:], string(d.name))
			taken = min(len(text), len(name)+2)
			now = append(now, string(d.name)+strings.ToUpper(name))
		case text[0] == ';':
			all, now = append(all, now), nil
		case word.MatchString(text):
			taken = len(word.FindString(text))
			now = append(now, strings.ToUpper(text[:taken]))
		case number.MatchString(text):
			taken = len(number.FindString(text))
		case strings.TrimSpace(text[:1]) != "":
			now = append(now, text[:1])
		}
		text = text[taken:]
	}
	return slices.DeleteFunc(append(all, now), func(s []string) bool { return len(s) == 0 })
}

// comment is how long the comment is with which a text begins. It may have others in it.
func comment(text string) int {
	for at, depth := 2, 1; at < len(text); at++ {
		switch {
		case strings.HasPrefix(text[at:], "/*"):
			depth++
			at++
		case strings.HasPrefix(text[at:], "*/"):
			depth--
			at++
		}
		if depth == 0 {
			return at + 1
		}
	}
	return len(text)
}

// Statements that change no data begin with one of these words. With those of queries they do, if they have a word of changes.
var (
	settled = strings.Fields("BEGIN START COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE SET RESET SHOW DISCARD DEALLOCATE CLOSE FETCH MOVE LISTEN UNLISTEN NOTIFY LOCK UNLOCK USE PREPARE DESCRIBE DESC CHECKPOINT")
	queries = strings.Fields("SELECT WITH TABLE VALUES EXPLAIN DECLARE ( ANALYZE COPY")
	changes = strings.Fields("INSERT UPDATE DELETE MERGE REPLACE INTO")
)

// LockTables are those in which locks of fencelab's library, and of Spring Integration, are.
var LockTables = []string{"fence_locks", "int_lock"}

// writes reports whether a text may change data. A change of a table of locks is none.
func (d dialect) writes(text string) bool {
	return slices.ContainsFunc(d.statements(text), func(s []string) bool { return d.changes(s) && !d.locks(s) })
}

func (d dialect) changes(s []string) bool {
	switch {
	case s[0] == "BEGIN" && slices.Contains(s, "ATOMIC"), s[0] == "SET" && slices.Contains(s, "STATEMENT"):
		return true // MariaDB's BEGIN NOT ATOMIC and SET STATEMENT … FOR have other statements in them
	case slices.Contains(settled, s[0]):
		return false
	case !slices.Contains(queries, s[0]), s[0] == "COPY" && !slices.Contains(s, "TO"):
		return true
	}
	for i, w := range s {
		locks := i > 0 && (s[i-1] == "FOR" || s[i-1] == "KEY") // SELECT … FOR UPDATE, FOR NO KEY UPDATE
		calls := w == "REPLACE" && i+1 < len(s) && s[i+1] == "("
		if slices.Contains(changes, w) && !locks && !calls {
			return true
		}
	}
	return false
}

// locks reports whether a statement changes a table of locks: INSERT INTO it, UPDATE, or DELETE FROM it.
func (d dialect) locks(s []string) bool {
	for _, w := range s[1:] {
		if w == "INTO" || w == "FROM" || w == "IGNORE" || w == "ONLY" {
			continue
		}
		name := strings.ToLower(strings.TrimPrefix(w, string(d.name)))
		return slices.Contains(LockTables, name) && slices.Contains([]string{"INSERT", "UPDATE", "DELETE"}, s[0])
	}
	return false
}
