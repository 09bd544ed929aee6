package apptest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ringtree/ringtree/internal/proof/servers"
)

// program is the browser's name on the PATH.
const program = "chromium"

// patience is how long one step in the browser may take. It is long because a
// busy machine is no fault of the page.
const patience = 2 * time.Minute

// flags make Chromium the same on every machine and silent on the network.
var flags = map[string]any{
	"disable-gpu": true, "disable-quic": true, "disable-component-update": true, "disable-domain-reliability": true,
	"disable-features": "Translate,MediaRouter,OptimizationHints", "lang": "en-US",
	"disable-lcd-text": true, "font-render-hinting": "none",
	"host-resolver-rules": "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
}

// startBrowser runs Chromium until the test ends, without a window and with a
// profile directory of its own. It listens on no port, and ends with the program
// that started it.
func startBrowser(t testing.TB) context.Context {
	t.Helper()
	return begin(t, context.Background(), browserOptions())
}

func browserOptions() chromedp.ContextOption {
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program)}
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	return chromedp.WithAllocatorOptions(options...)
}

// begin starts a browser, or opens a tab if parent has a browser, until the test
// ends.
func begin(t testing.TB, parent context.Context, options ...chromedp.ContextOption) context.Context {
	t.Helper()
	ctx, end, err := launch(parent, options...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(end)
	return ctx
}

// launch starts a browser, or opens a tab if parent has a browser, until end is
// called.
func launch(parent context.Context, options ...chromedp.ContextOption) (ctx context.Context, end func(), err error) {
	ctx, stop := chromedp.NewContext(parent, options...)
	// The context itself must not have a deadline: it lasts as long as the tab.
	late := time.AfterFunc(patience, stop)
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return ctx, func() {
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		// A browser that is only stopped leaves files behind; one that does not
		// end when it is asked to is stopped all the same.
		_ = chromedp.Cancel(bounded)
		stop()
	}, nil
}

// commonBrowser is the browser in which the tests of this process open their tabs,
// each in a browser context of its own. The first test that needs it starts it, and
// TestMain ends it.
type commonBrowser struct {
	start sync.Once
	ctx   context.Context
	stop  func()
	err   error
}

var common commonBrowser

// chromium returns the common browser.
func chromium(t testing.TB) context.Context {
	t.Helper()
	servers.Need(t, program)
	common.start.Do(func() { common.ctx, common.stop, common.err = launch(context.Background(), browserOptions()) })
	if common.err != nil {
		t.Fatal(common.err)
	}
	return common.ctx
}

func (b *commonBrowser) end() {
	if b.stop != nil {
		b.stop()
	}
}
