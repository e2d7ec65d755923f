package risk

// Deceives reports whether a path reads as something it is not: look-alike
// letters, invisible characters, odd slashes, dots or spaces. It is what the rule
// deceptive-path asks of every path of a patch.
func Deceives(path string) bool { return deceives(path) }

// Fold spells text the way raising rules compare it: without case, with letters
// that look like ASCII ones as those, without what does not show. Texts that
// differ may fold to the same, so it is for rules that raise and for nothing else.
func Fold(text string) string { return fold(text) }

// IsMediaName reports whether the name is that of an image, a sound, a font or
// another file that holds no text by nature.
func IsMediaName(path string) bool { return isAsset(newPlace(path)) }

// IsWorkflowPath reports whether GitHub Actions takes the file for a workflow,
// or would on a system that ignores case.
func IsWorkflowPath(path string) bool { return isWorkflow(foldPath(path)) }

// IsTestPath reports whether the path is that of a test or of what tests read.
func IsTestPath(path string) bool { p := newPlace(path); return isTest(p) || isFixture(p) }

// IsDependencyPath reports whether the path is that of a manifest, a lock file or
// a registry setting: of kind dependency by its name.
func IsDependencyPath(path string) bool {
	return path != "" && classify(newPlace(path)).Has(Dependency)
}

// IsVendoredPath reports whether the path lies in a folder of other people's code.
func IsVendoredPath(path string) bool { return isVendored(newPlace(path)) }

// IsTranslationPath reports whether the file holds what a program says in a
// language, as data: in no place where it runs.
func IsTranslationPath(path string) bool {
	p := newPlace(path)
	switch p.ext {
	case ".po", ".pot", ".xliff", ".xlf", ".arb", ".strings", ".resx":
		return true
	case ".json", ".yml", ".yaml", ".properties", ".xml", ".toml", ".ftl":
		return p.inExact(func(dir string) bool {
			switch dir {
			case "locale", "locales", "_locales", "i18n", "l10n", "lang", "langs", "languages", "translations":
				return true
			}
			return false
		})
	}
	return false
}

// IsTestCodePath reports whether the path is that of a test itself, and not of
// data that tests read.
func IsTestCodePath(path string) bool {
	p := newPlace(path)
	return isTest(p) && !isFixture(p) && !isVendored(p)
}
