package whole_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const recoverVariable = "RINGTREE_WHOLE_RECOVER"

func recoverAsChild(url string) int {
	return inspect.Run(ctx, inspect.Config{
		Name: "db", Args: []string{"recover", "--yes"}, URL: url, Stdout: pausing{},
		Models: func(db *kvmodel.DB) []kvmodel.Model { return whole.In(db).All() },
	})
}

type pausing struct{}

func (pausing) Write(data []byte) (int, error) {
	n, err := os.Stdout.Write(data)
	if err == nil {
		_, err = io.ReadFull(os.Stdin, make([]byte, bytes.Count(data, []byte("\n"))))
	}
	return n, err
}

// On servers a mark goes, too, so that one counts as having lost its memory.
func (s *site) hurt() {
	s.t.Helper()
	store := s.store()
	var lost []kv.Op
	must(s.t, kv.PowersOf(store).Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			if key == "ids:Like#0" || key == "built:Work" || strings.HasPrefix(key, "u:Work:BySlug:") || strings.HasPrefix(key, "l:Like:ByUser:") {
				lost = append(lost, kv.OpDelete(key))
			}
		}
		return nil
	}))
	must(s.t, store.Do(ctx, lost), store.Close())
	if len(s.servers) > 0 {
		at := s.servers[len(s.servers)-1]
		w := dial(s.t, at.Addr)
		if strings.HasPrefix(s.url, "redis") {
			w.send("EVAL \"for _, k in ipairs(redis.call('KEYS', 'ringtree{*')) do redis.call('DEL', k) end return 1\" 0\r\n")
			w.line()
			return
		}
		at.Kill()
		must(s.t, at.Start())
	}
}

// recoverUntil kills recover after so many lines, with the exit code -1.
func (s *site) recoverUntil(lines int) (said []string, code int) {
	s.t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), recoverVariable+"="+s.url)
	out, err := child.StdoutPipe()
	must(s.t, err)
	in, err := child.StdinPipe()
	must(s.t, err, child.Start())
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if said = append(said, scanner.Text()); len(said) == lines {
			must(s.t, child.Process.Kill())
			continue
		}
		_, err := in.Write([]byte{'\n'})
		must(s.t, err)
	}
	_ = child.Wait()
	return said, child.ProcessState.ExitCode()
}

func TestLong_ARecoveryThatIsKilledAfterEachStepGoesOnAndEndsClean(t *testing.T) {
	for kind := range proof.Part(t, siteKinds[:1], siteKinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, kind)
			s.furnish()
			s.hurt()
			code := -1
			kills := 0
			for lines := 1; code == -1 && lines < 100; lines++ {
				var said []string
				said, code = s.recoverUntil(lines)
				t.Logf("killed after line %d, exit code %d:\n%s", lines, code, strings.Join(said, "\n"))
				kills++
			}
			if code > 1 || kills < 3 {
				t.Fatalf("exit code %d after %d kills", code, kills)
			}
			s.clean()
		})
	}
}
