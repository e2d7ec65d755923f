package scan

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// A block of hidden text is at most so large, in lines and bytes, before it is
// judged and another one begins with its last lines.
const (
	blockLines   = 200
	blockBytes   = 32 << 10
	overlapLines = 5
	farRight     = 100 // blanks in a row that push what follows out of sight
)

// hiddenText finds text that people do not see where it is read and that speaks
// to a reviewer. It takes both: comments in markup are ordinary, and so is the word
// "reviewer" where everyone sees it.
func (s *scanner) hiddenText(src *source, report func(Finding)) (why string) {
	b := &blocks{scanner: s, src: src, report: report, markup: markupOf(src.path)}
	for _, run := range src.runs {
		b.begin(run)
		for i, l := range run {
			if i&1023 == 0 && s.ctx.Err() != nil {
				return s.late()
			}
			b.line(l)
		}
		b.end()
	}
	if b.over {
		return fmt.Sprintf("over the limit of %d bytes of hidden text", s.lim.HiddenBytes)
	}
	return s.late()
}

// markup is what a file's readers do not see of its source.
type markup uint8

const (
	markupNone markup = iota
	markupHTML
	markupMarkdown
	markupRST
	markupAsciidoc
)

func markupOf(p string) markup {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".markdown", ".mdx", ".mdc", ".mkd", ".qmd", ".rmd", ".ipynb":
		return markupMarkdown
	case ".html", ".htm", ".xhtml", ".svg", ".xml", ".vue", ".svelte", ".astro", ".erb", ".hbs", ".jinja", ".j2", ".tmpl":
		return markupHTML
	case ".rst", ".rest":
		return markupRST
	case ".adoc", ".asciidoc", ".asc":
		return markupAsciidoc
	}
	return markupNone
}

// blocks gathers hidden text line by line.
type blocks struct {
	*scanner
	src    *source
	report func(Finding)
	markup markup
	over   bool // the budget was

	inComment bool // of HTML
	styled    int  // lines that a hiding style may still hold
	block     []line
	bytes     int
}

// begin settles whether a run of lines starts inside a comment: its first mark
// tells. A run without one is taken for text that people see, unless it is the
// whole file's.
func (b *blocks) begin(run []line) {
	b.inComment, b.styled = false, 0
	if b.src.whole {
		return
	}
	for _, l := range run {
		opens, closes := strings.Index(l.text, "<!--"), strings.Index(l.text, "-->")
		if opens >= 0 || closes >= 0 {
			b.inComment = closes >= 0 && (opens < 0 || closes < opens)
			return
		}
	}
}

var (
	linkComment = regexp.MustCompile(`^\s*\[[^\]]*\]:\s*(?:#|<>|<#>)\s*["'(]`)
	hidingStyle = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:\.0+)?\b(?:[^.]|$)|` +
		`\bcolor\s*[:=]\s*["']?(?:white\b|#fff\b|#ffffff\b|transparent)|text-indent\s*:\s*-\d{3}|<[a-z]+[^<>]*\shidden(?:[\s=>]|$)|<template\b`)
)

// line takes the hidden parts of one line into the block.
func (b *blocks) line(l line) {
	rest := l.text
	hid := false
	for rest != "" {
		if b.inComment {
			text, after, closed := strings.Cut(rest, "-->")
			b.take(l, text)
			hid, b.inComment, rest = true, !closed, after
			continue
		}
		_, after, opened := strings.Cut(rest, "<!--")
		b.inComment, rest = opened, after
	}
	if b.inComment && l.text == "" {
		hid = true
	}

	switch b.markup {
	case markupMarkdown, markupHTML:
		if b.markup == markupMarkdown && linkComment.MatchString(l.text) {
			b.take(l, l.text)
			hid = true
		}
		if len(l.text) < blockBytes && hidingStyle.MatchString(l.text) {
			b.styled = 20
		}
		if b.styled > 0 {
			b.take(l, l.text)
			hid = true
			if b.styled--; strings.Contains(l.text, "</") {
				b.styled = 0
			}
		}
	case markupRST:
		if strings.HasPrefix(l.text, ".. ") && !strings.Contains(l.text, "::") && !strings.HasPrefix(l.text, ".. _") {
			b.styled = 20
		}
		if b.styled > 0 && (strings.HasPrefix(l.text, "..") || strings.HasPrefix(l.text, " ")) {
			b.take(l, l.text)
			hid = true
			b.styled--
		} else {
			b.styled = 0
		}
	case markupAsciidoc:
		if strings.HasPrefix(l.text, "//") {
			b.take(l, l.text)
			hid = true
		}
	case markupNone:
	}
	if text := afterBlanks(l.text); text != "" {
		b.take(l, text)
		hid = true
	}
	if !plain(l.text) {
		if text := smuggled(l.text); text != "" {
			b.take(l, text)
			hid = true
		}
	}
	if !hid {
		b.end()
	}
}

// take adds a piece of hidden text to the block.
func (b *blocks) take(l line, text string) {
	for {
		piece := text
		if len(piece) > blockBytes {
			piece = piece[:blockBytes]
		}
		if b.bytes+len(piece) > blockBytes || len(b.block) >= blockLines {
			b.judge(true)
		}
		b.block = append(b.block, line{no: l.no, text: piece, added: l.added})
		b.bytes += len(piece)
		if text = text[len(piece):]; text == "" {
			return
		}
	}
}

// end closes the block.
func (b *blocks) end() { b.judge(false) }

// judge reports the block where it speaks to a reviewer and the patch adds a part
// of it. What continues keeps its last lines, so that no sentence is cut in two.
func (b *blocks) judge(continues bool) {
	if len(b.block) == 0 {
		return
	}
	block := b.block
	found := b.match(block)
	b.block, b.bytes = b.block[:0:0], 0
	if !continues || found {
		return
	}
	for _, l := range block[max(0, len(block)-overlapLines):] {
		if len(l.text) > 1<<10 {
			l.text = l.text[len(l.text)-1<<10:]
		}
		b.block = append(b.block, l)
		b.bytes += len(l.text)
	}
}

func (b *blocks) match(block []line) bool {
	first := -1
	var text strings.Builder
	for i, l := range block {
		if l.added && first < 0 {
			first = i
		}
		text.WriteString(l.text)
		text.WriteByte('\n')
	}
	if first < 0 || b.over {
		return false
	}
	if b.hiddenBytes += text.Len(); b.hiddenBytes > b.lim.HiddenBytes {
		b.over = true
		return false
	}
	if !speaksToReviewer(text.String()) {
		return false
	}
	at := where(block, first)
	b.report(Finding{Rule: RuleHiddenText, Path: b.src.path, Side: diff.Right, Line: at.no, Severity: High, Quote: at.text,
		Title: "Hidden text speaks to a reviewer",
		Why:   "People who read the file do not see the text, and a model that reviews the change does: it is an attempt to steer the review, or looks like one.",
		Do:    "Remove the text, or say it where everyone sees it."})
	return true
}

// where returns the added line of the block that says it or, where no line alone
// does, the one at which up to three begin that do.
func where(block []line, first int) line {
	for n := 1; n <= 3; n++ {
		for i := first; i < len(block); i++ {
			var text strings.Builder
			for _, l := range block[i:min(i+n, len(block))] {
				text.WriteString(l.text)
				text.WriteByte('\n')
			}
			if block[i].added && speaksToReviewer(text.String()) {
				return block[i]
			}
		}
	}
	return block[first]
}

// afterBlanks returns what stands behind so many blanks that no screen shows it.
func afterBlanks(text string) string {
	if len(text) <= farRight {
		return ""
	}
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t':
			n++
		default:
			if n >= farRight {
				return strings.TrimSpace(text[i:])
			}
			n = 0
		}
	}
	return ""
}

// smuggled decodes text that is written in characters that do not show: tags,
// which mirror ASCII, and variation selectors, which can stand for bytes.
func smuggled(text string) string {
	var tags, bytes []byte
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case in(r, 0xE0020, 0xE007E):
			tags = append(tags, byte(r-0xE0000))
		case in(r, 0xFE00, 0xFE0F):
			bytes = append(bytes, byte(r-0xFE00))
		case in(r, 0xE0100, 0xE01EF):
			bytes = append(bytes, byte(r-0xE0100+16))
		}
		i += size
	}
	if len(tags) < 4 {
		tags = nil
	}
	if len(bytes) < 4 {
		bytes = nil
	}
	return strings.TrimSpace(string(tags) + " " + string(bytes))
}

// The words are compared folded, without punctuation, one blank between two.
var (
	reviewerMisled = regexp.MustCompile(strings.Join([]string{
		`\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|guidelines|system message)\b`,
		`\b(?:you are|act as|pretend to be|behave as)\b.{0,30}\b(?:ai|llm|language model|assistant|chatbot|(?:senior|expert) (?:code )?reviewer|code review(?:er)? (?:ai|bot|model|assistant)|coding agent)\b`,
		`\b(?:approve|accept|rubber stamp|sign off on) (?:this|these|the) (?:pr|pull request|changes?|patch|diff|commit|code|review)\b`,
		`\b(?:do not|don t|must not|never|should not) (?:report|flag|mention|raise|comment on) (?:on )?(?:any |this |these |the |it )?(?:security )?(?:as )?(?:an? )?` +
			`(?:issues?|findings?|vulnerabilit|problems?|bugs?|defects?|backdoor|file|function|code|changes?)`,
		`\b(?:report|return|output|find) (?:no|zero|an empty list of|empty) (?:issues|findings|problems|vulnerabilities|bugs|defects|comments)\b`,
		`\b(?:verdict|decision|conclusion) (?:is|must be|should be|to) (?:approved?|success|pass|lgtm)\b`,
		`\bsystem prompt\b`,
	}, "|"))
	toModel = regexp.MustCompile(`\b(?:ai|llms?|language models?|gpt(?: ?\d\w*)?|chatgpt|claude|gemini|copilot|codex|countersign|coderabbit|` +
		`ai (?:agents?|assistants?|reviewers?)|coding agents?|automated review(?:er|ers|s)?|review (?:tools?|bots?|models?|agents?)|assistants?)\b`)
	demand = regexp.MustCompile(`\b(?:approve|lgtm|mark (?:this|it|as)|do not (?:review|reject|block|inspect|analy[sz]e|report|flag|mention)|` +
		`don t (?:review|reject|block|inspect|report|flag|mention)|skip (?:this|the|reviewing)|respond (?:with|only)|reply (?:with|only)|` +
		`already (?:been )?(?:reviewed|approved|audited)|safe to merge|no issues|no findings|looks good)\b`)
)

// speaksToReviewer reports whether a text gives a model that reviews the change
// something to do, or assures it.
func speaksToReviewer(text string) bool {
	words := foldWords(text)
	return reviewerMisled.MatchString(words) || toModel.MatchString(words) && demand.MatchString(words)
}

// foldWords folds a text to words with one blank between two.
func foldWords(text string) string {
	var b strings.Builder
	gap := false
	blanks := func(r rune) rune { // folding drops what does not show, and a line end must part words
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}
	for _, r := range risk.Fold(strings.Map(blanks, text)) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}
