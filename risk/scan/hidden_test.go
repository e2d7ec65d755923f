package scan

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

func TestHiddenCharacters(t *testing.T) {
	tests := []struct {
		name, text string
		found      bool
	}{
		{"plain", "if access == \"user\" { // check", false},
		{"tab, form feed, CRLF", "\tx\f = 1\r", false},
		{"accents and CJK", "naïve 変数 данные", false},
		{"not UTF-8", "caf\xe9 \xff\xfe", false},
		{"no-break and ideographic space", "a\u00A0b\u3000c", false},

		{"override", "access != \"user\u202E \u2066// admin\u2069 \u2066\"", true},
		{"isolate", "/* \u2066 */", true},
		{"embedding in Arabic", "مرحبا \u202Bنص\u202C", true},
		{"mark of direction in Hebrew", "שלום\u200F!", false},
		{"mark of direction in Arabic", "(عربي)\u200E", false},
		{"mark of direction in ASCII", "user\u200Eadmin", true},

		{"family", "👨\u200D👩\u200D👧", false},
		{"heart on fire", "❤\uFE0F\u200D🔥", false},
		{"skin tone and profession", "👩🏽\u200D💻", false},
		{"keycap", "1\uFE0F\u20E3 #\uFE0F\u20E3", false},
		{"text form", "©\uFE0E ↔\uFE0F ‼\uFE0F ℹ\uFE0F", false},
		{"flag of Scotland", "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F", false},
		{"pirate flag", "🏴\u200D☠\uFE0F", false},
		{"tags that spell", "🏴\U000E0061\U000E0070\U000E0070\U000E0072\U000E007F", true},
		{"flag and more tags", "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F\U000E0061", true},
		{"tags alone", "ok\U000E0041\U000E0049", true},
		{"selectors smuggled behind an emoji", "😀\uFE01\uFE02\uFE03", true},
		{"high selectors behind an emoji", "😀\U000E0101\U000E0102", true},
		{"selectors in a row", "❤\uFE0F\uFE0E\uFE0F", true},
		{"selector behind a letter", "a\uFE0Futh", true},
		{"ideographic variation", "葛\U000E0100", false},
		{"two ideographic variations", "葛\U000E0100\U000E0101", true},

		{"Persian", "می\u200Cخواهم", false},
		{"Hindi", "क्\u200Dष क्\u200Cष", false},
		{"non-joiners in a row", "می\u200C\u200C\u200C", true},
		{"joiner in ASCII", "pass\u200Dword", true},
		{"joiner in Cyrillic", "па\u200Dр", true},
		{"joiner after one emoji", "👩\u200Dx", true},
		{"Thai break", "สวัสดี\u200Bครับ", false},
		{"zero-width space in ASCII", "token\u200B == t", true},
		{"word joiner", "a\u2060b", true},
		{"soft hyphen in German", "Größen\u00ADänderung", false},
		{"soft hyphen in ASCII", "pass\u00ADword", true},
		{"Mongolian", "ᠮᠣᠩᠭᠣᠯ\u180E\u1820", false},
		{"Hangul filler as a name", "const {\u3164} = req", true},
		{"Jamo with filler", "\u1112\u1160", false},
		{"fillers in a row", "\u1160\u1160", true},
		{"Braille art", "⣿\u2800⣿", false},
		{"Braille blank", "x\u2800= 1", true},
		{"byte order mark inside", "x\uFEFFy", true},
		{"invisible times", "a\u2062b", true},
		{"interlinear", "\uFFF9a", true},
		{"Arabic number sign", "\u0600\u0661", false},

		{"line separator", "// safe\u2028run()", true},
		{"NEL", "# safe\u0085run", true},
		{"bare CR", "# safe\rrm -rf", true},
		{"CRs at the end", "x\r\r", false},
		{"backspace", "rm\b\bls", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := scanOf(change("a.go", 7, " before", "+"+tt.text, "-\u202E gone"))
			if tt.found {
				if len(places(r, RuleHiddenCharacters)) == 0 || r.Findings[0].Line != 8 {
					t.Errorf("not found in %+q", tt.text)
				}
				wantState(t, r, risk.RuleHiddenCharacters, risk.Yes)
				if got := r.Content[risk.RuleHiddenCharacters].Files; len(got) != 1 || got[0] != "a.go" {
					t.Errorf("files %v", got)
				}
				return
			}
			wantPlaces(t, r, RuleHiddenCharacters)
			wantState(t, r, risk.RuleHiddenCharacters, risk.No)
		})
	}
}

// What a translation service or copied text leaves behind is shown and blocks
// nobody.
func TestStrayCharacters(t *testing.T) {
	tests := []struct{ path, text, severity string }{
		{"docs/pt/guide.md", "variáveis \u200B\u200Bde ambiente", "medium"},
		{"src/locales/he-IL.json", "\"title\": \"Excalidraw+\u200E\"", "medium"},
		{"po/pt.po", "msgstr \"a\u200Bb\"", "medium"},
		{"docs/pt/guide.md", "a\u200B\u200B\u200B\u200Bb", "high"},
		{"docs/pt/guide.md", "a\u202Eb", "high"},
		{"docs/pt/guide.md", "a\U000E0041", "high"},
		{"src/locales/index.js", "a\u200Bb", "high"},
		{"settings.json", "a\u200Bb", "high"},
		{"src/locales/km-KH.json", "ចេញពី zen\u200B ម៉ូត", ""},
		{"src/locales/km-KH.json", "ចេញពី zen\u200B\u200B ម៉ូត", "medium"},
		{"x.binpb", "\x11\x12\b\x01", ""},
		{"x.go", "\x11\x12\b\x01", "high"},
		{"x.bin", "a\b", "high"},
	}
	for _, tt := range tests {
		r := scanOf(change(tt.path, 7, "+"+tt.text))
		if tt.severity == "" {
			wantPlaces(t, r, RuleHiddenCharacters)
			continue
		}
		wantPlaces(t, r, RuleHiddenCharacters, tt.path+":7 "+tt.severity)
		state := risk.Yes
		if tt.severity == "medium" {
			state = risk.No // documentation and translations are not high for it
		}
		wantState(t, r, risk.RuleHiddenCharacters, state)
	}
}

func TestHiddenCharactersPlaces(t *testing.T) {
	f := newFile("a.txt", "\uFEFFstart", "x", "\uFEFFnot the start", "a\u202Eb\u200Bc\u200Bd\u2028e")
	r := scanOf(f)
	wantPlaces(t, r, RuleHiddenCharacters, "a.txt:3 high", "a.txt:4 high", "a.txt:4 high", "a.txt:4 high")
	titles := ""
	for _, f := range r.Findings {
		titles += f.Title + "\n"
	}
	for _, want := range []string{"direction: U+202E\n", "nothing: U+200B and 1 more\n", "inside a line: U+2028\n"} {
		if !strings.Contains(titles, want) {
			t.Errorf("no %q in\n%s", want, titles)
		}
	}
	// Lines that the patch does not add are not its own.
	wantPlaces(t, scanOf(change("a.txt", 1, " x\u202E", "+y", "-z\u202E")), RuleHiddenCharacters)
	gone := change("a.txt", 1, "-x\u202E")
	gone.Op, gone.NewPath = diff.Deleted, ""
	wantPlaces(t, scanOf(gone), RuleHiddenCharacters)
}

func TestWhatIsNotShownIsUnknown(t *testing.T) {
	unseen := change("big.go", 1, "+x")
	unseen.Hunks, unseen.Added, unseen.Truncated = nil, 900, true
	binary := diff.File{Op: diff.Modified, OldPath: "x.go", NewPath: "x.go", OldMode: diff.ModeRegular, NewMode: diff.ModeRegular, Binary: true}
	image := binary
	image.OldPath, image.NewPath = "x.png", "x.png"
	fresh := unseen
	fresh.Op, fresh.OldPath = diff.Added, ""
	unlisted := patchOf(change("a.go", 1, "+x"))
	unlisted.ChangedFiles = 2
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	tests := []struct {
		name  string
		ctx   context.Context
		patch diff.Patch
		files map[string][]byte
		lim   Limits
		state risk.Tri
		gap   string
	}{
		{name: "all seen", patch: patchOf(change("a.go", 1, "+x")), state: risk.No},
		{name: "no files", state: risk.No},
		{name: "truncated", patch: patchOf(unseen), state: risk.Unknown, gap: "big.go"},
		{name: "truncated, content known", patch: patchOf(unseen), files: map[string][]byte{"big.go": []byte("x")}, state: risk.Unknown, gap: "big.go"},
		{name: "truncated and new, content known", patch: patchOf(fresh), files: map[string][]byte{"big.go": []byte("x")}, state: risk.No},
		{name: "binary by name of text", patch: patchOf(binary), state: risk.Unknown, gap: "x.go"},
		{name: "image", patch: patchOf(image), state: risk.No, gap: "x.png"},
		{name: "not listed", patch: unlisted, state: risk.Unknown, gap: ""},
		{name: "over the limit", patch: patchOf(change("a.go", 1, "+xxxxxxxxxx")), lim: Limits{Bytes: 5}, state: risk.Unknown, gap: "a.go"},
		{name: "out of time", ctx: cancelled, patch: patchOf(change("a.go", 1, "+x")), state: risk.Unknown, gap: "a.go"},
		{name: "found before the limit", patch: patchOf(change("a.go", 1, "+\u202E"), change("b.go", 1, "+xxxxxxxxxx")), lim: Limits{Bytes: 5}, state: risk.Yes, gap: "b.go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.ctx == nil {
				tt.ctx = context.Background()
			}
			r := Patch(tt.ctx, tt.patch, tt.files, tt.lim)
			for _, rule := range []string{risk.RuleHiddenCharacters, risk.RuleCredential, risk.RuleHiddenText} { // asked of every file
				if rule == risk.RuleHiddenCharacters || tt.state != risk.Yes {
					wantState(t, r, rule, tt.state)
				}
			}
			if tt.gap != "" && (len(r.Gaps) == 0 || r.Gaps[0].Path != tt.gap || r.Gaps[0].Why == "") {
				t.Errorf("gaps %v, want %s", r.Gaps, tt.gap)
			}
			if tt.state == risk.No && tt.gap == "" && len(r.Gaps) > 0 {
				t.Errorf("gaps %v", r.Gaps)
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	var lines []string
	for range 500 {
		lines = append(lines, "x\u202E")
	}
	r := Patch(context.Background(), patchOf(newFile("a.go", lines...)), nil, Limits{Findings: 10})
	if len(r.Findings) != 10 || r.More[RuleHiddenCharacters] != 490 || r.Findings[9].Line != 10 {
		t.Errorf("%d findings, more %v", len(r.Findings), r.More)
	}
}

func TestVisible(t *testing.T) {
	tests := map[string]string{
		"a\tb":                   "a b",
		"x\u202Ey":               "x<U+202E>y",
		"caf\xe9":                "caf<E9>",
		"a\rb\x1b[2K":            "a<U+000D>b<U+001B>[2K",
		"é漢😀":                    "é漢😀",
		"\U000E0041":             "<U+E0041>",
		strings.Repeat("é", 200): strings.Repeat("é", 11) + "…",
	}
	for in, want := range tests {
		if got := visible(in, 21); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func FuzzHidden(f *testing.F) {
	for _, s := range []string{"x", "👩\u200D💻", "a\u202E", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "\xff\u200B", "\uFEFF", "\r\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := -1
		eachHidden(text, true, func(at int, r rune, c concern) {
			if at <= last || !strings.HasPrefix(text[at:], string(r)) || c == harmless {
				t.Fatalf("%q at %d after %d, %d", r, at, last, c)
			}
			last = at
		})
		if plain(text) && last >= 0 {
			t.Fatalf("%q is plain and has something hidden", text)
		}
		if v := visible(text, maxQuote); !utf8.ValidString(v) || len(v) > maxQuote+20 || !plain(v) && strings.ContainsAny(v, "\u202E\r\b") {
			t.Fatalf("%q is shown as %q", text, v)
		}
	})
}
