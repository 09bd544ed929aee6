package boltkv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func textOf(all []kv.Finding) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(string(f.Is) + " " + f.Text + "\n")
	}
	return b.String()
}

func TestFindings_SayWhatACrashTakesAndWhatIsFree(t *testing.T) {
	dir := t.TempDir()
	for durability, want := range map[Durability]string{
		Synced:   "ok each write is on the disk before it is answered",
		Periodic: "warning a crash of the machine loses the last writes (durability=periodic)",
	} {
		s := need(Open(filepath.Join(dir, durability.String()), Options{Durability: durability}))
		got := textOf(kv.PowersOf(s).Findings(t.Context()))
		for _, text := range []string{want, dir, "it is not shipped"} {
			proof.Contains(t, got, text)
		}
		closes(t, s)
	}
}

func TestRoom_LittleOfItOrAFileSystemThatIsUnfitHurts(t *testing.T) {
	for _, test := range []struct {
		room room
		want string
	}{
		{room{free: 2 << 30}, "ok /srv has 2147 MB free, and the file takes 1000 MB\n"},
		{room{free: 1 << 30}, "warning /srv has 1073 MB free, and the file takes 1000 MB: a backup beside it would not fit, and soon no write; make room\n"},
		{room{2 << 30, "NFS", "it is far"}, "warning /srv is on NFS: it is far; put the file on a local disk\nok /srv has 2147 MB free, and the file takes 1000 MB\n"},
	} {
		if got := textOf(test.room.judge("/srv", 1e9)); got != test.want {
			t.Errorf("want\n%sgot\n%s", test.want, got)
		}
	}
}

func TestRoom_OfAFolderThatIsNotThereIsAnError(t *testing.T) {
	if r, err := roomIn(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("got %+v", r)
	}
}

func TestFindings_OfAFolderThatCannotBeReachedAreNotFine(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "file")
	must(os.WriteFile(inTheWay, nil, 0o600))
	s := need(Open(filepath.Join(dir, "s.db"), Options{}))
	defer startShip(t, s, Dir(filepath.Join(inTheWay, "folder")))()
	for s.Stats().Shipping.Trouble == nil {
		time.Sleep(time.Millisecond)
	}
	got := textOf(kv.PowersOf(s).Findings(t.Context()))
	if !strings.Contains(got, "warning it cannot be shipped to its folder: ") || strings.Contains(got, "ok it is shipped") {
		t.Errorf("it cannot be shipped, and the findings are\n%s", got)
	}
}
