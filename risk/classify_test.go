package risk

import (
	"strings"
	"testing"
)

// TestClassify lists the paths of each set of kinds. A path that is hard to
// place stands with the reason in the set's comment or beside it.
func TestClassify(t *testing.T) {
	table := map[string]string{
		"source": `main.go packages/charts/bar.ts charts/pie.js internal/server/handler.go src/app.ts src/App.tsx lib/util.rb app/models/user.rb pkg/parser/token.go
			pkg/lexer/tokenizer.go src/author.go internal/authors/list.go src/index.html web/app.css Docs/x.go docs/conf.py
			docs/index.html docs/guide.mdx notebooks/train.ipynb bin/run tools/x.unknownext scripts/release.sh README.MD
			Test/x.go internal/test/helper.go src/cache/store.go src/dist/x.js src/env/read.go src/react.js src/effects.js
			src/vendor/payout.rb app/vendors/list.rb src/Vendor/x.go internal/external/pay.go src/contest.java src/Manifest.cs
			src/latest.py prog.svelte cmd/x/main.rs Src/Main.hs assets/logo.svg api/user.proto schema.graphql
			src/my_node_modules/x.js src/evilCargo.lock xvendor/github.com/y.go src/description internal/description/x.go deps/local.c`,
		"test": `main_test.go internal/auth/session_test.go tests/test_login.py src/test_x.py x_test.py conftest.py
			src/app.test.ts src/app.spec.tsx cypress/e2e/login.cy.js src/__tests__/auth.js spec/models/user_spec.rb
			test/models/user_test.rb src/test/java/com/acme/LoginTest.java LoginIT.java App.Tests/LoginTests.cs tests/login.rs
			testdata/key.pem testdata/.env testdata/Dockerfile internal/x/testdata/a.go testdata/README.md fixtures/users.json
			src/__snapshots__/a.snap features/login.feature tests/auth/helper.py e2e/auth/login.go test/run.sh t/basic.t
			spec/fixtures/vendor.sql tests/data.sql tests/Dockerfile tests/key.pem testdata/package.json testdata/go.sum
			foo_unittest.cc widget_test.dart UserSpec.scala x.bats src/__mocks__/fs.js tests/login.png`,
		"docs": `README.md README LICENSE LICENSE.txt COPYING CHANGELOG.md CHANGES docs/intro.md docs/a/b.rst docs/notes.txt
			docs/img/login.png docs/arch.svg doc/manual.adoc internal/auth/README.md auth/docs/flow.png SECURITY.md AUTHORS
			authors.md secrets/README.md .github/PULL_REQUEST_TEMPLATE.md .github/ISSUE_TEMPLATE/bug.md
			.github/workflows/README.md terraform/README.md tests/README.md migrations/README.md CODE_OF_CONDUCT.md
			Docs/x.md CONTRIBUTING.rst NOTICE docs/diagram.puml deploy/NOTES.md`,
		"config": `config.yml ci/dictionary.txt settings.toml app.json .editorconfig .gitignore .gitattributes .eslintrc .eslintrc.json robots.txt
			llms.txt i18n/de.po data/countries.csv config/app.properties .github/labeler.yml .github/ISSUE_TEMPLATE/bug.yml
			.github/node_modules/x/data.json
			.env.example .env.sample mkdocs.yml docs/openapi.yaml .golangci.yaml .vscode/settings.json docs/robots.txt
			AGENTS.md CLAUDE.md GEMINI.md claude.md sub/dir/AGENTS.md .cursorrules .cursor/rules/go.mdc .windsurfrules
			.github/copilot-instructions.md .github/instructions/go.instructions.md .claude/settings.json
			.claude/commands/fix.md .mcp.json docs/CLAUDE.md testdata/AGENTS.md vendor/x/CLAUDE.md .clinerules .junie/guidelines.md
			src/prompts/system.txt skills/review/SKILL.md .gemini/config.yaml`,
		"dependency": `go.mod go.sum go.work Cargo.toml Cargo.lock package-lock.json yarn.lock pnpm-lock.yaml bun.lockb poetry.lock uv.lock
			Pipfile Pipfile.lock Gemfile Gemfile.lock composer.json composer.lock requirements.txt requirements-dev.txt
			requirements/base.txt dev-requirements.txt docs/requirements.txt constraints.txt pubspec.yaml pubspec.lock
			Podfile Podfile.lock Package.resolved packages.lock.json nuget.config pip.conf
			.github/dependabot.yml renovate.json environment.yml bower.json deno.json conanfile.txt vcpkg.json
			gradle/libs.versions.toml .cargo/config.toml Package-Lock.json services/auth-service/go.mod DESCRIPTION buf.yaml`,
		"dependency build": `package.json pyproject.toml pom.xml MODULE.bazel flake.nix app/App.csproj setup.cfg
			web/package.json`,
		"source dependency build": `setup.py build.gradle build.gradle.kts settings.gradle build.sbt`,
		"ci": `.github/workflows/ci.yml .github/workflows/release.yaml .github/workflows/auth.yml .GitHub/Workflows/x.yml
			.github/actions/setup/action.yml .gitlab-ci.yml Jenkinsfile jenkinsfile .circleci/config.yml azure-pipelines.yml
			.travis.yml .drone.yml bitbucket-pipelines.yml cloudbuild.yaml action.yml tools/x/action.yaml
			.pre-commit-config.yaml .husky/pre-commit .buildkite/pipeline.yml .goreleaser.yml tox.ini Jenkinsfile.deploy
			.github/workflows/tests/x.yml .github/actions/testdata/x.json .woodpecker.yml Earthfile .yarn/releases/yarn
			.github/workflows/node_modules/x.json ci/config.yaml`,
		"source ci": `.github/actions/setup/index.js .github/scripts/release.sh ci/run.sh .github/check.py noxfile.py
			.yarn/releases/yarn-4.1.0.cjs .circleci/test.sh build/ci/run.py`,
		"ci build":            `Makefile makefile GNUmakefile justfile Taskfile.yml sub/Makefile build/common.mk gradlew mvnw`,
		"source ci build":     `gradlew.bat magefile.go mvnw.cmd`,
		"dependency ci build": `gradle/wrapper/gradle-wrapper.properties .mvn/wrapper/maven-wrapper.properties`,
		"ci build binary":     `gradle/wrapper/gradle-wrapper.jar`,
		"build": `CMakeLists.txt docs/CMakeLists.txt cmake/x.cmake BUILD BUILD.bazel WORKSPACE defs.bzl meson.build configure
			configure.ac tsconfig.json App.sln Directory.Build.targets nx.json turbo.json .nvmrc .tool-versions shell.nix Rakefile`,
		"source build": `webpack.config.js vite.config.ts build.rs build.sh BUILD.bat build.bat gulpfile.js babel.config.cjs`,
		"infra": `Dockerfile dockerfile docker/Dockerfile.prod api.dockerfile docker-compose.yml docker-compose.prod.yaml compose.yaml
			main.tf modules/vpc/variables.tf prod.tfvars terraform/x.json k8s/deployment.yaml helm/app/values.yaml
			modules/x/migrations.tf charts/app/templates/svc.yaml ansible/site.yml playbooks/web.yml kustomization.yaml serverless.yml fly.toml
			cloudformation/main.yaml Procfile Vagrantfile nginx.conf skaffold.yaml deploy/prod.yaml infra/x.bicep
			systemd/app.service Pulumi.prod.yaml .devcontainer/devcontainer.json vercel.json`,
		"dependency infra": `Chart.yaml charts/app/Chart.yaml .terraform.lock.hcl helm/app/Chart.lock`,
		"source infra":     `infra/stack.ts deploy/release.sh pulumi/index.ts`,
		"source db": `db/migrations/001_init.up.sql migrations/0001_initial.py db/migrate/20240101_users.rb queries/user.sql
			schema.sql alembic/versions/abc.py src/migrations/Version1.php db/schema.rb internal/migrate/run.go DB/SCHEMA.SQL
			prisma/seed.ts src/UserMigration.kt`,
		"db": `prisma/schema.prisma alembic.ini prisma/migrations/migration_lock.toml db/changelogs/1.xml`,
		"source auth": `internal/auth/session.go auth.go src/login.tsx src/LoginForm.jsx app/controllers/sessions_controller.rb
			pkg/oauth2/client.go src/OAuth2Client.java lib/saml.rb internal/jwt/sign.go src/authMiddleware.ts rbac/roles.go
			src/accessControl.ts src/access_token.py src/refreshToken.ts permissions/check.go src/crypto/aes.c
			internal/AUTH/x.go src/SSOConfig.java sign_in.rb src/signIn.ts security/SecurityConfig.java password_reset.py
			internal/authz/policy.go iam/x.py src/two_factor.go src/csrf.js src/accounts/mfa.ts`,
		"auth":           `internal/auth/keys .auth`,
		"source secrets": `internal/secrets/store.go src/secret_manager.py pkg/kms/client.go src/apiKey.ts lib/credentials.rb vault/policy.py`,
		"secrets": `.env .env.production .env.local config/.env .envrc server.pem certs/tls.key id_rsa .ssh/id_ed25519 keystore.jks
			release.p12 .netrc .htpasswd credentials.json secrets.yml secrets/prod.txt config/credentials.yml.enc config/master.key
			.sops.yaml k.sops.yaml prod.env service-account.json docs/private.pem SECRETS/x.txt .ENV Server.PEM vault/policies/a.txt`,
		"dependency secrets": `.npmrc .yarnrc.yml`,
		"infra secrets":      `vault/policies/app.hcl k8s/secrets.yaml`,
		"source infra auth":  `infra/auth/main.ts`,
		"policy": `.github/countersign.yml .github/countersign.yaml CODEOWNERS .github/CODEOWNERS docs/CODEOWNERS codeowners
			.github/settings.yml .github/rulesets/main.json OWNERS pkg/OWNERS .mergify.yml .policy.yml .GITHUB/countersign.yml`,
		"vendored": `vendor/github.com/x/oauth2/auth.go vendor/modules.txt node_modules/x/index.js web/node_modules/x/package.json
			third_party/zlib/zlib.c vendor/x/Makefile static/vendor/jquery.js services/a/vendor/github.com/x/y.go Pods/X/x.m
			Godeps/x.go vendor/x/README.md bower_components/x.js`,
		"generated": `api/v1/user.pb.go user_pb2.py zz_generated.deepcopy.go ent/client_gen.go lib/user.g.dart
			src/__generated__/query.ts dist/app.js.map Form.designer.cs x.generated.ts`,
		"auth generated":       `internal/auth/session.pb.go`,
		"binary":               `logo.png src/login.png fonts/a.woff2 video.mp4 lib/app.jar data.zip public/auth/logo.ico tool.exe x.wasm`,
		"dependency submodule": `.gitmodules`,
		"test dependency":      `e2e/package.json tests/requirements.txt e2e/package-lock.json`,
	}
	for kinds, paths := range table {
		for _, path := range strings.Fields(paths) {
			if got := classify(newPlace(path)).String(); got != kinds {
				t.Errorf("%s is %q, want %q", path, got, kinds)
			}
		}
	}
}

func TestQuestionsByPath(t *testing.T) {
	tests := []struct {
		path                                        string
		dependency, testCode, vendored, translation bool
	}{
		{"go.mod", true, false, false, false}, {"a/Package.JSON", true, false, false, false}, {"vendor/a/go.mod", false, false, true, false},
		{"testdata/go.mod", false, false, false, false}, {"tests/requirements.txt", true, true, false, false}, {"a_test.go", false, true, false, false},
		{"testdata/a_test.go", false, false, false, false}, {"vendor/x/a_test.go", false, false, true, false}, {"src/locales/de.json", false, false, false, true},
		{"src/locales/index.js", false, false, false, false}, {"po/de.po", false, false, false, true}, {"settings.json", false, false, false, false},
		{"", false, false, false, false},
	}
	for _, tt := range tests {
		if d, c, v, l := IsDependencyPath(tt.path), IsTestCodePath(tt.path), IsVendoredPath(tt.path), IsTranslationPath(tt.path); d != tt.dependency ||
			c != tt.testCode || v != tt.vendored || l != tt.translation {
			t.Errorf("%q: dependency %t, test %t, vendored %t, translation %t", tt.path, d, c, v, l)
		}
	}
}
