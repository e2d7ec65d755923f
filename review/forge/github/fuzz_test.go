package github

import (
	"testing"

	"github.com/countersign/countersign/review/forge"
)

// FuzzGraphQLAnswer: whatever GraphQL answers is an error or a sound value.
func FuzzGraphQLAnswer(f *testing.F) {
	f.Add([]byte(pullAnswer(f, nil)))
	f.Add([]byte(headAnswer(f, 0, 3, 3, false, map[string]any{"h0": nil, "b0": nil})))
	f.Add([]byte(`{"data":{"repository":{"pullRequest":null}},"errors":[{"type":"X"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var pull pullData
		if err := decodeGraph("op", routePull, body, &pull); err == nil {
			if p, err := pull.pull("op", pullSeven); err == nil && (!isOID(p.HeadSHA) || p.DefaultBranch == "" || p.State == "") {
				t.Errorf("accepted %+v", p)
			}
		}
		var snap snapshotData
		if err := decodeGraph("op", routeSnapshot, body, &snap); err == nil {
			s, page, err := snap.snapshot("op", headRequest(""), []string{""})
			if err == nil && (!isOID(s.HeadSHA) || (page == nil) != s.ChecksComplete) {
				t.Errorf("accepted %+v", s)
			}
		}
	})
}

// FuzzFilesAnswer: whatever the file list answers is an error or rows with a name.
func FuzzFilesAnswer(f *testing.F) {
	f.Add([]byte(files(0, 2)))
	f.Add([]byte(`[{"filename":"a","status":"renamed","previous_filename":null}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rows, err := decodeFiles("op", body)
		if err != nil {
			if !forge.IsKind(err, forge.KindMalformed) {
				t.Errorf("refused as %v", err)
			}
			return
		}
		for _, r := range rows {
			if r.Path == "" || r.Status == "" || r.Additions < 0 || (!r.HasPatch && r.Patch != "") {
				t.Errorf("accepted %+v", r)
			}
		}
	})
}
