package cli

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// starters has a starter configuration per profile, and in init/workspace one per
// profile for a workspace. A line that begins with #~ is a key that this version does
// not act on yet.
//
//go:embed init
var starters embed.FS

type initCmd struct {
	Profile   string `help:"How strict: ${enum}." enum:"careful,team,read-only,locked" default:"careful"`
	Workspace bool   `help:"Write a .codex-bridge.toml for this folder."`
	Stdout    bool   `help:"Print the file, and write nothing."`
	Schema    bool   `help:"Print the JSON Schema of the configuration, and write nothing."`
	JSON      bool   `help:"Print the path of the new file as JSON." name:"json"`
}

// Run writes a starter configuration if there is no file yet, or prints the schema.
func (c initCmd) Run(out io.Writer) error {
	if c.Schema {
		_, err := out.Write(config.Schema())
		return err
	}
	text, err := c.starter()
	if err != nil {
		return err
	}
	if c.Stdout {
		_, err := io.WriteString(out, text)
		return err
	}
	name, err := c.target()
	if err != nil {
		return err
	}
	if err := c.loads(name, text); err != nil {
		return err
	}
	if err := create(name, text, c.Workspace); err != nil {
		return err
	}
	if c.JSON {
		return output.WriteJSON(out, map[string]string{"written": name})
	}
	return output.PrintLine(out, "wrote %s; \"codex-bridge doctor\" looks at it", name)
}

func (c initCmd) starter() (string, error) {
	name := "init/" + c.Profile + ".toml"
	if c.Workspace {
		name = "init/workspace/" + c.Profile + ".toml"
	}
	text, err := starters.ReadFile(name)
	return string(text), err
}

// target returns the path of the file to write.
func (c initCmd) target() (string, error) {
	if c.Workspace {
		return filepath.Abs(config.WorkspaceFile)
	}
	files := config.Discover("")
	name := files.User
	if files.UserError != nil {
		return "", files.UserError
	}
	if name == "" {
		return "", fmt.Errorf("%s is set and empty, which means no user file; unset it, or use --stdout", config.EnvConfig)
	}
	return filepath.Abs(name)
}

// loads returns an error if the configuration would not load with the new file: a file
// that loosens a setting of an earlier layer stops the next start.
func (c initCmd) loads(name, text string) error {
	if _, err := os.Lstat(name); err == nil {
		return exists(name)
	}
	files := configured.Setup.Files("")
	files.Draft = &config.Draft{File: name, Text: text, IsWorkspace: c.Workspace}
	cfg, err := config.Load(files)
	if err == nil {
		for _, w := range cfg.Warnings() {
			if w.File == name { // it would have no effect
				err = errors.Join(err, w)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s was not written; choose another profile, or write it by hand", err, name)
	}
	return nil
}

// create writes a new file. Only the user can read the user's file; a repository's file
// (shared) is readable by everyone.
func create(name, text string, shared bool) error {
	mode := fs.FileMode(0o600)
	if shared {
		mode = 0o644
	} else if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return exists(name)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func exists(name string) error {
	return fmt.Errorf("%s is there already, and is not overwritten; change it by hand, or move it away and run init again (--stdout prints a new one)", name)
}
