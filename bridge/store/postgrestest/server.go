//go:build linux

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverUID is the user of the server if the tests run as root: PostgreSQL refuses to run as root.
const serverUID = 65534

// timeout limits the start and the stop of a server.
const timeout = 30 * time.Second

// Server is a running PostgreSQL with a socket in a temporary folder.
type Server struct {
	Port        int    // on localhost; 0: the server listens only on its socket
	Certificate string // file with the certificate of the port

	dir       string
	data      string // folder with the databases
	programs  string
	process   *os.Process
	ended     chan struct{} // closed when the process has ended
	databases atomic.Int64
}

// Options select the ways to reach a server. The zero value is the socket alone.
type Options struct {
	// TLS makes the server also listen on a port of localhost, where User logs in over TLS.
	TLS bool
	// Durable makes the server write to the disk, as a server of users does.
	Durable bool
	// Data is a folder that keeps the databases, see OpenDatabase; empty: they are removed by Stop. If the
	// tests run as root, other users must be able to reach it.
	Data string
}

// Start starts a server. Stop it with Stop; it also ends with this process.
func Start(o Options) (*Server, error) {
	fsync := "fsync=off"
	if o.Durable {
		fsync = "fsync=on"
	}
	if !o.TLS {
		return startServer(0, o.Data, fsync)
	}
	var all error
	for range 3 { // another process may take the port before the server does
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := startServer(port, o.Data, fsync)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		if err := s.addUser(); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return s, nil
	}
	return nil, all
}

func startServer(port int, data, fsync string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, Port: port, ended: make(chan struct{})}
	s.Certificate = s.path("server.crt")
	if s.data = data; data == "" {
		s.data = s.path("data")
	}
	if err := s.start(fsync); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("PostgreSQL for the tests: %w", err)
	}
	return s, nil
}

func (s *Server) start(fsync string) (err error) {
	if s.programs, err = programFolder(); err != nil {
		return err
	}
	for _, folder := range []string{s.dir, s.data, s.path("socket")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := chownToServer(folder); err != nil {
			return err
		}
	}
	if err := s.initialize(); err != nil {
		return err
	}
	settings := []string{"-c", "listen_addresses="}
	if s.Port != 0 {
		if settings, err = s.enableTLS(); err != nil {
			return err
		}
	}
	log, err := os.Create(s.path("log"))
	if err != nil {
		return err
	}
	defer log.Close()
	settings = append(settings, "-D", s.data, "-k", s.path("socket"), "-c", fsync, "-c", "max_connections=100")
	server := s.command("postgres", settings...)
	server.Stdout, server.Stderr = log, log
	// A fast shutdown: the server ends its children first.
	server.SysProcAttr.Pdeathsig = syscall.SIGINT
	started := make(chan error)
	go s.run(server, started)
	if err := <-started; err != nil {
		return err
	}
	if err := s.wait(); err != nil {
		text, _ := os.ReadFile(log.Name())
		return errors.Join(fmt.Errorf("%w: %s", err, text), s.Stop())
	}
	return nil
}

// initialize makes the files of the server, unless an earlier one has left them.
func (s *Server) initialize() error {
	if _, err := os.Stat(filepath.Join(s.data, "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	initdb := s.command("initdb", "--pgdata", s.data, "--username=bridge", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if text, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, text)
	}
	return nil
}

// run starts the server and waits for it. The death signal is sent when the starting thread ends,
// so run keeps that thread.
func (s *Server) run(server *exec.Cmd, started chan<- error) {
	defer close(s.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := server.Start()
	s.process = server.Process
	started <- err
	if err == nil {
		_ = server.Wait()
	}
}

// wait waits until the server accepts connections.
func (s *Server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the server and its children and removes its folder.
func (s *Server) Stop() error {
	_ = s.process.Signal(syscall.SIGINT)
	select {
	case <-s.ended:
	case <-time.After(timeout):
		_ = s.process.Kill() // the children notice and end
		<-s.ended
	}
	return os.RemoveAll(s.dir)
}

// Database creates an empty database and returns its address, in a server without Options.Data.
func (s *Server) Database(ctx context.Context) (string, error) {
	return s.OpenDatabase(ctx, fmt.Sprintf("test%d", s.databases.Add(1)))
}

// OpenDatabase returns the address of the database with this name, and creates it if there is none.
func (s *Server) OpenDatabase(ctx context.Context, name string) (string, error) {
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	exists := false
	if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return "", err
	}
	if !exists {
		_, err = c.Exec(ctx, "CREATE DATABASE "+name)
	}
	return s.url(name), err
}

func (s *Server) url(database string) string {
	address := "postgres://bridge@/" + database + "?host=" + url.QueryEscape(s.path("socket"))
	if s.Port != 0 {
		address += "&port=" + strconv.Itoa(s.Port)
	}
	return address
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// chownToServer gives a path to the user of the server.
func chownToServer(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, serverUID, serverUID)
}

// command returns a command that runs one of the server's programs as the user of the server.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: serverUID, Gid: serverUID}
	}
	return cmd
}
