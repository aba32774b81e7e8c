package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/approvals"
)

type grantsCmd struct {
	List   listGrantsCmd   `cmd:"" help:"List the approvals that the bridge keeps for always."`
	Revoke revokeGrantsCmd `cmd:"" help:"Forget remembered approvals at once, also in running bridges."`
}

type listGrantsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listGrantsCmd) Run(out io.Writer) error {
	all := []approvals.Grant{}
	err := readState(func(ctx context.Context, s *store.Store) error {
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
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tEXPIRES\tTOOL\tWHAT\tWORKSPACE\tCLIENT")
	for _, g := range all {
		expires := g.Expires.Format(time.RFC3339)
		if !g.ActiveAt(time.Now()) {
			expires += " (no longer valid)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", plain(g.ID), expires, plain(g.Tool), plain(g.What), plain(g.Workspace), plain(g.Client))
	}
	return table.Flush()
}

const noGrants = "no approval is remembered for always"

type revokeGrantsCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Ids from the list."`
	All bool     `help:"Forget all approvals."`
}

func (c revokeGrantsCmd) Run(out io.Writer) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("give the ids of grants, as \"codex-bridge grants list\" shows them, or --all")
	}
	// Without a state there is nothing to revoke, so do not create one.
	err := readState(func(context.Context, *store.Store) error { return nil })
	if errors.Is(err, store.ErrNotExist) && c.All {
		fmt.Fprintln(out, noGrants)
		return nil
	}
	if errors.Is(err, store.ErrNotExist) {
		return unknownGrants(c.IDs)
	}
	if err != nil {
		return err
	}
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := openState(ctx, cfg, false)
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
		fmt.Fprintf(out, "%d revoked\n", n)
		fmt.Fprintln(os.Stderr, "codex-bridge: a running bridge keeps its session approvals; end it, or revoke them there")
		return nil
	}
	var unknown []string
	for _, id := range c.IDs {
		there, err := s.RevokeGrant(ctx, id)
		switch {
		case err != nil:
			return err
		case there:
			fmt.Fprintln(out, "revoked "+plain(id))
		default:
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return unknownGrants(unknown)
	}
	return nil
}

func unknownGrants(ids []string) error {
	return fmt.Errorf("no grant in the state has the id %s; \"codex-bridge grants list\" shows those that are there", plain(strings.Join(ids, ", ")))
}
