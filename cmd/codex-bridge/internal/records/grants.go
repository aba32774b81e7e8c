package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/approvals"
)

// GrantsCmd is the command "codex-bridge grants".
type GrantsCmd struct {
	List   listGrantsCmd   `cmd:"" help:"List the approvals that the bridge keeps for always." example:"codex-bridge grants list"`
	Revoke revokeGrantsCmd `cmd:"" help:"Forget remembered approvals at once, also in running bridges." example:"codex-bridge grants revoke --all"`
}

type listGrantsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listGrantsCmd) Run(out io.Writer) error {
	all := []approvals.Grant{}
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		kept, err := s.Grants(ctx)
		for _, g := range kept {
			all = append(all, approvals.Grant{Grant: g, Remember: approvals.Always})
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	case c.JSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	case len(all) == 0:
		fmt.Fprintln(out, noGrants)
		return nil
	}
	var rows output.Table
	rows.Row("ID", "EXPIRES", "TOOL", "WHAT", "WORKSPACE", "CLIENT")
	for _, g := range all {
		expires := g.Expires.Format(time.RFC3339)
		if !g.ActiveAt(time.Now()) {
			expires += " (no longer valid)"
		}
		rows.Row(display.Line(g.ID), expires, display.Line(g.Tool), display.Line(g.What), display.Line(g.Workspace), display.Line(g.Client))
	}
	return rows.Print(out)
}

const noGrants = "no approval is remembered for always"

type revokeGrantsCmd struct {
	IDs  []string `arg:"" optional:"" name:"id" help:"Ids from the list."`
	All  bool     `help:"Forget all approvals."`
	JSON bool     `help:"Print JSON." name:"json"`
}

func (c revokeGrantsCmd) Run(out io.Writer) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("give the ids of grants, as \"codex-bridge grants list\" shows them, or --all")
	}
	// Without a state there is nothing to revoke, so do not create one.
	err := decisionlog.ReadState(func(context.Context, *store.Store) error { return nil })
	if errors.Is(err, store.ErrNotExist) && c.All && !c.JSON {
		fmt.Fprintln(out, noGrants)
		return nil
	}
	if errors.Is(err, store.ErrNotExist) && c.All {
		return c.print(out, 0)
	}
	if errors.Is(err, store.ErrNotExist) {
		return unknownGrants(c.IDs)
	}
	if err != nil {
		return err
	}
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := decisionlog.OpenState(ctx, cfg, false)
	if err != nil {
		return err
	}
	return errors.Join(c.revoke(ctx, s, out), s.Close())
}

func (c revokeGrantsCmd) revoke(ctx context.Context, s *store.Store, out io.Writer) error {
	if c.All {
		n, err := s.RevokeGrants(ctx)
		if err != nil {
			return err
		}
		output.PrintError("codex-bridge: a running bridge keeps its session approvals; end it, or revoke them there")
		return c.print(out, int64(n))
	}
	var unknown []string
	revoked := int64(0)
	for _, id := range c.IDs {
		there, err := s.RevokeGrant(ctx, id)
		switch {
		case err != nil:
			return err
		case there:
			revoked++
			if !c.JSON {
				fmt.Fprintln(out, "revoked "+display.Line(id))
			}
		default:
			unknown = append(unknown, id)
		}
	}
	if c.JSON {
		if err := c.print(out, revoked); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		return unknownGrants(unknown)
	}
	return nil
}

func (c revokeGrantsCmd) print(out io.Writer, revoked int64) error {
	if c.JSON {
		return output.WriteJSON(out, map[string]int64{"revoked": revoked})
	}
	_, err := fmt.Fprintf(out, "%d revoked\n", revoked)
	return err
}

func unknownGrants(ids []string) error {
	return fmt.Errorf("no grant in the state has the id %s; \"codex-bridge grants list\" shows those that are there", display.Line(strings.Join(ids, ", ")))
}
