package rediskv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func openURL(t testing.TB, text string) (kv.Store, error) {
	t.Helper()
	name, rest, _ := strings.Cut(text, ":")
	rest, query, _ := strings.Cut(rest, "?")
	options, err := url.ParseQuery(query)
	must(t, err)
	for _, scheme := range Engine {
		if scheme.Name == name {
			return scheme.Open(within(t, time.Minute), rest, options)
		}
	}
	t.Fatalf("no scheme %s", name)
	return nil, nil
}

func wantURL(t *testing.T, url string) {
	t.Helper()
	s, err := openURL(t, url)
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return
	}
	defer s.Close()
	key := "k" + fmt.Sprint(time.Now().UnixNano())
	mustDo(t, s, kv.OpSet(key, []byte("v")))
	wantValue(t, s, key, "v")
}

func wantNoURL(t *testing.T, url, what string) {
	t.Helper()
	began := time.Now()
	s, err := openURL(t, url)
	if err == nil {
		s.Close()
		t.Errorf("%s: want an error that says %q, got a store", url, what)
		return
	}
	proof.Contains(t, err.Error(), what)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: the error shows a password: %v", url, err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%s: it took %v to find out", url, took)
	}
}

func secureServer(t *testing.T, own signed, ca *authority, args ...string) *servers.Process {
	servers.Need(t, "redis-server")
	p, err := servers.RedisTLS(own.cert, own.key, ca.file, args...)
	must(t, err)
	t.Cleanup(p.Stop)
	return p
}

func TestEngine_SpeaksTLSWithTheFilesOfTheURL(t *testing.T) {
	ca, hour := newAuthority(t), time.Now().Add(time.Hour)
	client := ca.sign("client", "app", hour)
	addr := secureServer(t, ca.sign("server", "127.0.0.1", hour), ca, "--requirepass", "secret").Addr
	all := "?ca=" + ca.file + "&cert=" + client.cert + "&key=" + client.key
	wantURL(t, "rediss://:secret@"+addr+all)
	wantURL(t, "redis://:secret@"+addr+all+"&tls=on")
	named := secureServer(t, ca.sign("named", "redis.example.org", hour), ca, "--tls-auth-clients", "no").Addr
	wantURL(t, "rediss://"+named+"?ca="+ca.file+"&server-name=redis.example.org")
}

// With a patience of a minute, an earlier answer comes from asking the server.
func TestEngine_TLSMistakeIsNamedAtOnce(t *testing.T) {
	ca, other, hour := newAuthority(t), newAuthority(t), time.Now().Add(time.Hour)
	plain := ownServer(t).Addr
	good := secureServer(t, ca.sign("server", "127.0.0.1", hour), ca, "--tls-auth-clients", "no").Addr
	strict := secureServer(t, ca.sign("strict", "127.0.0.1", hour), ca).Addr
	ended := secureServer(t, ca.sign("ended", "127.0.0.1", time.Now().Add(-time.Hour)), ca, "--tls-auth-clients", "no").Addr
	named := secureServer(t, ca.sign("named", "redis.example.org", hour), ca, "--tls-auth-clients", "no").Addr
	foreign := other.sign("client", "app", hour)
	patient := "&patience=1m"
	trusted := "?ca=" + ca.file + patient

	wantURL(t, "rediss://"+good+trusted)
	wantNoURL(t, "rediss://:secret@"+plain+trusted, plain+" speaks no TLS: write redis://")
	wantNoURL(t, "redis://:secret@"+good+"?"+patient[1:], good+" speaks TLS: write rediss://")
	wantNoURL(t, "redis-cluster://:secret@"+strict+"?"+patient[1:], strict+" speaks TLS: write rediss://")
	wantNoURL(t, "redis-sentinel://:secret@"+good+"/main?"+patient[1:], good+" speaks TLS: write rediss://")
	wantNoURL(t, "rediss://:secret@"+good+"?"+patient[1:], "the certificate of "+good+" is signed by no authority that this machine knows: give the authority's own by ca=FILE")
	wantNoURL(t, "rediss-cluster://:secret@"+good+"?ca="+other.file+patient, "the certificate of "+good+" is signed by no authority of ca=FILE")
	wantNoURL(t, "rediss://:secret@"+ended+trusted, "the certificate of "+ended+" is good from ")
	wantNoURL(t, "rediss://:secret@"+named+trusted, "the certificate of "+named+" is for another name: write that one, or give it by server-name=NAME")
	wantNoURL(t, "rediss://:secret@"+strict+trusted, strict+" wants to see a certificate of its own authority: give it by cert=FILE and key=FILE")
	wantNoURL(t, "rediss://:secret@"+strict+trusted+"&cert="+foreign.cert+"&key="+foreign.key, strict+" wants to see a certificate of its own authority")
}

func TestOpen_PlainServerThatIsSilentIsNotTakenForOneWithTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = Open(ctx, Options{Addrs: []string{l.Addr().String()}, Patience: time.Minute})
	if err == nil || strings.Contains(err.Error(), "TLS") {
		t.Errorf("want an error that says nothing of TLS, got %v", err)
	}
}

type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, form, form, a.key.Public(), a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	must(t, err)
	a.file = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func (a *authority) write(name, kind string, der []byte) (file string) {
	file = filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

type signed struct{ cert, key string }

func (a *authority) sign(file, name string, ends time.Time) signed {
	a.t.Helper()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: ends,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		form.IPAddresses = []net.IP{ip}
	} else {
		form.DNSNames = []string{name}
	}
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed{a.write(file+".pem", "CERTIFICATE", der), a.write(file+".key", "EC PRIVATE KEY", private)}
}
