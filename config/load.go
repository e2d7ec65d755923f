package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// Sources says where settings are read from. The zero value reads nothing.
type Sources struct {
	// Env looks a variable up (os.LookupEnv).
	Env func(string) (string, bool)
	// File is the path of the YAML file; empty: COUNTERSIGN_CONFIG, or none.
	File string
	// Without names required settings that the caller has no use for.
	Without []string
}

// Fault is one thing wrong with the settings.
type Fault struct {
	Name    string // the setting
	Where   string // "environment", or file:line
	Problem string // what is wrong and what would be right; never a secret
}

func (f Fault) String() string {
	s := f.Name
	if f.Where != "" {
		s += " (" + f.Where + ")"
	}
	return s + ": " + f.Problem
}

// FaultsError reports all faults at once.
type FaultsError struct{ Faults []Fault }

func (e *FaultsError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return "settings: " + strings.Join(lines, "\nsettings: ")
}

// maxFile bounds the settings file and each secret's file: both are a few
// lines.
const maxFile = 64 << 10

// value is a setting's text and where it stood; a broken one was reported
// already.
type value struct {
	text, where string
	broken      bool
}

// Load reads the settings. The environment wins over the file, a secret's own
// variable over its *_FILE. The error is a *FaultsError that names everything
// that is wrong.
func Load(src Sources) (Settings, error) {
	l := loader{env: src.Env, rows: table()}
	if l.env == nil {
		l.env = func(string) (string, bool) { return "", false }
	}
	path := src.File
	if path == "" {
		path, _ = l.env("COUNTERSIGN_CONFIG")
	}
	inFile := l.readFile(path)

	var s Settings
	for _, row := range l.rows {
		v, ok := l.find(row, inFile)
		switch {
		case !ok && row.required && slices.Contains(src.Without, row.name):
		case !ok && row.required:
			l.fault(row.name, "", missing(row))
		case ok && !v.broken:
			if err := row.set(&s, v.text); err != nil {
				l.fault(row.name, v.where, err.Error())
			}
		}
	}
	if len(l.faults) > 0 {
		return Settings{}, &FaultsError{Faults: l.faults}
	}
	return s, nil
}

func missing(row setting) string {
	s := "is not set; want " + row.doc
	if row.secret {
		s += " (or " + row.name + "_FILE, the path of a file that holds it)"
	}
	return s
}

type loader struct {
	env    func(string) (string, bool)
	rows   []setting
	faults []Fault
}

func (l *loader) fault(name, where, problem string) {
	l.faults = append(l.faults, Fault{Name: name, Where: where, Problem: problem})
}

// find returns a setting's value from the first source that has it. An empty
// environment variable counts as absent, as compose files write them.
func (l *loader) find(row setting, inFile map[string]value) (value, bool) {
	if v, ok := l.env(row.name); ok && v != "" {
		return value{text: v, where: "environment"}, true
	}
	if row.secret {
		if path, ok := l.env(row.name + "_FILE"); ok && path != "" {
			return l.secretFile(row, path, "environment"), true
		}
	}
	if v, ok := inFile[row.name]; ok {
		return v, true
	}
	if row.secret {
		if v, ok := inFile[row.name+"_FILE"]; ok {
			return l.secretFile(row, v.text, v.where), true
		}
	}
	if row.fallback != "" {
		return value{text: row.fallback, where: "default"}, true
	}
	return value{}, false
}

func (l *loader) secretFile(row setting, path, where string) value {
	b, err := readBounded(path)
	if err != nil {
		// The path may be the secret itself, pasted into the wrong variable.
		reason := err
		if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
			reason = wrong.Err
		}
		l.fault(row.name+"_FILE", where, fmt.Sprintf("cannot be read: %v; want the path of a file, not the secret itself", reason))
		return value{broken: true}
	}
	return value{text: strings.TrimRight(string(b), "\r\n"), where: where + ", in a file"}
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return b, nil
}

// readFile reads the YAML file: one mapping from a setting's name, in lower
// case, to a plain value.
func (l *loader) readFile(path string) map[string]value {
	if path == "" {
		return nil
	}
	b, err := readBounded(path)
	if err != nil {
		l.fault("COUNTERSIGN_CONFIG", "", fmt.Sprintf("read it: %v", err))
		return nil
	}
	return l.decode(path, b)
}

func (l *loader) decode(path string, b []byte) map[string]value {
	dec := yaml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(b), "\ufeff")))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			l.fault("COUNTERSIGN_CONFIG", path, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		return nil
	}
	if dec.Decode(&yaml.Node{}) == nil {
		l.fault("COUNTERSIGN_CONFIG", path, "holds several documents; want one")
		return nil
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		l.fault("COUNTERSIGN_CONFIG", path, "want a mapping of settings, such as listen_addr: \":8080\"")
		return nil
	}
	return l.mapping(path, doc.Content[0].Content)
}

func (l *loader) mapping(path string, pairs []*yaml.Node) map[string]value {
	out := make(map[string]value)
	for i := 0; i+1 < len(pairs); i += 2 {
		k, v := pairs[i], pairs[i+1]
		name, where := strings.ToUpper(k.Value), fmt.Sprintf("%s:%d", path, k.Line)
		switch _, twice := out[name]; {
		case !l.known(name):
			l.fault(k.Value, where, "unknown setting"+didYouMean(k.Value, l.keys()))
		case twice:
			l.fault(k.Value, where, "is set twice")
		case v.Kind != yaml.ScalarNode || v.Tag == "!!null":
			l.fault(k.Value, where, "want a plain value")
		default:
			out[name] = value{text: v.Value, where: where}
		}
	}
	return out
}

func (l *loader) known(name string) bool {
	for _, r := range l.rows {
		if name == r.name || (r.secret && name == r.name+"_FILE") {
			return true
		}
	}
	return false
}

func (l *loader) keys() []string {
	var out []string
	for _, r := range l.rows {
		out = append(out, strings.ToLower(r.name))
		if r.secret {
			out = append(out, strings.ToLower(r.name)+"_file")
		}
	}
	return out
}

// didYouMean names the nearest key when it is near enough to be a slip.
func didYouMean(got string, keys []string) string {
	if at, _ := nearest(got, keys); at != "" {
		return fmt.Sprintf(" (did you mean %q?)", at)
	}
	return ""
}

// nearest is the key that is fewest letters away, at most three.
func nearest(got string, keys []string) (key string, away int) {
	away = 4
	for _, k := range keys {
		if d := levenshtein.ComputeDistance(strings.ToLower(got), strings.ToLower(k)); d < away {
			key, away = k, d
		}
	}
	return key, away
}
