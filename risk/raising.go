package risk

import "strings"

// The names in this file raise risk, so they match the folded path: without
// regard to case or look-alike letters.

// isPolicy reports whether the file decides who may merge what: Countersign's
// own, code owners, branch rules, other merge bots' rules. Templates of a
// config repository are not told by their path.
func isPolicy(p place) bool {
	switch p.folded {
	case ".github/countersign.yml", ".github/countersign.yaml",
		"codeowners", ".github/codeowners", "docs/codeowners", ".gitlab/codeowners",
		".github/settings.yml", ".github/settings.yaml", ".github/branch-protection.yml", ".github/branch-protection.yaml",
		".policy.yml", ".policy.yaml", ".bulldozer.yml", ".kodiak.toml", ".github/.kodiak.toml", ".mergify.yml",
		".github/mergify.yml", ".mergify/config.yml", ".github/auto-merge.yml", ".github/policy.yml", ".asf.yaml":
		return true
	}
	if p.fbase == "owners" || p.fbase == "owners_aliases" { // Prow's, in any folder
		return true
	}
	return p.under(".github/rulesets") || p.under(".github/safe-settings") || p.under(".github/ruleset")
}

// isInstructions reports whether coding agents take the file for instructions:
// prose or settings, either steers what is written next.
func isInstructions(p place) bool {
	switch p.fbase {
	case "agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "codex.md",
		"warp.md", "crush.md", "jules.md", "replit.md", "skill.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules",
		".clinerules", ".roorules", ".roomodes", ".kilocodemodes", ".goosehints", ".rules", ".mcp.json", ".aider.conf.yml",
		".pr_agent.toml", ".coderabbit.yaml", ".coderabbit.yml", "greptile.json", "opencode.json":
		return true
	}
	if p.inFolded(func(dir string) bool {
		switch dir {
		case ".cursor", ".claude", ".codex", ".gemini", ".windsurf", ".clinerules", ".roo", ".continue", ".agents", ".agent",
			".junie", ".kiro", ".amazonq", ".augment", ".trae", ".opencode", ".goose", ".openhands", ".kilocode", ".qodo":
			return true
		}
		return false
	}) {
		return true
	}
	return p.under(".github/instructions") || p.under(".github/prompts") || p.under(".github/chatmodes") ||
		p.under(".github/agents") || p.under(".github/copilot") || hasAnySuffix(p.fbase, ".instructions.md", ".prompt.md", ".chatmode.md")
}

// isWorkflow reports whether GitHub Actions runs the file at this folded path:
// it reads no subfolder and no other extension.
func isWorkflow(folded string) bool {
	name, ok := strings.CutPrefix(folded, ".github/workflows/")
	return ok && !strings.Contains(name, "/") && hasAnySuffix(name, ".yml", ".yaml")
}

// isRootCI reports whether a CI service reads or runs the file at this place
// counted from the repository's root, where no vendored or test folder can be.
func isRootCI(p place) bool {
	for _, dir := range []string{".github/workflows", ".github/actions", ".github/scripts", ".circleci", ".buildkite", ".teamcity",
		".woodpecker", ".gitlab/ci", ".semaphore", ".azure-pipelines", ".azuredevops", ".cirrus", ".husky", ".builds", ".tekton",
		".yarn/releases", ".yarn/plugins", ".forgejo/workflows", ".gitea/workflows", ".depot", ".dagger", ".ci"} {
		if p.under(dir) {
			return true
		}
	}
	return p.under(".github") && isProgram(p)
}

// isCI reports whether the file is run by CI jobs as a rule: pipelines, actions,
// make targets and the wrappers that start a build.
func isCI(p place) bool {
	switch p.fbase {
	case ".gitlab-ci.yml", ".gitlab-ci.yaml", "jenkinsfile", ".travis.yml", "appveyor.yml", ".appveyor.yml", ".drone.yml",
		".drone.yaml", ".drone.star", "bitbucket-pipelines.yml", "azure-pipelines.yml", "azure-pipelines.yaml", ".cirrus.yml",
		".woodpecker.yml", ".woodpecker.yaml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml",
		"wercker.yml", ".cirrus.star", "codefresh.yml", "action.yml", "action.yaml", "earthfile", ".pre-commit-config.yaml",
		".pre-commit-hooks.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml",
		"makefile", "gnumakefile", "bsdmakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "magefile.go",
		"gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "gradle-wrapper.properties", "gradle-wrapper.jar",
		"maven-wrapper.properties", "maven-wrapper.jar", "tox.ini", "noxfile.py", ".goreleaser.yml", ".goreleaser.yaml":
		return true
	}
	if hasAnyPrefix(p.fbase, "jenkinsfile.", "makefile.", "azure-pipelines-", "azure-pipelines.", ".gitlab-ci") {
		return p.fext != ".md"
	}
	if hasAnySuffix(p.fbase, ".mk", ".mak", ".just", ".gitlab-ci.yml", ".jenkinsfile") {
		return true
	}
	return p.inFolded(func(dir string) bool {
		return dir == "ci" && p.fext != ".txt" || dir == "azure-pipelines" || dir == ".pipelines" || dir == "magefiles"
	})
}

func isBuild(p place) bool {
	switch p.fbase {
	case "cmakelists.txt", "cmakepresets.json", "build", "build.bazel", "workspace", "workspace.bazel", "workspace.bzlmod",
		".bazelrc", ".bazelversion", ".buckconfig", "buck", "meson.build", "meson_options.txt", "configure", "configure.ac",
		"configure.in", "makefile.am", "sconstruct", "sconscript", "wscript", "build.rs", "build.xml", "build.sh", "build.ps1",
		"build.bat", "build.cmd", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
		"gradle.properties", "pom.xml", "build.sbt", "build.sc", "build.zig", "setup.py", "setup.cfg", "pyproject.toml",
		"manifest.in", "rakefile", "gulpfile.js", "gulpfile.ts", "gruntfile.js", "nx.json", "turbo.json", "lerna.json",
		"project.json", "angular.json", "package.json", "project.pbxproj", "makefile", "gnumakefile", "justfile", ".justfile",
		"taskfile.yml", "taskfile.yaml", "magefile.go", "directory.build.props", "directory.build.targets", "global.json",
		"rust-toolchain", "rust-toolchain.toml", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".tool-versions",
		"mise.toml", ".mise.toml", "default.nix", "shell.nix", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd",
		"gradle-wrapper.properties", "gradle-wrapper.jar", "maven-wrapper.properties", "maven-wrapper.jar":
		return true
	}
	if hasAnySuffix(p.fbase, ".cmake", ".bzl", ".bazel", ".csproj", ".fsproj", ".vbproj", ".vcxproj", ".sln", ".slnx", ".props",
		".targets", ".xcconfig", ".mk", ".mak", ".am", ".gn", ".gni", ".gyp", ".gypi", ".podspec", ".gemspec", ".nix", ".sbt") {
		return true
	}
	return hasAnyPrefix(p.fbase, "webpack.", "vite.config.", "rollup.config.", "babel.config.", "esbuild.", "tsconfig", "tsup.config.",
		"next.config.", "nuxt.config.", "metro.config.", "postcss.config.", "tailwind.config.", "jest.config.", "vitest.config.")
}

func isInfra(p place) bool {
	switch p.fbase {
	case "dockerfile", "containerfile", ".dockerignore", "chart.yaml", "helmfile.yaml", "kustomization.yaml",
		"kustomization.yml", "skaffold.yaml", "tiltfile", "vagrantfile", "procfile", "pulumi.yaml", "pulumi.yml", "cdk.json",
		"serverless.yml", "serverless.yaml", "serverless.ts", "samconfig.toml", "fly.toml", "app.yaml", "vercel.json",
		"netlify.toml", "render.yaml", "railway.json", "railway.toml", "heroku.yml", "nginx.conf", "caddyfile", "haproxy.cfg",
		"docker-bake.hcl", "ansible.cfg", "wrangler.toml", "firebase.json", "devcontainer.json", "garden.yml", "nomad.hcl":
		return true
	}
	if hasAnyPrefix(p.fbase, "dockerfile.", "containerfile.", "docker-compose", "compose.y", "compose.", "pulumi.") {
		return p.fext != ".md" && !isProgram(p)
	}
	if hasAnySuffix(p.fbase, ".dockerfile", ".tf", ".tfvars", ".tf.json", ".hcl", ".bicep", ".nomad", ".cfn.yml", ".cfn.yaml",
		".tofu", ".service", ".timer", ".socket") {
		return true
	}
	return p.inFolded(func(dir string) bool {
		switch dir {
		case "charts": // of Helm; of a program they are drawings
			return !isProgram(p)
		case "terraform", "terragrunt", "opentofu", "helm", "k8s", "kubernetes", "kustomize", "ansible", "playbooks",
			"cloudformation", "cfn", "infra", "infrastructure", "iac", "pulumi", ".ebextensions", ".platform", "argocd", "flux",
			"deploy", "deployment", "deployments", ".devcontainer", "packer", "puppet", "salt", "nomad":
			return true
		}
		return false
	})
}

func isDB(p place) bool {
	switch p.fext {
	case ".sql", ".prisma", ".dbml", ".cql", ".ddl", ".plsql", ".pgsql":
		return true
	}
	switch p.fbase {
	case "schema.rb", "structure.sql", "alembic.ini", "flyway.conf", "liquibase.properties", "sqlc.yaml", "sqlc.yml",
		"atlas.hcl", "knexfile.js", "knexfile.ts":
		return true
	}
	if len(p.fdirs) > 0 && p.fdirs[0] == "db" {
		return true
	}
	return p.inFolded(func(dir string) bool {
		switch dir {
		case "migrations", "migration", "migrate", "alembic", "flyway", "liquibase", "prisma", "changelogs":
			return true
		}
		return false
	}) || anyWord(p, isMigrationWord) && p.fext != ".tf" // Terraform's move resources, and no data
}

func isMigrationWord(w string) bool { return w == "migration" || w == "migrations" }
