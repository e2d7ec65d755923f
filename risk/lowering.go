package risk

import (
	"slices"
	"strings"
)

// The names in this file lower attention, so they match exactly: `Docs/x.go` is
// source.

// isVendored reports whether the path lies in a folder that a package manager
// or a team fills with other people's code.
//
// Linguist's list (go-enry's IsVendor) counts languages and is far too generous
// for this: it takes any cache/, dist/ and env/ folder, Jenkinsfile, gradlew and
// react.js for vendored. A folder named vendor deep in the sources may as well
// be a shop's vendors.
//
// Nothing below .github is vendored: what lies there works on this repository.
func isVendored(p place) bool {
	if p.under(".github") {
		return false
	}
	for i, dir := range p.dirs {
		switch dir {
		case "node_modules", "bower_components", "jspm_packages", "third_party", "third-party", "thirdparty",
			"3rdparty", "ThirdParty", "Pods", "Carthage", "Godeps":
			return true
		case "vendor":
			if i == 0 || isAssetRoot(p.dirs[i-1]) || i+1 < len(p.dirs) && isGoHost(p.dirs[i+1]) {
				return true
			}
		}
	}
	return false
}

// isManaged reports whether a package manager fills the vendored folder, so that
// nothing changes in it without a manifest or a lock file.
func isManaged(p place) bool {
	return p.inExact(func(dir string) bool {
		switch dir {
		case "vendor", "node_modules", "bower_components", "jspm_packages", "Pods", "Godeps":
			return true
		}
		return false
	})
}

func isAssetRoot(dir string) bool {
	switch dir {
	case "assets", "static", "public", "js", "css", "lib":
		return true
	}
	return false
}

func isGoHost(dir string) bool {
	switch dir {
	case "github.com", "golang.org", "google.golang.org", "gopkg.in", "k8s.io", "sigs.k8s.io", "go.uber.org", "gitlab.com",
		"go.opentelemetry.io", "cloud.google.com", "bitbucket.org":
		return true
	}
	return false
}

// isFixture reports whether the file is data of a test: never run as it stands,
// whatever it is called.
func isFixture(p place) bool {
	return p.inExact(func(dir string) bool {
		switch dir {
		case "testdata", "test-data", "fixtures", "__fixtures__", "__snapshots__":
			return true
		}
		return false
	})
}

func isTest(p place) bool {
	if isTestName(p) {
		return true
	}
	if p.ext == ".go" {
		// The go tool compiles a folder named test like any other.
		return len(p.dirs) > 0 && isTestDir(p.dirs[0])
	}
	return p.inExact(isTestDir)
}

func isTestDir(dir string) bool {
	switch dir {
	case "test", "tests", "__tests__", "spec", "specs", "e2e", "__mocks__", "cypress", "Tests", "UnitTests",
		"integration_tests", "integration-tests", "androidTest", "unitTest":
		return true
	}
	return hasAnySuffix(dir, ".Tests", ".Test", ".UnitTests", ".IntegrationTests")
}

func isTestName(p place) bool {
	stem := strings.TrimSuffix(p.base, p.ext)
	switch p.ext {
	case ".go":
		return strings.HasSuffix(stem, "_test")
	case ".py":
		return p.base == "conftest.py" || strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test")
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".coffee":
		return hasAnySuffix(stem, ".test", ".spec", ".cy", ".e2e", ".e2e-spec", "-test", "-spec", "_test", "_spec")
	case ".java", ".kt", ".groovy", ".scala", ".php", ".cs", ".swift", ".m", ".vb", ".fs":
		return hasAnySuffix(stem, "Test", "Tests", "Spec", "Specs", "TestCase") || p.ext == ".java" && strings.HasSuffix(stem, "IT")
	case ".rb":
		return hasAnySuffix(stem, "_spec", "_test") || strings.HasPrefix(stem, "test_")
	case ".c", ".cc", ".cpp", ".cxx", ".rs", ".dart", ".ex", ".exs", ".erl", ".clj", ".cljs", ".lua", ".sh", ".zig", ".hs", ".jl":
		return hasAnySuffix(stem, "_test", "_tests", "_unittest", "_SUITE") || strings.HasPrefix(stem, "test_")
	case ".bats", ".snap", ".feature", ".t":
		return true
	}
	return false
}

// isDocs reports whether the file is prose for people, or a picture in it.
func isDocs(p place) bool {
	if isPromptDir(p) {
		return false
	}
	switch p.ext {
	case ".md", ".markdown", ".mkd", ".rst", ".adoc", ".asciidoc", ".textile", ".rdoc", ".Rd":
		return true
	}
	if isDocsName(strings.TrimSuffix(p.base, ".txt")) {
		return true
	}
	if !p.inExact(isDocsDir) || p.base == "CMakeLists.txt" || p.base == "robots.txt" {
		return false
	}
	switch p.ext {
	case ".txt", ".svg", ".drawio", ".puml", ".plantuml", ".mmd", ".dot", ".bib", ".tex", ".pod":
		return true
	}
	return isImage(p)
}

// isProse reports whether the file is text for people and models to read,
// whatever words its path holds.
func isProse(p place) bool {
	switch p.ext {
	case ".md", ".mdc", ".markdown", ".txt":
		return true
	}
	return false
}

func isDocsName(name string) bool {
	switch name {
	case "README", "LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "UNLICENSE", "NOTICE", "PATENTS", "CHANGELOG", "CHANGES",
		"HISTORY", "NEWS", "AUTHORS", "CONTRIBUTORS", "CONTRIBUTING", "THANKS", "TODO", "INSTALL", "SECURITY",
		"CODE_OF_CONDUCT", "CITATION.cff", "LICENSE-MIT", "LICENSE-APACHE", "COPYING.LESSER":
		return true
	}
	return false
}

func isDocsDir(dir string) bool {
	switch dir {
	case "doc", "docs", "documentation":
		return true
	}
	return false
}

// isPromptDir names folders whose prose a program gives to a model: it is part
// of what the program does. A raising test, hence folded.
func isPromptDir(p place) bool {
	return p.inFolded(func(dir string) bool { return dir == "prompts" || dir == "prompt" })
}

func isImage(p place) bool {
	switch p.ext {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".avif", ".tiff":
		return true
	}
	return false
}

// isAsset reports whether the file is binary by its name and nothing that runs.
// Fonts, pictures and media do not take on the words in their path: a picture of
// a login form is a picture.
func isAsset(p place) bool {
	switch p.ext {
	case ".mp3", ".mp4", ".wav", ".ogg", ".webm", ".mov", ".avi", ".flac", ".woff", ".woff2", ".ttf", ".otf", ".eot",
		".pdf", ".psd", ".sketch", ".ai", ".icns":
		return true
	}
	return isImage(p)
}

// isArchive reports whether the file is binary by its name and may run or be
// unpacked; it keeps the words in its path.
func isArchive(p place) bool {
	switch p.fext {
	case ".jar", ".war", ".aar", ".class", ".dex", ".apk", ".ipa", ".exe", ".dll", ".so", ".dylib", ".a", ".lib", ".o", ".obj",
		".bin", ".wasm", ".pyc", ".whl", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".tar", ".deb", ".rpm",
		".dmg", ".iso", ".nupkg", ".gem", ".node", ".db", ".sqlite", ".sqlite3", ".parquet", ".pkl", ".onnx", ".pt":
		return true
	}
	return false
}

// isConfig reports whether the file is settings or data rather than a program.
func isConfig(p place) bool {
	switch p.ext {
	case ".yml", ".yaml", ".json", ".json5", ".jsonc", ".toml", ".ini", ".cfg", ".conf", ".config", ".properties", ".xml",
		".plist", ".env", ".txt", ".csv", ".tsv", ".po", ".pot", ".xliff", ".strings", ".resx", ".cue", ".jsonnet":
		return true
	}
	if isEnvExample(p) {
		return true
	}
	// Dotfiles configure tools: .editorconfig, .gitignore, .eslintrc.
	return strings.HasPrefix(p.base, ".") && strings.Count(p.base, ".") == 1
}

func isEnvExample(p place) bool {
	return slices.Contains([]string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}, p.base)
}

// isProgram reports whether the extension is that of a programming language,
// so that a file of a special kind is source besides.
func isProgram(p place) bool {
	switch p.fext {
	case ".go", ".py", ".pyi", ".pyx", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".java",
		".kt", ".kts", ".groovy", ".gradle", ".scala", ".sbt", ".clj", ".cljs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp",
		".m", ".mm", ".swift", ".rs", ".rb", ".php", ".cs", ".fs", ".vb", ".dart", ".ex", ".exs", ".erl", ".hrl", ".hs", ".ml",
		".mli", ".lua", ".pl", ".pm", ".r", ".jl", ".zig", ".nim", ".d", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".psm1", ".bat",
		".cmd", ".sql", ".sol", ".asm", ".s", ".proto", ".thrift", ".graphql", ".gql", ".html", ".htm", ".css", ".scss", ".less",
		".sass", ".erb", ".ejs", ".hbs", ".tmpl", ".ipynb", ".mdx", ".wat", ".elm", ".coffee", ".cu", ".astro":
		return true
	}
	return false
}
