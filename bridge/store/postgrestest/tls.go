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
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// User and Password log in over the network.
const (
	User     = "ada"
	Password = "correct horse"
)

// access is pg_hba.conf: the tests use the socket, and User logs in over TLS with a password.
const access = "local all bridge trust\nhostssl all " + User + " 127.0.0.1/32 scram-sha-256\n"

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// addUser creates the role that logs in over the network.
func (s *Server) addUser() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, "SET password_encryption = 'scram-sha-256'; CREATE ROLE "+User+" LOGIN PASSWORD '"+Password+"'")
	return err
}

// enableTLS creates the key, the certificate and the access file of the server, and returns its
// settings.
func (s *Server) enableTLS() ([]string, error) {
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
		if err := errors.Join(os.WriteFile(s.path(name), text, 0o600), chownToServer(s.path(name))); err != nil {
			return nil, err
		}
	}
	return []string{
		"-c", "listen_addresses=127.0.0.1", "-c", fmt.Sprintf("port=%d", s.Port), "-c", "hba_file=" + s.path("access"),
		"-c", "ssl=on", "-c", "ssl_cert_file=" + s.path("server.crt"), "-c", "ssl_key_file=" + s.path("server.key"),
	}, nil
}
