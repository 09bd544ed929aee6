// Package shipping has a test only: a store ships to a server of the S3 protocol.
package shipping

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// bucket is a Folder: the URL of a bucket whose server asks for no signature.
type bucket string

func (b bucket) do(ctx context.Context, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, string(b)+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode < 300 {
		return response, err
	}
	response.Body.Close()
	switch response.StatusCode {
	case http.StatusPreconditionFailed:
		return nil, fs.ErrExist
	case http.StatusNotFound:
		return nil, fs.ErrNotExist
	}
	return nil, fmt.Errorf("%s %s: %s", method, path, response.Status)
}

func (b bucket) PutNew(ctx context.Context, name string, from io.Reader) error {
	data, err := io.ReadAll(from) // The protocol wants the length first.
	if err != nil {
		return err
	}
	response, err := b.do(ctx, http.MethodPut, "/"+name, bytes.NewReader(data), "If-None-Match", "*")
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (b bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	response, err := b.do(ctx, http.MethodGet, "/"+name, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (b bucket) List(ctx context.Context, begin string) (names []string, err error) {
	for token := ""; ; {
		query := url.Values{"list-type": {"2"}, "prefix": {begin}, "max-keys": {"7"}}
		if token != "" {
			query.Set("continuation-token", token)
		}
		response, err := b.do(ctx, http.MethodGet, "?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Contents              []struct{ Key string }
			NextContinuationToken string
		}
		if err := errors.Join(xml.NewDecoder(response.Body).Decode(&page), response.Body.Close()); err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			names = append(names, object.Key)
		}
		if token = page.NextContinuationToken; token == "" {
			return names, nil
		}
	}
}

func (b bucket) Delete(ctx context.Context, name string) error {
	response, err := b.do(ctx, http.MethodDelete, "/"+name, nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (b bucket) String() string { return string(b) }

func newBucket(t *testing.T) bucket {
	t.Helper()
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(server.Close)
	b := bucket(server.URL + "/shop")
	response, err := b.do(t.Context(), http.MethodPut, "", nil)
	must(t, err)
	response.Body.Close()
	return b
}

// ship ships the store at path until it is closed; closes returns how that ended.
func ship(t *testing.T, path string, to boltkv.Folder) (s *boltkv.Store, closes func() error) {
	t.Helper()
	s, err := boltkv.Open(path, boltkv.Options{})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Ship(context.Background(), to) }()
	for done := s.Stats().Shipping; done.Snapshot.IsZero(); done = s.Stats().Shipping {
		if done.Trouble != nil || done.Spoiled != nil {
			t.Fatalf("%+v", done)
		}
		time.Sleep(time.Millisecond)
	}
	return s, func() error { return errors.Join(s.Close(), <-ended) }
}

func TestShip_AnS3BucketRestoresEachMomentAndRefusesAnotherStore(t *testing.T) {
	dir, to := t.TempDir(), newBucket(t)
	path := filepath.Join(dir, "shop.db")
	var made []time.Time
	for n := range 20 {
		s, closes := ship(t, path, to) // Each time, Close ships a piece.
		proof.Done(t)(kv.One(t.Context(), s, kv.OpSet("n", []byte(strconv.Itoa(n)))))
		made = append(made, time.Now())
		must(t, closes())
	}
	for n, at := range made {
		restored := filepath.Join(dir, fmt.Sprint("restored", n))
		if _, err := boltkv.Restore(t.Context(), to, at, restored); err != nil {
			t.Fatalf("restore commit %d: %v", n, err)
		}
		s, err := boltkv.Open(restored, boltkv.Options{})
		must(t, err)
		if got, err := kv.One(t.Context(), s, kv.OpGet("n")); string(got.Value) != strconv.Itoa(n) {
			t.Errorf("want %d, got %q, %v", n, got.Value, err)
		}
		must(t, s.Close())
	}
	other, err := boltkv.Open(filepath.Join(dir, "other.db"), boltkv.Options{})
	must(t, err)
	proof.Is(t, other.Ship(t.Context(), to), boltkv.ErrFolder)
	must(t, other.Close())
}

var must = proof.Must
