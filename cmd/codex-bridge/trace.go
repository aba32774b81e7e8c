package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"codex-bridge/relay/trace"
	"codex-bridge/relay/trace/replay"
)

type traceCmd struct {
	List   traceListCmd   `cmd:"" help:"List what was captured, the newest last."`
	Show   traceShowCmd   `cmd:"" help:"Show a trace as a person reads it."`
	HTML   traceHTMLCmd   `cmd:"" name:"html" help:"Write a trace as one page that loads nothing, for a browser."`
	Replay traceReplayCmd `cmd:"" help:"Play a trace to a client, as an app-server on stdin and stdout."`
}

type traceListCmd struct {
	JSON bool `help:"Print them as JSON." name:"json"`
}

func (c traceListCmd) Run(out io.Writer) error {
	folder, err := traceFolder()
	if err != nil {
		return err
	}
	all, err := trace.List(folder)
	if err != nil {
		return err
	}
	if c.JSON {
		if all == nil {
			all = []trace.File{}
		}
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "no traces; they are written where the configuration has \"enabled = true\" under [trace]")
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TRACE\tBYTES\tMODIFIED")
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\n", trace.Plain(f.Name), f.Bytes, f.Modified.Local().Format("2006-01-02 15:04:05"))
	}
	return w.Flush()
}

// openTrace opens a trace by its path, or by its thread.
func openTrace(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err == nil || strings.ContainsAny(name, `/\`) {
		return f, err
	}
	folder, folderErr := traceFolder()
	if folderErr != nil {
		return nil, folderErr
	}
	f, err = os.Open(filepath.Join(folder, trace.FileName(name)))
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(filepath.Join(folder, name+".jsonl"))
	}
	if err != nil {
		return nil, fmt.Errorf("%w; \"codex-bridge trace list\" has those that are there", err)
	}
	return f, nil
}

type traceShowCmd struct {
	Trace      string `arg:"" help:"A thread, or a file; its subagents' traces are shown with it, as far as they lie beside it."`
	All        bool   `help:"Every message, with who said it to whom."`
	ThreadOnly bool   `help:"Without the thread's subagents."`
	Follow     bool   `short:"f" help:"Go on with what is written from now on, until interrupted."`
}

func (c traceShowCmd) Run(out io.Writer) error {
	f, err := openTrace(c.Trace)
	if err != nil {
		return err
	}
	_ = f.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tree := trace.NewTree(f.Name())
	tree.Alone = c.ThreadOnly
	for {
		told, failed := tree.Next()
		for _, e := range told {
			if err := trace.Show(out, e, c.All); err != nil {
				return err
			}
		}
		if failed != nil {
			return fmt.Errorf("%s: %w", c.Trace, failed)
		}
		if !c.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

type traceReplayCmd struct {
	Trace        string  `arg:"" help:"A thread, or a file; the other threads of the conversation are played with it."`
	Speed        float64 `help:"How much faster than it was; 0 for no pauses at all." default:"0"`
	Conversation string  `help:"The traceId of one of the conversations in the file; else the last."`
}

func (c traceReplayCmd) Run(in io.Reader, out rawOutput) error {
	f, err := openTrace(c.Trace)
	if err != nil {
		return err
	}
	_ = f.Close()
	events, err := trace.Conversation(f.Name(), c.Conversation)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	p, err := replay.New(sequence(events), replay.Options{Speed: c.Speed})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return p.Play(ctx, in, out)
}

// sequence is a list as the events of a file are read.
func sequence(events []trace.Event) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

type traceHTMLCmd struct {
	Trace string `arg:"" help:"A thread, or a file."`
}

func (c traceHTMLCmd) Run(out rawOutput) error {
	f, err := openTrace(c.Trace)
	if err != nil {
		return err
	}
	_ = f.Close()
	events, err := trace.WithSubagents(f.Name())
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	m, err := trace.NewPage(sequence(events))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	return m.Write(out)
}
