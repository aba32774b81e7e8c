package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// errTooLong is the error of a file that has more bytes than it may have.
var errTooLong = errors.New("too long")

// Fetch reads a file of a repository, of at most maxLen bytes. A missing file is a *metadata.ErrDownloadHTTP
// with the status 404.
type Fetch func(ctx context.Context, address string, maxLen int64) ([]byte, error)

// fetch reads https and file addresses.
func fetch(ctx context.Context, address string, maxLen int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("not a valid address")
	}
	switch u.Scheme {
	case "https":
		return fetchHTTPS(ctx, u, maxLen)
	case "file":
		return fetchFile(u, maxLen)
	}
	return nil, fmt.Errorf("%q is not https or file", u.Scheme)
}

func fetchHTTPS(ctx context.Context, u *url.URL, maxLen int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) { // its text has the address, which may have a password
			err = failed.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		status := response.StatusCode
		// Object stores say 403 for what does not exist if they may not be listed.
		if isRoot := strings.HasSuffix(u.Path, ".root.json"); isRoot && (status == http.StatusForbidden || status == http.StatusGone) {
			status = http.StatusNotFound
		}
		return nil, &metadata.ErrDownloadHTTP{StatusCode: status, URL: u.Redacted()}
	}
	return readAtMost(response.Body, maxLen)
}

// checkRedirect refuses redirects to another server, which could be one inside the network of this machine.
func checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case request.URL.Scheme != first.Scheme || request.URL.Host != first.Host:
		return fmt.Errorf("the server redirects to %s://%s; name that in policy_source.url if you trust it", request.URL.Scheme, request.URL.Host)
	case len(via) > maxRedirects:
		return errors.New("the server redirects too often")
	}
	return nil
}

func fetchFile(u *url.URL, maxLen int64) ([]byte, error) {
	name := u.Path
	if runtime.GOOS == "windows" {
		name = strings.TrimPrefix(name, "/")
	}
	name = filepath.FromSlash(name)
	info, err := os.Stat(name) // to open a named pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &metadata.ErrDownloadHTTP{StatusCode: http.StatusNotFound, URL: name}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxLen)
}

func readAtMost(r io.Reader, maxLen int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLen+1))
	if err == nil && int64(len(text)) > maxLen {
		err = fmt.Errorf("%w: more than %d bytes", errTooLong, maxLen)
	}
	return text, err
}

// recorder is the fetcher of the library. It keeps the roots, which the library does not.
type recorder struct {
	ctx   context.Context //nolint:containedctx // the library's interface has none
	fetch Fetch
	roots [][]byte
}

// DownloadFile implements fetcher.Fetcher.
func (r *recorder) DownloadFile(address string, maxLen int64, _ time.Duration) ([]byte, error) {
	text, err := r.fetch(r.ctx, address, maxLen)
	name := address[strings.LastIndexByte(address, '/')+1:]
	if err != nil {
		return nil, &fileError{name, err}
	}
	if strings.HasSuffix(name, ".root.json") {
		r.roots = append(r.roots, text)
	}
	return text, nil
}

// fileError is the error of a file of a repository.
type fileError struct {
	name string
	err  error
}

func (e *fileError) Error() string {
	var status *metadata.ErrDownloadHTTP
	if errors.As(e.err, &status) {
		return fmt.Sprintf("%s: HTTP status %d", e.name, status.StatusCode)
	}
	return e.name + ": " + e.err.Error()
}

func (e *fileError) Unwrap() error { return e.err }
