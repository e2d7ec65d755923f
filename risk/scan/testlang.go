package scan

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// testLanguage tells by a line, its blanks at the start taken off, what it is in a
// test.
type testLanguage struct {
	// declares matches a line that declares a test, its name as the first group
	// that is not empty; a mark that stands above a test has none.
	declares *regexp.Regexp
	// skips matches a line that makes a test, or a whole file of them, not run.
	skips *regexp.Regexp
	// above is set where a skip stands above the test that it is for.
	above *regexp.Regexp
	// alone matches a line that makes other tests not run.
	alone *regexp.Regexp
	// anywhere is set where tests stand beside the program's code.
	anywhere bool
	comment  string
}

// testLanguages are the languages by their files' endings, made at the first use.
var testLanguages = sync.OnceValue(func() map[string]*testLanguage {
	re := regexp.MustCompile
	js := &testLanguage{
		declares: re("^(?:it|test|specify|fit|xit|xtest|xspecify)(?:\\.(?:skip|only|todo|each|failing|concurrent|fails|fixme|slow))*\\s*(?:\\([^)]*\\)\\s*)?[(`]\\s*(?:[\"'`](.*?)[\"'`])?"),
		skips:    re(`^(?:(?:it|test|specify|describe|context|suite)(?:\.\w+)*\.(?:skip|todo|fixme)\b|(?:xit|xtest|xdescribe|xspecify|xcontext)\s*\(|this\.skip\(\)|t\.skip\(|(?:it|test|describe)\.skipIf\(|pending\()`),
		alone:    re(`^(?:(?:it|test|specify|describe|context|suite)(?:\.\w+)*\.only\b|(?:fit|fdescribe)\s*\()`),
		comment:  "//",
	}
	jvm := &testLanguage{
		declares: re(`^@(?:org\.junit\.(?:jupiter\.api\.)?)?(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b`),
		skips:    re(`^@(?:Disabled|Ignore|DisabledIf|DisabledOnOs|DisabledOnJre|EnabledIf\w*|Ignored)\b|@Test\s*\(.*enabled\s*=\s*false|^(?:Assumptions\.|Assume\.)?(?:assumeTrue|assumeFalse)\s*\(|throw new SkipException`),
		above:    re(`^@`),
		comment:  "//",
	}
	table := map[string]*testLanguage{
		".go": {
			declares: re(`^func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(|^\w+\.Run\(\s*("[^"]*")\s*,\s*func`),
			skips:    re(`^\w+\.(?:Skip|Skipf|SkipNow)\(`),
			comment:  "//",
		},
		".py": {
			declares: re(`^(?:async\s+)?def\s+(test\w*)\s*\(`),
			skips:    re(`^@(?:pytest\.mark\.(?:skip|skipif|xfail)|(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure))\b|^pytestmark\s*=.*(?:skip|xfail)|^(?:pytest\.(?:skip|xfail|importorskip)|self\.skipTest)\(|^raise\s+(?:unittest\.)?SkipTest`),
			above:    re(`^@`),
			comment:  "#",
		},
		".rb": {
			declares: re(`^(?:it|specify|test|scenario|xit|fit|example|should)[\s(]+["']([^"']*)["']|^def\s+(test_\w+)`),
			skips:    re(`^(?:xit|xdescribe|xcontext|xspecify|xscenario)\b|^(?:skip|pending)\b(?:[\s("']|$)|^(?:it|describe|context|specify|scenario)\b.*[\s,](?:skip:|pending:|:skip\b|:pending\b)`),
			alone:    re(`^(?:fit|fdescribe|fcontext)\b|^(?:it|describe|context)\b.*[\s,](?:focus:\s*true|:focus\b)`),
			comment:  "#",
		},
		".rs": {
			declares: re(`^#\[(?:\w+::)*(?:test|rstest|test_case|proptest|quickcheck)\b`),
			skips:    re(`^#\[(?:ignore|cfg_attr\(.*\bignore)\b`),
			above:    re(`^#\[`),
			anywhere: true, comment: "//",
		},
		".cs": {
			declares: re(`^\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b`),
			skips:    re(`^\[(?:Ignore|Explicit)\b|^\[(?:Fact|Theory)\s*\(.*\bSkip\s*=|^Assert\.(?:Ignore|Inconclusive)\(`),
			above:    re(`^\[`),
			comment:  "//",
		},
		".php": {
			declares: re(`^(?:(?:public|final)\s+)*function\s+(test\w*)\s*\(|^#\[Test\]|^\*\s*@test\b|^(?:it|test)\(\s*['"]([^'"]*)['"]`),
			skips:    re(`^\$this->markTest(?:Skipped|Incomplete)\(|^self::markTest|->skip\(|^(?:\*\s*)?@requires\b`),
			alone:    re(`->only\(`),
			comment:  "//",
		},
		".swift": {
			declares: re(`^(?:@\w+\s+)*func\s+(test\w*)\s*\(|^@Test\b`),
			skips:    re(`^(?:try\s+|throw\s+)XCTSkip|^@Test\(.*\.disabled`),
			comment:  "//",
		},
		".ex": {
			declares: re(`^test\s+"([^"]*)"`),
			skips:    re(`^@(?:module)?tag\s+:?skip\b`),
			above:    re(`^@`),
			comment:  "#",
		},
		".dart": {
			declares: re(`^(?:test|testWidgets)\(\s*['"]([^'"]*)['"]`),
			skips:    re(`\bskip:\s*(?:true|['"])|^@Skip\b`),
			alone:    re(`\bsolo:\s*true|^solo_test\(`),
			comment:  "//",
		},
		".cc": {
			declares: re(`^(?:TYPED_)?TEST(?:_F|_P|_CASE|_CASE_METHOD)?\s*\(\s*([^)]*)\)|^SCENARIO\(\s*("[^"]*")`),
			skips:    re(`^GTEST_SKIP\(|^TEST\w*\([^)]*\bDISABLED_|^SKIP\(`),
			comment:  "//",
		},
	}
	for ending, as := range map[string]*testLanguage{
		".js": js, ".jsx": js, ".ts": js, ".tsx": js, ".mjs": js, ".cjs": js, ".mts": js, ".cts": js, ".vue": js, ".svelte": js, ".coffee": js,
		".java": jvm, ".kt": jvm, ".groovy": jvm, ".scala": jvm,
		".exs": table[".ex"], ".cpp": table[".cc"], ".cxx": table[".cc"], ".c": table[".cc"], ".m": table[".swift"], ".vb": table[".cs"], ".fs": table[".cs"],
	} {
		table[ending] = as
	}
	return table
})

// testLanguageOf returns the language of a test by its path, nil where there is
// none to be read.
func testLanguageOf(p string) *testLanguage { return testLanguages()[strings.ToLower(path.Ext(p))] }
