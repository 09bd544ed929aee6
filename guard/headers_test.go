package guard_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
)

func TestHeaders_KeepABrowserFromMoreThanShowing(t *testing.T) {
	for _, tls := range []bool{false, true} {
		want := http.Header{
			"Content-Security-Policy":      {"default-src 'none'; script-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options":       {"nosniff"},
			"X-Frame-Options":              {"DENY"},
			"Referrer-Policy":              {"same-origin"},
			"Cross-Origin-Opener-Policy":   {"same-origin"},
			"Cross-Origin-Resource-Policy": {"same-origin"},
			"Permissions-Policy":           {"camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
			"Cache-Control":                {"no-cache"},
			"Vary":                         {"Cookie"},
		}
		if tls {
			want["Strict-Transport-Security"] = []string{"max-age=31536000"}
		}
		got := http.Header{}
		guard.Headers(got, tls)
		proof.NoDiff(t, cmp.Diff(want, got), "with TLS %v: headers", tls)
	}
}
