// Package browser drives the installed Chromium in tests: it acts like a visitor, and looks for
// obstacles for visitors with a keyboard, a screen reader, poor sight or a phone. All tests of a
// process share one browser.
package browser

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ringtree/ringtree/internal/proof/servers"
)

const program = "chromium"

// patience limits one step. It is long because a busy machine is not the page's fault.
const patience = 2 * time.Minute

var flags = map[string]any{
	"disable-gpu": true, "disable-quic": true, "disable-component-update": true, "disable-domain-reliability": true,
	"disable-features": "Translate,MediaRouter,OptimizationHints", "lang": "en-US",
	"disable-lcd-text": true, "font-render-hinting": "none",
	"host-resolver-rules": "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
}

func launch(parent context.Context, options ...chromedp.ContextOption) (ctx context.Context, end func(), err error) {
	ctx, stop := chromedp.NewContext(parent, options...)
	// The context has no deadline: it lasts as long as the tab.
	late := time.AfterFunc(patience, stop)
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return ctx, func() {
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		// A killed browser leaves files behind, so it is asked to end first.
		_ = chromedp.Cancel(bounded)
		stop()
	}, nil
}

var common struct {
	start sync.Once
	ctx   context.Context
	end   func()
	err   error
}

func start(t testing.TB) context.Context {
	t.Helper()
	servers.Need(t, program)
	common.start.Do(func() {
		options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program)}
		for name, value := range flags {
			options = append(options, chromedp.Flag(name, value))
		}
		common.ctx, common.end, common.err = launch(context.Background(), chromedp.WithAllocatorOptions(options...))
	})
	if common.err != nil {
		t.Fatal(common.err)
	}
	return common.ctx
}

// End ends the browser, if any. Call it in TestMain.
func End() {
	if common.end != nil {
		common.end()
	}
}
