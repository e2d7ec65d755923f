package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// testPlaces spells the findings of tests-removed as "path side line title".
func testPlaces(r Result) []string {
	var list []string
	for _, f := range r.Findings {
		if f.Rule == risk.RuleTestsRemoved {
			title, _, _ := strings.Cut(f.Title, ": ")
			list = append(list, fmt.Sprintf("%s %s %d %s", f.Path, f.Side, f.Line, title))
		}
	}
	slices.Sort(list)
	return list
}

func TestTestsRemoved(t *testing.T) {
	file := func(path, hunk string) diff.File {
		return change(path, 1, strings.Split(strings.Trim(hunk, "\n"), "\n")...)
	}
	fresh := func(path string, lines ...string) diff.File { return newFile(path, lines...) }
	gone := func(f diff.File) diff.File {
		f.Op, f.NewPath, f.NewMode = diff.Deleted, "", diff.ModeNone
		return f
	}
	const skipped, removed, only = "A test is skipped", "A test is removed", "Only some tests run"
	tests := []struct {
		name  string
		files []diff.File
		want  []string
	}{
		{"go, removed", []diff.File{file("a_test.go", `
 package a
-func TestA(t *testing.T) {
-}`)}, []string{"a_test.go LEFT 2 " + removed}},
		{"go, renamed", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
+func TestB(t *testing.T) {`)}, nil},
		{"go, moved to another file", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {`), fresh("b_test.go", "func TestA(t *testing.T) {")}, nil},
		{"go, moved within", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
 func TestB(t *testing.T) {
+func TestA(t *testing.T) {`)}, nil},
		{"go, the other test of two", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
-func TestB(t *testing.T) {
+func TestB(t *testing.T) {`)}, []string{"a_test.go LEFT 1 " + removed}},
		{"go, commented out", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
+// func TestA(t *testing.T) {`)}, []string{"a_test.go LEFT 1 " + removed}},
		{"go, helper removed", []diff.File{file("a_test.go", `
-func helper(t *testing.T) {`)}, nil},
		{"go, skip", []diff.File{file("a_test.go", `
 func TestA(t *testing.T) {
+	t.Skip("flaky")
 	x()`)}, []string{"a_test.go RIGHT 2 " + skipped}},
		{"go, skip, test not shown", []diff.File{file("a_test.go", `
+	t.SkipNow()
 	x()`)}, []string{"a_test.go RIGHT 1 " + skipped}},
		{"go, new test with a skip", []diff.File{file("a_test.go", `
+func TestA(t *testing.T) {
+	t.Skip("no network")
+}`)}, nil},
		{"go, removed, and a skipped one added", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
+func TestB(t *testing.T) {
+	t.Skip("later")`)}, []string{"a_test.go LEFT 1 " + removed}},
		{"go, moved with its skip", []diff.File{file("a_test.go", `
-func TestA(t *testing.T) {
-	t.Skip("no network")
 func TestB(t *testing.T) {
+func TestA(t *testing.T) {
+	t.Skip("no network")`)}, nil},
		{"go, skip said in another way", []diff.File{file("a_test.go", `
 func TestA(t *testing.T) {
-	t.Skip("a")
+	t.Skip("b")`)}, nil},
		{"go, subtest", []diff.File{file("a_test.go", `
-	t.Run("a", func(t *testing.T) {`)}, []string{"a_test.go LEFT 1 " + removed}},
		{"go, not a test", []diff.File{file("a.go", `
-func TestA(t *testing.T) {
+	t.Skip()`)}, nil},
		{"go, tests' data", []diff.File{file("testdata/a_test.go", `
-func TestA(t *testing.T) {`)}, nil},
		{"deleted file is another's to say", []diff.File{gone(file("a_test.go", `
-func TestA(t *testing.T) {`))}, nil},
		{"moved out of a deleted file, another removed", []diff.File{gone(file("a_test.go", `
-func TestA(t *testing.T) {`)), file("b_test.go", `
-func TestB(t *testing.T) {
+func TestA(t *testing.T) {`)}, []string{"b_test.go LEFT 1 " + removed}},

		{"python", []diff.File{file("tests/test_a.py", `
-    async def test_a(self):
+    @pytest.mark.skipif(True, reason="x")
     def test_b(self):`)}, []string{"tests/test_a.py LEFT 1 " + removed, "tests/test_a.py RIGHT 1 " + skipped}},
		{"python, class", []diff.File{file("tests/test_a.py", `
+@unittest.skip("x")
 class TestA:`)}, []string{"tests/test_a.py RIGHT 1 " + skipped}},
		{"python, new test expected to fail", []diff.File{file("tests/test_a.py", `
+@pytest.mark.xfail
+@other
+def test_new():`)}, nil},
		{"javascript, skip", []diff.File{file("a.test.ts", `
-  it('does', () => {
+  it.skip('does', () => {`)}, []string{"a.test.ts RIGHT 1 " + skipped}},
		{"javascript, xit", []diff.File{file("a.spec.js", `
-  it("does", () => {
+  xit("does", () => {`)}, []string{"a.spec.js RIGHT 1 " + skipped}},
		{"javascript, suite", []diff.File{file("a.spec.js", `
-describe("does", () => {
+describe.skip("does", () => {`)}, []string{"a.spec.js RIGHT 1 " + skipped}},
		{"javascript, only", []diff.File{file("a.test.tsx", `
-  test("does", () => {
+  test.only("does", () => {`)}, []string{"a.test.tsx RIGHT 1 " + only}},
		{"javascript, todo is new", []diff.File{file("a.test.tsx", `
+  test.todo("does")`)}, nil},
		{"javascript, unskipped", []diff.File{file("a.test.js", `
-  it.skip('does', () => {
+  it('does', () => {`)}, nil},
		{"java", []diff.File{file("src/test/java/ATest.java", `
-  @Test
-  void a() {}
   @Test
+  @Disabled("x")
   void b() {}`)}, []string{"src/test/java/ATest.java LEFT 1 " + removed, "src/test/java/ATest.java RIGHT 2 " + skipped}},
		{"rust, beside the code", []diff.File{file("src/lib.rs", `
     #[test]
+    #[ignore]
     fn a() {}
-    #[tokio::test]
-    async fn b() {}`)}, []string{"src/lib.rs LEFT 3 " + removed, "src/lib.rs RIGHT 2 " + skipped}},
		{"ruby", []diff.File{file("spec/a_spec.rb", `
-  it "a" do
+  xit "a" do
   it "b" do
+    skip "later"`)}, []string{"spec/a_spec.rb RIGHT 1 " + skipped, "spec/a_spec.rb RIGHT 3 " + skipped}},
		{"c#", []diff.File{file("A.Tests/B.cs", `
-[Fact]
+[Fact(Skip = "x")]
 public void A() {}`)}, []string{"A.Tests/B.cs LEFT 1 " + removed}},
		{"php", []diff.File{file("tests/ATest.php", `
     public function testA()
+        $this->markTestSkipped('x');`)}, []string{"tests/ATest.php RIGHT 2 " + skipped}},
		{"swift", []diff.File{file("Tests/ATests.swift", `
-    func testA() throws {`)}, []string{"Tests/ATests.swift LEFT 1 " + removed}},
		{"elixir", []diff.File{file("test/a_test.exs", `
+  @tag :skip
   test "a" do`)}, []string{"test/a_test.exs RIGHT 1 " + skipped}},
		{"c++", []diff.File{file("a_test.cc", `
-TEST_F(A, B) {
+TEST_F(A, DISABLED_B) {`)}, []string{"a_test.cc LEFT 1 " + removed}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := scanOf(tt.files...)
			for _, f := range r.Findings { // the name is there where the line has one
				if name, ok := strings.CutPrefix(f.Title, removed+": "); ok && !strings.Contains(f.Title, "  ") && name != "" {
					continue
				}
				if f.Title == removed && !strings.Contains(f.Path, ".rs") && !strings.Contains(f.Path, "ATest.java") && !strings.HasSuffix(f.Path, ".cs") {
					t.Errorf("no name in %+v", f)
				}
			}
			if got := testPlaces(r); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
			state := no
			if len(tt.want) > 0 {
				state = yes
			}
			wantState(t, r, risk.RuleTestsRemoved, state)
		})
	}
	secret := scanOf(file("a.test.js", "\n-it('uses "+githubToken+" here', () => {"))
	wantNoSecret(t, secret)
	if len(secret.Findings) != 1 || secret.Findings[0].Title != removed+": uses "+masked+" here" {
		t.Errorf("findings %v", secret.Findings)
	}
	cut := change("a_test.go", 1, "-x", "+y")
	cut.Hunks, cut.Truncated = nil, true
	wantState(t, scanOf(cut), risk.RuleTestsRemoved, risk.Unknown)
}
