package guard

import "net/http"

// Headers sets the headers that keep a browser from doing more with a response than showing it. tls
// means that the site is reached only over TLS. A private response also needs Cache-Control:
// no-store.
func Headers(header http.Header, tls bool) {
	header.Set("Content-Security-Policy", Policy(""))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Cookie")
	if tls {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// Policy returns a content security policy that allows the site's own stylesheets and pictures, and
// scripts with the nonce, unless it is empty.
func Policy(nonce string) string {
	script := "'none'"
	if nonce != "" {
		script = "'nonce-" + nonce + "'"
	}
	return "default-src 'none'; script-src " + script + "; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}
