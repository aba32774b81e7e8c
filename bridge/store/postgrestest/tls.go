//go:build linux

package postgrestest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// What a person logs in by who comes over the network.
const (
	Person   = "ada"
	Password = "correct horse"
)

// access lets the tests in by the socket, and a person by TLS with a password; nobody else.
const access = "local all bridge trust\nhostssl all " + Person + " 127.0.0.1/32 scram-sha-256\n"

// StartTLS starts a server that listens on a port, too, and lets Person in there, over TLS
// alone. Its certificate is for localhost.
func StartTLS(ctx context.Context) (*Server, error) {
	var all error
	for range 3 { // somebody else may take the port in between
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := begin(port)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		if err := s.admit(ctx); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return s, nil
	}
	return nil, all
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// admit makes the role that comes over the network.
func (s *Server) admit(ctx context.Context) error {
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, "SET password_encryption = 'scram-sha-256'; CREATE ROLE "+Person+" LOGIN PASSWORD '"+Password+"'")
	return err
}

// Remote is the address of one of the server's databases over the network, without a host's
// name, a password and what is asked of TLS.
func (s *Server) Remote(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "postgres", User: url.User(Person), Host: net.JoinHostPort("", strconv.Itoa(s.port)), Path: u.Path}, nil
}

// Root is the file of the certificate that the server's is known by.
func (s *Server) Root() string { return s.path("server.crt") }

// secure makes the server's key and certificate, and says who gets in; what it returns are
// the settings.
func (s *Server) secure() ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, certificate, certificate, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{
		"server.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}),
		"server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"access":     []byte(access),
	} {
		if err := errors.Join(os.WriteFile(s.path(name), text, 0o600), giveAway(s.path(name))); err != nil {
			return nil, err
		}
	}
	return []string{
		"-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", s.port), "-c", "hba_file=" + s.path("access"),
		"-c", "ssl=on", "-c", "ssl_cert_file=" + s.path("server.crt"), "-c", "ssl_key_file=" + s.path("server.key"),
	}, nil
}
