package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zricethezav/gitleaks/v8/report"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// Text is searched for credentials in chunks, so that the end of a context is
// noticed within a few hundredths of a second, each with the end of the one before
// it: a private key of 8,192 bits fits in that overlap.
const (
	chunkBytes   = 128 << 10
	chunkOverlap = 8 << 10
	maxMasks     = 1000 // secrets of one file; with more, nothing of it is shown
)

// credentials finds live-looking credentials in added lines. Its severity is
// critical where the form tells whose credential it is, and high where only the
// words around it do, where it is published already (keys of tests and in vendored
// code), or where GitHub's or a vendor's word says that it is public. It is medium
// for a placeholder, and in prose and tests for what only the words around it tell.
//
// A comment "gitleaks:allow" and the paths that gitleaks leaves out do not count:
// the patch's author writes the one and chooses the other.
func (s *scanner) credentials(src *source, report func(Finding)) (why string) {
	leaks, err := detector()
	if err != nil {
		return "the credential scanner did not start"
	}
	size := 0
	for l := range src.added(s.ctx) {
		size += len(l.text) + 1
	}
	if s.credentialBytes+size > s.lim.CredentialBytes {
		return fmt.Sprintf("over the limit of %d bytes that are searched for credentials", s.lim.CredentialBytes)
	}
	s.credentialBytes += size

	src.searched = true
	seen := map[secretAt]bool{}
	for c := range chunks(s, src, line.isAdded) {
		for _, found := range leaks.detect(s.ctx, src.path, c.text) {
			src.conceal(found)
			at := secretAt{c.where(found), found.RuleID}
			if severity := gravity(found, leaks, src.path); severity != 0 && !seen[at] {
				seen[at] = true
				report(credentialFinding(src, at, severity))
			}
		}
	}
	if why = s.late(); why != "" {
		src.searched = false
	}
	return why
}

// secretAt says by which rule of gitleaks a secret was found at which line.
type secretAt struct {
	line int
	rule string
}

func (l line) isAdded() bool { return l.added }

// credentialFinding has no part of what was found but the name of gitleaks' rule,
// and no quote.
func credentialFinding(src *source, at secretAt, severity Severity) Finding {
	f := Finding{Rule: RuleCredential, Path: src.path, Side: diff.Right, Line: at.line, Severity: severity,
		Title: "A live-looking credential: " + at.rule,
		Why:   "Whoever can read the repository, now or later, can use it; taking the line out again leaves it in the history.",
		Do:    "Revoke it where it was issued, issue another one, and keep that in a store for secrets."}
	if severity < Critical {
		f.Title = "What may be a credential: " + at.rule
		f.Do = "If it is a live one, revoke it and keep the next in a store for secrets; if not, write it so that it cannot be taken for one."
	}
	return f
}

// conceal remembers what must not be shown of a file. The whole match counts,
// line by line: which of its parts is the secret is gitleaks' guess.
func (s *source) conceal(found report.Finding) {
	for _, text := range []string{found.Match, found.Secret} {
		for piece := range strings.SplitSeq(text, "\n") {
			if piece = strings.TrimSpace(piece); piece == "" || slices.Contains(s.masks, piece) {
				continue
			}
			if len(s.masks) >= maxMasks {
				s.searched = false
				return
			}
			s.masks = append(s.masks, piece)
		}
	}
	// The longest first: a short one that is a part of it would leave the rest.
	slices.SortFunc(s.masks, func(a, b string) int { return len(b) - len(a) })
}

// gravity is how grave a match is, 0 for none at all.
func gravity(found report.Finding, leaks *leaks, path string) Severity {
	switch ownForm := isOwnForm(found.RuleID); {
	case !ownForm && leaks.ordinary(path):
		return 0 // sums in lock files and the like
	case isPlaceholder(found.Secret), !ownForm && (markupOf(path) == markupMarkdown || markupOf(path) == markupRST || risk.IsTestPath(path)):
		return Medium
	case !ownForm, found.RuleID == "private-key" && (risk.IsTestPath(path) || risk.IsVendoredPath(path)):
		return High
	}
	return Critical
}

// isOwnForm reports whether a rule of gitleaks knows a credential by its own form,
// such as a vendor's prefix, and not by the words around it.
//
// Google's API keys (gcp-api-key) have one, but are public in every web page and
// mobile application that uses them; web tokens (jwt) mostly stand in tests and
// documentation.
func isOwnForm(rule string) bool {
	switch rule {
	case "private-key", "age-secret-key", "1password-secret-key", "1password-service-account-token", "airtable-personnal-access-token",
		"alibaba-access-key-id", "anthropic-admin-api-key", "anthropic-api-key", "artifactory-api-key", "artifactory-reference-token",
		"atlassian-api-token", "aws-access-token", "aws-amazon-bedrock-api-key-long-lived", "azure-ad-client-secret",
		"clojars-api-token", "cloudflare-origin-ca-key", "databricks-api-token", "digitalocean-access-token", "digitalocean-pat",
		"digitalocean-refresh-token", "doppler-api-token", "duffel-api-token", "dynatrace-api-token", "easypost-api-token",
		"flyio-access-token", "github-app-token", "github-fine-grained-pat", "github-oauth", "github-pat", "github-refresh-token",
		"gitlab-cicd-job-token", "gitlab-deploy-token", "gitlab-pat", "gitlab-pat-routable", "gitlab-ptt", "gitlab-rrt",
		"gitlab-runner-authentication-token", "gitlab-runner-authentication-token-routable", "grafana-cloud-api-token",
		"grafana-service-account-token", "harness-api-key", "hashicorp-tf-api-token", "heroku-api-key-v2",
		"huggingface-access-token", "huggingface-organization-api-token", "linear-api-key", "microsoft-teams-webhook",
		"notion-api-token", "npm-access-token", "octopus-deploy-api-key", "openai-api-key", "perplexity-api-key",
		"planetscale-api-token", "planetscale-oauth-token", "planetscale-password", "postman-api-token", "prefect-api-token",
		"pulumi-api-token", "pypi-upload-token", "readme-api-token", "rubygems-api-token", "scalingo-api-token",
		"sendgrid-api-token", "sendinblue-api-token", "sentry-org-token", "sentry-user-token", "shippo-api-token",
		"shopify-access-token", "shopify-custom-access-token", "shopify-private-app-access-token", "shopify-shared-secret",
		"slack-app-token", "slack-bot-token", "slack-config-access-token", "slack-config-refresh-token", "slack-legacy-token",
		"slack-user-token", "slack-webhook-url", "square-access-token", "stripe-access-token", "twilio-api-key",
		"vault-batch-token", "vault-service-token":
		return true
	}
	return false
}

// isPlaceholder reports whether a secret says of itself that it is none, or none
// that is live.
func isPlaceholder(secret string) bool {
	if len(secret) > 200 {
		return false // keys are long enough to hold any short word by chance
	}
	low := strings.ToLower(secret)
	for _, word := range []string{"example", "placeholder", "changeme", "redacted", "dummy", "fake", "xxxx", "0000", "1234567", "abcdef",
		"deadbeef", "_test_", "sample", "your"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// chunk is a part of a file's text, with the lines that it is made of.
type chunk struct {
	text  string
	lines []string
	nos   []int
}

// where returns the number of the line at which a match's secret begins. Its own
// count is that of the match, which may begin on the line before.
func (c chunk) where(found report.Finding) int {
	if len(c.nos) == 0 {
		return 0
	}
	first, _, _ := strings.Cut(strings.TrimLeft(found.Secret, "\r\n"), "\n")
	start := min(max(found.StartLine, 0), len(c.lines)-1)
	for i := start; i < len(c.lines) && i <= found.EndLine+1; i++ {
		if strings.Contains(c.lines[i], first) {
			return c.nos[i]
		}
	}
	return c.nos[start]
}
