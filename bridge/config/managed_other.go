//go:build !darwin && !windows

package config

func managedFile() string { return "/etc/codex-bridge/config.toml" }
