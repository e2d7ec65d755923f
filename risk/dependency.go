package risk

import (
	"slices"
	"strings"
)

// isDependency reports whether the file says which foreign code is used and
// from where: manifests, lock files, registry settings.
func isDependency(p place) bool {
	return isLock(p.fbase) || isManifest(p)
}

func isManifest(p place) bool {
	switch p.fbase {
	case "package.json", "pnpm-workspace.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bower.json", "deno.json",
		"deno.jsonc", "jsr.json", "import_map.json", "bunfig.toml",
		"go.mod", "go.work", "gopkg.toml", "glide.yaml",
		"cargo.toml", "pyproject.toml", "setup.py", "setup.cfg", "pipfile", "requirements.in", "constraints.txt", "pip.conf",
		"environment.yml", "environment.yaml", "gemfile", "gems.rb", "composer.json", "pom.xml", "build.gradle",
		"build.gradle.kts", "settings.gradle", "settings.gradle.kts", "libs.versions.toml", "gradle-wrapper.properties",
		"maven-wrapper.properties", "build.sbt", "plugins.sbt", "ivy.xml", "mix.exs", "rebar.config", "pubspec.yaml",
		"package.swift", "podfile", "cartfile", "packages.config", "nuget.config", "directory.packages.props", "paket.dependencies", "pixi.toml",
		"conanfile.txt", "conanfile.py", "vcpkg.json", "module.bazel", "flake.nix", "chart.yaml", "buf.yaml", "requirements.yml",
		"cpanfile", "stack.yaml", "cabal.project", "project.clj", "deps.edn", "shard.yml", "dub.json", "elm.json",
		"brewfile", "dependabot.yml", "dependabot.yaml", "renovate.json", "renovate.json5", ".renovaterc", ".renovaterc.json":
		return true
	}
	switch {
	case p.base == "DESCRIPTION", p.base == "Project.toml": // R, Julia; in other spellings they are other files
		return true
	case p.fbase == "config.toml" && slices.Contains(p.fdirs, ".cargo"):
		return true
	}
	if p.fext == ".txt" && (strings.HasPrefix(p.fbase, "requirements") || strings.HasSuffix(p.fbase, "requirements.txt") ||
		len(p.fdirs) > 0 && p.fdirs[len(p.fdirs)-1] == "requirements") {
		return true
	}
	return hasAnySuffix(p.fbase, ".gemspec", ".podspec", ".csproj", ".fsproj", ".vbproj", ".cabal", ".nuspec", ".opam")
}

// isLock goes by the folded base name.
func isLock(fbase string) bool { return lockManifests(fbase) != nil }

// lockManifests returns the base names of the manifests that a lock file is
// made from, nil if it is none. A name that begins with "*" is any file with that
// extension.
func lockManifests(fbase string) []string {
	switch fbase {
	// Yarn's .pnp.cjs is a lock file that runs.
	case ".pnp.cjs", ".pnp.loader.mjs", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "bun.lock", "bun.lockb":
		return []string{"package.json"}
	case "pnpm-lock.yaml":
		return []string{"package.json", "pnpm-workspace.yaml"}
	case "deno.lock":
		return []string{"deno.json", "deno.jsonc", "package.json"}
	case "go.sum":
		return []string{"go.mod"}
	case "go.work.sum":
		return []string{"go.work", "go.mod"}
	case "gopkg.lock":
		return []string{"Gopkg.toml"}
	case "glide.lock":
		return []string{"glide.yaml"}
	case "cargo.lock":
		return []string{"Cargo.toml"}
	case "poetry.lock", "uv.lock", "pdm.lock", "pylock.toml":
		return []string{"pyproject.toml"}
	case "pipfile.lock":
		return []string{"Pipfile"}
	case "pixi.lock":
		return []string{"pixi.toml", "pyproject.toml"}
	case "conda-lock.yml":
		return []string{"environment.yml", "environment.yaml", "pyproject.toml"}
	case "gemfile.lock":
		return []string{"Gemfile", "*.gemspec"}
	case "gems.locked":
		return []string{"gems.rb", "*.gemspec"}
	case "composer.lock":
		return []string{"composer.json"}
	case "gradle.lockfile", "buildscript-gradle.lockfile", "verification-metadata.xml":
		return []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "libs.versions.toml"}
	case "mix.lock":
		return []string{"mix.exs"}
	case "rebar.lock":
		return []string{"rebar.config"}
	case "pubspec.lock":
		return []string{"pubspec.yaml"}
	case "package.resolved":
		return []string{"Package.swift", "project.pbxproj"}
	case "podfile.lock":
		return []string{"Podfile", "*.podspec"}
	case "cartfile.resolved":
		return []string{"Cartfile"}
	case "packages.lock.json":
		return []string{"*.csproj", "*.fsproj", "*.vbproj", "Directory.Packages.props"}
	case "paket.lock":
		return []string{"paket.dependencies"}
	case "conan.lock":
		return []string{"conanfile.txt", "conanfile.py"}
	case "module.bazel.lock":
		return []string{"MODULE.bazel"}
	case "flake.lock":
		return []string{"flake.nix"}
	case "chart.lock":
		return []string{"Chart.yaml"}
	case "buf.lock":
		return []string{"buf.yaml"}
	case ".terraform.lock.hcl":
		return []string{"*.tf"}
	case "stack.yaml.lock":
		return []string{"stack.yaml"}
	case "cabal.project.freeze":
		return []string{"*.cabal", "cabal.project"}
	case "shard.lock":
		return []string{"shard.yml"}
	case "cpanfile.snapshot":
		return []string{"cpanfile"}
	}
	return nil
}

// manifests are the changed files that a lock file may be made from, by name and,
// under "*", by extension. Taking a file for the manifest lowers the tier, so
// names are exact.
type manifests map[string][]string

func (m manifests) add(p place) {
	m[p.base] = append(m[p.base], p.path)
	if p.ext != "" {
		m["*"+p.ext] = append(m["*"+p.ext], p.path)
	}
}

func (m manifests) sort() {
	for _, paths := range m {
		slices.Sort(paths)
	}
}

// of reports whether a manifest of the lock file is among them: in its folder,
// or below it (a workspace), or above it where the tools keep the lock away from
// the manifest. It looks them up, since a patch may hold 3,000 of both.
func (m manifests) of(lock place) bool {
	dir := strings.TrimSuffix(lock.path, lock.base)
	for _, name := range lockManifests(lock.fbase) {
		paths := m[name]
		if i, _ := slices.BinarySearch(paths, dir); i < len(paths) && strings.HasPrefix(paths[i], dir) {
			return true
		}
		if keepsLockApart(lock.fbase) && slices.ContainsFunc(paths, func(p string) bool {
			return strings.HasPrefix(dir, p[:strings.LastIndex(p, "/")+1])
		}) {
			return true
		}
	}
	return false
}

func keepsLockApart(fbase string) bool {
	switch fbase {
	case "packages.lock.json", "package.resolved", "gradle.lockfile", "buildscript-gradle.lockfile", "verification-metadata.xml":
		return true
	}
	return false
}
