package review

import (
	"encoding"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/countersign/countersign/risk"
)

// goodFacts are facts at high tier against which no rule holds.
func goodFacts() Facts {
	return Facts{
		Tier: risk.High, Clearance: ClearanceClear, Policy: PolicyGood, Intent: IntentStated,
		Collected: CollectedAll, Artifacts: ArtifactsHeld, CI: CIPassed, Review: ReviewApproved,
		Independence: IndependenceStrong, Confidence: ConfidenceOK, Coverage: CoverageAll,
		Standing: FindingsNone, Scan: FindingsNone, Panel: PanelAgree,
	}
}

func TestFactsAreClosedEnums(t *testing.T) {
	facts := reflect.TypeFor[Facts]()
	if got := facts.NumField(); got != dimensions {
		t.Errorf("Facts has %d fields, the space of the invariants has %d: add the new fact to both", got, dimensions)
	}
	marshaler := reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler := reflect.TypeFor[encoding.TextUnmarshaler]()
	for field := range facts.Fields() {
		if field.Type.Kind() != reflect.Uint8 {
			t.Errorf("%s is a %s: facts are closed enums, no text, no number, no list, no pointer", field.Name, field.Type.Kind())
		}
		if !field.Type.Implements(marshaler) || !reflect.PointerTo(field.Type).Implements(unmarshaler) {
			t.Errorf("%s has no text form", field.Name)
		}
	}
}

// TestEveryValueHasAName walks each enum through its text and back, and refuses
// the first value after the last.
func TestEveryValueHasAName(t *testing.T) {
	facts := reflect.TypeFor[Facts]()
	size := sizes()
	types := map[reflect.Type]int{
		reflect.TypeFor[Decision]():      int(Approved),
		reflect.TypeFor[Next]():          int(NextNobody),
		reflect.TypeFor[State]():         int(StateSuperseded),
		reflect.TypeFor[Conclusion]():    int(ConclusionCancelled),
		reflect.TypeFor[Severity]():      int(SeverityCritical),
		reflect.TypeFor[FindingSource](): int(FromScan),
		reflect.TypeFor[CoverageState](): int(FileSkipped),
		reflect.TypeFor[SkipReason]():    int(SkipOmitted),
	}
	for d := range dimensions {
		if d != dTier { // risk's own, with its own test
			types[facts.Field(d).Type] = int(size[d])
		}
	}
	for typ, last := range types {
		seen := map[string]bool{}
		for n := 0; n <= last; n++ {
			v := reflect.New(typ)
			v.Elem().SetUint(uint64(n))
			text, err := json.Marshal(v.Interface())
			if err != nil || seen[string(text)] || (n > 0) == (string(text) == `""`) {
				t.Errorf("%s %d is written as %s, %v", typ.Name(), n, text, err)
			}
			seen[string(text)] = true
			back := reflect.New(typ)
			if err := json.Unmarshal(text, back.Interface()); err != nil || back.Elem().Uint() != uint64(n) {
				t.Errorf("%s %s is read as %d, %v", typ.Name(), text, back.Elem().Uint(), err)
			}
		}
		v := reflect.New(typ)
		v.Elem().SetUint(uint64(last) + 1)
		if _, err := json.Marshal(v.Interface()); err == nil {
			t.Errorf("%s %d has no name and was written", typ.Name(), last+1)
		}
		if err := json.Unmarshal([]byte(`"no such value"`), v.Interface()); err == nil {
			t.Errorf("%s accepts an unknown name", typ.Name())
		}
	}
}

func TestValidFacts(t *testing.T) {
	if !goodFacts().valid() {
		t.Error("good facts are invalid")
	}
	size := sizes()
	for d := range dimensions {
		for _, n := range []uint64{0, uint64(size[d]) + 1, 255} {
			if d == dTier && n == 0 {
				continue // low
			}
			f := goodFacts()
			reflect.ValueOf(&f).Elem().Field(d).SetUint(n)
			if f.valid() {
				t.Errorf("fact %d with value %d is valid", d, n)
			}
			if got := Decide(f); got.Decision > NeedsHuman || got.Satisfies {
				t.Errorf("fact %d with value %d gives %s", d, n, got.Decision)
			}
		}
	}
	if got := Decide(Facts{}); got.Decision == Approved || got.Satisfies {
		t.Errorf("the zero facts give %s", got.Decision)
	}
}
