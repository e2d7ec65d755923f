package demo

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/countersign/countersign/app/githubsim"
)

// printer writes what GitHub would show, for a terminal.
type printer struct {
	w     io.Writer
	color bool
}

// Colours, by meaning.
const (
	green = "32"
	red   = "31"
	amber = "33"
	grey  = "90"
	bold  = "1"
)

func (p *printer) paint(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *printer) heading(n int, name, about string) {
	p.line("\n%s", p.paint(bold, fmt.Sprintf("%d. %s", n, name)))
	p.line("   %s", p.paint(grey, about))
}

func (p *printer) event(format string, args ...any) {
	p.line("   %s", p.paint(grey, "… "+fmt.Sprintf(format, args...)))
}

// check prints a check run as its reader meets it: icon, name, title, then the
// text.
func (p *printer) check(run githubsim.CheckRun, pull *githubsim.Pull) {
	p.line("")
	p.title(run)
	for line := range strings.Lines(plain(run.Output.Summary)) {
		p.line("     │ %s", strings.TrimRight(line, "\n"))
	}
	if run.HeadSHA != pull.HeadSHA() {
		return
	}
	if blocked := pull.MergeBlockedBy(); len(blocked) > 0 {
		p.line("     %s", p.paint(red, "merging is blocked by: "+strings.Join(blocked, ", ")))
		return
	}
	p.line("     %s", p.paint(green, "GitHub lets it be merged"))
}

// thread prints a comment on a line with its answers, the first line of each.
func (p *printer) thread(t githubsim.ReviewThread) {
	for i, c := range t.Comments {
		first, _, _ := strings.Cut(plain(c.Body), "\n")
		if i == 0 {
			p.line("   %s %s  %s", p.paint(amber, "✎"), p.paint(bold, fmt.Sprintf("%s:%d", c.Path, c.OriginalLine)), first)
		} else {
			p.line("     ↳ %s", first)
		}
	}
}

// title prints a check run's line in GitHub's list.
func (p *printer) title(run githubsim.CheckRun) {
	icon, code, state := "●", amber, run.Conclusion
	switch run.Conclusion {
	case "success":
		icon, code = "✓", green
	case "failure":
		icon, code = "✗", red
	case "action_required":
		icon = "!"
	case "cancelled", "neutral":
		icon, code = "■", grey
	case "":
		state = run.Status
	}
	p.line("   %s %s  %s  %s", p.paint(code, icon), p.paint(bold, run.Name), p.paint(code, run.Output.Title), p.paint(grey, "("+state+" on "+run.HeadSHA[:7]+")"))
}

// plain turns the summary's Markdown into text: what GitHub renders as bold,
// code, a table or a fold is still readable without it.
func plain(md string) string {
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	tag := regexp.MustCompile(`</?(details|summary|sub|code|br|p)>`)
	var out []string
	for line := range strings.Lines(md) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "|--") || line == "| | |" {
			continue
		}
		if strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			line = fmt.Sprintf("%-9s %s", strings.TrimSpace(cells[0]), strings.Join(cells[1:], " "))
		}
		line = strings.ReplaceAll(line, "<summary>", "▸ ")
		line = tag.ReplaceAllString(link.ReplaceAllString(line, "$1"), "")
		line = html.UnescapeString(strings.NewReplacer("**", "", "`", "", `\`, "").Replace(line))
		if strings.TrimSpace(line) == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
