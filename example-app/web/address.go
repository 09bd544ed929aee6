package web

import (
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ringtree/ringtree/guard"
)

// addressOf returns where a request comes from, as limits count it.
func (s *Site) addressOf(r *http.Request) string { return guard.Address(r, !s.config.Development) }

// forwarding has the headers by which a proxy says that it asks for someone else.
var forwarding = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via"}

// trusts reports whether r may see how the site is doing: it comes from this machine and
// not through a proxy, or it bears the token.
func (s *Site) trusts(r *http.Request) bool {
	given, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if bears && s.config.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Token)) == 1 {
		return true
	}
	for _, header := range forwarding {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}
