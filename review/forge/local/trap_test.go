//go:build unix

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// minefield is a clone in which everything is armed that can name a program.
// Each program leaves a mark of its own.
type minefield struct {
	*clone
	marks   string
	missing string // a blob that a promisor remote would be asked for
}

// trap writes a program that leaves a mark, and returns its path. Filters hand
// their input on; the others fail at once.
func (m *minefield) trap(name string) string {
	m.t.Helper()
	end := "exit 1"
	if strings.HasSuffix(name, "clean") {
		end = "exec cat"
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\n%s\n", filepath.Join(m.marks, name), end)
	file := filepath.Join(m.dir, ".git", "traps", name)
	m.program(file, script)
	return file
}

func (m *minefield) program(file, script string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// sprung names the traps that went off, and clears their marks.
func (m *minefield) sprung() map[string]string {
	m.t.Helper()
	entries, err := os.ReadDir(m.marks)
	if err != nil {
		m.t.Fatal(err)
	}
	out := make(map[string]string)
	for _, e := range entries {
		file := filepath.Join(m.marks, e.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			m.t.Fatal(err)
		}
		out[e.Name()] = string(text)
		if err := os.Remove(file); err != nil {
			m.t.Fatal(err)
		}
	}
	return out
}

// hooks are all that git 2.39 knows, and what newer versions added.
const hooks = "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit " +
	"pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction " +
	"push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist post-index-change pre-solve-refs"

func newMinefield(t *testing.T) *minefield {
	m := &minefield{clone: newClone(t), marks: t.TempDir()}
	sub := newClone(t)
	sub.write("inner.evil", "one\n")
	sub.commit("inner")
	m.git("submodule", "--quiet", "add", sub.dir, "sub")
	for _, name := range []string{"a.evil", "b.process", "c.conv", "d.cmd", "e.txt"} {
		m.write(name, "one\n")
	}
	m.write(".gitattributes", "*.evil filter=evil\n*.process filter=process\n*.conv diff=conv\n*.cmd diff=cmd\n* merge=evil\n")
	m.commit("base")
	m.git("checkout", "-q", "-b", "topic")
	m.write("a.evil", "two\n")
	m.write("c.conv", "two\n")
	m.write("lost.txt", "lost\n")
	m.commit("topic")
	m.signed()
	m.missing = m.git("rev-parse", "HEAD:lost.txt")
	m.git("rm", "-q", "--cached", "lost.txt")
	if err := os.Remove(m.path("lost.txt")); err != nil {
		t.Fatal(err)
	}
	m.arm()
	for _, name := range []string{"a.evil", "b.process", "c.conv", "d.cmd", "e.txt", "sub/inner.evil"} {
		m.write(name, "three\n")
	}
	return m
}

// signed makes the newest commit one that bears a signature.
func (m *minefield) signed() {
	text := m.git("cat-file", "commit", "HEAD")
	head, message, _ := strings.Cut(text, "\n\n")
	file := filepath.Join(m.marks, "commit")
	body := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n" + message + "\n"
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		m.t.Fatal(err)
	}
	id := m.git("hash-object", "-t", "commit", "-w", file)
	m.git("update-ref", "refs/heads/topic", id)
	if err := os.Remove(file); err != nil {
		m.t.Fatal(err)
	}
}

// arm writes every trap into the clone.
func (m *minefield) arm() {
	set := func(key, trap string) { m.git("config", key, m.trap(trap)) }
	for _, hook := range strings.Fields(hooks) {
		m.program(filepath.Join(m.dir, ".git", "hooks", hook), fmt.Sprintf("#!/bin/sh\necho >> %s\n", filepath.Join(m.marks, "hook-"+hook)))
	}
	set("diff.conv.textconv", "textconv")
	set("diff.cmd.command", "diff-command")
	set("filter.evil.clean", "clean")
	set("filter.evil.smudge", "smudge")
	set("filter.process.process", "process")
	set("merge.evil.driver", "merge-driver")
	set("core.pager", "pager")
	set("core.editor", "editor")
	set("core.askPass", "askpass")
	set("core.sshCommand", "ssh")
	set("core.gitProxy", "proxy")
	set("core.alternateRefsCommand", "alternate-refs")
	set("uploadpack.packObjectsHook", "pack-objects")
	set("credential.helper", "credential")
	set("gpg.program", "gpg")
	m.git("config", "log.showSignature", "true")
	m.git("config", "alias.evil", "!"+m.trap("alias"))
	m.git("config", "alias.diff-tree", "!"+m.trap("alias-diff-tree"))
	m.git("config", "submodule.sub.update", "!"+m.trap("submodule-update"))
	m.git("config", "diff.submodule", "log")
	m.git("config", "status.submoduleSummary", "true")
	m.git("config", "remote.origin.url", sshURL)
	m.git("config", "remote.away.url", m.dir)
	set("remote.away.uploadpack", "uploadpack")
	m.git("config", "remote.away.promisor", "true")
	m.git("config", "remote.away.partialCloneFilter", "blob:none")
	m.git("config", "core.repositoryFormatVersion", "1")
	m.git("config", "extensions.partialClone", "away")
	object := filepath.Join(m.dir, ".git", "objects", m.missing[:2], m.missing[2:])
	if err := os.Remove(object); err != nil {
		m.t.Fatal(err)
	}
	inner := m.trap("submodule-fsmonitor")
	m.git("config", "--file", ".git/modules/sub/config", "core.fsmonitor", inner)
	m.git("config", "--file", ".git/modules/sub/config", "filter.evil.clean", m.trap("submodule-clean"))
	m.write("sub/.gitattributes", "*.evil filter=evil\n")
	// By way of a file that is included, and of one that is so only here.
	m.git("config", "--file", ".git/more", "diff.external", m.trap("diff-external"))
	m.git("config", "--file", ".git/others", "core.fsmonitor", m.trap("fsmonitor"))
	m.git("config", "include.path", "more")
	m.git("config", "includeIf.onbranch:topic.path", "others")
	m.program(m.path("git"), fmt.Sprintf("#!/bin/sh\necho >> %s\n", filepath.Join(m.marks, "fake-git")))
	m.git("config", "interactive.diffFilter", m.trap("diff-filter"))
	m.git("config", "trailer.x.command", m.trap("trailer"))
	m.git("config", "tar.tar.gz.command", m.trap("tar"))
}

const sshURL = "ssh://git@127.0.0.1:1/acme/api.git"

// hostileEnvironment arms what this process would hand on.
func (m *minefield) hostileEnvironment() {
	t := m.t
	home := t.TempDir()
	global := filepath.Join(home, ".gitconfig")
	m.git("config", "--file", global, "core.fsmonitor", m.trap("global-fsmonitor"))
	m.git("config", "--file", global, "diff.external", m.trap("global-external"))
	t.Setenv("HOME", home)
	exec := t.TempDir()
	for _, verb := range []string{"git", "git-diff-tree", "git-config", "git-log", "git-remote-ssh", "git-upload-pack"} {
		m.program(filepath.Join(exec, verb), fmt.Sprintf("#!/bin/sh\necho >> %s\n", filepath.Join(m.marks, "exec-path-"+verb)))
	}
	for name, trap := range map[string]string{
		"GIT_EXTERNAL_DIFF": "env-external", "GIT_PAGER": "env-pager", "PAGER": "env-pager2", "GIT_EDITOR": "env-editor",
		"GIT_ASKPASS": "env-askpass", "SSH_ASKPASS": "env-askpass2", "GIT_SSH": "env-ssh", "GIT_SSH_COMMAND": "env-ssh2", "GIT_PROXY_COMMAND": "env-proxy",
	} {
		t.Setenv(name, m.trap(trap))
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", m.trap("env-config"))
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='"+m.trap("env-parameters")+"'")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	t.Setenv("GIT_CONFIG_SYSTEM", global)
	t.Setenv("GIT_EXEC_PATH", exec)
	for _, name := range []string{"GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP", "GIT_TRACE_PERFORMANCE"} {
		t.Setenv(name, filepath.Join(m.marks, "env-"+name))
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_TEMPLATE_DIR", "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE", "GIT_REPLACE_REF_BASE"} {
		t.Setenv(name, "/nowhere")
	}
	t.Setenv("GIT_LITERAL_PATHSPECS", "0")
	t.Setenv("GIT_ALLOW_PROTOCOL", "ext:file:ssh")
	t.Setenv("PATH", strings.Join([]string{".", "", m.dir, filepath.Join(m.dir, ".git", "traps"), os.Getenv("PATH")}, ":"))
}

// TestNothingOfACloneRuns is what this package is for (DESIGN section 15).
func TestNothingOfACloneRuns(t *testing.T) {
	m := newMinefield(t)
	m.sprung() // by the git that laid them
	m.hostileEnvironment()
	m.program(filepath.Join(m.dir, ".git", "traps", "git"), fmt.Sprintf("#!/bin/sh\necho >> %s\n", filepath.Join(m.marks, "fake-git")))
	t.Chdir(m.dir)
	for _, dir := range []string{".", "sub", ".git", m.dir} {
		t.Run(dir, func(t *testing.T) {
			everything(t, dir, m.missing)
			for name, text := range m.sprung() {
				t.Errorf("%s went off: %s", name, text)
			}
		})
	}
}

// everything calls the whole API.
func everything(t *testing.T, dir, missing string) {
	r := open(t, dir, Options{})
	ctx := context.WithoutCancel(t.Context())
	ranges := []Range{}
	for _, head := range []string{"", "HEAD", "HEAD~1"} {
		rg, err := r.Range(ctx, "", head)
		if err != nil && r.Root() != "" && head != "HEAD~1" {
			t.Errorf("range to %q: %v", head, err)
		}
		if err == nil {
			ranges = append(ranges, rg)
		}
	}
	commits, err := r.History(ctx, "", 10, FirstParent)
	if err != nil || len(commits) == 0 {
		t.Errorf("history %v, %v", commits, err)
	}
	if _, err := r.History(ctx, "", 10, Merges); err != nil {
		t.Error(err)
	}
	for _, c := range commits {
		ranges = append(ranges, c.Landed())
	}
	read := 0
	for _, rg := range ranges {
		p, _, err := r.Patch(ctx, rg)
		if err != nil && !forge.IsKind(err, forge.KindNotFound) {
			t.Errorf("patch: %v", err)
		}
		for _, f := range p.Files {
			if f.HasNew() && f.NewMode != diff.ModeSubmodule {
				if _, err := r.Content(ctx, rg, f.NewPath, 1<<20); err != nil && !forge.IsKind(err, forge.KindNotFound) {
					t.Errorf("content of %s: %v", f.NewPath, err)
				}
				read++
			}
		}
	}
	if read == 0 {
		t.Error("nothing was read")
	}
	if _, err := r.Blob(ctx, forge.Repo{}, missing, 1<<20); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("a missing blob: %v", err)
	}
	for _, name := range []string{"topic", "--upload-pack=x", "-p", "HEAD:a.evil", ":/top", "sub"} {
		_, _ = r.Resolve(ctx, name) // whatever comes of it
	}
}

// TestTheTrapsWork shows that the traps are armed: plain git sets them off.
func TestTheTrapsWork(t *testing.T) {
	m := newMinefield(t)
	var fetch = []string{"cat-file", "-p", m.missing}
	cases := []struct {
		trap string
		args []string
	}{
		{"fsmonitor", []string{"status"}},
		{"submodule-fsmonitor", []string{"status"}},
		{"submodule-clean", []string{"-C", "sub", "diff"}},
		{"clean", []string{"diff", "--", "a.evil"}},
		{"process", []string{"diff", "--", "b.process"}},
		{"diff-external", []string{"diff", "--", "e.txt"}},
		{"diff-command", []string{"diff", "--", "d.cmd"}},
		{"textconv", []string{"diff", "--no-ext-diff", "--", "c.conv"}},
		{"gpg", []string{"log", "-1"}},
		{"uploadpack", fetch},
		{"ssh", []string{"ls-remote", "origin"}},
		{"alias", []string{"evil"}},
		{"hook-post-index-change", []string{"add", "e.txt"}},
		{"hook-post-commit", []string{"commit", "-q", "-m", "x"}},
		{"hook-reference-transaction", []string{"update-ref", "refs/heads/x", "HEAD"}},
		{"submodule-update", []string{"submodule", "update", "--force", "--no-fetch"}},
	}
	for _, c := range cases {
		m.sprung()
		out, _ := m.try(c.args...)
		if _, ok := m.sprung()[c.trap]; !ok {
			t.Errorf("git %s does not set off %s: %s", strings.Join(c.args, " "), c.trap, out)
		}
	}
}

// TestAGitOfTheCloneIsPassedOver is about PATH.
func TestAGitOfTheCloneIsPassedOver(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	c := newClone(t)
	c.write("bin/git", "#!/bin/sh\n")
	elsewhere := t.TempDir()
	for _, err := range []error{os.Chmod(c.path("bin/git"), 0o755), os.Symlink(c.path("bin/git"), filepath.Join(elsewhere, "git"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	bad := []string{"bin", "", c.path("bin"), elsewhere}
	if got, err := findGit(strings.Join(append(bad, filepath.Dir(real)), ":"), c.dir); err != nil || got != real {
		t.Errorf("git is %q, %v", got, err)
	}
	if got, err := findGit(strings.Join(bad, ":"), c.dir); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("git is %q, %v", got, err)
	}
	if got, err := findGit(elsewhere, "/nowhere"); err != nil || got != filepath.Join(elsewhere, "git") {
		t.Errorf("outside of a clone git is %q, %v", got, err)
	}
}
