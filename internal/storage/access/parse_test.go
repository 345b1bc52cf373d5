package access

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	hashA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hashB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	hash1 = "1111111111111111111111111111111111111111111111111111111111111111"
	// mistaken is what somebody takes for something that belongs into the file.
	mistaken = "s3cr3tThatMustNotBeRepeated"
)

// wrong are tokens files, and what is said of them.
var wrong = []struct{ name, text, want string }{
	{"empty", "", `:1:1: want one YAML document`},
	{"a comment", "# nothing yet\n", `:1:1: want one YAML document`},
	{"two documents", "tokens: [{name: a, sha256: " + hashA + ", rights: [read]}]\n---\nx: 1\n", `want one YAML document`},
	{"a list", "- name: a\n", `:1:1: want a mapping, with tokens`},
	{"no tokens", "{}\n", `"tokens" is missing`},
	{"null tokens", "tokens:\n", `a value is missing here`},
	{"empty tokens", "tokens: []\n", `:1:9: the list is empty`},
	{"tokens by name", "tokens: {a: {rights: [read]}}\n", `:1:9: want a list`},
	{"other field", "tokens: []\n" + mistaken + ": 1\n", `:2:1: unknown field, want one of tokens`},
	{"a secret", "tokens:\n  - " + mistaken + "\n", `:2:5: want a mapping, with name`},
	{"a secret as token", "tokens:\n  - name: a\n    token: " + mistaken + "\n", `:3:5: no secret belongs into this file`},
	{"a secret as field", "tokens:\n  - name: a\n    " + mistaken + ": x\n", `:3:5: unknown field`},
	{"a secret as hash", "tokens:\n  - name: a\n    sha256: " + mistaken + "\n    rights: [read]\n", `:3:13: this is no SHA-256 of a secret: want 64 hex digits, it has 27 characters`},
	{"a secret as right", "tokens:\n  - name: a\n    sha256: " + hashA + "\n    rights: [" + mistaken + "]\n", `:4:14: unknown right, want read, write, observe or admin`},
	{"a secret as name", "tokens:\n  - name: 'a " + mistaken + "'\n    sha256: " + hashA + "\n    rights: [read]\n", `:2:11: this is no name`},
	{"short hash", "tokens:\n  - {name: a, sha256: " + hashA[1:] + ", rights: [read]}\n", `it has 63 characters`},
	{"long hash", "tokens:\n  - {name: a, sha256: " + hashA + "aa, rights: [read]}\n", `it has 66 characters`},
	{"no hex", "tokens:\n  - {name: a, sha256: g" + hashA[1:] + ", rights: [read]}\n", `this is no SHA-256`},
	{"no hashes", "tokens:\n  - {name: a, sha256: [], rights: [read]}\n", `:2:23: the list is empty`},
	{"no name", "tokens:\n  - {sha256: " + hashA + ", rights: [read]}\n", `"name" is missing`},
	{"no hash", "tokens:\n  - {name: a, rights: [read]}\n", `"sha256" is missing`},
	{"no rights", "tokens:\n  - {name: a, sha256: " + hashA + "}\n", `"rights" is missing`},
	{"empty rights", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: []}\n", `the list is empty`},
	{"right twice", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read, read]}\n", `"read" is given twice`},
	{"rights no list", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: read}\n", `want a list`},
	{"name twice", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read]}\n  - {name: a, sha256: " + hashB + ", rights: [read]}\n", `:3:12: the name "a" is there already`},
	{"hash twice", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read]}\n  - {name: b, sha256: " + strings.ToUpper(hashA) + ", rights: [read]}\n", `:3:23: this hash is there already, in the token "a"`},
	{"hash twice in one", "tokens:\n  - {name: a, sha256: [" + hashA + ", " + hashA + "], rights: [read]}\n", `this hash is there already`},
	{"field twice", "tokens:\n  - {name: a, name: b, sha256: " + hashA + ", rights: [read]}\n", `:2:15: "name" is given twice`},
	{"secret field twice", "tokens: []\n" + mistaken + ": 1\n" + mistaken + ": 1\n", `unknown field`},
	{"empty scope", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read], scopes: ['']}\n", `an empty prefix would cover all`},
	{"no scopes", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read], scopes: []}\n", `the list is empty`},
	{"empty key", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read], keys: ['']}\n", `an empty prefix would cover all`},
	{"scope no text", "tokens:\n  - {name: a, sha256: " + hashA + ", rights: [read], scopes: [[x]]}\n", `want a text`},
	{"anchor", "tokens: &x\n  - {name: a, sha256: " + hashA + ", rights: [read]}\n", `no tags, anchors`},
	{"tag", "tokens:\n  - {name: a, sha256: !!binary " + hashA + ", rights: [read]}\n", `no tags, anchors`},
	{"no YAML", "tokens: [\n", `no valid YAML: `},
	{"directive", "%YAML " + mistaken + "\n---\ntokens: []\n", `a tokens file has no directives`},
	{"tab", "tokens:\n\t- name: a\n", `no valid YAML: `},
	{"open quote", "tokens: \"" + mistaken + "\n", `no valid YAML: `},
}

func TestWrongTokensFiles(t *testing.T) {
	place := regexp.MustCompile(`^tokens\.yaml:\d+:\d+: `)
	for _, c := range wrong {
		t.Run(c.name, func(t *testing.T) {
			list, err := parseTokens("tokens.yaml", []byte(c.text))
			if err == nil {
				t.Fatalf("accepted: %v", list)
			}
			if !place.MatchString(err.Error()) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestTokensFile(t *testing.T) {
	list, err := parseTokens("tokens.yaml", []byte(`# who may do what
tokens:
  - name: orders-service
    sha256: `+hash1+` # no number
    rights: [read, write]
    scopes: ["/orders/"]
    keys:
      - orders/
      - 7
  - {name: ops@host, sha256: ["`+hashA+`", `+strings.ToUpper(hashB)+`], rights: [admin]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0].hash[0] != 0x11 || list[1].hash[31] != 0xaa || list[2].hash[31] != 0xbb || list[1].owner != list[2].owner {
		t.Fatalf("got %v", list)
	}
	p := list[0].owner
	if p.name != "orders-service" || len(p.rights) != 2 || p.scopes[0] != "/orders/" || p.keys[1] != "7" {
		t.Errorf("got %+v", p)
	}
	if p := list[1].owner; p.name != "ops@host" || p.scopes != nil || p.keys != nil || p.rights[0] != Admin {
		t.Errorf("got %+v", p)
	}
}

// TestNothingSecretIsTold: no error and no line of the log, at level Debug, has
// anything of a secret, of a hash, or of what may be a secret in a wrong place.
func TestNothingSecretIsTold(t *testing.T) {
	secret, hash := Generate()
	var log logged
	var told strings.Builder
	tell := func(err error) {
		if err != nil {
			told.WriteString(err.Error() + "\n" + Challenge(err) + "\n")
		}
	}
	name := tokensFile(t, one("a", hash))
	synctest.Test(t, func(t *testing.T) {
		policy, err := Load(name, log.logger())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(wrong, struct{ name, text, want string }{text: one("a", hash)}) {
			write(t, name, c.text)
			time.Sleep(checkEvery)
			for _, header := range []string{"Bearer " + secret, "Bearer " + mistaken, "Basic " + secret, secret, "Bearer " + secret + " x", "Bearer " + hash} {
				who, err := policy.Authenticate(asks(header))
				tell(err)
				tell(who.May(Admin, "/lock", "key"))
				_, err = policy.Authenticate(asks(header, header))
				tell(err)
			}
			_, err := Load(name, log.logger())
			tell(err)
		}
	})
	if n := strings.Count(log.String(), "level=ERROR"); n != len(wrong) {
		t.Errorf("%d errors logged, want %d:\n%s", n, len(wrong), log.String())
	}
	all := log.String() + told.String()
	for _, hidden := range []string{secret, hash, mistaken, hashA, hashB, hashA[1:], mistaken[:8]} {
		if i := strings.Index(strings.ToLower(all), strings.ToLower(hidden)); i >= 0 {
			t.Errorf("%q is told: %s", hidden, all[max(0, i-100):i+len(hidden)])
		}
	}
}

func TestOnlyRegularFilesOfASize(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		dir:                             "is no regular file",
		"/dev/zero":                     "is no regular file",
		large:                           "is larger than",
		filepath.Join(dir, "not-there"): "no such file",
	} {
		if _, err := Load(name, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzTokensFile: whatever the file holds, there are tokens that could be meant
// or an error that names the place, and no panic.
func FuzzTokensFile(f *testing.F) {
	for _, c := range wrong {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(one("a", hashA)))
	f.Add([]byte("tokens:\n  - name: a\n    sha256: [" + hashA + ", " + hashB + "]\n    rights: [read, write]\n    scopes: [/a/]\n    keys: [a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseTokens("t.yaml", data)
		if err != nil {
			if list != nil || !strings.HasPrefix(err.Error(), "t.yaml:") {
				t.Fatalf("%v, %v", list, err)
			}
			return
		}
		if len(list) == 0 {
			t.Fatal("no tokens and no error")
		}
		owners := make(map[string]*Principal)
		hashes := make(map[string]bool)
		for _, e := range list {
			p := e.owner
			if !plainName.MatchString(p.name) || owners[p.name] != nil && owners[p.name] != p || hashes[string(e.hash[:])] {
				t.Fatalf("%+v", e)
			}
			owners[p.name], hashes[string(e.hash[:])] = p, true
			if len(p.rights) == 0 || len(p.rights) > len(rights) || p.scopes != nil && len(p.scopes) == 0 || covered(p.scopes, "") && p.scopes != nil || covered(p.keys, "") && p.keys != nil {
				t.Fatalf("%+v", p)
			}
		}
	})
}
