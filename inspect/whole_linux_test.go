package inspect

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// asNobody runs f without the rights of root, whom no file mode keeps out, on a thread that
// ends with it.
func asNobody(f func()) {
	var done sync.WaitGroup
	done.Go(func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			if err := syscall.Setfsuid(65534); err != nil {
				panic(err)
			}
		}
		f()
	})
	done.Wait()
}

func TestWriteWhole_AFileWhoseNameIsNotOnTheDiskIsAnError(t *testing.T) {
	dir := t.TempDir()
	for up, mode := dir, fs.FileMode(0o333); up != os.TempDir() && up != "/"; up, mode = filepath.Dir(up), 0o755 {
		proof.Must(t, os.Chmod(up, mode))
	}
	defer os.Chmod(dir, 0o755)
	asNobody(func() {
		err := writeWhole(filepath.Join(dir, "backup"), func(*os.File) error { return nil }, nil)
		proof.Is(t, err, fs.ErrPermission)
	})
}
