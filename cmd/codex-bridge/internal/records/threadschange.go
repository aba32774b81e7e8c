package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/threads"
)

type clearThreadCmd struct {
	Session string `arg:"" help:"The key of the session."`
	Thread  string `help:"Only if the session has this thread." placeholder:"ID"`
	Force   bool   `help:"Also if another process holds the session, such as one on a lost machine."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

func (c clearThreadCmd) Run(out io.Writer) error {
	// Check first: do not create a state, or take over the session, if there is nothing to clear.
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		kept, found, err := s.BindingBySession(ctx, c.Session)
		switch {
		case err == nil && !found:
			return unknownSession(c.Session)
		case err == nil && c.Thread != "" && kept.Thread != c.Thread:
			return c.wrongThread()
		}
		return err
	})
	if errors.Is(err, store.ErrNotExist) {
		return unknownSession(c.Session)
	}
	if err != nil {
		return err
	}
	return changeSession(c.Session, c.Force, func(ctx context.Context, s *store.Store) error {
		cleared, err := s.DeleteBinding(ctx, c.Session, c.Thread)
		switch {
		case err != nil:
			return err
		case !cleared && c.Thread != "":
			return c.wrongThread()
		case !cleared:
			return unknownSession(c.Session)
		}
		return printChange(out, c.JSON, threadChange{Session: c.Session, Thread: c.Thread}, "cleared "+display.Line(c.Session))
	})
}

// threadChange is what a command did. The JSON names are stable.
type threadChange struct {
	Session string `json:"session"`
	Thread  string `json:"threadId,omitempty"`
	File    string `json:"file,omitempty"`
}

func printChange(out io.Writer, asJSON bool, change threadChange, text string) error {
	if asJSON {
		return output.WriteJSON(out, change)
	}
	return output.PrintLine(out, "%s", text)
}

func (c clearThreadCmd) wrongThread() error {
	return fmt.Errorf("the session %s does not have the thread %s; nothing was cleared", display.Line(c.Session), display.Line(c.Thread))
}

// changeSession calls change while this process holds the session. With force it takes the
// session over from another process.
func changeSession(key string, force bool, change func(context.Context, *store.Store) error) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	here, err := store.CurrentProcess()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := decisionlog.OpenState(ctx, cfg, false)
	if err != nil {
		return err
	}
	if force {
		err = s.DeleteLease(ctx, key)
	}
	if err == nil {
		err = s.AcquireLease(ctx, key, here, time.Now())
	}
	var held *store.HeldError
	if errors.As(err, &held) {
		err = fmt.Errorf("%w; end it, or see --help", held)
	} else if err == nil {
		err = errors.Join(change(ctx, s), s.ReleaseLease(ctx, key, here))
	}
	return errors.Join(err, s.Close())
}

type importThreadCmd struct {
	File    string `arg:"" help:"The session's file."`
	Session string `help:"The session's key; by default the path of its file." placeholder:"KEY"`
	JSON    bool   `help:"Print JSON." name:"json"`
}

func (c importThreadCmd) Run(out io.Writer) error {
	file, err := filepath.Abs(c.File)
	if err != nil {
		return err
	}
	if c.Session == "" {
		c.Session = file
	}
	if err := threads.CheckSessionKey(c.Session); err != nil {
		return fmt.Errorf("the key %s: %w; give another one with --session", display.Line(c.Session), err)
	}
	b, dropped, err := readRecord(binding.Path(file), c.Session)
	if err != nil {
		return err
	}
	for _, d := range dropped {
		output.PrintError("codex-bridge: left out: %s", display.Line(d.String()))
	}
	return changeSession(c.Session, false, func(ctx context.Context, s *store.Store) error {
		before, _, err := s.BindingBySession(ctx, c.Session)
		if err != nil {
			return err
		}
		err = s.PutBinding(ctx, store.Binding{
			Session: c.Session, Thread: b.ThreadID, Record: string(binding.Encode(b)), Action: "imported", PreviousThread: before.Thread, Updated: time.Now(),
		})
		if err == nil {
			err = printChange(out, c.JSON, threadChange{Session: c.Session, Thread: b.ThreadID, File: binding.Path(file)},
				fmt.Sprintf("the session %s has the thread %s", display.Line(c.Session), display.Line(b.ThreadID)))
		}
		return err
	})
}

// maxRecord bounds the file of a record, in bytes.
const maxRecord = 1 << 20

// readRecord reads the record of a session with a thread. An error has the path.
func readRecord(path, session string) (b binding.Binding, dropped []binding.Dropped, err error) {
	f, err := config.OpenRegular(path)
	if err != nil {
		return b, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return b, nil, err
	}
	if len(text) > maxRecord {
		return b, nil, fmt.Errorf("%s: it has more than %d bytes", path, maxRecord)
	}
	b, dropped, err = binding.Read(text, session, time.Now())
	if err == nil && !b.Bound() {
		err = errors.New("it has no thread")
	}
	if err == nil {
		if err = guard.CheckThreadID(b.ThreadID); err != nil {
			err = fmt.Errorf("the threadId %s: %w", display.Quote(b.ThreadID), err)
		}
	}
	if err != nil {
		return b, nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, dropped, nil
}

type exportThreadCmd struct {
	Session string `arg:"" help:"The key of the session."`
	File    string `arg:"" help:"The session's file."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

func (c exportThreadCmd) Run(out io.Writer) error {
	file, err := filepath.Abs(c.File)
	if err != nil {
		return err
	}
	change := threadChange{Session: c.Session, File: binding.Path(file)}
	err = decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		kept, found, err := s.BindingBySession(ctx, c.Session)
		if err != nil {
			return err
		}
		change.Thread = kept.Thread
		if !found || kept.Thread == "" {
			return unknownSession(c.Session)
		}
		b, _, err := binding.Read([]byte(kept.Record), file, time.Now())
		if err != nil {
			return fmt.Errorf("the binding of %s: %w", display.Line(c.Session), err)
		}
		return replaceFile(binding.Path(file), binding.Encode(b))
	})
	if errors.Is(err, store.ErrNotExist) {
		return unknownSession(c.Session)
	}
	if err != nil {
		return err
	}
	return printChange(out, c.JSON, change, "wrote "+change.File)
}

// replaceFile replaces a file atomically.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
