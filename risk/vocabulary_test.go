package risk

import (
	"encoding/json"
	"testing"
)

func TestVocabularyRoundTrip(t *testing.T) {
	type doc struct {
		Tier  Tier
		Kind  Kind
		Tri   Tri
		Kinds Kinds
	}
	for tier := Low; tier <= Critical; tier++ {
		for kind := NoKind; kind < kindEnd; kind++ {
			want := doc{tier, kind, Tri(tier % 3), KindsOf(kind, Auth)}
			b, err := json.Marshal(want)
			var got doc
			if err == nil {
				err = json.Unmarshal(b, &got)
			}
			if err != nil || got != want {
				t.Fatalf("%+v: %s: %+v, %v", want, b, got, err)
			}
		}
	}
	if b, _ := json.Marshal(KindsOf(Secrets, Source)); string(b) != `["source","secrets"]` {
		t.Errorf("kinds as JSON: %s", b)
	}
	for _, bad := range []string{`{"Tier":"LOW"}`, `{"Tier":"urgent"}`, `{"Kind":"autH"}`, `{"Tri":"maybe"}`, `{"Kinds":["x"]}`, `{"Kinds":"auth"}`} {
		if err := json.Unmarshal([]byte(bad), &doc{}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	for _, bad := range []any{Tier(9), Kind(99), Tri(7)} {
		if _, err := json.Marshal(bad); err == nil {
			t.Errorf("%v is written", bad)
		}
	}
}
