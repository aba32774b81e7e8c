package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/trace"
)

// TraceCmd is the command "codex-bridge trace".
type TraceCmd struct {
	List   traceListCmd   `cmd:"" help:"List traces, the newest last." example:"codex-bridge trace list"`
	Show   traceShowCmd   `cmd:"" help:"Print a trace in readable form." example:"codex-bridge trace show session.jsonl --all"`
	HTML   traceHTMLCmd   `cmd:"" name:"html" help:"Print a trace as one self-contained HTML page." example:"codex-bridge trace html session.jsonl >trace.html"`
	Replay traceReplayCmd `cmd:"" help:"Replay a trace as an app-server on stdin and stdout." example:"codex-bridge trace replay session.jsonl --speed 1"`
}

type traceListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c traceListCmd) Run(out io.Writer) error {
	folder, err := assembly.TraceFolder()
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
	var rows output.Table
	rows.Row("TRACE", "BYTES", "MODIFIED")
	for _, f := range all {
		rows.Row(display.Line(f.Name), strconv.FormatInt(f.Bytes, 10), f.Modified.Local().Format(time.DateTime))
	}
	return rows.Print(out)
}

// openTrace opens a trace by its path or its thread.
func openTrace(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err == nil || strings.ContainsAny(name, `/\`) {
		return f, err
	}
	folder, folderErr := assembly.TraceFolder()
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
	Trace      string `arg:"" help:"A thread or a file. Includes traces of its subagents in the same folder."`
	All        bool   `help:"Every message, with sender and receiver."`
	ThreadOnly bool   `help:"Without subagents."`
	Follow     bool   `short:"f" help:"Print new events until interrupted."`
	JSON       bool   `help:"Print all events as JSON Lines." name:"json"`
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
		events, failed := tree.Next()
		for _, e := range events {
			if err := c.print(out, e); err != nil {
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

func (c traceShowCmd) print(out io.Writer, e trace.TreeEvent) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(e.Event) //nolint:gosec // the key of a session is no secret
	}
	head, text, err := trace.Show(e, c.All)
	if err != nil || head == "" {
		return err
	}
	p := output.NewPrinter(out)
	p.Item(head, strings.TrimSuffix(text, "\n"))
	return p.Failure()
}

type traceReplayCmd struct {
	Trace        string  `arg:"" help:"A thread or a file, with the other threads of its conversation."`
	Speed        float64 `help:"The speed, 1 as recorded; 0 for no pauses." default:"0"`
	Conversation string  `help:"The traceId of a conversation in the file; by default the last."`
}

func (c traceReplayCmd) Run(in io.Reader, out output.Unescaped) error {
	f, err := openTrace(c.Trace)
	if err != nil {
		return err
	}
	_ = f.Close()
	events, err := trace.Conversation(f.Name(), c.Conversation)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	p, err := trace.NewPlayer(events, c.Speed)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return p.Play(ctx, in, out)
}

type traceHTMLCmd struct {
	Trace string `arg:"" help:"A thread or a file."`
}

func (c traceHTMLCmd) Run(out output.Unescaped) error {
	f, err := openTrace(c.Trace)
	if err != nil {
		return err
	}
	_ = f.Close()
	events, err := trace.WithSubagents(f.Name())
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	m, err := trace.NewPage(events)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	return m.Write(out)
}
