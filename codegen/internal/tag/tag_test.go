package tag

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse_ReadsEveryClause(t *testing.T) {
	for _, c := range []struct {
		text string
		site Site
		want []Clause
	}{
		{"id", OnField, []Clause{{Word: "id"}}},
		{"-", OnField, []Clause{{Word: "-"}}},
		{"unique;private", OnField, []Clause{{Word: "unique"}, {Word: "private", Offset: 7}}},
		{"unique=SitePath", OnField, []Clause{{Word: "unique", Value: "SitePath"}}},
		{"count=Story.Points", OnField, []Clause{{Word: "count", Value: "Story.Points"}}},
		{
			"timeline,by=Author,ring=100,segment=1,shards=4", OnField,
			[]Clause{{Word: "timeline", Options: []Option{
				{"by", "Author", 9}, {"ring", "100", 19}, {"segment", "1", 28}, {"shards", "4", 38},
			}}},
		},
		{
			" id , seq ; unique = SitePath,name= BySite ", OnField,
			[]Clause{
				{Word: "id", Offset: 1, Options: []Option{{"seq", "", 6}}},
				{Word: "unique", Value: "SitePath", Offset: 12, Options: []Option{{"name", "BySite", 30}}},
			},
		},
		{
			"counter; ranking; ranking,by=Category,per=day,keep=30", OnField,
			[]Clause{
				{Word: "counter"},
				{Word: "ranking", Offset: 9},
				{Word: "ranking", Offset: 18, Options: []Option{{"by", "Category", 26}, {"per", "day", 38}, {"keep", "30", 46}}},
			},
		},
		{
			"model,name=Page,plural=Pages,version=2,if=Live,history=50,was=Old", OnModel,
			[]Clause{{Word: "model", Options: []Option{
				{"name", "Page", 6}, {"plural", "Pages", 16}, {"version", "2", 29},
				{"if", "Live", 39}, {"history", "50", 47}, {"was", "Old", 58},
			}}},
		},
		{
			"events,by=Owner,once=Guest,keep=100,layout=packed,ttl=24h", OnModel,
			[]Clause{{Word: "events", Options: []Option{
				{"by", "Owner", 7}, {"once", "Guest", 16}, {"keep", "100", 27}, {"layout", "packed", 36}, {"ttl", "24h", 50},
			}}},
		},
		{
			"ranking,order=low,ties=shared,scale=2,if=Live", OnMethod,
			[]Clause{{Word: "ranking", Options: []Option{{"order", "low", 8}, {"ties", "shared", 18}, {"scale", "2", 30}, {"if", "Live", 38}}}},
		},
	} {
		got, faults := Parse(c.text, c.site)
		for _, fault := range faults {
			t.Errorf("Parse(%q): %v", c.text, *fault)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Clause{})); diff != "" {
			t.Errorf("Parse(%q): mismatch (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct {
		text   string
		site   Site
		offset int
		want   string
	}{
		{"", OnField, 0, "an empty clause; known: id, unique"},
		{"id;", OnField, 3, "an empty clause"},
		{";id", OnField, 0, "an empty clause"},
		{"id; ;version", OnField, 4, "an empty clause"},
		{"id,", OnField, 3, "an empty option of id"},
		{"idd", OnField, 0, `unknown word "idd"; did you mean "id"?`},
		{"zebra", OnField, 0, `unknown word "zebra"; known: id`},
		{"ID", OnField, 0, `unknown word "ID"; did you mean "id"?`},
		{"unique,fi=Live", OnField, 7, `unknown option "fi" of unique; did you mean "if"?`},
		{"created,if=Live", OnField, 8, `unknown option "if" of created; there are none`},
		{"unique,private", OnField, 7, "private is not an option of unique but a word of its own, after a semicolon: unique; private"},
		{"unique,private", OnMethod, 7, `unknown option "private" of unique; known`},
		{"list,for=720h", OnField, 5, "for is not an option of list but of unique"},
		{"for=720h", OnField, 0, "for is not a word but an option of unique, after a comma"},
		{"unique,for=0s", OnField, 7, "want a duration of at least a second"},
		{"unique,for=-1h", OnMethod, 7, "want a duration of at least a second"},
		{"id=3", OnField, 0, "id takes no value"},
		{"id=", OnField, 0, "id takes no value"},
		{"id,seq=1", OnField, 3, "seq takes no value"},
		{"unique=", OnField, 0, "unique wants a value: unique=Group"},
		{"count", OnField, 0, "count wants a value: count=Model.Field"},
		{"count=Story.points", OnField, 0, "want the counter to follow as Model.Field"},
		{"unique,name", OnField, 7, "name wants a value: name=Name"},
		{"unique,name=", OnField, 7, "name wants a value: name=Name"},
		{"unique,name=type", OnField, 7, "it is a keyword of Go"},
		{"unique,name=By Slug", OnField, 7, "want a Go name that starts with a capital letter"},
		{"unique,name=A=B", OnField, 7, "want a Go name that starts with a capital letter"},
		{"unique,name=A,name=A", OnField, 14, "name is given twice"},
		{"id;id", OnField, 3, "id is given twice"},
		{"model", OnField, 0, "model goes on the field _ struct{}, not on a field"},
		{"id", OnModel, 0, "id goes on a field, not on the field _ struct{}"},
		{"counter", OnMethod, 0, "counter goes on a field, not on a method"},
		{"events", OnMethod, 0, "events goes on the field _ struct{}, not on a method"},
		{"model,version=0", OnModel, 6, "want a number from 1 to"},
		{"model,version=02", OnModel, 6, "want a number from 1 to"},
		{"model,version=-1", OnModel, 6, "want a number from 1 to"},
		{"model,version=99999999999999999999", OnModel, 6, "want a number from 1 to"},
		{"ranking,per=fortnight", OnField, 8, "known: hour, day, week, month"},
		{"events,ttl=1", OnModel, 7, "want a duration"},
		{"events,ttl=1ms", OnModel, 7, "want a duration of at least a second"},
		{"unique;\x00", OnField, 7, `unknown word "\x00"`},
	} {
		_, faults := Parse(c.text, c.site)
		if len(faults) == 0 {
			t.Errorf("Parse(%q) finds no fault, want one", c.text)
		} else if fault := faults[0]; fault.Offset != c.offset || !strings.Contains(fault.Message, c.want) {
			t.Errorf("Parse(%q) = %v, want offset %d: %s", c.text, *fault, c.offset, c.want)
		}
	}
}

func TestParse_FaultyClauseLeavesTheOthers(t *testing.T) {
	got, faults := Parse("id; idd; version; unique,x", OnField)
	if len(faults) != 2 {
		t.Errorf("want two faults, got %v", faults)
	}
	var words []string
	for _, c := range got {
		words = append(words, c.Word)
	}
	if diff := cmp.Diff([]string{"id", "version"}, words); diff != "" {
		t.Errorf("mismatch (-want +got)\n%s", diff)
	}
}

func TestOfField_FindsTextAndPlaces(t *testing.T) {
	for _, c := range []struct {
		literal, text string
		at            []int
	}{
		{"`kv:\"id\"`", "id", []int{5, 6, 7}},
		{"`json:\"x,omitempty\" kv:\"id\" xml:\"y\"`", "id", []int{24, 25, 26}},
		{`"kv:\"id\""`, "id", []int{6, 7, 8}},
		{`"\x6bv:\"i\x64\""`, "id", []int{9, 10, 14}},
		{"`kv:\"\\x69d\"`", "id", []int{5, 9, 10}},
		{"`kv:\"é\"`", "é", []int{5, 6, 7}},
		{"`  kv:\"\"`", "", []int{7}},
	} {
		got, ok, fault := OfField(&ast.BasicLit{ValuePos: 1, Kind: token.STRING, Value: c.literal})
		if !ok || fault != nil || got.Text != c.text {
			t.Errorf("OfField(%s) = %q, %v, %v, want %q", c.literal, got.Text, ok, fault, c.text)
		}
		if diff := cmp.Diff(c.at, got.at); diff != "" {
			t.Errorf("OfField(%s): mismatch of places (-want +got)\n%s", c.literal, diff)
		}
	}
}

func TestOfField_NoKVIsNoTag(t *testing.T) {
	for _, literal := range []string{"``", `""`, "`json:\"kv\"`", "`json`", "`xkv:\"id\"`", "`json: \"x\"`"} {
		if _, ok, fault := OfField(&ast.BasicLit{ValuePos: 1, Value: literal}); ok || fault != nil {
			t.Errorf("OfField(%s) = %v, %v, want none", literal, ok, fault)
		}
	}
	if _, ok, fault := OfField(nil); ok || fault != nil {
		t.Errorf("OfField(nil) = %v, %v, want none", ok, fault)
	}
}

func TestOfField_MalformedIsAFault(t *testing.T) {
	for literal, offset := range map[string]int{
		"`kv: \"id\"`":              1,
		"`kv:id`":                   1,
		"`json:\"a\" kv:\"id`":      10,
		"`json:a kv:\"id\"`":        1,
		"`kv:\"id\" kv:\"unique\"`": 9,
	} {
		text, ok, fault := OfField(&ast.BasicLit{ValuePos: 1, Value: literal})
		if ok || fault == nil {
			t.Errorf("OfField(%s) = %v, %v, want a fault", literal, ok, fault)
		} else if got := int(text.Pos(fault.Offset)) - 1; got != offset {
			t.Errorf("OfField(%s): fault at %d, want %d", literal, got, offset)
		}
	}
}

// Every fault lies within the text, and an accepted tag means the same when it is written out
// again.
func FuzzTag(f *testing.F) {
	for _, text := range []string{
		"id,seq", "unique=SitePath,name=BySite,if=Live,was=Old", "list,hot=4; count=Story.Points",
		"timeline,by=Author,ring=9", "counter,batch=window; ranking,per=day,keep=30,order=low",
		"unique; private", "model,version=2,plural=People", "events,by=Owner,ttl=24h", "-", ";;,=,", "unique,name==", "\xff=\x00",
	} {
		for _, site := range []Site{OnField, OnModel, OnMethod} {
			f.Add(text, int(site))
		}
	}
	f.Fuzz(func(t *testing.T, text string, site int) {
		clauses, faults := Parse(text, Site(site))
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset > len(text) {
				t.Fatalf("Parse(%q): %v lies outside", text, *fault)
			}
		}
		if faults != nil {
			return
		}
		again, faults := Parse(written(clauses), Site(site))
		if faults != nil {
			t.Fatalf("Parse(%q) is accepted, but not %q: %v", text, written(clauses), faults)
		}
		places := cmpopts.IgnoreFields(Clause{}, "Offset", "word")
		if diff := cmp.Diff(clauses, again, places, cmpopts.IgnoreFields(Option{}, "Offset")); diff != "" {
			t.Fatalf("Parse(%q): mismatch when written again (-want +got)\n%s", text, diff)
		}
	})
}

func written(clauses []Clause) string {
	var parts []string
	for _, c := range clauses {
		part := assignment(c.Word, c.Value)
		for _, o := range c.Options {
			part += "," + assignment(o.Name, o.Value)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";")
}

func assignment(name, value string) string {
	if value == "" {
		return name
	}
	return name + "=" + value
}
