package publish

// Visible is a text from outside on one line, with everything that shows nothing
// or changes how the rest is shown spelled out: for places that read no Markdown,
// such as a terminal.
func Visible(s string) string { return visible(s) }
