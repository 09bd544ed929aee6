package web

import "net/http"

// protect sets the headers that keep a browser from doing more with an answer than
// showing it. A page replaces the policy by one with the nonce of its script.
func (s *Site) protect(header http.Header) {
	header.Set("Content-Security-Policy", policy(""))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Cookie")
	if !s.config.Development {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// policy returns the content security policy of a page. It allows the site's own
// stylesheet and pictures, and the script with the nonce.
func policy(nonce string) string {
	script := "'none'"
	if nonce != "" {
		script = "'nonce-" + nonce + "'"
	}
	return "default-src 'none'; script-src " + script + "; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}
