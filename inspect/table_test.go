package inspect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const (
	// The records are in the order of the hashes of their ids.
	notesCSV = `ID,Title,Tags,Email,Views
n3,Moss,"[""woods""]",***,0
n2,Snow,"[""hills"",""sea""]",***,0
n1,Tides,"[""sea""]",***,7
`
	notesJSON = `{"ID":"n3","Title":"Moss","Tags":["woods"],"Email":"","Views":0}
{"ID":"n2","Title":"Snow","Tags":["hills","sea"],"Email":"","Views":0}
{"ID":"n1","Title":"Tides","Tags":["sea"],"Email":"ann@example.org","Views":7}
`
)

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s: want\n%sgot\n%s", path, want, got)
	}
}

func TestTable_HasTheFieldsInTheirOrderAndPrivateOnesMasked(t *testing.T) {
	mem, dir := furnished(t), t.TempDir()
	one, all := filepath.Join(dir, "notes.csv"), filepath.Join(dir, "tables")
	run(t, mem, "export", one, "Note", "--format=csv").wantOut(t, 0, "Note: 3 records\n")
	wantFile(t, one, notesCSV)
	run(t, mem, "export", all, "--format=jsonl", "--private").wantOut(t, 0, "Note: 3 records\n")
	wantFile(t, filepath.Join(all, "Note.jsonl"), notesJSON)
	run(t, mem, "export", "-", "--format=csv").wantOut(t, 0, notesCSV)
	run(t, mem, "export", all, "--format=csv").want(t, 5, "exists")
	run(t, mem, "export", filepath.Join(dir, "none"), "--format=csv", "--dry-run").wantOut(t, 0, "dry run: Note of test://here would be written to "+filepath.Join(dir, "none")+"\n")
	run(t, mem, "import", one, "--yes").want(t, 1, "not a complete export: it does not begin as an export does")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestTable_ADamagedRecordIsNamedAndLeavesNoFile(t *testing.T) {
	mem, dir := furnished(t), t.TempDir()
	proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet("r:Note:n2", []byte("?"))))
	run(t, mem, "export", filepath.Join(dir, "all"), "--format=csv").want(t, 1, "n2", "repair or delete it first")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

type oldNote struct{ ID, Title, Color string }

func TestTable_ARecordOfAnEarlierVersionIsAsThisOneHasIt(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	db := open(t, shared(mem))
	old := kvmodel.NewRecords(db, kvmodel.Schema[oldNote, string]{
		Name: "Note", Version: 1, ID: func(n *oldNote) string { return n.ID }, SetID: func(n *oldNote, id string) { n.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[oldNote]{},
	})
	must(t, old.Create(t.Context(), &oldNote{"n1", "Old", "red"}))
	must(t, db.Close(t.Context()))
	run(t, mem, "export", "-", "--format=csv").wantOut(t, 0, "ID,Title,Tags,Email,Views\nn1,Old,,***,0\n")
}
