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
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/export"
	"svc/pkg/edge/api"
)

// In returns the path of the folder for files in the data folder of `svc dev`.
func In(data string) string { return filepath.Join(data, "files") }

// Path is the beginning of every file's address.
const Path = "/files/"

// Folder is a folder with files. The addresses of its files are valid for api.LinkLife,
// but no longer than the process runs.
type Folder struct {
	dir, base string
	key       []byte // signs the addresses
	now       func() time.Time

	// Received is called when a file was uploaded; it may be nil.
	Received func()
}

// Open returns the folder dir, which it creates when a file is written. base is the
// public address of the service.
func Open(dir, base string, now func() time.Time) *Folder {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return &Folder{dir: dir, base: base, key: key, now: now}
}

// Dir returns the folder's path.
func (f *Folder) Dir() string { return f.dir }

// path returns the path of a file in the folder. A name cannot lead out of the folder.
func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.Clean("/"+name)) }

// write creates or replaces the file name with what the function write writes: as a whole,
// or not at all if there is an error.
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

// Begin implements jobs.Files: it returns a new name for an upload. It also deletes the
// files that are older than export.FileLife.
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

// part returns the name under which a part of an upload is stored.
func part(file, upload, tag string) string { return file + "." + upload + "." + tag + ".part" }

// Part implements jobs.Files: it stores part n of an upload, and returns the part's tag.
// The tag contains random text, so no later call replaces the part.
func (f *Folder) Part(ctx context.Context, file, upload string, n int, content []byte) (string, error) {
	tag := strconv.Itoa(n) + "-" + rand.Text()
	return tag, f.Put(ctx, part(file, upload, tag), content)
}

// Finish implements jobs.Files: it joins the parts with the tags to the file, and deletes
// the parts. The error is jobs.ErrParts if a part is missing.
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

// Put implements jobs.Files: it writes a whole file.
func (f *Folder) Put(_ context.Context, file string, content []byte) error {
	return f.write(file, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Get implements jobs.Files: it reads a whole file.
func (f *Folder) Get(_ context.Context, file string) ([]byte, error) {
	return os.ReadFile(f.path(file))
}

// Stat implements jobs.Files: it returns the size of a file and the tag of its content.
func (f *Folder) Stat(_ context.Context, file string) (int64, string, error) {
	info, err := os.Stat(f.path(file))
	if err != nil {
		return 0, "", err
	}
	return info.Size(), tagOf(info), nil
}

// tagOf returns a tag of a file's content: its size and the time of its last change.
func tagOf(info fs.FileInfo) string { return fmt.Sprint(info.Size(), "-", info.ModTime().UnixNano()) }

// Range implements jobs.Files: it reads at most n bytes of a file. The error is
// jobs.ErrReplaced if the file does not have the tag.
func (f *Folder) Range(_ context.Context, file, tag string, from, n int64) ([]byte, error) {
	in, err := os.Open(f.path(file))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil && tagOf(info) != tag {
		err = jobs.ErrReplaced
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(in, from, n))
}

// Remove implements jobs.Files: it deletes every file whose name begins with folder.
func (f *Folder) Remove(_ context.Context, folder string) error {
	rest, err := filepath.Glob(f.path(folder) + "*")
	for _, path := range rest {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// Upload implements api.Links: it returns the address and the signed fields of a form that
// uploads the file. most is the file's maximum size in bytes.
func (f *Folder) Upload(_ context.Context, file string, most int64, now time.Time) (api.Upload, error) {
	until, size := strconv.FormatInt(now.Add(api.LinkLife).Unix(), 10), strconv.FormatInt(most, 10)
	return api.Upload{URL: f.base + Path, MaxBytes: most, ExpiresAt: timestamp.Format(now.Add(api.LinkLife)),
		Fields: map[string]string{"key": file, "most": size, "until": until,
			"signature": f.sign("upload", file, size, until)}}, nil
}

// receive serves the POST of a form whose fields Upload has returned: it stores the file.
func (f *Folder) receive(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, text string) { http.Error(w, text, status) }
	form, err := r.MultipartReader()
	if err != nil {
		refuse(http.StatusBadRequest, "The body must be multipart/form-data.")
		return
	}
	fields := map[string]string{}
	for range 10 {
		part, err := form.NextPart()
		if err != nil {
			break
		}
		if part.FormName() == "file" {
			f.store(fields, part, refuse, w)
			return
		}
		value, _ := io.ReadAll(io.LimitReader(part, 1000))
		fields[part.FormName()] = string(value)
	}
	refuse(http.StatusBadRequest, "The form has no file after the fields.")
}

// store checks the signed fields of a form, writes the file if it is not too large, and
// responds. refuse sends an error with a status and a text.
func (f *Folder) store(fields map[string]string, file io.Reader, refuse func(int, string), w http.ResponseWriter) {
	name, size, until := fields["key"], fields["most"], fields["until"]
	end, _ := strconv.ParseInt(until, 10, 64)
	most, _ := strconv.ParseInt(size, 10, 64)
	switch {
	case !hmac.Equal([]byte(fields["signature"]), []byte(f.sign("upload", name, size, until))):
		refuse(http.StatusForbidden, "The form is not valid.")
		return
	case f.now().Unix() >= end:
		refuse(http.StatusForbidden, "The address has expired. Ask for a new one.")
		return
	}
	err := f.write(name, func(to io.Writer) error {
		n, err := io.Copy(to, io.LimitReader(file, most+1))
		if n > most {
			err = errTooLarge
		}
		return err
	})
	switch {
	case errors.Is(err, errTooLarge):
		refuse(http.StatusBadRequest, "The file has more than "+size+" bytes.")
	case err != nil:
		refuse(http.StatusBadRequest, "The file did not arrive as a whole. Send it again.")
	default:
		w.WriteHeader(http.StatusNoContent)
		if f.Received != nil {
			f.Received()
		}
	}
}

// errTooLarge means that an uploaded file has more bytes than the form allows.
var errTooLarge = errors.New("the file is too large")

// Link implements api.Links: it returns a signed address of the file. A browser saves the
// file under the name as.
func (f *Folder) Link(_ context.Context, file, as string, now time.Time) (string, error) {
	until := strconv.FormatInt(now.Add(api.LinkLife).Unix(), 10)
	q := url.Values{"as": {as}, "until": {until}, "signature": {f.sign(file, as, until)}}
	return f.base + Path + file + "?" + q.Encode(), nil
}

// sign returns a signature of the parts, which is valid as long as the process runs.
func (f *Folder) sign(parts ...string) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(mac.Sum(nil))
}

// ServeHTTP serves a file at an address that Link returned, and receives the forms of
// Upload.
func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, q := strings.TrimPrefix(r.URL.Path, Path), r.URL.Query()
	as, until := q.Get("as"), q.Get("until")
	end, err := strconv.ParseInt(until, 10, 64)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	switch {
	case r.Method == http.MethodPost && file == "":
		f.receive(w, r)
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

// ContentType returns the media type of a file with the name: CSV, or JSON lines.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".csv") {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/x-ndjson"
}
