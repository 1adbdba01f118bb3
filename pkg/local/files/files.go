// Package files keeps files in a folder, for `svc dev`, and serves them at signed
// addresses. In AWS, files are in S3.
package files

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc/pkg/background/jobs"
	"svc/pkg/domain/export"
	"svc/pkg/edge/api"
)

// Path is the beginning of every file's address.
const Path = "/files/"

// Folder is a folder with files. Its addresses are valid as long as the process
// runs.
type Folder struct {
	dir, base string
	key       []byte
	now       func() time.Time
}

// Open returns the folder dir, which it creates when a file is written. base is the
// public address of the service.
func Open(dir, base string, now func() time.Time) *Folder {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return &Folder{dir: dir, base: base, key: key, now: now}
}

// path returns the place of a file. A name cannot lead out of the folder.
func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.Clean("/"+name)) }

// write writes a file as a whole or not at all.
func (f *Folder) write(name string, write func(io.Writer) error) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("file %s: %w", name, err)
	}
	return nil
}

// Begin implements jobs.Files. It deletes the files that are older than
// export.FileLife.
func (f *Folder) Begin(_ context.Context, _ string) (string, error) {
	root, err := os.OpenRoot(f.dir)
	if err == nil {
		err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > export.FileLife {
				return root.Remove(path)
			}
			return nil
		})
		_ = root.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return rand.Text(), err
}

func part(file, upload, tag string) string { return file + "." + upload + "." + tag + ".part" }

// Part implements jobs.Files. The tag is a name of the part's own, so nobody can
// replace the part.
func (f *Folder) Part(ctx context.Context, file, upload string, n int, content []byte) (string, error) {
	tag := strconv.Itoa(n) + "-" + rand.Text()
	return tag, f.Put(ctx, part(file, upload, tag), content)
}

// Finish implements jobs.Files.
func (f *Folder) Finish(_ context.Context, file, upload string, tags []string) error {
	err := f.write(file, func(w io.Writer) error {
		for _, tag := range tags {
			in, err := os.Open(f.path(part(file, upload, tag)))
			if err != nil {
				return err
			}
			_, err = io.Copy(w, in)
			if err = errors.Join(err, in.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		if _, done := os.Stat(f.path(file)); done == nil {
			return nil // an earlier call was interrupted after it had made the file
		}
		return jobs.ErrParts
	}
	if err != nil {
		return err
	}
	rest, err := filepath.Glob(f.path(file) + ".*")
	for _, path := range rest {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Put implements jobs.Files.
func (f *Folder) Put(_ context.Context, file string, content []byte) error {
	return f.write(file, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Get implements jobs.Files.
func (f *Folder) Get(_ context.Context, file string) ([]byte, error) {
	return os.ReadFile(f.path(file))
}

// Link implements api.Links.
func (f *Folder) Link(_ context.Context, file, as string, now time.Time) (string, error) {
	until := strconv.FormatInt(now.Add(api.LinkLife).Unix(), 10)
	q := url.Values{"as": {as}, "until": {until}, "signature": {f.sign(file, as, until)}}
	return f.base + Path + file + "?" + q.Encode(), nil
}

func (f *Folder) sign(parts ...string) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(mac.Sum(nil))
}

// ServeHTTP serves a file at an address of Link.
func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, q := strings.TrimPrefix(r.URL.Path, Path), r.URL.Query()
	as, until := q.Get("as"), q.Get("until")
	end, err := strconv.ParseInt(until, 10, 64)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The method must be GET.", http.StatusMethodNotAllowed)
	case err != nil || !hmac.Equal([]byte(q.Get("signature")), []byte(f.sign(file, as, until))):
		http.Error(w, "The address is not valid.", http.StatusForbidden)
	case f.now().Unix() >= end:
		http.Error(w, "The address has expired. Ask for a new one.", http.StatusForbidden)
	default:
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": as}))
		h.Set("Content-Type", ContentType(as))
		http.ServeFile(w, r, f.path(file))
	}
}

// ContentType returns the media type of a file with the name.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".csv") {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/x-ndjson"
}
