package main

import (
	"io"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(buildChild); file != "" {
		buildUntilKilled(file)
	}
	os.Exit(m.Run())
}

func TestBuildKilled_EndsAndEntersLittleTwice(t *testing.T) {
	b := &bench{ctx: t.Context(), dir: t.TempDir(), out: io.Discard}
	for kind, n := range map[string]int{"unique": 5000, "list": 2000, "timeline": 2000} {
		if err := b.buildKilled(kind, n, 60*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range b.figures {
		t.Log(f)
		if !f.ok() && !f.target.varies {
			t.Error(f)
		}
	}
}
