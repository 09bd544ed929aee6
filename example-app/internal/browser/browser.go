package browser

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// Program is the browser's name on the PATH.
const Program = "chromium"

// Patience is how long one step of a page may take. It is long because a busy
// machine is no fault of the page.
const Patience = 20 * time.Second

// flags make Chromium the same on every machine and silent on the network.
var flags = []string{
	"--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
	"--disable-default-apps", "--disable-client-side-phishing-detection", "--disable-domain-reliability",
	"--disable-breakpad", "--disable-gpu", "--disable-dev-shm-usage", "--metrics-recording-only", "--mute-audio",
	"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
	"--password-store=basic", "--use-mock-keychain", "--hide-scrollbars", "--lang=en-US", "--force-color-profile=srgb",
	"--font-render-hinting=none", "--disable-lcd-text", "--disable-features=Translate,MediaRouter,OptimizationHints",
	"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
}

// Browser is a running Chromium with a profile directory of its own.
type Browser struct {
	cmd    *exec.Cmd
	pipe   *pipe
	closes []*os.File // our ends of the pipes
	output *bytes.Buffer

	patience time.Duration
}

// Start runs Chromium until the test ends. A Chromium that does not start fails
// the test and shows what it printed.
func Start(t testing.TB) *Browser {
	t.Helper()
	dir, err := os.MkdirTemp("", "ringtree-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// A child of Chromium may still be writing there: what it leaves is no fault.
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b, err := start(dir)
	if err != nil {
		t.Fatalf("start %s: %v", Program, err)
	}
	t.Cleanup(b.stop)
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := b.pipe.call(ctx, "", "Browser.getVersion", nil, nil); err != nil {
		b.stop()
		t.Fatalf("start %s: %v: it printed:\n%s", Program, err, b.output)
	}
	return b
}

func start(dir string) (*Browser, error) {
	commands, toIt, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromIt, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, commands.Close(), toIt.Close())
	}
	b := &Browser{output: new(bytes.Buffer), closes: []*os.File{toIt, fromIt}, patience: Patience}
	b.cmd = exec.Command(Program, append(slices.Clone(flags), rootFlags()...)...)
	b.cmd.Args = append(b.cmd.Args, "--user-data-dir="+dir, "about:blank")
	b.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	b.cmd.ExtraFiles = []*os.File{commands, answers} // These become its descriptors 3 and 4.
	b.cmd.Stdout, b.cmd.Stderr = b.output, b.output
	// A child of Chromium may hold its output a little longer than itself.
	b.cmd.WaitDelay = time.Second
	err = b.cmd.Start()
	commands.Close()
	answers.Close()
	if err != nil {
		return nil, errors.Join(err, toIt.Close(), fromIt.Close())
	}
	b.pipe = newPipe(fromIt, toIt)
	return b, nil
}

// rootFlags is what Chromium demands of root, as in a container.
func rootFlags() []string {
	if os.Getuid() == 0 {
		return []string{"--no-sandbox"}
	}
	return nil
}

// stop asks Chromium to end, and ends it if it does not. It may be called
// again.
func (b *Browser) stop() {
	if b.cmd.ProcessState != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience/4)
	defer cancel()
	// Whether it has heard that shows in its end.
	_ = b.pipe.call(ctx, "", "Browser.close", nil, nil)
	kill := time.AfterFunc(Patience/4, func() { _ = b.cmd.Process.Kill() })
	defer kill.Stop()
	_ = b.cmd.Wait()
	for _, end := range b.closes {
		end.Close()
	}
	<-b.pipe.ended
}
