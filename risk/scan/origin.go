package scan

import (
	"net/url"
	"regexp"
	"strings"
)

// origin is where a dependency comes from. The zero value is the registry that
// its tools use unless told otherwise.
type origin struct {
	// name is what two entries are compared by and people read: a host, with the
	// repository for what no registry holds. It never holds user names or passwords.
	name string
	// direct is set for what comes from a repository, an archive or a folder
	// instead of a registry: a bump of it may be any code.
	direct bool
	// local is set for what lies in the repository itself.
	local bool
}

// String names the origin for people.
func (o origin) String() string {
	switch {
	case o.local:
		return "a local folder"
	case o.name == "":
		return "the default registry"
	}
	return o.name
}

var (
	gitLike = regexp.MustCompile(`^(?:git[+:@]|ssh:|github:|gitlab:|bitbucket:|gist:|hg\+|svn\+|bzr\+)|\.git(?:[#?@]|$)`)
	// shorthand is npm's owner/repository on GitHub.
	shorthand = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.*)?$`)
	// revision is pip's, behind an address; npm's scopes begin with the sign.
	revision = regexp.MustCompile(`[^/]@`)
	scpForm  = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]+):(.+)$`)
)

// homes are the hosts of the registries that tools use by default, and what the
// same registry is called by another tool.
func homes(host string) bool {
	switch host {
	case "registry.npmjs.org", "registry.yarnpkg.com",
		"pypi.org", "pypi.python.org", "files.pythonhosted.org",
		"static.crates.io", "index.crates.io", "crates.io",
		"rubygems.org", "index.rubygems.org",
		"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org",
		"api.nuget.org", "repo.packagist.org", "packagist.org", "proxy.golang.org":
		return true
	}
	return false
}

// originOf reads a URL or a tool's short form of one.
func originOf(raw string) origin {
	raw = strings.TrimSpace(raw)
	low := strings.ToLower(raw)
	switch {
	case raw == "":
		return origin{}
	case strings.HasPrefix(low, "file:"), strings.HasPrefix(low, "link:"), strings.HasPrefix(low, "portal:"), strings.HasPrefix(low, "./"),
		strings.HasPrefix(low, "../"), raw == ".", raw == "..":
		return origin{name: "path " + clip(strings.TrimPrefix(raw, "file:")), direct: true, local: true}
	case strings.HasPrefix(low, "/"), strings.HasPrefix(low, "~"):
		return origin{name: "path " + clip(raw), direct: true}
	case strings.HasPrefix(low, "workspace:"):
		return origin{name: "workspace", local: true}
	case strings.Contains(low, "rust-lang/crates.io-index"):
		return origin{}
	}
	git := gitLike.MatchString(low)
	host, path := hostPath(raw)
	switch {
	case git:
		return origin{name: "git " + clip(host+path), direct: true}
	case host == "":
		return origin{name: clip(path), direct: true}
	case homes(host):
		return origin{}
	}
	return origin{name: clip(host)}
}

// hostPath returns the host, in lower case, and the path of a URL, without user,
// query, revision and ".git".
func hostPath(raw string) (host, path string) {
	for _, prefix := range []string{"git+", "hg+", "svn+", "bzr+", "registry+", "sparse+", "url+"} {
		raw = strings.TrimPrefix(raw, prefix)
	}
	for short, host := range map[string]string{"github:": "github.com", "gitlab:": "gitlab.com", "bitbucket:": "bitbucket.org", "gist:": "gist.github.com"} {
		if rest, ok := strings.CutPrefix(raw, short); ok {
			rest, _, _ = strings.Cut(rest, "#")
			return host, "/" + strings.TrimSuffix(rest, ".git")
		}
	}
	raw, _, _ = strings.Cut(raw, "#")
	if !strings.Contains(raw, "://") {
		if m := scpForm.FindStringSubmatch(raw); m != nil {
			return strings.ToLower(m[1]), "/" + strings.TrimSuffix(m[2], ".git")
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "", "unreadable source"
	}
	path = u.Path
	if at := revision.FindStringIndex(path); at != nil {
		path = path[:at[0]+1]
	}
	return strings.ToLower(u.Host), strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
}

// archive marks what is fetched from an address of its own and not by a name in
// a registry.
func archive(raw string) origin {
	o := originOf(raw)
	if !o.direct {
		host, path := hostPath(raw)
		o = origin{name: clip(host + path), direct: true}
	}
	return o
}

// clip bounds what is kept of a name.
func clip(text string) string {
	if len(text) > 200 {
		return text[:200]
	}
	return text
}
