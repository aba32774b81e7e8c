package bundle

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

const (
	keyBlock  = "PRIVATE KEY" // PKCS #8, as openssl writes it
	maxKey    = 16 << 10
	othersCan = 0o077
)

// Key is a private Ed25519 key of a publisher.
type Key struct {
	File   string
	ID     string
	public *metadata.Key
	signer signature.Signer
}

// NewKey makes a key and writes it to a file that does not exist.
func NewKey(file string) (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(pem.Encode(f, &pem.Block{Type: keyBlock, Bytes: der}), f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return newKey(file, private)
}

// ReadKey reads a key.
func ReadKey(file string) (*Key, error) {
	text, err := readFile(file, maxKey)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&othersCan != 0 {
		return nil, fmt.Errorf("%s can be read by others; run chmod 600 on it", file)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyBlock {
		return nil, fmt.Errorf("%s is no private key in PEM form (PKCS #8)", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s has no Ed25519 key", file)
	}
	return newKey(file, private)
}

// ReadOrNewKey reads a key, or makes it if the file does not exist.
func ReadOrNewKey(file string) (key *Key, made bool, err error) {
	key, err = ReadKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = NewKey(file)
		return key, err == nil, err
	}
	return key, false, err
}

func newKey(file string, private ed25519.PrivateKey) (*Key, error) {
	signer, err := signature.LoadED25519Signer(private)
	if err != nil {
		return nil, err
	}
	public, err := metadata.KeyFromPublicKey(private.Public())
	if err != nil {
		return nil, err
	}
	id, err := public.ID()
	return &Key{File: file, ID: id, public: public, signer: signer}, err
}
