package risk

// The ids of rules that scanners answer in Context.Content, and of those that
// stand for a policy's own rules where these have no id. The other ids are in
// the table below only.
const (
	RuleCredential       = "credential"
	RuleHiddenCharacters = "hidden-characters"
	RuleHiddenText       = "hidden-text"
	RuleDependencyChange = "dependency-change"
	RuleDeceptivePath    = "deceptive-path"
	RuleActionPin        = "action-pin"
	RuleTestsRemoved     = "tests-removed"
	RuleAskPath          = "ask-path"
	RulePolicyRule       = "policy-rule"
)

// rule is one reason for a tier. It sees facts and never another rule's result.
type rule struct {
	id       string
	floor    Tier
	sentence string
	when     func(*facts) verdict
	raise    bool // one step up instead of a floor
	content  bool // answered by a scanner, wholly or in part
	accepted bool // takes raises back
}

// rules is the table of built-in rules, worst first. Its order is the order in which
// reasons of the same weight are shown.
func rules() []rule {
	return []rule{
		{id: RuleCredential, floor: Critical, content: true, when: scanned(RuleCredential, anyFile),
			sentence: "an added line holds what looks like a live credential or a private key"},
		{id: "required-workflow", floor: Critical, when: requiredWorkflow,
			sentence: "a workflow is added or changed that reports, or may report, a required check"},
		{id: "auth-and-ci", floor: Critical, when: both(Auth, CI),
			sentence: "one patch changes who may do what, and what CI runs"},
		{id: "auth-and-db", floor: Critical, when: both(Auth, DB),
			sentence: "one patch changes who may do what, and the database's schema or queries"},
		{id: "ci-and-secrets", floor: Critical, when: both(CI, Secrets),
			sentence: "one patch changes what CI runs, and secrets or their handling"},

		{id: "policy", floor: High, when: ofKind(Policy),
			sentence: "the rules for merging change: Countersign's policy, code owners, branch rules"},
		{id: "auth", floor: High, when: ofKind(Auth),
			sentence: "the paths are about sign-in, sessions, permissions or cryptography"},
		{id: "secrets", floor: High, when: ofKind(Secrets),
			sentence: "the paths are key material, credentials, or code that handles secrets"},
		{id: "db-migration", floor: High, when: ofKind(DB),
			sentence: "a schema, a migration or a query changes"},
		{id: "ci", floor: High, when: continuousIntegration,
			sentence: "something that CI runs changes: workflows, actions, make targets, scripts"},
		{id: "infra", floor: High, when: ofKind(Infra),
			sentence: "what is deployed, or where and how, changes"},
		{id: RuleDependencyChange, floor: High, content: true, when: scanned(RuleDependencyChange, Dependency.in),
			sentence: "a dependency is new, comes from another source or host, is replaced, or runs an install script"},
		{id: "lock-without-manifest", floor: High, when: lockWithoutManifest,
			sentence: "a lock file changes and no manifest that it is made from does"},
		{id: "vendored-without-manifest", floor: High, when: vendoredWithoutManifest,
			sentence: "code in a package manager's folder changes and no manifest or lock file does"},
		{id: RuleActionPin, floor: High, content: true, when: scanned(RuleActionPin, hasWorkflow),
			sentence: "a workflow moves an action to another version and changes nothing else"},
		{id: RuleHiddenCharacters, floor: High, content: true, when: scanned(RuleHiddenCharacters, anyFile),
			sentence: "added lines hold characters that change the reading direction or show nothing"},
		{id: RuleHiddenText, floor: High, content: true, when: scanned(RuleHiddenText, anyFile),
			sentence: "added lines hold text that is hidden from people and speaks to a reviewer"},
		{id: RuleDeceptivePath, floor: High, when: deceptivePath,
			sentence: "a path reads as another: invisible characters, letters that look like ASCII ones, odd slashes, dots or spaces"},
		{id: "executable-bit", floor: High, when: executableBit,
			sentence: "a file becomes executable, or is added as such"},
		{id: "symlink", floor: High, when: symlink,
			sentence: "a symlink is added, changed or removed"},
		{id: "submodule", floor: High, when: ofKind(Submodule),
			sentence: "a submodule moves to another commit, or its URL changes"},
		{id: "unreadable", floor: High, when: unreadable,
			sentence: "a part of the patch could not be read"},

		{id: "agent-instructions", floor: Medium, when: agentInstructions,
			sentence: "a file that coding agents take for instructions changes"},
		{id: "dependency", floor: Medium, when: ofKind(Dependency),
			sentence: "a manifest, a lock file or a registry setting changes"},
		{id: "build", floor: Medium, when: ofKind(Build), sentence: "how the program is built changes"},
		{id: "source", floor: Medium, when: ofKind(Source), sentence: "source code changes"},
		{id: "config", floor: Medium, when: ofKind(Config), sentence: "settings or data change"},
		{id: "test", floor: Medium, when: ofKind(Test),
			sentence: "tests change; they run with CI's secrets and are never skipped"},
		{id: "generated", floor: Medium, when: ofKind(Generated), sentence: "generated files change"},
		{id: "vendored", floor: Medium, when: ofKind(Vendored), sentence: "vendored code changes"},
		{id: "binary", floor: Medium, when: ofKind(Binary), sentence: "binary files change"},

		{id: "docs-only", floor: Low, when: docsOnly, sentence: "nothing but documentation changes"},
		{id: "no-files", floor: Low, when: noFiles, sentence: "the patch changes no file"},

		{id: RuleTestsRemoved, raise: true, content: true, when: testsRemoved,
			sentence: "tests are deleted or skipped while source changes"},
		{id: "large-change", raise: true, when: largeChange,
			sentence: "the source change is large: 800 lines or 40 files"},
		{id: "newcomer", raise: true, when: newcomer,
			sentence: "the author has no write access, is new here, and touches more than documentation"},
		{id: "exact-revert", accepted: true, when: exactRevert,
			sentence: "the patch restores an earlier merged state exactly; raises do not apply"},
	}
}

// policyRules describes the signals that a policy's own rules give.
func policyRules() []RuleInfo {
	return []RuleInfo{
		{ID: RuleAskPath, Floor: High, Sentence: "the policy asks a person about this path"},
		{ID: RulePolicyRule, Floor: Low, Sentence: "a rule of the policy names this path; its tier is the floor, high where it requires a review"},
	}
}

// RuleInfo describes a rule for people.
type RuleInfo struct {
	ID       string
	Floor    Tier // Low for a raise
	Raise    bool
	Content  bool   // needs a scanner's answer; without one it is listed as unknown
	Sentence string // what is the case when it fires, without a final stop
}

// RuleIDs returns every built-in rule, worst first, then the two that stand for
// the policy's own. Ids are part of the contract: they appear in checks, in the
// trail and in commands.
func RuleIDs() []RuleInfo {
	var list []RuleInfo
	for _, r := range rules() {
		list = append(list, RuleInfo{ID: r.id, Floor: r.floor, Raise: r.raise, Content: r.content, Sentence: r.sentence})
	}
	return append(list, policyRules()...)
}
