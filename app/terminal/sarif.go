package terminal

import (
	"io"
	"net/url"
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/countersign/countersign/review/publish"
)

// informationURI is what SARIF's readers show beside the tool's name.
const informationURI = "https://github.com/countersign/countersign"

// fingerprint is the name of our finding keys in SARIF. The number changes with
// how they are made.
const fingerprint = "countersignFindingKey/v1"

// WriteSARIF writes the findings as SARIF 2.1.0, which code scanning takes. What a
// finding in a line that was removed says stands on its file: SARIF knows one side
// only.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	run := sarif.NewRunWithInformationURI("countersign", informationURI)
	run.Tool.Driver.Version = &version
	run.WithColumnKind("unicodeCodePoints")
	rules := make(map[string]int)
	for _, f := range r.Findings {
		if _, known := rules[f.Rule]; !known {
			rules[f.Rule] = len(rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarif.NewReportingDescriptor().WithID(f.Rule).WithName(f.Rule))
		}
		run.AddResult(resultOf(f, rules[f.Rule]))
	}
	// A search that was not finished must not close the alerts of one that was.
	run.AddInvocation(sarif.NewInvocation().WithExecutionSuccessful(r.searched))
	report := sarif.NewReport()
	report.AddRun(run)
	return report.PrettyWrite(w)
}

func resultOf(f Finding, rule int) *sarif.Result {
	at := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI((&url.URL{Path: f.Path}).String()))
	if f.Line > 0 && f.Side == "RIGHT" {
		at = at.WithRegion(sarif.NewRegion().WithStartLine(f.Line))
	}
	text := publish.Visible(f.Title + ". " + f.Why + " " + f.Do)
	return sarif.NewResult().WithRuleID(f.Rule).WithRuleIndex(rule).WithLevel(sarifLevel(f.Severity)).
		WithMessage(sarif.NewTextMessage(text)).
		WithLocations([]*sarif.Location{sarif.NewLocation().WithPhysicalLocation(at)}).
		WithPartialFingerprints(map[string]string{fingerprint: f.Key})
}

func sarifLevel(severity string) string {
	switch {
	case slices.Contains([]string{"critical", "high"}, severity):
		return "error"
	case severity == "medium":
		return "warning"
	}
	return "note"
}
