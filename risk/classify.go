package risk

import (
	"strings"

	"github.com/go-enry/go-enry/v2"

	"github.com/countersign/countersign/risk/diff"
)

// Classify returns the kinds that a path alone tells. The result is never
// empty: what no rule knows is source.
//
// The order matters where a rule takes attention away. What decides about
// merging, what instructs agents and what runs in CI comes first, so that no
// folder name can hide it; then vendored code and tests, which are nothing
// else: the words in their paths are other people's, or examples.
func Classify(path string) Kinds { return classify(newPlace(path)) }

func classify(p place) Kinds {
	switch {
	case isPolicy(p):
		return KindsOf(Policy)
	case isInstructions(p):
		return KindsOf(Config)
	case p.fbase == ".gitmodules":
		return KindsOf(Submodule, Dependency)
	case isRootCI(p):
		return rootCIKinds(p)
	case isVendored(p):
		return KindsOf(Vendored)
	case isFixture(p):
		return KindsOf(Test)
	case isKeyMaterial(p) && !isTest(p):
		return KindsOf(Secrets)
	case isDependency(p):
		return dependencyKinds(p)
	case isDocs(p):
		return KindsOf(Docs)
	case isTest(p):
		return KindsOf(Test)
	case isAsset(p):
		return KindsOf(Binary)
	}
	return programKinds(p)
}

func rootCIKinds(p place) Kinds {
	switch {
	case isDocs(p):
		return KindsOf(Docs)
	case isProgram(p):
		return KindsOf(CI, Source)
	}
	return KindsOf(CI)
}

// dependencyKinds keeps what a manifest is besides: a test project's manifest
// is both, a build file that lists dependencies is both.
func dependencyKinds(p place) Kinds {
	s := sensitiveKinds(p) & KindsOf(CI, Build, Infra, Secrets)
	if isTest(p) {
		s = KindsOf(Test)
	}
	if isProgram(p) {
		s = s.Add(Source)
	}
	return s.Add(Dependency)
}

// programKinds is for all that runs or configures what runs.
func programKinds(p place) Kinds {
	s := sensitiveKinds(p)
	switch {
	case isGeneratedName(p):
		s = s.Add(Generated)
	case isProgram(p):
		s = s.Add(Source)
	case isArchive(p):
		s = s.Add(Binary)
	case s != 0:
	case isConfig(p):
		s = s.Add(Config)
	default:
		s = s.Add(Source)
	}
	return s
}

func sensitiveKinds(p place) Kinds {
	var s Kinds
	for _, k := range []struct {
		kind Kind
		is   func(place) bool
	}{
		{CI, isCI}, {Build, isBuild}, {Infra, isInfra}, {DB, isDB}, {Auth, isAuth}, {Secrets, isSecrets},
	} {
		if k.is(p) {
			s = s.Add(k.kind)
		}
	}
	return s
}

// isGeneratedName goes by names that generators give their output, linguist's
// among them. What linguist recognises by content is left out: a hunk is not the
// file, and the author wrote it. So is what it finds anywhere in a path
// (`my_node_modules/x.js`, `evilCargo.lock`): those names are judged as vendored
// code and as lock files, where they stand as a whole.
func isGeneratedName(p place) bool {
	if hasAnySuffix(p.base, ".pb.go", ".pb.gw.go", ".pb.cc", ".pb.h", ".pb.swift", ".pb.validate.go", "_grpc.pb.go",
		"_pb2.py", "_pb2_grpc.py", "_pb2.pyi", "_pb.js", "_pb.d.ts", "_pb.ts", "_pb.rb", "_grpc_pb.js",
		".gen.go", ".gen.ts", "_gen.go", "_generated.go", ".generated.go", ".generated.ts", ".generated.tsx",
		".generated.cs", ".g.cs", ".g.dart", ".freezed.dart", ".gr.dart") || strings.HasPrefix(p.base, "zz_generated") {
		return true
	}
	for _, loose := range []string{"node_modules/", "Godeps/", "vendor/", "Pods/", ".lock", "-lock.", "npm-shrinkwrap", ".pnp.", ".orig"} {
		if strings.Contains(p.path, loose) {
			return false
		}
	}
	return enry.IsGenerated(p.path, nil)
}

// classifyPath returns the kinds of one of the file's paths, corrected by what
// the patch shows of the file.
func classifyPath(p place, f diff.File) Kinds {
	s := classify(p)
	text := len(f.Hunks) > 0
	switch {
	case text && (s.Has(Binary) || s == KindsOf(Docs) && isImage(p)):
		// A name made it a picture or an archive, and it has lines.
		s = s.Remove(Binary).Remove(Docs).Add(Source)
	case f.Binary && s == KindsOf(Source) && !isProgram(p):
		s = KindsOf(Binary) // an unknown name was taken for source
	case f.Binary && !(s == KindsOf(Docs) && isImage(p)):
		s = s.Add(Binary)
	}
	if f.OldMode == diff.ModeSubmodule || f.NewMode == diff.ModeSubmodule {
		s = KindsOf(Submodule, Dependency)
	}
	return withMarker(s, f)
}

// markerLines is how far from the top of a file a generator's marker stands:
// below a licence, above the code.
const markerLines = 40

// withMarker takes a generator's marker ("Code generated … DO NOT EDIT") into
// account. A marker that the file had before makes it generated instead of
// source. One that a new file brings makes it generated as well as source: the
// patch would otherwise take itself out of the review. One added to an existing
// file says nothing.
func withMarker(s Kinds, f diff.File) Kinds {
	if !s.Has(Source) {
		return s
	}
	for _, h := range f.Hunks {
		if h.OldStart > markerLines {
			break
		}
		for _, l := range h.Lines {
			if max(l.Old, l.New) > markerLines {
				break
			}
			if !isMarker(l.Text) {
				continue
			}
			switch {
			case l.Op != diff.AddedLine:
				return s.Remove(Source).Add(Generated)
			case f.Op == diff.Added:
				return s.Add(Generated)
			}
		}
	}
	return s
}

// isMarker reports whether the line is a comment by which generators mark their
// output. A program that prints such a comment holds it in a string.
func isMarker(line string) bool {
	line = strings.TrimSpace(line)
	if !hasAnyPrefix(line, "//", "#", "/*", "*", "--", ";", "<!--", "%", "'") {
		return false
	}
	if strings.Contains(line, "@generated") {
		return true
	}
	lower := strings.ToLower(line)
	return strings.Contains(lower, "generated") && strings.Contains(lower, "do not edit")
}
