package risk

import (
	"strings"

	"github.com/go-enry/go-enry/v2"

	"github.com/countersign/countersign/risk/diff"
)

// classify returns the kinds that a path alone tells. The result is never
// empty: what no rule knows is source.
func classify(p place) Kinds {
	switch {
	case isPolicy(p):
		return KindsOf(Policy)
	case isInstructions(p) && isProse(p):
		return KindsOf(Config)
	case isInstructions(p): // an agent's hooks and settings are what they are besides
		return ordinaryKinds(p).Add(Config)
	}
	return ordinaryKinds(p)
}

// ordinaryKinds has an order, since some of the rules take attention away. What
// runs in CI comes first, so that no folder name can hide it; then vendored code
// and tests, which are nothing else: the words in their paths are other
// people's, or examples.
func ordinaryKinds(p place) Kinds {
	switch {
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
	if p.base == "" {
		return false
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
	if f.OldMode == diff.ModeSubmodule || f.NewMode == diff.ModeSubmodule {
		// Another repository's tree, in a place that may be a sensitive one.
		return (s & KindsOf(CI, Infra, DB, Auth, Secrets, Policy)).Add(Submodule).Add(Dependency)
	}
	picture := s == KindsOf(Docs) && isImage(p)
	hasLines := len(f.Hunks) > 0 || f.Added > 0 || f.Deleted > 0
	switch {
	case hasLines && (picture || s.Has(Binary)):
		// A name made it a picture or an archive, and it has lines.
		s = s.Remove(Binary).Remove(Docs).Add(Source)
	case f.Binary && s == KindsOf(Source) && !isProgram(p) && !f.Truncated:
		s = KindsOf(Binary) // an unknown name was taken for source
	case f.Binary && !picture:
		s = s.Add(Binary)
	}
	if s == KindsOf(Docs) && f.NewMode == diff.ModeExecutable {
		s = s.Add(Source) // prose does not run
	}
	return withMarker(s, f)
}
